"""Drawings: true pictures, exact places, and a typed reason for everything that is refused."""

from __future__ import annotations

import io
import math

import pytest
from k3data.vision.pool import RenderPool
from k3data.vision.svg_lint import Document, examine
from k3data.vision.types import Element, Failure, Render, RenderSpec
from PIL import Image as Picture
from PIL import ImageChops

SPEC = RenderSpec(400, 400)
FAMILIES = frozenset({"dejavu sans"})
HEAD = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">'


@pytest.fixture(scope="module")
def pool():
    with RenderPool("svg") as found:
        yield found


def draw(pool: RenderPool, body: str, spec: RenderSpec = SPEC) -> Render:
    outcome = pool.render(body if body.startswith("<svg") else f"{HEAD}{body}</svg>", spec)
    assert isinstance(outcome, Render), outcome
    return outcome


def places(render: Render) -> dict[str, Element]:
    return {one.id: one for one in render.layout}


def pixels(render: Render) -> Picture.Image:
    return Picture.open(io.BytesIO(render.images[0].png)).convert("RGB")


def close(box: tuple[float, ...], expected: tuple[float, ...], within: float = 0.2) -> bool:
    return all(abs(a - b) <= within for a, b in zip(box, expected, strict=True))


def test_boxes_are_exact_under_transforms_and_strokes(pool: RenderPool):
    render = draw(
        pool,
        '<g transform="translate(10 20) scale(2)"><rect id="a" x="1" y="2" width="10" height="5" fill="red"/></g>'
        '<circle id="b" cx="50" cy="70" r="10" fill="blue" stroke="black" stroke-width="4"/>'
        '<rect id="c" x="70" y="70" width="20" height="20" transform="rotate(45 80 80)" fill="#0a0"/>'
        '<line id="d" x1="5" y1="95" x2="45" y2="95" stroke="black" stroke-width="2"/>',
    )
    found = places(render)
    assert close(found["a"].box, (48, 96, 128, 136))
    assert close(found["b"].box, (152, 232, 248, 328))
    half = 10 * math.sqrt(2)
    assert close(found["c"].box, tuple(4 * side for side in (80 - half, 80 - half, 80 + half, 80 + half)))
    assert close(found["d"].box, (20, 376, 180, 384))
    assert found["a"].text == "red rectangle" and found["b"].attributes == {"fill": "#0000ff", "stroke": "#000000"}


def test_boxes_hold_the_ink_and_nothing_else(pool: RenderPool):
    for body in [
        '<text id="x" x="20" y="60" font-size="30" font-family="DejaVu Sans">Tag</text>',
        '<path id="x" d="M20 20C90 0 10 90 80 80Z"/>',
        '<polyline id="x" points="10,10 50,80 90,20" fill="none" stroke="black" stroke-width="6"/>',
    ]:
        render = draw(pool, body)
        ink = ImageChops.invert(pixels(render).convert("L")).point(lambda level: 255 if level > 30 else 0).getbbox()
        assert ink and close(places(render)["x"].box, ink, within=1.5), body


def test_what_is_covered_is_not_visible(pool: RenderPool):
    found = places(
        draw(
            pool,
            '<rect id="under" width="40" height="40" fill="red"/><rect id="over" width="20" height="40" fill="blue"/>'
            '<rect id="veiled" x="50" width="40" height="40" fill="red"/>'
            '<rect id="veil" x="50" width="40" height="40" fill="white" opacity="0.2"/>'
            '<rect id="outside" x="80" y="50" width="40" height="40" fill="green"/>',
        )
    )
    assert found["under"].visible == pytest.approx(0.5, abs=0.03)
    assert found["over"].visible == found["veiled"].visible == 1
    assert found["outside"].visible == pytest.approx(0.5, abs=0.03)
    assert found["outside"].box == (320, 200, 400, 360)


def test_definitions_and_hidden_things_have_no_place(pool: RenderPool):
    found = places(
        draw(
            pool,
            '<defs><rect id="defined" width="9" height="9"/></defs>'
            '<g display="none"><rect id="gone" width="9" height="9"/></g>'
            '<rect id="unfilled" width="9" height="9" fill="none"/><use id="used" href="#defined" x="50" y="50"/>'
            '<g id="pair"><circle cx="20" cy="20" r="5"/><circle cx="40" cy="20" r="5"/></g>',
        )
    )
    assert set(found) == {"used", "pair", "g[5]/circle[1]", "g[5]/circle[2]"}
    assert close(found["used"].box, (200, 200, 236, 236))
    assert close(found["pair"].box, (60, 60, 180, 100))


def test_the_root_is_normalised_in_the_text_and_nothing_else_is(pool: RenderPool):
    cases = {
        '<svg width="20mm" height="10mm"><rect width="9" height="9"/></svg>': (400, 200),
        '<svg viewBox="0 0 24 24"><rect width="9" height="9"/></svg>': (400, 400),
        '<svg viewBox="0 0 10 40" width="100%"><rect width="9" height="9"/></svg>': (100, 400),
        '<svg width="99999" height="99999" style="width:1px;fill:red"><rect width="9999" height="9999"/></svg>': (
            400,
            400,
        ),
        '<svg height="30" viewBox="0 0 20 10"><rect width="9" height="9"/></svg>': (400, 200),
    }
    for source, size in cases.items():
        render = draw(pool, source)
        image = render.images[0]
        assert (image.width, image.height) == size == pixels(render).size, source
        assert f'width="{size[0]}"' in render.program and 'xmlns="http://www.w3.org/2000/svg"' in render.program
        assert render.program.endswith(source[source.index(">") :])
        again = draw(pool, render.program)
        assert again.program == render.program and again.images == render.images


@pytest.mark.parametrize(
    ("reason", "body"),
    [
        ("filter", '<filter id="f"><feFlood/></filter><rect width="50" height="50" filter="url(#f)"/>'),
        ("mix-blend-mode", '<rect width="50" height="50" style="mix-blend-mode:multiply"/>'),
        ("colour notation", '<rect width="50" height="50" fill="hsl(0 100% 50%)"/>'),
        ("css function", '<rect width="50" height="50" style="fill:var(--x,red)"/>'),
        ("style sheet", "<style>:root{--x:red}</style><rect width='50' height='50'/>"),
        ("foreignObject", '<foreignObject width="9" height="9"><p xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>'),
        ("mask", '<mask id="m"><rect width="9" height="9"/></mask><rect width="50" height="50" mask="url(#m)"/>'),
        ("pattern", '<pattern id="p" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M0 0h3"/></pattern>'),
        ("script of the text", '<text y="50">مرحبا</text>'),
        ("font fallback", '<text y="50" font-family="Nowhere, serif">a</text>'),
        ("dominant-baseline", '<text y="50" dominant-baseline="middle">a</text>'),
        ("number notation", '<rect width="50" height="50" opacity="50%"/>'),
        ("transform in a style", '<rect width="50" height="50" style="transform:rotate(5deg)"/>'),
        ("nested svg", '<svg width="9" height="9"><rect width="9" height="9"/></svg>'),
    ],
)  # fmt: skip
def test_what_cairo_would_draw_wrongly_goes_to_the_browser(reason: str, body: str):
    document = examine(f"{HEAD}{body}</svg>", SPEC, FAMILIES)
    assert isinstance(document, Document), document
    assert reason in document.browser


def test_plain_drawings_stay_with_cairo():
    body = (
        '<style>.a{fill:#f00;stroke:rgb(1,2,3)}</style><linearGradient id="g"><stop stop-color="red"/></linearGradient>'
        '<rect class="a" width="5" height="5"/><circle r="5" fill="url(#g)" opacity=".5"/>'
        '<text font-family="DejaVu Sans, Arial" text-anchor="middle">Füße 3 × 4 → π</text>'
    )
    document = examine(f"{HEAD}{body}</svg>", SPEC, FAMILIES)
    assert isinstance(document, Document) and document.browser == ()


def test_cairo_and_the_browser_agree(pool: RenderPool):
    body = (
        '<rect id="bg" width="100" height="100" fill="#eef2ff"/><g id="g" transform="rotate(20 50 50)">'
        '<rect id="r" x="20" y="20" width="40" height="30" rx="5" fill="#c04020" stroke="#222" stroke-width="3"/>'
        '<circle id="c" cx="60" cy="60" r="15" fill="#2060c0"/></g>'
    )
    cairo, browser = draw(pool, body), draw(pool, body + "<style>@media print{a{}}</style>")
    assert (cairo.log["engine"], browser.log["engine"]) == ("cairo", "browser")
    first, second = places(cairo), places(browser)
    assert set(first) == set(second)
    for name in first:
        assert close(first[name].box, second[name].box, within=1.0), name
        assert first[name].visible == pytest.approx(second[name].visible, abs=0.08), name
        assert (first[name].role, first[name].text, first[name].attributes) == (
            second[name].role, second[name].text, second[name].attributes,
        )  # fmt: skip
    difference = ImageChops.difference(pixels(cairo), pixels(browser)).convert("L")
    assert sum(difference.histogram()[40:]) < 0.002 * 400 * 400


def test_the_browser_draws_what_cairo_leaves_out(pool: RenderPool):
    blurred = draw(pool, '<rect x="30" y="30" width="40" height="40" style="filter:blur(6px)"/>')
    shown = pixels(blurred)
    assert 20 < shown.getpixel((112, 200))[0] < 235, "the edge must be soft"  # type: ignore[index]


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("empty", "   "),
        ("parse", "<svg"),
        ("parse", '<html xmlns="http://www.w3.org/1999/xhtml" viewBox="0 0 9 9"/>'),
        ("encoding", f"{HEAD}\0</svg>"),
        ("forbidden", '<!DOCTYPE svg [<!ENTITY a "b">]><svg viewBox="0 0 9 9"><text>&a;</text></svg>'),
        ("forbidden", f"{HEAD}<script/></svg>"),
        ("forbidden", f'{HEAD}<image href="http://127.0.0.1/a.png"/></svg>'),
        ("forbidden", f'{HEAD}<rect onclick="x()"/></svg>'),
        ("unsupported_feature", f'{HEAD}<animate attributeName="x"/></svg>'),
        ("invalid_geometry", '<svg viewBox="0 0 0 1"/>'),
        ("invalid_geometry", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
        ("invalid_geometry", f'{HEAD}<g id="a"><use href="#a"/></g></svg>'),
        ("too_large", f"{HEAD}{'<g>' * 500}{'</g>' * 500}</svg>"),
    ],
)
def test_refusals_are_typed(kind: str, source: str):
    outcome = examine(source, SPEC, FAMILIES)
    assert isinstance(outcome, Failure) and outcome.kind == kind


def test_blank_is_a_failure_not_a_picture(pool: RenderPool):
    outcome = pool.render(f'{HEAD}<rect width="100" height="100" fill="white"/></svg>', SPEC)
    assert isinstance(outcome, Failure) and outcome.kind == "blank"


def test_without_a_browser_nothing_is_drawn_wrongly():
    with RenderPool("svg", options={"browser": ""}) as pool:
        outcome = pool.render(f'{HEAD}<rect width="50" height="50" style="filter:blur(3px)"/></svg>', SPEC)
        assert isinstance(outcome, Failure) and outcome.kind == "unsupported_feature"
        assert isinstance(pool.render(f'{HEAD}<rect width="50" height="50"/></svg>', SPEC), Render)


def test_a_character_that_the_font_lacks_is_never_a_box(pool: RenderPool):
    body = '<text id="t" x="10" y="60" font-size="40" font-family="DejaVu Sans">{}</text>'
    plain = draw(pool, body.format("⌀ ♠"))
    assert plain.log["engine"] == "cairo"
    lacking = draw(pool, body.format("a \u2b7f").replace("DejaVu Sans", "Noto Sans"))
    assert (lacking.log["engine"], lacking.log["reasons"]) == ("browser", "missing glyph")
    with RenderPool("svg", options={"browser": ""}) as alone:
        outcome = alone.render(f"{HEAD}{body.format('♠').replace('DejaVu Sans', 'Noto Sans')}</svg>", SPEC)
    assert isinstance(outcome, Failure) and outcome.kind == "font_missing"
