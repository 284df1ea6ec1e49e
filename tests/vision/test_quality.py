"""Quality: each kind of bad picture is filtered by its own name, sound ones pass with their scores on record."""

from __future__ import annotations

import io

import numpy as np
import pytest
from k3data.pipelines.record import OBJECT, image, licence, new_record
from k3data.pipelines.stage import Filtered
from k3data.vision.quality import Quality, dominant_colour
from PIL import Image, ImageDraw

PROGRAM = "<svg>" + "x" * 200 + "</svg>"


def record(picture: Image.Image, kind: str = "svg", program: str = PROGRAM, log: dict | None = None):
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    made = new_record(
        program, kind=kind, domain="vision", uri="test:x", item="x", content=program, licence=licence("MIT")
    )
    made.media = [image(buffer.getvalue(), mime="image/png", width=picture.width, height=picture.height)]
    made.text = f"{OBJECT}\n{program}"
    made.metadata["scratch"]["render_log"] = log or {}
    return made


def canvas(
    width: int = 200, height: int = 200, colour: str = "#ffffff", box: tuple | None = (50, 50, 150, 150)
) -> Image.Image:
    picture = Image.new("RGB", (width, height), colour)
    if box:
        ImageDraw.Draw(picture).rectangle(box, fill="#c03020")
    return picture


def checks(done) -> dict[str, tuple[bool, float | None]]:
    return {one["name"]: (one["passed"], one["score"]) for one in done.metadata["checks"]}


def test_a_sound_picture_passes_with_scores():
    done = Quality().process(record(canvas()))
    found = checks(done)
    assert set(found) == {"program_length", "too_small", "aspect", "nearly_blank", "clipped"}
    assert all(passed for passed, _ in found.values())
    assert found["nearly_blank"][1] == pytest.approx(1 - 101 * 101 / 40000, abs=1e-3) and found["aspect"][1] == 1


@pytest.mark.parametrize(
    ("code", "kind", "picture"),
    [
        ("nearly_blank", "web", canvas(400, 400, box=(0, 0, 40, 40))),
        ("nearly_blank", "svg", canvas(400, 400, box=(0, 0, 20, 20))),
        ("aspect", "svg", canvas(800, 140)),
        ("too_small", "web", canvas(400, 100)),
        ("too_small", "svg", canvas(60, 60, box=(10, 10, 50, 50))),
        ("clipped", "svg", canvas(box=(8, 0, 199, 199))),
    ],
)
def test_a_bad_picture_is_filtered_by_name(code, kind, picture):
    made = record(picture, kind)
    if code == "clipped":
        ImageDraw.Draw(picture).rectangle((8, 8, 191, 191), fill="#ffffff")
        for corner in ((0, 0, 7, 7), (192, 0, 199, 7), (0, 192, 7, 199), (192, 192, 199, 199)):
            ImageDraw.Draw(picture).rectangle(corner, fill="#ffffff")
        made = record(picture, kind)
    with pytest.raises(Filtered) as caught:
        Quality().process(made)
    assert caught.value.code == code and caught.value.detail
    assert [(one["name"], one["passed"]) for one in made.metadata["checks"]][-1] == (code, False)


def test_an_icon_may_be_small_and_sparse_where_a_page_may_not():
    icon = canvas(96, 96, box=(10, 10, 22, 22))
    Quality().process(record(icon, "svg"))
    with pytest.raises(Filtered):
        Quality().process(record(icon, "web"))


def test_art_that_fills_its_sheet_is_not_clipped():
    picture = Image.new("RGB", (200, 200))
    for x in range(200):
        ImageDraw.Draw(picture).line((x, 0, x, 200), fill=(x, 255 - x, 90))
    assert checks(Quality().process(record(picture)))["clipped"] == (True, 0.0)


@pytest.mark.parametrize("program", ["<svg/>", "x" * 70_000])
def test_too_short_and_too_long_programs_are_filtered(program):
    with pytest.raises(Filtered) as caught:
        Quality().process(record(canvas(), program=program))
    assert caught.value.code == "program_length"


def test_what_the_browser_noticed_is_recorded_but_drops_nothing():
    found = checks(Quality().process(record(canvas(), "web", log={"overflow_x": True, "blocked_requests": 3})))
    assert found["horizontal_overflow"] == (False, None) and found["blocked_requests"] == (False, 3.0)


def test_the_dominant_colour_of_a_large_picture_is_found():
    colour, share = dominant_colour(np.asarray(canvas(1280, 1600, "#123456", (0, 0, 639, 1599))))
    assert tuple(colour) in {(0x12, 0x34, 0x56), (0xC0, 0x30, 0x20)} and share == pytest.approx(0.5, abs=0.01)
