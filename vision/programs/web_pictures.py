"""Inline drawings that stand for the photographs of a page: small scenes and still lifes in the page's colours."""

from __future__ import annotations

import random
from collections.abc import Callable

from .palette import Palette, mix
from .svg import Svg, path, ring, sector, short, smooth, star
from .web import Drawn, Node

Motif = Callable[[random.Random, Palette, Svg, str], None]


def picture(rng: random.Random, p: Palette, width: int, height: int, label: str, id: str | None = None) -> Node:
    """A drawing of one of several motifs, as an inline SVG that scales with its column."""
    svg = Svg(width, height)
    svg.rect(0, 0, width, height, mix(p.accents[2], "#ffffff", 0.55))
    rng.choice(MOTIFS)(rng, p, svg, mix(p.accents[3], "#ffffff", 0.3))
    return art(svg, label, id)


def art(svg: Svg, label: str, id: str | None = None) -> Node:
    """A drawing as an inline picture that scales with its column."""
    attributes = {"viewBox": f"0 0 {svg.width:g} {svg.height:g}", "role": "img", "aria-label": label, "width": "100%"}
    return Node("svg", {"id": id, **attributes} if id else attributes, (Drawn(tuple(svg.lines())),))


def _band(svg: Svg, points: list[tuple[float, float]], fill: str) -> None:
    """Everything below a soft line through the points."""
    svg.path(f"{smooth(points, 0.25)} L{short(svg.width)} {short(svg.height)} L0 {short(svg.height)} Z", fill)


def _hills(rng: random.Random, p: Palette, svg: Svg, light: str) -> None:
    w, h = svg.width, svg.height
    svg.circle(w * rng.uniform(0.2, 0.8), h * 0.3, h * 0.13, "#fff3c4")
    for k in range(3):
        points = [(w * j / 4, h * (0.5 + 0.14 * k + rng.uniform(-0.12, 0.12))) for j in range(5)]
        _band(svg, points, mix(light, p.accents[0], 0.3 * (k + 1)))


def _peaks(rng: random.Random, p: Palette, svg: Svg, light: str) -> None:
    w, h, count = svg.width, svg.height, rng.randint(3, 6)
    for k in range(count):
        x, half, top = w * (k + rng.uniform(0.2, 0.8)) / count, w * rng.uniform(0.14, 0.26), h * rng.uniform(0.15, 0.55)
        svg.polygon([(x - half, h), (x, top), (x + half, h)], mix(p.accents[k % 3], light, 0.25))
        svg.polygon(
            [(x - half * 0.2, top + (h - top) * 0.2), (x, top), (x + half * 0.2, top + (h - top) * 0.2)], "#ffffff"
        )


def _discs(rng: random.Random, p: Palette, svg: Svg, light: str) -> None:
    for k in range(rng.randint(4, 9)):
        x, y = rng.uniform(0, svg.width), rng.uniform(0, svg.height)
        svg.circle(x, y, rng.uniform(0.1, 0.35) * svg.height, p.accents[k % 5], opacity=0.75)


def _plant(rng: random.Random, p: Palette, svg: Svg, light: str) -> None:
    w, h = svg.width, svg.height
    foot = w * rng.uniform(0.35, 0.65)
    for k in range(rng.randint(5, 9)):
        x, y = foot + h * rng.uniform(-0.45, 0.45), h * rng.uniform(0.1, 0.5)
        svg.line((foot, h * 0.72), (x, y), "#3f7d4e", max(2, h * 0.015))
        svg.ellipse(x, y, h * 0.07, h * 0.11, mix("#4f9d69", p.accents[0], 0.15 * (k % 3)))
    pot = [
        (foot - h * 0.15, h * 0.68),
        (foot + h * 0.15, h * 0.68),
        (foot + h * 0.11, h * 0.94),
        (foot - h * 0.11, h * 0.94),
    ]
    svg.polygon(pot, p.accents[1])


def _waves(rng: random.Random, p: Palette, svg: Svg, light: str) -> None:
    w, h, swing = svg.width, svg.height, rng.uniform(0.02, 0.06)
    count = rng.randint(5, 11)
    for k in range(rng.randint(3, 6)):
        points = [(w * j / count, h * (0.25 + 0.16 * k + (swing if j % 2 else -swing))) for j in range(count + 1)]
        _band(svg, points, mix(p.accents[k % 4], light, 0.3))


def _blocks(rng: random.Random, p: Palette, svg: Svg, light: str) -> None:
    x = 0.0
    while x < svg.width:
        wide, tall = svg.width * rng.uniform(0.08, 0.2), svg.height * rng.uniform(0.3, 0.85)
        svg.rect(x, svg.height - tall, wide, tall, p.accents[rng.randrange(5)])
        x += wide


def _flower(rng: random.Random, p: Palette, svg: Svg, light: str) -> None:
    x, y, r = (
        svg.width * rng.uniform(0.25, 0.75),
        svg.height * rng.uniform(0.4, 0.6),
        svg.height * rng.uniform(0.32, 0.6),
    )
    svg.polygon(star(x, y, r, r * rng.uniform(0.35, 0.6), rng.randint(7, 16), rng.uniform(0, 40)), p.accents[0])
    for px, py in ring(x, y, r * 0.3, rng.randint(5, 8)):
        svg.circle(px, py, r * 0.12, light)


def _arches(rng: random.Random, p: Palette, svg: Svg, light: str) -> None:
    x, y, count = svg.width * rng.uniform(0.2, 0.8), svg.height * rng.uniform(0.85, 1.1), rng.randint(3, 6)
    step = svg.height * 0.9 / count
    for k in range(count):
        svg.path(sector(x, y, k * step + step * 0.3, (k + 1) * step, -90, 90), p.accents[k % 5])


def _leaves(rng: random.Random, p: Palette, svg: Svg, light: str) -> None:
    cell, turned = svg.height / rng.randint(2, 4), rng.random() < 0.5
    for row in range(int(svg.height / cell) + 1):
        for column in range(int(svg.width / cell) + 1):
            x, y = column * cell, row * cell
            a, b = ((x, y), (x + cell, y + cell)) if (row + column) % 2 == turned else ((x + cell, y), (x, y + cell))
            arc = f"A{short(cell)} {short(cell)} 0 0 1"
            d = f"{path([a])} {arc} {short(b[0])} {short(b[1])} {arc} {short(a[0])} {short(a[1])} Z"
            svg.path(d, p.accents[rng.randrange(4)])


def _table(rng: random.Random, p: Palette, svg: Svg, light: str) -> None:
    w, h, top = svg.width, svg.height, svg.height * rng.uniform(0.6, 0.75)
    svg.rect(0, top, w, h - top, mix(p.accents[1], "#3b2a1a", 0.3))
    for k in range(rng.randint(2, 5)):
        x, r = w * rng.uniform(0.1, 0.9), h * rng.uniform(0.1, 0.2)
        kind = rng.choice(("fruit", "cup", "bottle"))
        if kind == "fruit":
            svg.circle(x, top - r * 0.7, r, p.accents[k % 5])
            svg.line((x, top - r * 1.6), (x + r * 0.3, top - r * 2.1), "#3f7d4e", max(2, h * 0.015))
        elif kind == "cup":
            svg.rect(x - r, top - r * 1.2, 2 * r, r * 1.6, light, rx=r * 0.3)
        else:
            svg.rect(x - r * 0.5, top - r * 2, r, r * 2.4, p.accents[k % 5], rx=r * 0.2)
            svg.rect(x - r * 0.18, top - r * 2.9, r * 0.36, r, p.accents[k % 5])


MOTIFS: tuple[Motif, ...] = (_hills, _peaks, _discs, _plant, _waves, _blocks, _flower, _arches, _leaves, _table)
