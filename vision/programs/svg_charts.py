"""SVG templates: charts drawn by hand, as a designer without a plotting library would."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, legible, mix, on
from .svg import Drawing, Svg, fit, path, polar, sector, short, slug, smooth, text_width


def frame(
    rng: random.Random, p: Palette, heading: str, width: int, height: int
) -> tuple[Svg, float, float, float, float]:
    """A sheet with a heading; returns it with the plot area (left, top, right, bottom)."""
    svg = Svg(width, height, p.paper)
    centred = rng.random() < 0.35
    size = fit(heading, width * 0.045, width * 0.84)
    svg.text(
        width / 2 if centred else width * 0.08,
        height * 0.1,
        heading,
        size,
        p.ink,
        "middle" if centred else "start",
        id="title",
        font_weight="bold",
    )
    return (
        svg,
        width * rng.uniform(0.1, 0.14),
        height * rng.uniform(0.17, 0.22),
        width * 0.94,
        height * rng.uniform(0.82, 0.86),
    )


def grid(svg: Svg, p: Palette, left: float, top: float, right: float, bottom: float, highest: int, steps: int) -> None:
    """Horizontal grid lines with their values at the left."""
    with svg.group(id="grid", font_size=svg.width * 0.022, fill=p.muted, text_anchor="end"):
        for k in range(steps + 1):
            y = bottom - (bottom - top) * k / steps
            svg.line((left, y), (right, y), p.line)
            svg.add("text", str(round(highest * k / steps)), x=left - 8, y=y + svg.width * 0.008)


def size(rng: random.Random) -> tuple[int, int]:
    return rng.choice(((640, 400), (600, 450), (560, 420), (520, 520), (720, 420), (480, 560)))


def bar_chart(rng: random.Random, p: Palette) -> Drawing:
    topic, unit, count = rng.choice(words.TOPICS), rng.choice(words.UNITS), rng.randint(4, 9)
    names = words.some(rng, words.CITIES, count)
    highest = rng.choice((40, 60, 80, 100, 200, 400))
    values = [rng.randint(highest // 12, highest) for _ in names]
    svg, left, top, right, bottom = frame(rng, p, f"{topic} by city ({unit})", *size(rng))
    grid(svg, p, left, top, right, bottom, highest, rng.choice((4, 5)))
    slot, share, radius = (right - left) / count, rng.uniform(0.45, 0.85), rng.choice((0, 0, 4, 10))
    best, accent = values.index(max(values)), p.accents[0]
    varied, tilt = rng.random() < 0.4, slot < 66
    with svg.group(id="bars"):
        for k, (name, value) in enumerate(zip(names, values, strict=True)):
            fill = p.accents[k % len(p.accents)] if varied else accent if k == best else mix(accent, p.paper, 0.45)
            bar, x = (bottom - top) * value / highest, left + slot * (k + 0.5)
            svg.rect(
                x - slot * share / 2, bottom - bar, slot * share, bar, fill, id=f"bar-{slug(name)}", rx=radius or None
            )
            svg.text(x, bottom - bar - 6, value, svg.width * 0.024, p.ink, "middle", id=f"value-{slug(name)}")
            turn = f"rotate(-35 {short(x)} {short(bottom + 18)})" if tilt else None
            svg.text(
                x + (8 if tilt else 0),
                bottom + 18,
                name,
                svg.width * 0.023,
                p.ink,
                "end" if tilt else "middle",
                transform=turn,
            )
    svg.line((left, bottom), (right, bottom), p.ink, 1.5, id="baseline")
    caption = (
        f'A bar chart titled "{topic} by city ({unit})" compares {words.number(count)} cities. '
        f"{names[best]} is highest with {values[best]} {unit}."
    )
    return Drawing(svg, caption, {"bars": count, "highest": names[best], "highest_value": values[best], "unit": unit})


def stacked_bars(rng: random.Random, p: Palette) -> Drawing:
    topic, rows, parts = rng.choice(words.TOPICS), rng.randint(3, 8), rng.randint(3, 5)
    names, keys = words.some(rng, words.CITIES, rows), words.some(rng, words.NOUNS, parts)
    svg, left, top, right, bottom = frame(rng, p, f"{topic}: shares by origin", *size(rng))
    left = svg.width * 0.2
    slot = (bottom - top - 24) / rows
    with svg.group(id="legend"):
        x = left
        for k, key in enumerate(keys):
            svg.rect(x, top - 12, 11, 11, p.accents[k], id=f"key-{key}", rx=2)
            svg.text(x + 16, top - 2, key, svg.width * 0.021, p.ink)
            x += (right - left) / parts
    with svg.group(id="rows"):
        for row, name in enumerate(names):
            cuts = sorted(rng.sample(range(1, 20), parts - 1))
            shares = [5 * (b - a) for a, b in zip([0, *cuts], [*cuts, 20], strict=True)]
            y, x = top + 18 + slot * row, left
            svg.text(left - 10, y + slot * 0.48, name, svg.width * 0.025, p.ink, "end")
            for k, share in enumerate(shares):
                width = (right - left) * share / 100
                svg.rect(x, y, width, slot * 0.68, p.accents[k], id=f"part-{slug(name)}-{keys[k]}")
                if share >= 10:
                    svg.text(
                        x + width / 2, y + slot * 0.34 + 4, f"{share}%", svg.width * 0.021, on(p.accents[k]), "middle"
                    )
                x += width
    caption = (
        f"A stacked bar chart of {topic.lower()} with {words.plural(rows, 'row')}, each split into {words.join(keys)}."
    )
    return Drawing(svg, caption, {"rows": rows, "parts": parts})


def line_chart(rng: random.Random, p: Palette) -> Drawing:
    topic, series, count = rng.choice(words.TOPICS), rng.randint(1, 4), rng.choice((6, 7, 8, 10, 12))
    names, highest = words.some(rng, words.CITIES, series), rng.choice((50, 80, 100, 250))
    svg, left, top, right, bottom = frame(rng, p, f"{topic}, monthly", *size(rng))
    grid(svg, p, left, top, right, bottom, highest, 5)
    right -= svg.width * 0.1
    xs = [left + (right - left) * k / (count - 1) for k in range(count)]
    start = rng.randrange(12)
    for k, x in enumerate(xs):
        svg.text(x, bottom + 20, words.MONTHS[(start + k) % 12], svg.width * 0.022, p.muted, "middle")
    curved, dots = rng.random() < 0.5, rng.random() < 0.6
    ends: list[tuple[float, str, str]] = []
    for row, name in enumerate(names):
        level = rng.uniform(0.2, 0.85)
        points = []
        for x in xs:
            level = min(max(level + rng.uniform(-0.2, 0.2), 0.04), 0.98)
            points.append((x, bottom - (bottom - top) * level))
        colour = legible(p.accents[row], p.paper)
        svg.path(
            smooth(points) if curved else path(points),
            id=f"line-{slug(name)}",
            stroke=colour,
            stroke_width=3,
            stroke_linejoin="round",
            stroke_dasharray="7 5" if row == 3 else None,
        )
        if dots:
            for x, y in points:
                svg.circle(x, y, 4, p.paper, stroke=colour, stroke_width=2)
        ends.append((points[-1][1] + 4, name, colour))
    free, text_size = 0.0, svg.width * 0.025
    for y, name, colour in sorted(ends):  # names of lines that end close together give way downwards
        free = max(y, free)
        svg.text(right + 8, free, name, fit(name, text_size, svg.width * 0.13), colour, id=f"label-{slug(name)}")
        free += text_size * 1.1
    caption = (
        f"A line chart of monthly {topic.lower()} over {count} months with {words.plural(series, 'line')}: "
        f"{words.join(names)}."
    )
    return Drawing(svg, caption, {"series": series, "months": count})


def area_chart(rng: random.Random, p: Palette) -> Drawing:
    topic, layers, count = rng.choice(words.TOPICS), rng.randint(2, 5), rng.randint(6, 11)
    keys, first = words.some(rng, words.NOUNS, layers), rng.randint(1995, 2014)
    svg, left, top, right, bottom = frame(rng, p, f"{topic}, {first} to {first + count - 1}", *size(rng))
    weights = [[rng.uniform(0.3, 1.6) for _ in range(count)] for _ in keys]
    tallest = max(sum(layer[k] for layer in weights) for k in range(count)) * 1.08
    xs = [left + (right - left) * k / (count - 1) for k in range(count)]
    base = [bottom] * count
    for k in range(0, count, 2):
        svg.text(xs[k], bottom + 20, first + k, svg.width * 0.023, p.muted, "middle")
    for row, key in enumerate(keys):
        tops = [y - (bottom - top) * w / tallest for y, w in zip(base, weights[row], strict=True)]
        upper = smooth(list(zip(xs, tops, strict=True)), 0.16)
        lower = smooth(list(zip(reversed(xs), reversed(base), strict=True)), 0.16).replace("M", "L", 1)
        svg.path(f"{upper} {lower} Z", p.accents[row], id=f"area-{key}", stroke=p.paper, stroke_width=1.5)
        base = tops
        middle = count // 2
        y = (base[middle] + base[middle] + (bottom - top) * weights[row][middle] / tallest) / 2 + 4
        svg.text(xs[middle], y, key, svg.width * 0.025, on(p.accents[row]), "middle", id=f"label-{key}")
    svg.line((left, bottom), (right, bottom), p.ink, 1.5)
    caption = (
        f"A stacked area chart of {topic.lower()} from {first} to {first + count - 1} with layers for "
        f"{words.join(keys)}."
    )
    return Drawing(svg, caption, {"layers": layers, "first_year": first, "last_year": first + count - 1})


def donut_chart(rng: random.Random, p: Palette) -> Drawing:
    topic, count = rng.choice(words.TOPICS), rng.randint(3, 6)
    keys = words.some(rng, words.GOODS, count)
    cuts = sorted(rng.sample(range(2, 49), count - 1))
    shares = [2 * (b - a) for a, b in zip([0, *cuts], [*cuts, 50], strict=True)]
    width, height = rng.choice(((640, 400), (560, 400), (440, 600)))
    svg = Svg(width, height, p.paper)
    svg.text(
        width / 2, height * 0.11, f"{topic} by product", width * 0.045, p.ink, "middle", id="title", font_weight="bold"
    )
    wide = width > height
    cx, cy = (width * 0.3, height * 0.57) if wide else (width / 2, height * 0.4)
    radius = height * 0.34 if wide else width * 0.34
    hole = radius * rng.choice((0, 0.45, 0.6, 0.72))
    angle = rng.uniform(0, 360)
    best = shares.index(max(shares))
    with svg.group(id="slices"):
        for k, (key, share) in enumerate(zip(keys, shares, strict=True)):
            dx, dy = polar(0, 0, radius * 0.06, angle + share * 1.8) if k == best else (0, 0)
            d = sector(cx + dx, cy + dy, hole, radius, angle, angle + share * 3.6)
            svg.path(d, p.accents[k], id=f"slice-{slug(key)}", stroke=p.paper, stroke_width=2)
            angle += share * 3.6
    if hole:
        svg.text(
            cx, cy + width * 0.02, f"{shares[best]}%", hole * 0.5, p.ink, "middle", id="centre", font_weight="bold"
        )
    x, y, step = (width * 0.58, height * 0.34, height * 0.095) if wide else (width * 0.2, height * 0.7, height * 0.045)
    for k, (key, share) in enumerate(zip(keys, shares, strict=True)):
        svg.rect(x, y + step * k - 11, 14, 14, p.accents[k], id=f"key-{slug(key)}", rx=3)
        svg.text(x + 22, y + step * k + 2, f"{key}, {share}%", width * 0.026, p.ink)
    kind = "donut" if hole else "pie"
    caption = (
        f"A {kind} chart of {topic.lower()} with {words.plural(count, 'slice')}; the largest is {keys[best]} at "
        f"{shares[best]}%."
    )
    return Drawing(svg, caption, {"slices": count, "largest": keys[best], "largest_percent": shares[best]})


def scatter_plot(rng: random.Random, p: Palette) -> Drawing:
    first, second = words.some(rng, words.TOPICS, 2)
    groups, count = rng.randint(1, 3), rng.randint(14, 40)
    svg, left, top, right, bottom = frame(rng, p, f"{second} against {first.lower()}", *size(rng))
    bubbles, names = rng.random() < 0.5, words.some(rng, words.NOUNS, groups)
    for k in range(6):
        x, y = left + (right - left) * k / 5, bottom - (bottom - top) * k / 5
        svg.line((x, top), (x, bottom), p.line)
        svg.line((left, y), (right, y), p.line)
        svg.text(x, bottom + 18, 20 * k, svg.width * 0.02, p.muted, "middle")
        svg.text(left - 8, y + 4, 20 * k, svg.width * 0.02, p.muted, "end")
    for group, name in enumerate(names):
        mx, my, slope = rng.uniform(0.25, 0.75), rng.uniform(0.25, 0.75), rng.uniform(-1, 1)
        with svg.group(id=f"group-{name}", fill=p.accents[group], fill_opacity=0.75):
            for _ in range(count // groups):
                dx = rng.gauss(0, 0.16)
                u, v = min(max(mx + dx, 0.03), 0.97), min(max(my + slope * dx + rng.gauss(0, 0.07), 0.04), 0.96)
                radius = rng.uniform(5, 20) if bubbles else 5.5
                svg.add("circle", cx=left + (right - left) * u, cy=bottom - (bottom - top) * v, r=radius)
    x = left
    for group, name in enumerate(names):
        svg.circle(x + 6, bottom + 38, 6, p.accents[group], id=f"key-{name}")
        svg.text(x + 18, bottom + 43, name, svg.width * 0.024, p.ink)
        x += text_width(name, svg.width * 0.024) + 42
    total = count // groups * groups
    caption = (
        f"A {'bubble chart' if bubbles else 'scatter plot'} of {second.lower()} against {first.lower()} with "
        f"{total} points in {words.plural(groups, 'group')}."
    )
    return Drawing(svg, caption, {"points": total, "groups": groups})


def small_multiples(rng: random.Random, p: Palette) -> Drawing:
    columns, rows = rng.choice(((2, 2), (3, 2), (2, 3), (3, 3), (4, 2)))
    names = words.some(rng, words.CITIES, columns * rows)
    topic, bars = rng.choice(words.TOPICS), rng.randint(5, 12)
    width, height = 160 * columns + 40, 120 * rows + 80
    svg = Svg(width, height, p.paper)
    svg.text(
        30,
        42,
        f"{topic} in {words.number(len(names))} cities",
        fit(topic + " in twelve cities", 20, width - 60),
        p.ink,
        id="title",
        font_weight="bold",
    )
    style = rng.choice(("bars", "area", "line"))
    for k, name in enumerate(names):
        x, y = 30 + 160 * (k % columns), 70 + 120 * (k // columns)
        colour = legible(p.accents[k % 6], p.paper)
        with svg.group(id=f"panel-{slug(name)}", transform=f"translate({x} {y})"):
            svg.rect(0, 0, 140, 100, p.panel, rx=6)
            svg.text(10, 20, name, 12, p.ink, font_weight="bold")
            level, values = rng.random(), []
            for _ in range(bars):
                level = min(max(level + rng.uniform(-0.35, 0.35), 0.08), 1)
                values.append(level)
            points = [(12 + 116 * j / (bars - 1), 92 - 60 * v) for j, v in enumerate(values)]
            if style == "bars":
                for j, v in enumerate(values):
                    svg.rect(10 + 120 / bars * j, 92 - 60 * v, 120 / bars - 2, 60 * v, colour)
            elif style == "area":
                svg.path(path([(12, 92), *points, (128, 92)], close=True), colour)
            else:
                svg.polyline(points, colour, 2.5)
                svg.circle(*points[-1], 4, colour)
    look = {"bars": "bar", "area": "area", "line": "line"}[style]
    caption = (
        f"{words.number(len(names)).capitalize()} small {look} charts in {words.plural(columns, 'column')} and "
        f"{words.plural(rows, 'row')} show {topic.lower()} in {words.join(names)}."
    )
    return Drawing(svg, caption, {"panels": len(names), "columns": columns, "rows": rows})


TEMPLATES = {
    "bar_chart": bar_chart,
    "stacked_bars": stacked_bars,
    "line_chart": line_chart,
    "area_chart": area_chart,
    "donut_chart": donut_chart,
    "scatter_plot": scatter_plot,
    "small_multiples": small_multiples,
}
