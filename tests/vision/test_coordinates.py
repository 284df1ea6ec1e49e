"""Coordinates: three forms of one place that agree, stay in order and stay inside the picture."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from k3data.vision.coordinates import (
    area,
    box_place,
    centre,
    clip,
    from_normalised,
    from_per_mille,
    iou,
    point_place,
)

SIDE = st.integers(min_value=1, max_value=4000)
NUMBER = st.floats(min_value=-500, max_value=4500, allow_nan=False)
BOX = st.tuples(NUMBER, NUMBER, NUMBER, NUMBER)


@given(BOX, SIDE, SIDE)
def test_a_box_survives_each_form_within_half_a_unit(box, width, height):
    place, exact = box_place("x", box, width, height), clip(box, width, height)
    sides = (width, height, width, height)
    for value, pixel in zip(exact, place["pixels"], strict=True):
        assert abs(value - pixel) <= 0.05 + 1e-9
    for value, back, side in zip(exact, from_normalised(place["normalised"], width, height), sides, strict=True):
        assert abs(value - back) <= 0.00005 * side + 1e-6
    for value, back, side in zip(exact, from_per_mille(place["per_mille"], width, height), sides, strict=True):
        assert abs(value - back) <= 0.0005 * side + 1e-6


@given(BOX, SIDE, SIDE)
def test_every_form_keeps_the_corners_in_order_and_inside(box, width, height):
    place = box_place("x", box, width, height)
    for values, right, bottom in (
        (place["pixels"], width, height),
        (place["normalised"], 1, 1),
        (place["per_mille"], 1000, 1000),
    ):
        x1, y1, x2, y2 = values
        assert 0 <= x1 <= x2 <= right and 0 <= y1 <= y2 <= bottom
    assert all(isinstance(value, int) for value in place["per_mille"])


@given(st.tuples(NUMBER, NUMBER), SIDE, SIDE)
def test_a_point_is_moved_into_the_picture(point, width, height):
    place = point_place("x", point, width, height)
    assert 0 <= place["pixels"][0] <= width and 0 <= place["pixels"][1] <= height
    back = from_per_mille(place["per_mille"], width, height)
    assert abs(back[0] - place["pixels"][0]) <= 0.0005 * width + 0.06


@given(BOX, BOX)
def test_overlap_is_symmetric_and_one_only_for_equal_boxes(first, second):
    first, second = clip(first, 4000, 4000), clip(second, 4000, 4000)
    assert 0 <= iou(first, second) <= 1 + 1e-9 and abs(iou(first, second) - iou(second, first)) < 1e-12
    assert iou(first, first) == (1 if area(first) > 0 else 0)


def test_known_values():
    place = box_place("a", (10, 20, 110, 70), 200, 100)
    assert place["label"] == "a" and place["pixels"] == [10, 20, 110, 70]
    assert place["normalised"] == [0.05, 0.2, 0.55, 0.7] and place["per_mille"] == [50, 200, 550, 700]
    assert iou((0, 0, 10, 10), (5, 0, 15, 10)) == 50 / 150
    assert centre((0, 0, 10, 4)) == (5, 2)
    assert clip((90, 90, -5, 200), 80, 100) == (0, 90, 80, 100)
