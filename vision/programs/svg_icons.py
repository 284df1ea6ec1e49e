"""SVG templates: a set of simple icons, alone or as a sheet."""

from __future__ import annotations

import random
from collections.abc import Callable

from . import words
from .palette import Palette, legible, mix, on
from .svg import Drawing, Svg, ring, short, star


def _heart(svg: Svg, fill: str) -> None:
    svg.path("M0 34 C-40 8 -38 -28 -16 -28 C-6 -28 0 -20 0 -14 C0 -20 6 -28 16 -28 C38 -28 40 8 0 34 Z", fill)


def _home(svg: Svg, fill: str) -> None:
    svg.polygon(
        [(-36, 0), (0, -34), (36, 0), (26, 0), (26, 32), (8, 32), (8, 10), (-8, 10), (-8, 32), (-26, 32), (-26, 0)],
        fill,
    )


def _mail(svg: Svg, fill: str) -> None:
    svg.rect(-34, -24, 68, 48, fill, rx=6)
    svg.polyline([(-30, -18), (0, 6), (30, -18)], on(fill), 4)


def _bell(svg: Svg, fill: str) -> None:
    svg.path("M-28 20 Q-20 12 -20 -6 A20 20 0 0 1 20 -6 Q20 12 28 20 Z", fill)
    svg.circle(0, 27, 7, fill)


def _search(svg: Svg, fill: str) -> None:
    svg.circle(-6, -6, 20, "none", stroke=fill, stroke_width=8)
    svg.line((10, 10), (30, 30), fill, 10, stroke_linecap="round")


def _star(svg: Svg, fill: str) -> None:
    svg.polygon(star(0, 2, 36, 15, 5), fill)


def _lock(svg: Svg, fill: str) -> None:
    svg.path("M-16 -4 V-16 A16 16 0 0 1 16 -16 V-4", stroke=fill, stroke_width=7)
    svg.rect(-26, -4, 52, 38, fill, rx=7)
    svg.circle(0, 14, 6, on(fill))


def _cloud(svg: Svg, fill: str) -> None:
    for cx, cy, r in ((-16, 4, 16), (4, -8, 20), (22, 6, 14)):
        svg.circle(cx, cy, r, fill)
    svg.rect(-30, 4, 64, 16, fill, rx=8)


def _bolt(svg: Svg, fill: str) -> None:
    svg.polygon([(6, -36), (-24, 6), (-4, 6), (-10, 36), (24, -10), (2, -10)], fill)


def _leaf(svg: Svg, fill: str) -> None:
    svg.path("M-28 28 C-34 -20 0 -34 32 -32 C34 6 14 34 -28 28 Z", fill)
    svg.line((-28, 28), (16, -16), on(fill), 3)


def _camera(svg: Svg, fill: str) -> None:
    svg.rect(-36, -18, 72, 46, fill, rx=8)
    svg.rect(-14, -28, 28, 14, fill, rx=4)
    svg.circle(0, 5, 14, on(fill))
    svg.circle(0, 5, 8, fill)


def _cup(svg: Svg, fill: str) -> None:
    svg.path("M-26 -18 H18 V12 A16 16 0 0 1 2 28 H-10 A16 16 0 0 1 -26 12 Z", fill)
    svg.path("M18 -10 H24 A10 10 0 0 1 24 12 H18", stroke=fill, stroke_width=6)


def _key(svg: Svg, fill: str) -> None:
    svg.circle(-18, 0, 15, "none", stroke=fill, stroke_width=9)
    svg.path("M-3 0 H34 V12 M22 0 V10", stroke=fill, stroke_width=8)


def _flag(svg: Svg, fill: str) -> None:
    svg.line((-24, -34), (-24, 36), fill, 6, stroke_linecap="round")
    svg.path("M-22 -30 Q-4 -40 10 -30 T34 -30 V2 Q20 10 6 2 T-22 2 Z", fill)


def _gear(svg: Svg, fill: str) -> None:
    for x, y in ring(0, 0, 30, 8):
        svg.circle(x, y, 8, fill)
    svg.circle(0, 0, 27, fill)
    svg.circle(0, 0, 11, on(fill))


def _clock(svg: Svg, fill: str) -> None:
    svg.circle(0, 0, 34, fill)
    svg.polyline([(0, -20), (0, 0), (14, 10)], on(fill), 5, stroke_linecap="round")


ICONS: dict[str, Callable[[Svg, str], None]] = {
    "heart": _heart,
    "home": _home,
    "mail": _mail,
    "bell": _bell,
    "search": _search,
    "star": _star,
    "lock": _lock,
    "cloud": _cloud,
    "bolt": _bolt,
    "leaf": _leaf,
    "camera": _camera,
    "cup": _cup,
    "key": _key,
    "flag": _flag,
    "gear": _gear,
    "clock": _clock,
}


def icon_grid(rng: random.Random, p: Palette) -> Drawing:
    columns, rows = rng.choice(((2, 2), (3, 2), (2, 3), (3, 3), (4, 3), (3, 4), (4, 4), (4, 2), (5, 3)))
    names, cell, style = (
        words.some(rng, list(ICONS), columns * rows),
        120,
        rng.choice(("plain", "round", "square", "labelled")),
    )
    svg = Svg(columns * cell + 30, rows * cell + 30, p.paper)
    for k, name in enumerate(names):
        x, y, colour = 15 + cell * (k % columns + 0.5), 15 + cell * (k // columns + 0.5), p.accents[k % 6]
        with svg.group(id=f"icon-{name}", transform=f"translate({short(x)} {short(y)})"):
            if style == "round":
                svg.circle(0, 0, 52, mix(colour, p.paper, 0.7))
            elif style == "square":
                svg.rect(-50, -50, 100, 100, mix(colour, p.paper, 0.7), rx=22)
            with svg.group(
                transform="translate(0 -8)" if style == "labelled" else f"scale({0.8 if style != 'plain' else 1.1})"
            ):
                ICONS[name](svg, legible(colour, p.paper))
            if style == "labelled":
                svg.text(0, 50, name, 14, p.ink, "middle")
    return Drawing(
        svg,
        f"A sheet of {columns * rows} icons in {words.plural(columns, 'column')} and {words.plural(rows, 'row')}: "
        f"{words.join(names)}.",
        {"icons": columns * rows, "columns": columns, "rows": rows},
    )


def single_icon(rng: random.Random, p: Palette) -> Drawing:
    name, side = rng.choice(list(ICONS)), 240
    svg, shape, turn = (
        Svg(side, side, p.paper),
        rng.choice(("none", "circle", "square", "hexagon", "drop", "ring", "burst")),
        rng.uniform(-14, 14),
    )
    colour, c = p.accents[0], side / 2
    if shape == "circle":
        svg.circle(c, c, 100, colour, id="shape")
    elif shape == "square":
        svg.rect(20, 20, 200, 200, colour, id="shape", rx=rng.choice((0, 24, 60)))
    elif shape == "hexagon":
        svg.polygon(ring(c, c, 108, 6, rng.choice((0, 30))), colour, id="shape")
    elif shape == "drop":
        svg.path(f"M{c} 222 C40 150 30 20 {c} 20 C210 20 200 150 {c} 222 Z", colour, id="shape")
    elif shape == "ring":
        svg.circle(c, c, 94, "none", id="shape", stroke=colour, stroke_width=14)
    elif shape == "burst":
        svg.polygon(star(c, c, 112, 90, rng.randint(8, 18)), colour, id="shape")
    inside = on(colour) if shape not in ("none", "ring") else legible(colour, p.paper)
    badge = rng.random() < 0.4
    scale = {"none": 2.6, "ring": 1.5}.get(shape, 1.7) * rng.uniform(0.75, 1)
    with svg.group(
        id=f"icon-{name}",
        transform=(
            f"translate({short(c)} {short(c - (14 if shape == 'drop' else 0))}) rotate({short(turn)}) "
            f"scale({short(scale)})"
        ),
    ):
        ICONS[name](svg, inside)
    if badge:
        bx, by = rng.choice(((192, 48), (48, 48), (192, 192)))
        svg.circle(bx, by, 27, "#e5383b", id="badge", stroke=p.paper, stroke_width=5)
        svg.text(bx, by + 10, rng.randint(1, 9), 28, "#ffffff", "middle", id="badge-number", font_weight="bold")
    where = {"none": "", "ring": " inside a ring"}.get(shape, f" on a {shape}")
    return Drawing(
        svg,
        f"A {name} icon{where}{' with a red number badge' if badge else ''}.",
        {"icon": name, "shape": shape, "badge": badge},
    )


TEMPLATES = {
    "icon_grid": icon_grid,
    "single_icon": single_icon,
}
