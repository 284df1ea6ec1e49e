"""Metrics: bounded, symmetrical, exact where they must be, and equal to their formulas written the slow way."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.vision.coordinates import box_place
from k3data.vision.metrics import (
    Grounded,
    MalformedAnswer,
    boxes_of,
    element_f1,
    grounded,
    pixel_distance,
    point_in_box,
    same_program,
    ssim,
)
from k3data.vision.types import Element

SEEDS = st.integers(0, 2**32 - 1)
SIDES = st.integers(1, 24)
PLACES = st.lists(
    st.tuples(*[st.integers(0, 90)] * 2, *[st.integers(0, 40)] * 2, st.sampled_from(["circle", "rect"])), max_size=8
)


def picture(seed: int, height: int, width: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def elements(places) -> list[Element]:
    return [Element(str(n), role, "", (x, y, x + w, y + h)) for n, (x, y, w, h, role) in enumerate(places)]


def slow_ssim(one: np.ndarray, other: np.ndarray) -> float:
    """Equation 13 of the paper, window by window."""
    x, y = (picture.astype(float) @ [0.299, 0.587, 0.114] / 255 for picture in (one, other))
    offsets = np.arange(-5, 6)
    weights = np.exp(-(offsets[:, None] ** 2 + offsets[None, :] ** 2) / (2 * 1.5**2))
    weights /= weights.sum()
    found = []
    for row, column in product(range(x.shape[0] - 10), range(x.shape[1] - 10)):
        a, b = (values[row : row + 11, column : column + 11] for values in (x, y))
        mean_a, mean_b = (weights * a).sum(), (weights * b).sum()
        var_a, var_b = (weights * (a - mean_a) ** 2).sum(), (weights * (b - mean_b) ** 2).sum()
        both = (weights * (a - mean_a) * (b - mean_b)).sum()
        above = (2 * mean_a * mean_b + 1e-4) * (2 * both + 9e-4)
        found.append(above / ((mean_a**2 + mean_b**2 + 1e-4) * (var_a + var_b + 9e-4)))
    return float(np.mean(found))


@given(SEEDS, SEEDS, SIDES, SIDES)
def test_distances_of_pictures_are_bounded_and_symmetrical(one, other, height, width):
    a, b = picture(one, height, width), picture(other, height, width)
    assert 0 <= pixel_distance(a, b) == pixel_distance(b, a) <= 1
    assert -1 <= ssim(a, b) <= 1
    assert ssim(a, b) == pytest.approx(ssim(b, a), abs=1e-12)
    assert pixel_distance(a, a) == 0
    assert ssim(a, a) == pytest.approx(1, abs=1e-12)


def test_black_against_white_is_as_far_as_can_be():
    black, white = np.zeros((16, 16, 3), np.uint8), np.full((16, 16, 3), 255, np.uint8)
    assert pixel_distance(black, white) == 1
    assert ssim(black, white) == pytest.approx(1e-4 / (1 + 1e-4))


def test_a_change_of_one_channel_counts_its_share():
    a = np.zeros((10, 10, 3), np.uint8)
    b = a.copy()
    b[:5, :, 1] = 51
    assert pixel_distance(a, b) == pytest.approx(0.2 / 2 / 3)


@settings(max_examples=10, deadline=None)
@given(SEEDS, st.integers(0, 60), st.integers(11, 20), st.integers(11, 20))
def test_ssim_is_its_formula(seed, noise, height, width):
    a = picture(seed, height, width)
    b = np.clip(a.astype(int) + np.random.default_rng(seed + 1).integers(-noise, noise + 1, a.shape), 0, 255)
    assert ssim(a, b.astype(np.uint8)) == pytest.approx(slow_ssim(a, b.astype(np.uint8)), abs=1e-10)


def test_ssim_sees_structure_where_the_distance_of_pixels_does_not():
    drawn = np.full((64, 64, 3), 255, np.uint8)
    drawn[20:24, 10:54] = 0
    fainter, elsewhere = drawn.copy(), np.roll(drawn, 20, axis=0)
    fainter[20:24, 10:54] = 60
    assert ssim(drawn, fainter) > 0.9 > ssim(drawn, elsewhere)


def test_pictures_of_different_sizes_are_refused():
    with pytest.raises(ValueError, match=r"\(4, 5, 3\) and \(5, 4, 3\)"):
        ssim(picture(0, 4, 5), picture(0, 5, 4))


@given(PLACES, PLACES)
def test_element_match_is_bounded_symmetrical_and_whole_for_itself(some, others):
    a, b = elements(some), elements(others)
    assert 0 <= element_f1(a, b) == element_f1(b, a) <= 1
    assert element_f1(a, a) == element_f1(a, list(reversed(a))) == 1


def test_elements_match_by_role_picture_and_half_the_overlap():
    true = [Element("a", "circle", "", (0, 0, 10, 10)), Element("b", "rect", "", (20, 0, 30, 10))]
    assert element_f1(true, [Element("x", "circle", "", (3, 0, 13, 10))]) == pytest.approx(2 / 3)  # IoU 7/13
    assert element_f1(true, [Element("x", "circle", "", (4, 0, 14, 10))]) == 0  # IoU 6/14
    assert element_f1(true, [Element("x", "rect", "", (0, 0, 10, 10))]) == 0
    assert element_f1(true, [Element("x", "circle", "", (0, 0, 10, 10), image=1)]) == 0
    assert element_f1(true, [Element(str(n), "circle", "", (0, 0, 10, 10)) for n in range(3)]) == pytest.approx(2 / 5)
    assert element_f1([], []) == 1 and element_f1(true, []) == 0


def test_a_line_without_width_still_has_a_place():
    line = [Element("a", "line", "", (5, 50, 95, 50))]
    assert element_f1(line, line) == 1
    assert element_f1(line, [Element("a", "line", "", (5, 60, 95, 60))]) == 0


def test_programs_are_the_same_but_for_blank_ends():
    assert same_program("<svg>\n<a/>\n</svg>", "\n<svg>  \n<a/>\r\n</svg>\n")
    assert not same_program("<svg>\n<a/></svg>", "<svg>\n<b/></svg>")
    assert not same_program("<p>a b</p>", "<p>a  b</p>")


def answer(*boxes: tuple[str, tuple[float, ...]], size: int = 100) -> str:
    places = [box_place(label, box, size, size) for label, box in boxes]
    return json.dumps({"boxes": [{key: one[key] for key in ("label", "pixels", "normalised")} for one in places]})


def test_the_truth_is_grounded_exactly_even_with_words_around_it():
    true = answer(("sun", (10, 10, 30, 30)), ("sea", (0, 50, 100, 100)))
    for given_ in (true, f"Here:\n```json\n{true}\n```\nDone {{}}"):
        assert grounded(boxes_of(true), boxes_of(given_)) == (Grounded(1, 1), Grounded(1, 1))


def test_places_are_compared_by_label_then_in_order_and_extra_boxes_cost():
    true = boxes_of(answer(("a", (0, 0, 20, 20)), ("b", (50, 50, 70, 70))))
    swapped = boxes_of(answer(("b", (50, 50, 70, 70)), ("A?", (0, 0, 20, 20))))
    assert grounded(true, swapped)[0] == Grounded(1, 1)
    half = boxes_of(answer(("a", (0, 0, 20, 10))))
    assert grounded(true, half)[0] == Grounded(0.25, 0.5)
    many = true + boxes_of(answer(("c", (0, 0, 1, 1)), ("d", (0, 0, 1, 1))))
    assert grounded(true, many)[1] == Grounded(0.5, 0.5)


def test_pixels_and_normalised_are_judged_apart():
    true = answer(("a", (0, 0, 20, 20)))
    given_ = json.loads(true)
    given_["boxes"][0]["normalised"] = [0.5, 0.5, 0.6, 0.6]
    assert grounded(boxes_of(true), boxes_of(json.dumps(given_))) == (Grounded(1, 1), Grounded(0, 0))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "json"),
        ('{"boxes": [', "json"),
        ("[" * 100_000, "json"),
        ('{"x": ' * 100_000, "json"),
        ("[1, 2]", "form"),
        ('{"boxes": 3}', "form"),
        ('{"boxes": [4]}', "form"),
        ('{"boxes": [{"label": "a", "pixels": [1, 2, 3]}]}', "form"),
        ('{"boxes": [{"label": "a", "pixels": [1, 2, 3, true], "normalised": [0, 0, 1, 1]}]}', "form"),
        ('{"boxes": [{"label": "a", "pixels": [1, 2, 3, NaN], "normalised": [0, 0, 1, 1]}]}', "number"),
        ('{"boxes": [{"label": "a", "pixels": [1, 2, 3, 1' + "0" * 400 + '], "normalised": [0, 0, 1, 1]}]}', "number"),
    ],
)
def test_what_is_no_answer_is_named(text, reason):
    with pytest.raises(MalformedAnswer) as caught:
        boxes_of(text)
    assert caught.value.reason == reason


@given(st.text(max_size=200))
def test_any_text_is_an_answer_or_malformed(text):
    try:
        assert isinstance(boxes_of(text), list)
    except MalformedAnswer:
        pass


def test_a_point_on_the_edge_is_inside():
    assert point_in_box((1, 2), (1, 2, 3, 4)) and point_in_box((3, 4), (1, 2, 3, 4))
    assert not point_in_box((0.9, 3), (1, 2, 3, 4))
