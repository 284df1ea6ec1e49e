"""The render stage: programs become pictures with a layout, failures become rejections of the right kind."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest
from k3data.pipelines.record import OBJECT, licence, new_record, validate
from k3data.pipelines.stage import Failed, InvalidInput
from k3data.vision.render import Render

SVG = '<svg viewBox="0 0 20 10"><rect id="r" width="10" height="10" fill="#c03020"/></svg>'
PAGE = "<!doctype html><title>t</title><h1 id=h>Hello</h1>"
PART = "import cadquery as cq\nresult = cq.Workplane('XY').box(20, 10, 5)\n"


def record(text: str, kind: str, trusted: bool = False):
    return new_record(
        text, kind=kind, domain="vision", uri="test:x", item="x", content=text, licence=licence("MIT"),
        scratch={"trusted": trusted},
    )  # fmt: skip


@pytest.fixture(scope="module")
def stage():
    found = Render(timeout_s=3)
    yield found
    found.shutdown()


@pytest.mark.parametrize(("kind", "text", "pictures"), [("svg", SVG, 1), ("web", PAGE, 1), ("cad", PART, 2)])
def test_a_program_gets_its_pictures_and_layout(stage: Render, kind: str, text: str, pictures: int):
    done = stage.process(record(text, kind, trusted=True))
    validate(done)
    assert len(done.media) == pictures and done.text.startswith(OBJECT * pictures + "\n")
    scratch = done.metadata["scratch"]
    assert done.text[scratch["program_start"] :] == scratch["program"]
    assert scratch["layout"] and {one.image for one in scratch["layout"]} <= set(range(pictures))
    for part in done.media:
        assert part.metadata["sha256"] == hashlib.sha256(part.media_bytes).hexdigest()
        assert part.metadata["mime"] == "image/png" and part.metadata["width"] > 0
    assert [(one["name"], one["passed"]) for one in done.metadata["checks"]] == [("render", True)]


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        ("parse", "svg", "<svg"),
        ("blank", "svg", '<svg viewBox="0 0 9 9"/>'),
        ("empty", "web", " "),
        ("unsupported_kind", "lilypond", "c d e"),
        ("forbidden", "cad", PART),
    ],
)
def test_a_bad_program_is_an_invalid_input(stage: Render, code: str, kind: str, text: str):
    with pytest.raises(InvalidInput) as caught:
        stage.process(record(text, kind))
    assert caught.value.code == code and not caught.value.fickle and caught.value.detail


def test_a_timeout_is_a_fickle_error_and_costs_one_record(stage: Render):
    slow = f'<svg viewBox="0 0 99 99"><text y="50" font-size="1">{"A" * 1_000_000}</text></svg>'
    with pytest.raises(Failed) as caught:
        stage.process(record(slow, "svg"))
    assert caught.value.code == "timeout" and caught.value.fickle
    assert len(stage.process(record(SVG, "svg")).media) == 1


def test_collected_programs_run_only_when_allowed_and_locked_in():
    stage = Render(allow_untrusted_code=True)
    try:
        assert len(stage.process(record(PART, "cad")).media) == 2
    except InvalidInput as refused:
        assert "isolation" in refused.detail  # a machine that cannot lock the program in
    finally:
        stage.shutdown()


def test_a_collected_page_may_take_in_what_lies_beside_it(tmp_path: Path):
    (tmp_path / "a.css").write_text("body{background:#00f}")
    page = '<!doctype html><link rel=stylesheet href="a.css"><h1>Hello</h1>'
    texts = {}
    for inline in (False, True):
        stage = Render(inline_local=inline)
        item = record(page, "web")
        item.metadata["scratch"]["folder"] = str(tmp_path)
        texts[inline] = stage.process(item).text
        stage.shutdown()
    assert "background:#00f" in texts[True] and "background:#00f" not in texts[False]


def test_sizes_shape_the_data_and_limits_do_not():
    first, second = Render(timeout_s=1, memory_mib=512).semantic(), Render(timeout_s=9).semantic()
    assert first == second
    assert Render(svg={"width": 64, "height": 64}).semantic() != first


def test_the_environment_is_named_quickly_without_starting_anything():
    began = time.monotonic()
    found = Render().environment()
    assert time.monotonic() - began < 2
    assert found["chromium"].startswith("Chromium ") and found["cairo"][0].isdigit() and len(found["fonts"]) == 16
    assert all(isinstance(value, str) and value for value in found.values())
