"""CAD parts: valid solids only, exact facts and places, and a process of its own for every source."""

from __future__ import annotations

import io
import time

import pytest
from k3data.vision import cad_lint
from k3data.vision.pool import RenderPool
from k3data.vision.types import Failure, Render, RenderSpec
from PIL import Image as Picture

SPEC = RenderSpec(256, 256)
PLATE = """import cadquery as cq
width, depth, height = 80, 60, 10
result = (
    cq.Workplane("XY").box(width, depth, height)
    .faces(">Z").workplane().rect(60, 40, forConstruction=True).vertices().hole(8)
    .faces(">Z").workplane().hole(20, 5)
)
"""


@pytest.fixture(scope="module")
def pool():
    with RenderPool("cad", timeout_s=3, memory_mib=768) as found:
        yield found


def picture(render: Render, index: int) -> Picture.Image:
    return Picture.open(io.BytesIO(render.images[index].png)).convert("RGB")


def test_facts_are_those_of_the_solid(pool: RenderPool):
    render = pool.render(PLATE, SPEC)
    assert isinstance(render, Render), render
    assert render.log["bbox_mm"] == [80, 60, 10] and render.log["solids"] == 1 and render.log["holes"] == 5
    assert render.log["volume_mm3"] == pytest.approx(
        80 * 60 * 10 - 4 * 3.14159265 * 16 * 10 - 3.14159265 * 100 * 5, rel=1e-6
    )
    assert [(one.name, one.width, one.height) for one in render.images] == [("shaded", 256, 256), ("drawing", 512, 384)]


def test_the_shaded_part_fills_its_box(pool: RenderPool):
    render = pool.render(PLATE, SPEC)
    assert isinstance(render, Render)
    shaded = picture(render, 0)
    x1, y1, x2, y2 = next(one.box for one in render.layout if one.role == "part")
    # The background is nearly white; the part is not.
    dark = shaded.convert("L").point(lambda level: 255 if level < 200 else 0).getbbox()
    assert dark and all(abs(a - b) <= 2 for a, b in zip(dark, (x1, y1, x2, y2), strict=True))


def test_the_sheet_shows_views_dimensions_and_holes_in_place(pool: RenderPool):
    render = pool.render(PLATE, RenderSpec(512, 512))
    assert isinstance(render, Render)
    sheet = picture(render, 1)
    views = {one.text: one.box for one in render.layout if one.role == "view"}
    assert set(views) == {"front view", "top view", "right view", "isometric view"}
    front, top, right = (views[f"{name} view"] for name in ("front", "top", "right"))
    assert (front[2] - front[0]) / (front[3] - front[1]) == pytest.approx(8, rel=0.05)
    assert (top[2] - top[0]) / (top[3] - top[1]) == pytest.approx(80 / 60, rel=0.02)
    assert front[0] == pytest.approx(top[0], abs=0.1) and front[1] == pytest.approx(right[1], abs=0.1)
    dimensions = {one.text.split()[1]: one.attributes["value_mm"] for one in render.layout if one.role == "dimension"}
    assert dimensions == {"width": 80, "depth": 60, "height": 10}
    holes = [one for one in render.layout if one.role == "hole"]
    assert sorted(one.attributes["diameter_mm"] for one in holes) == [8, 8, 8, 8, 20]
    for hole in holes:
        x1, y1, x2, y2 = hole.box
        rim = [(x1, (y1 + y2) / 2), (x2, (y1 + y2) / 2), ((x1 + x2) / 2, y1), ((x1 + x2) / 2, y2)]
        for x, y in rim:
            around = sheet.crop((round(x) - 2, round(y) - 2, round(x) + 3, round(y) + 3)).convert("L")
            assert around.getextrema()[0] < 120, f"no line at the rim of {hole.id}"  # type: ignore[operator]


def test_another_process_gives_the_same_bytes(pool: RenderPool):
    first = pool.render(PLATE, SPEC)
    with RenderPool("cad") as other:
        assert other.render(PLATE, SPEC) == first


@pytest.mark.parametrize(
    ("kinds", "source"),
    [
        ({"invalid_geometry"}, "result = cq.Workplane().polyline([(0,0),(9,9),(9,0),(0,9)]).close().extrude(5)"),
        ({"invalid_geometry"}, "result = cq.Workplane().box(5, 5, 5).edges().fillet(4)"),
        ({"invalid_geometry", "empty"}, "result = cq.Workplane().circle(5)"),
        ({"empty"}, "result = 42"),
        ({"parse"}, "result = cq.Workplane().box(a, b, c)"),
        ({"memory"}, "x = [0] * 10**11\nresult = x"),
        ({"memory", "timeout"}, "x = [1]\nwhile True: x = x + x\nresult = x"),
    ],
)
def test_bad_parts_end_in_a_typed_failure(pool: RenderPool, kinds: set[str], source: str):
    pool.render(PLATE, SPEC)
    pid = pool.pid
    outcome = pool.render(f"import cadquery as cq\n{source}\n", SPEC)
    assert isinstance(outcome, Failure) and outcome.kind in kinds, outcome
    assert pool.pid == pid, "only the child that ran the source may end"


def test_an_endless_source_costs_its_child_only(pool: RenderPool):
    pool.render(PLATE, SPEC)
    pid = pool.pid
    began = time.monotonic()
    outcome = pool.render("import cadquery as cq\nwhile True: pass\nresult = 1\n", SPEC)
    assert isinstance(outcome, Failure) and outcome.kind == "timeout"
    assert time.monotonic() - began < pool.timeout_s + 1
    assert isinstance(pool.render(PLATE, SPEC), Render) and pool.pid == pid


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "from os import path",
        "from cadquery import exporters",
        "open('x')",
        "eval('1')",
        "getattr(cq, 'x')",
        "cq.occ_impl",
        "cq.exporters",
        "().__class__",
        "class A: pass",
        "x = __builtins__",
        "from cadquery import *",
        "cq.Workplane().val().wrapped",
        "from . import x",
        "globals()",
    ],
)
def test_what_a_part_has_no_use_for_is_refused_before_it_runs(line: str):
    failure = cad_lint.check(f"import cadquery as cq\n{line}\nresult = cq.Workplane().box(1, 1, 1)\n")
    assert failure and failure.kind == "forbidden" and failure.detail.startswith("line 2: ")


def test_ordinary_sources_are_not_refused():
    assert cad_lint.check(PLATE) is None
    assert cad_lint.check(
        "import cadquery as cq, math\nfrom math import pi\n"
        "def f(n):\n    return [math.sin(i * pi / n) for i in range(n)]\n"
        "result = cq.Workplane().polyline([(a, b) for a, b in zip(f(3), f(3))]).close().extrude(max(f(2)))\n"
    ) is None  # fmt: skip
