"""The hostile set: every input ends as it may, every picture is the input's own, and nothing gets out."""

from __future__ import annotations

import hashlib
import io
from collections import Counter

import pytest
from k3data.vision.bench import hostile as bench
from k3data.vision.hostile import HostileInput, hostile_inputs, recipes
from k3data.vision.pool import RenderPool
from k3data.vision.types import Failure, Image, Render
from PIL import Image as Picture


def test_the_set_is_wide_reproducible_and_mixed_with_sound_inputs():
    inputs = list(hostile_inputs(2000, seed=3))
    assert len(inputs) == len({one.name for one in inputs}) == 2000
    assert len({one.class_ for one in inputs}) == len(recipes()) >= 60
    assert {one.kind for one in inputs} == {"svg", "web", "cad"}
    assert sum(one.control for one in inputs) >= 300
    again = list(hostile_inputs(2000, seed=3))
    small = [index for index, one in enumerate(inputs) if "100-mb" not in one.name][::40]
    assert [_digest(inputs[index]) for index in small] == [_digest(again[index]) for index in small]


def _digest(one: HostileInput) -> str:
    return hashlib.sha256(one.data).hexdigest()


def test_a_picture_of_another_input_is_called_stale():
    first, second, *_ = (one for one in hostile_inputs(300) if one.class_ == "svg:sound-shapes")
    with RenderPool("svg") as pool:
        shown = pool.render(first.data, bench.SPECS["svg"])
    assert isinstance(shown, Render)
    assert bench.judge(first, shown) == ""
    assert bench.judge(second, shown) == "blank_or_stale"
    assert bench.judge(first, Failure("exception", "render", "")) == "controls_lost"
    assert bench.judge(first, Failure("strange", "render", "")) == "untyped"  # type: ignore[arg-type]
    white = Image("picture", _white(), 8, 8)
    assert bench.judge(first, Render((white,), (), "", "")) == "blank_or_stale"


def _white() -> bytes:
    buffer = io.BytesIO()
    Picture.new("RGB", (8, 8), "white").save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize(("kind", "step"), [("svg", 1), ("web", 3), ("cad", 4)])
def test_quick_classes_end_as_they_may(kind: str, step: int):
    """Every class of drawings, every third of pages, every fourth of parts; the slow test below has all of them."""
    seen: Counter[str] = Counter()
    with bench.listener() as (beacon, heard), RenderPool(kind, timeout_s=5, memory_mib=768) as pool:
        for one in hostile_inputs(300, beacon=beacon):
            if one.kind != kind or one.slow or "100-mb" in one.name:
                continue
            seen[one.class_] += 1
            if seen[one.class_] > 1 or len(seen) % step:
                continue
            outcome = pool.render(one.data, bench.SPECS[kind])
            assert bench.judge(one, outcome) == "", (one.name, outcome if isinstance(outcome, Failure) else "rendered")
        assert heard() == 0
    assert len(seen) >= 40


@pytest.mark.slow
def test_the_whole_set_breaks_nothing():
    figures = bench.run(quick=True)["figures"]
    for name in ("untyped", "unexpected", "blank_or_stale", "controls_lost", "parent_deaths", "requests_out"):
        assert figures[name] == 0, name
    assert figures["overrun_s_max"] <= 1 and figures["peak_rss_mib"] < 3000
