"""Generated programs: many structures, reproducible, drawable, and truthful about what they show."""

from __future__ import annotations

import io
import random
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import cairosvg
import numpy as np
import pytest
from defusedxml import ElementTree
from k3data.pipelines.stage import Context
from k3data.vision.bench.diversity import THRESHOLD, distances, edge_hash, near_duplicates
from k3data.vision.bench.thumbnails import WebThumbnails, build
from k3data.vision.programs import CAD, KINDS, SVG, WEB, generate, templates
from k3data.vision.programs.palette import choose
from k3data.vision.programs.web import style_lines
from k3data.vision.source import Programs
from PIL import Image


def made(kind: str, name: str, seed: int = 0):
    return generate(kind, random.Random(f"{name}/{seed}"), name)


def draw(text: str, width: int = 160) -> Image.Image:
    return Image.open(io.BytesIO(cairosvg.svg2png(bytestring=text.encode(), output_width=width))).convert("RGB")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_forty_structures_and_each_is_reproducible(kind):
    names = templates(kind)
    assert len(set(names)) == len(names) >= 40
    for name in names:
        assert made(kind, name).text == made(kind, name).text
        assert made(kind, name).text != made(kind, name, 1).text


@pytest.mark.parametrize("kind", KINDS)
def test_captions_are_finished_sentences_and_facts_are_scalars(kind):
    for name in templates(kind):
        for seed in range(4):
            program = made(kind, name, seed)
            assert program.template == name and program.kind == kind
            assert program.caption[0].isupper() and program.caption[-1] in ".!?"
            slips = re.search(r"[{}]|  | ,|\bNone\b|\ba [aeio]\w|\bone \w+[^s]s\b", program.caption)
            assert not slips, program.caption
            assert all(isinstance(value, (int, float, str, bool)) for value in program.facts.values())


def test_drawings_use_only_what_cairo_draws_truly_and_name_their_parts_once():
    banned = re.compile(
        r"<filter|foreignObject|mix-blend|var\(|hsl\(|<style|<script|href=|\"-?(nan|inf)", re.IGNORECASE
    )
    for name in SVG:
        for seed in range(3):
            text = made("svg", name, seed).text
            root = ElementTree.fromstring(text)
            ids = [one.get("id") for one in root.iter() if one.get("id")]
            assert [one for one, count in Counter(ids).items() if count > 1] == [], name
            assert len(ids) >= 2, name
            assert not banned.search(re.sub(r">[^<]*<", "><", text)), name


def test_every_drawing_shows_something_and_uses_its_sheet():
    for name in SVG:
        pixels = np.asarray(draw(made("svg", name).text)).reshape(-1, 3)
        _, counts = np.unique(pixels, axis=0, return_counts=True)
        assert counts.max() / len(pixels) < 0.985, name


@pytest.mark.parametrize(
    ("name", "fact", "pattern"),
    [
        ("bar_chart", "bars", r'<rect id="bar-'),
        ("donut_chart", "slices", r'<path id="slice-'),
        ("gantt", "tasks", r'<rect id="task-'),
        ("flower_garden", "flowers", r'<g id="flower-'),
        ("house", "windows", r'<g id="window-'),
        ("fish_tank", "fish", r'<g id="fish-'),
        ("seascape", "boats", r'<g id="boat-'),
        ("playing_cards", "cards", r'<g id="card-'),
        ("icon_grid", "icons", r'<g id="icon-'),
        ("network_graph", "nodes", r'<circle id="node-'),
        ("dimension_plate", "holes", r'<circle id="hole-'),
        ("city_skyline", "lit_windows", r'fill="#ffd97d"'),
        ("calendar_month", "days", r'<rect id="day-'),
    ],
)
def test_counts_in_the_facts_are_counts_in_the_drawing(name, fact, pattern):
    for seed in range(5):
        program = made("svg", name, seed)
        assert len(re.findall(pattern, program.text)) == program.facts[fact]


class _Reader(HTMLParser):
    """Collects ids and checks that every element is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(found["id"])
        if tag not in ("meta", "br", "hr", "img", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(found["id"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_pages_are_well_formed_and_ask_for_nothing_outside():
    for name in WEB:
        for seed in range(2):
            text, reader = made("web", name, seed).text, _Reader()
            reader.feed(text)
            assert reader.open == [], name
            repeated = [one for one, count in Counter(reader.ids).items() if count > 1 and one != "sky-colours"]
            assert repeated == [], name
            assert not re.search(r"<script|https?://(?!www\.w3\.org/2000/svg)|@import|url\((?!#)", text), name


def test_a_style_sheet_has_one_rule_a_selector_and_none_for_what_the_page_lacks():
    css = """
    h1, h2 { margin: 0 } .lost { color: red; }
    #top a:not(.lost) { top: 1px } p { top: 1px; left: 2px } p { top: 3px }
    """
    expected = ["h1 {", "  margin: 0;", "}", "#top a:not(.lost) {", "  top: 1px;", "}"]
    expected += ["p {", "  left: 2px;", "  top: 3px;", "}"]
    assert style_lines(css, {"h1", "p", "a", "#top"}) == expected


def test_facts_of_pages_hold_in_their_markup():
    for seed in range(5):
        assert (
            made("web", "kanban", seed).text.count('<article id="card-') == made("web", "kanban", seed).facts["cards"]
        )
        assert (
            made("web", "timetable", seed).text.count('<tr id="trip-') == made("web", "timetable", seed).facts["rows"]
        )
        invoice = made("web", "invoice", seed)
        sums = [float(one) for one in re.findall(r"<td>€([\d.]+)</td>", invoice.text)]
        assert invoice.facts["total_eur"] == sums[-1]
        assert sum(sums[1:-3:2]) == pytest.approx(sums[-3], abs=0.01)


def test_every_page_fits_its_viewport_in_a_real_browser():
    drawer = WebThumbnails()
    with drawer as draw_page:
        for name in WEB:
            pixels = np.asarray(draw_page(made("web", name).text).convert("RGB")).reshape(-1, 3)
            assert len(np.unique(pixels, axis=0)) > 20, name
            width = drawer.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 1280, name


def test_every_part_builds_to_one_valid_solid():
    for name in CAD:
        _assert_solid(name, 0)


@pytest.mark.slow
def test_every_part_builds_to_one_valid_solid_for_many_parameters():
    for name in CAD:
        for seed in range(1, 12):
            _assert_solid(name, seed)


def _assert_solid(name: str, seed: int) -> None:
    shape = build(made("cad", name, seed).text)
    assert shape.isValid() and len(shape.Solids()) == 1 and shape.Volume() > 1, (name, seed)


def test_dimensions_in_a_caption_are_those_of_the_solid():
    for seed in range(3):
        plate = made("cad", "hole_plate", seed)
        box = build(plate.text).BoundingBox()
        facts = plate.facts
        assert (box.xlen, box.ylen, box.zlen) == pytest.approx(
            (facts["length"], facts["width"], facts["thickness"]), abs=1e-3
        )
        assert f"{facts['length']} × {facts['width']}" in plate.caption
        stairs = made("cad", "stairs", seed)
        assert build(stairs.text).BoundingBox().zlen == pytest.approx(
            stairs.facts["steps"] * stairs.facts["rise"], abs=1e-3
        )


def test_the_source_spreads_evenly_and_grows_without_changing(tmp_path: Path):
    where = Context(seed=3, recipe="r", job="j", unit="", scratch=tmp_path)
    parts = list(Programs(kinds=["svg", "cad"], count=61).plan(where, 10))
    assert [part.where["kind"] for part in parts] == ["svg"] * 4 + ["cad"] * 3
    assert sum(part.items for part in parts) == 61 and all(part.inputs == () for part in parts)

    def items(count: int):
        source = Programs(kinds=["svg"], count=count)
        return [item for part in source.plan(where, None) for item in source.read(part.where, (), where)]

    few, many = items(5), items(80)
    assert [item.identity for item in few] == [item.identity for item in many[:5]]
    assert few[4].load().text == many[4].load().text
    assert len({item.key for item in many}) == 80
    shown = Counter(item.load().metadata["scratch"]["template"] for item in many[: len(SVG)])
    assert set(shown.values()) == {1}, "every template has its turn before any has a second"
    first = few[0].load().metadata
    assert first["licence"]["class"] == "public" and first["scratch"]["trusted"] is True


def test_recoloured_copies_count_as_duplicates_and_different_structures_do_not():
    caught = []
    for name in list(SVG)[::4]:
        text, again = (generate("svg", random.Random(name), name, choose(random.Random(copy))).text for copy in (1, 2))
        if text == again:  # maps have colours of their own
            continue
        caught.append(distances(edge_hash(draw(text))[None], edge_hash(draw(again)))[0] <= THRESHOLD)
    assert np.mean(caught) >= 0.9
    table = np.stack([edge_hash(draw(made("svg", name).text)) for name in SVG])
    assert not near_duplicates(table).any()


def test_few_near_duplicates_among_drawings():
    names = templates("svg")
    table = np.stack([edge_hash(draw(made("svg", names[k % len(names)], k).text)) for k in range(320)])
    assert near_duplicates(table).mean() < 0.02
