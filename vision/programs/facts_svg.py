"""Fact pictures as SVG: bars, tables, tiles, dials, networks and rings with a legend, every number printed."""

from __future__ import annotations

import math
import random

from . import fact_words, words
from .palette import Palette, legible, mix, on
from .svg import Drawing, Svg, fit, ring, sector

_SIDE = 448


def bars(rng: random.Random, p: Palette) -> Drawing:
    facts = fact_words.facts(rng, 3, 5)
    height, base = rng.randint(300, 440), 0.0
    svg = _sheet(rng, p, height)
    base = height - 56
    pitch, top = (_SIDE - 40) / len(facts), max(facts.values())
    wide = pitch * rng.uniform(0.5, 0.7)
    size = min(fit(label, 16, pitch - 10) for label in facts)
    svg.line((20, base), (_SIDE - 20, base), p.muted, 2)
    for k, (label, value) in enumerate(facts.items()):
        x, tall = 20 + (k + 0.5) * pitch, max(6, (base - 110) * value / top)
        colour = p.accents[k % len(p.accents)]
        svg.rect(x - wide / 2, base - tall, wide, tall, colour, id=f"bar-{k + 1}")
        svg.text(x, base - tall - 8, value, 17, p.ink, "middle")
        svg.text(x, base + 24, label, size, p.ink, "middle")
    return _drawing(svg, facts, "A bar chart")


def rows(rng: random.Random, p: Palette) -> Drawing:
    facts = fact_words.facts(rng, 3, 8)
    step = rng.randint(38, 44)
    svg = _sheet(rng, p, 76 + step * len(facts))
    top = max(facts.values())
    for k, (label, value) in enumerate(facts.items()):
        y, long = 66 + k * step, max(4, 190 * value / top)
        svg.text(24, y + step * 0.62, label, 16, p.ink)
        svg.rect(136, y + step * 0.22, long, step * 0.56, p.accents[k % len(p.accents)], id=f"bar-{k + 1}")
        svg.text(136 + long + 10, y + step * 0.64, value, 17, p.ink)
    return _drawing(svg, facts, "A chart of lying bars")


def table(rng: random.Random, p: Palette) -> Drawing:
    facts = fact_words.facts(rng, 4, 8)
    step = rng.randint(34, 42)
    svg = _sheet(rng, p, 112 + step * len(facts))
    left, right = 28, _SIDE - 28
    head = p.accents[0]
    svg.rect(left, 62, right - left, 34, head, id="head")
    svg.text(left + 14, 84, "name of item", 14, on(head))
    svg.text(
        right - 14, 84, rng.choice(("units in stock", "orders this week", "mean of the year")), 14, on(head), "end"
    )
    for k, (label, value) in enumerate(facts.items()):
        y = 96 + k * step
        if k % 2 == 0:
            svg.rect(left, y, right - left, step, p.panel)
        svg.text(left + 14, y + step * 0.66, label, 17, p.ink)
        svg.text(right - 14, y + step * 0.66, value, 17, p.ink, "end")
    svg.line((left, 96 + step * len(facts)), (right, 96 + step * len(facts)), p.muted, 1.5)
    return _drawing(svg, facts, "A table")


def tiles(rng: random.Random, p: Palette) -> Drawing:
    columns = rng.choice((2, 3))
    facts = fact_words.facts(rng, 4, 6 if columns == 3 else 8, 8 if columns == 3 else 9)
    lines = math.ceil(len(facts) / columns)
    tall = rng.randint(84, 92)
    svg = _sheet(rng, p, 66 + lines * tall)
    wide, rounded = (_SIDE - 40) / columns, rng.choice((0, 6, 14))
    for k, (label, value) in enumerate(facts.items()):
        x, y = 20 + (k % columns) * wide, 58 + (k // columns) * tall
        colour = p.accents[k % len(p.accents)]
        svg.rect(x + 5, y + 5, wide - 10, tall - 10, colour, rx=rounded or None, id=f"tile-{k + 1}")
        svg.text(x + wide / 2, y + tall * 0.46, value, 24, on(colour), "middle", font_weight="bold")
        svg.text(x + wide / 2, y + tall * 0.72, label, 15, on(colour), "middle")
    return _drawing(svg, facts, "Tiles")


def dials(rng: random.Random, p: Palette) -> Drawing:
    facts = fact_words.facts(rng, 3, 6, 8)
    columns, lines = 3, math.ceil(len(facts) / 3)
    svg = _sheet(rng, p, 62 + 158 * lines)
    top, wide = 1.15 * max(facts.values()), (_SIDE - 20) / columns
    for k, (label, value) in enumerate(facts.items()):
        x, y = 10 + (k % columns + 0.5) * wide, 120 + (k // columns) * 158
        colour = p.accents[k % len(p.accents)]
        svg.path(sector(x, y, 40, 54, -130, 130), p.line)
        svg.path(sector(x, y, 40, 54, -130, -130 + 260 * value / top), colour, id=f"dial-{k + 1}")
        svg.text(x, y + 7, value, 19, p.ink, "middle", font_weight="bold")
        svg.text(x, y + 72, label, 16, p.ink, "middle")
    return _drawing(svg, facts, "Dials")


def network(rng: random.Random, p: Palette) -> Drawing:
    facts = fact_words.facts(rng, 3, 6)
    svg = _sheet(rng, p, 448)
    cx, cy = _SIDE / 2, 240
    places = ring(cx, cy, 140, len(facts), rng.uniform(0, 60))
    for k, place in enumerate(places):
        svg.line(place, places[(k + 1) % len(places)] if rng.random() < 0.5 else (cx, cy), p.muted, 2)
    svg.circle(cx, cy, 13, p.muted, id="hub")
    for k, ((label, value), (x, y)) in enumerate(zip(facts.items(), places, strict=True)):
        colour = p.accents[k % len(p.accents)]
        half = max(44, len(label) * 6)
        svg.circle(x, y, 29, colour, id=f"node-{k + 1}")
        svg.text(x, y + 6, value, 17, on(colour), "middle", font_weight="bold")
        svg.rect(x - half, y + 32, 2 * half, 22, p.panel, rx=4)
        svg.text(x, y + 48, label, 16, p.ink, "middle")
    return _drawing(svg, facts, "A network")


def legend(rng: random.Random, p: Palette) -> Drawing:
    facts = fact_words.facts(rng, 3, 6)
    svg = _sheet(rng, p, 300)
    total, angle = sum(facts.values()), rng.uniform(0, 360)
    inner, step = rng.choice((0, 36, 50)), 34
    top = 170 - step * len(facts) / 2
    for k, (label, value) in enumerate(facts.items()):
        colour, turn = p.accents[k % len(p.accents)], 360 * value / total
        svg.path(sector(118, 172, inner, 92, angle, angle + min(turn, 359)), colour, id=f"share-{k + 1}")
        angle += turn
        y = top + k * step
        svg.rect(236, y + 8, 16, 16, colour)
        svg.text(262, y + 22, label, 16, p.ink)
        svg.text(_SIDE - 24, y + 22, value, 17, p.ink, "end")
    return _drawing(svg, facts, "A ring with a legend")


def posts(rng: random.Random, p: Palette) -> Drawing:
    """Signposts: names on boards that point to both sides, numbers at their ends."""
    facts = fact_words.facts(rng, 3, 6)
    step = 50
    svg = _sheet(rng, p, 92 + step * len(facts))
    middle, long = _SIDE / 2, 160
    svg.rect(middle - 7, 62, 14, 30 + step * len(facts), p.muted, id="post")
    for k, (label, value) in enumerate(facts.items()):
        y, side = 66 + k * step, rng.choice((-1, 1))
        colour = p.accents[k % len(p.accents)]
        near, far, tip = middle - side * 36, middle + side * (long - 12), middle + side * (long + 12)
        svg.polygon([(near, y), (far, y), (tip, y + 18), (far, y + 36), (near, y + 36)], colour, id=f"board-{k + 1}")
        start, anchor = (near, "start") if side > 0 else (near, "end")
        svg.text(start + side * 12, y + 24, label, 16, on(colour), anchor)
        svg.text(far - side * 2, y + 24, value, 17, on(colour), "end" if side > 0 else "start", font_weight="bold")
    return _drawing(svg, facts, "A signpost")


def _sheet(rng: random.Random, p: Palette, height: float) -> Svg:
    svg = Svg(_SIDE, height, p.paper)
    title = f"{rng.choice(words.TOPICS)} by {rng.choice(('station', 'depot', 'district', 'crew', 'house', 'ship'))}"
    ink = legible(p.accents[1], p.paper)
    svg.text(24, 38, title, 20, ink, font_weight="bold")
    if rng.random() < 0.5:
        svg.line((24, 48), (24 + rng.randint(40, 120), 48), mix(ink, p.paper, 0.3), 3)
    return svg


def _drawing(svg: Svg, facts: dict[str, int], what: str) -> Drawing:
    pairs = words.join([f"{label} {value}" for label, value in facts.items()])
    return Drawing(svg, f"{what} with the numbers {pairs}.", dict(facts))


TEMPLATES = {
    "bars": bars, "rows": rows, "table": table, "tiles": tiles, "dials": dials, "network": network, "legend": legend,
    "posts": posts,
}  # fmt: skip
