"""SVG templates: maps (metro, contours, weather)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix
from .svg import Drawing, Svg, path, polar, ring, short, slug, smooth


def metro_map(rng: random.Random, p: Palette) -> Drawing:
    svg, lines = Svg(*rng.choice(((640, 460), (540, 540), (700, 420))), p.paper), rng.randint(2, 4)
    w, h, stations, names = svg.width, svg.height, 0, words.some(rng, words.NOUNS, 30)
    for k in range(lines):
        colour, x, y = p.accents[k], 50.0, h * (0.2 + 0.65 * (k + 0.5) / lines)
        points, step = [(x, y)], w / rng.choice((6, 7, 8))
        while x < w - 60 - step:
            rise = rng.choice((0, 0, -step, step)) * rng.choice((0.6, 1))
            if not 70 < y + rise < h - 60:
                rise = 0
            x, y = x + step, y + rise
            points.append((x, y))
        svg.path(
            path(points),
            id=f"line-{k + 1}",
            stroke=colour,
            stroke_width=10,
            stroke_linejoin="round",
            stroke_linecap="round",
        )
        for j, (sx, sy) in enumerate(points):
            end = j in (0, len(points) - 1)
            svg.circle(
                sx,
                sy,
                9 if end else 6,
                p.paper,
                stroke=colour if end else p.ink,
                stroke_width=3,
                id=f"station-{k + 1}-{j + 1}",
            )
            if end or j % 2 == 0:
                name = names[(stations + j) % 30].capitalize()
                svg.text(
                    sx,
                    sy - 15 if k % 2 == 0 else sy + 26,
                    name,
                    12,
                    p.ink,
                    "middle" if not end else "start" if j == 0 else "end",
                )
        stations += len(points)
    svg.text(24, 36, f"{rng.choice(words.CITIES)} Metro", 22, p.ink, id="title", font_weight="bold")
    return Drawing(
        svg,
        f"A metro map with {words.plural(lines, 'line')} and {stations} stations.",
        {"lines": lines, "stations": stations},
    )


def contour_map(rng: random.Random, p: Palette) -> Drawing:
    svg, hills, levels = Svg(*rng.choice(((560, 460), (480, 480), (640, 420)))), rng.randint(2, 4), rng.randint(4, 8)
    w, h = svg.width, svg.height
    land = rng.choice(("#e9edc9", "#f4ede4", "#dde5b6", "#e5e5e5"))
    svg.rect(0, 0, w, h, land, id="lowland")
    river = [(w * k / 6, h * rng.uniform(0.3, 0.7)) for k in range(7)]
    svg.path(smooth(river), id="river", stroke="#5fa8d3", stroke_width=rng.choice((8, 14)), stroke_linecap="round")
    highest, labels = (0, ""), []
    names = words.some(rng, words.NOUNS, hills)
    for k in range(hills):
        cx, cy, r = (
            w * (k + rng.uniform(0.3, 0.7)) / hills,
            h * rng.uniform(0.25, 0.75),
            min(w / hills * 0.55, h * 0.4) * rng.uniform(0.7, 1.1),
        )
        wobble, top, name = [rng.uniform(0.72, 1.2) for _ in range(9)], rng.randint(300, 2900), names[k].capitalize()
        highest = max(highest, (top, name))
        with svg.group(id=f"hill-{slug(name)}", stroke="#8d6e4a", stroke_width=1.5):
            for level in range(levels):
                share = 1 - level / (levels + 0.6)
                points = [polar(cx, cy, r * share * wob, 40 * j) for j, wob in enumerate(wobble)]
                svg.path(smooth([*points, points[0]], 0.2) + " Z", mix(land, "#b08968", 0.14 + 0.66 * level / levels))
        labels.append((cx, cy, f"{name} {top} m"))
    for cx, cy, text in labels:
        svg.polygon([(cx - 6, cy + 5), (cx, cy - 7), (cx + 6, cy + 5)], "#222222", id=f"peak-{slug(text)}")
        svg.text(min(max(cx, 72), w - 72), cy + 22, text, 13, "#222222", "middle", font_weight="bold")
    return Drawing(
        svg,
        f"A contour map with a river and {words.plural(hills, 'hill')}; the highest is {highest[1]} at {highest[0]} m.",
        {"hills": hills, "highest": highest[1], "highest_m": highest[0]},
    )


def weather_map(rng: random.Random, p: Palette) -> Drawing:
    svg = Svg(*rng.choice(((600, 460), (520, 520))), rng.choice(("#cfe8f6", "#dbeafe", "#d3eef0")))
    w, h, count = svg.width, svg.height, rng.randint(4, 7)
    coast = [polar(w / 2, h / 2, min(w, h) * rng.uniform(0.32, 0.52), 30 * k) for k in range(12)]
    svg.path(
        smooth([*coast, coast[0]], 0.19) + " Z",
        rng.choice(("#e8e4c9", "#d8e2c8", "#f1e3cf")),
        id="land",
        stroke="#9a9a86",
        stroke_width=2,
    )
    names, kinds = words.some(rng, words.CITIES, count), []
    for k, (x, y) in enumerate(ring(w / 2, h / 2, min(w, h) * rng.uniform(0.25, 0.33), count, rng.uniform(0, 360))):
        kind, degrees = rng.choice(("sun", "cloud", "rain", "snow", "storm")), rng.randint(-8, 36)
        kinds.append(kind)
        with svg.group(id=f"{kind}-{slug(names[k])}", transform=f"translate({short(x)} {short(y)})"):
            weather_icon(svg, kind)
        svg.text(
            x,
            y + 44,
            f"{names[k]} {degrees}°",
            14,
            "#22303c",
            "middle",
            id=f"label-{slug(names[k])}",
            font_weight="bold",
        )
    counts = [words.plural(kinds.count(kind), f"{kind} symbol") for kind in dict.fromkeys(kinds)]
    return Drawing(
        svg,
        f"A weather map of an island with {words.plural(count, 'place')}: {words.join(counts)}.",
        {"places": count, "suns": kinds.count("sun")},
    )


def weather_icon(svg: Svg, kind: str) -> None:
    """A weather symbol about 60 units wide around the origin."""
    if kind == "sun":
        for x, y in ring(0, 0, 27, 8):
            svg.line((x * 0.72, y * 0.72), (x, y), "#f4a01c", 4, stroke_linecap="round")
        svg.circle(0, 0, 15, "#ffc93c")
        return
    shade = "#6b7a8f" if kind in ("rain", "storm") else "#ffffff"
    for cx, cy, r in ((-13, -4, 12), (3, -11, 16), (17, -3, 11)):
        svg.circle(cx, cy, r, shade)
    svg.rect(-25, -5, 53, 13, shade, rx=6.5)
    if kind == "rain":
        for x in (-14, 0, 14):
            svg.line((x, 13), (x - 5, 26), "#2f7fd1", 4, stroke_linecap="round")
    elif kind == "snow":
        for x in (-14, 0, 14):
            svg.circle(x, 20, 4, "#7cc4f0")
    elif kind == "storm":
        svg.polygon([(2, 8), (-10, 24), (-1, 24), (-6, 38), (10, 19), (2, 19)], "#ffc93c")


TEMPLATES = {
    "metro_map": metro_map,
    "contour_map": contour_map,
    "weather_map": weather_map,
}
