"""SVG templates: charts of spread, rank and time (radar, heat map, candles, boxes, pyramid, plan)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, legible, mix
from .svg import Drawing, Svg, fit, polar, ring, slug
from .svg_charts import frame, grid, size


def radar_chart(rng: random.Random, p: Palette) -> Drawing:
    axes, rings, series = rng.randint(4, 9), rng.randint(3, 5), rng.randint(1, 3)
    labels, who = words.some(rng, words.ADJECTIVES, axes), words.some(rng, words.FIRST, series)
    side = 500
    svg = Svg(side, side + 40, p.paper)
    svg.text(side / 2, 40, f"{words.word(rng)} profile", 24, p.ink, "middle", id="title", font_weight="bold")
    cx, cy, radius, turn = side / 2, side / 2 + 24, 165, rng.uniform(0, 360 / axes)
    with svg.group(id="web", fill="none", stroke=p.line):
        for k in range(1, rings + 1):
            svg.add(
                "polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in ring(cx, cy, radius * k / rings, axes, turn))
            )
        for x, y in ring(cx, cy, radius, axes, turn):
            svg.add("line", x1=cx, y1=cy, x2=x, y2=y)
    for label, (x, y) in zip(labels, ring(cx, cy, radius + 22, axes, turn), strict=True):
        anchor = "middle" if abs(x - cx) < 40 else "start" if x > cx else "end"
        svg.text(x, y + 5, label, 14, p.ink, anchor, id=f"axis-{label}")
    for k, name in enumerate(who):
        points = [polar(cx, cy, radius * rng.uniform(0.25, 1), turn + 360 * j / axes) for j in range(axes)]
        colour = legible(p.accents[k], p.paper)
        svg.polygon(points, colour, id=f"shape-{slug(name)}", fill_opacity=0.28, stroke=colour, stroke_width=2.5)
        svg.text(
            side / (series + 1) * (k + 1),
            side + 22,
            name,
            16,
            colour,
            "middle",
            id=f"name-{slug(name)}",
            font_weight="bold",
        )
    caption = (
        f"A radar chart with {words.plural(axes, 'axis', 'axes')} and {words.plural(series, 'profile')}: "
        f"{words.join(who)}."
    )
    return Drawing(svg, caption, {"axes": axes, "profiles": series})


def heat_map(rng: random.Random, p: Palette) -> Drawing:
    columns, rows = rng.randint(5, 14), rng.randint(4, 8)
    topic, cell = rng.choice(words.TOPICS), rng.choice((34, 40, 46))
    width, height = columns * cell + 130, rows * cell + 120
    svg = Svg(width, height, p.paper)
    heading = f"{topic}, hour by hour"
    svg.text(24, 40, heading, fit(heading, 22, width - 48), p.ink, id="title", font_weight="bold")
    names, low, high = words.some(rng, words.CITIES, rows), mix(p.accents[0], p.paper, 0.88), p.accents[0]
    first, gap, rounding = rng.randint(0, 8), rng.choice((0, 2, 4)), rng.choice((None, 4, cell / 2))
    peak, waves = (rng.uniform(0, columns), rng.uniform(0, rows)), rng.uniform(2, 5)
    hottest = (-1.0, 0, 0)
    for row, name in enumerate(names):
        y = 70 + row * cell
        svg.text(96, y + cell / 2 + 5, name, 12, p.ink, "end")
        with svg.group(id=f"row-{slug(name)}"):
            for column in range(columns):
                distance = ((column - peak[0]) ** 2 + (row - peak[1]) ** 2) ** 0.5
                heat = max(0.0, min(1.0, 1 - distance / waves / 2 + rng.uniform(-0.3, 0.3)))
                hottest = max(hottest, (heat, row, column))
                svg.rect(104 + column * cell, y, cell - gap, cell - gap, mix(low, high, heat), rx=rounding)
    for column in range(columns):
        svg.text(104 + (column + 0.5) * cell, 88 + rows * cell, f"{first + column}h", 11, p.muted, "middle")
    caption = (
        f"A heat map of {topic.lower()} with {words.plural(rows, 'row')} (cities) and "
        f"{words.plural(columns, 'column')} (hours from {first} to {first + columns - 1})."
    )
    return Drawing(svg, caption, {"rows": rows, "columns": columns, "hottest_row": names[hottest[1]]})


def candlesticks(rng: random.Random, p: Palette) -> Drawing:
    count, name = rng.randint(12, 26), words.brand(rng)
    svg, left, top, right, bottom = frame(rng, p, f"{name}: daily price", *size(rng))
    grid(svg, p, left, top, right, bottom, 200, 4)
    slot, level, rises = (right - left) / count, rng.uniform(0.35, 0.65), 0
    up, down = ("#2a9d6f", "#d1495b") if rng.random() < 0.6 else (p.accents[0], p.ink)
    for k in range(count):
        close = min(max(level + rng.gauss(0, 0.09), 0.08), 0.92)
        if abs(close - level) < 0.015:
            close = level + 0.02
        high, low = max(level, close) + rng.uniform(0.01, 0.07), min(level, close) - rng.uniform(0.01, 0.07)
        colour = up if close > level else down
        rises += close > level
        x, scale = left + slot * (k + 0.5), bottom - top
        svg.line((x, bottom - scale * high), (x, bottom - scale * low), colour, 1.5)
        svg.rect(
            x - slot * 0.32,
            bottom - scale * max(level, close),
            slot * 0.64,
            scale * abs(close - level),
            colour,
            id=f"day-{k + 1}",
        )
        level = close
    caption = f"A candlestick chart of {name} over {count} days, of which {rises} closed higher than they opened."
    return Drawing(svg, caption, {"days": count, "rising_days": rises})


def box_plot(rng: random.Random, p: Palette) -> Drawing:
    count, topic = rng.randint(3, 7), rng.choice(words.TOPICS)
    names = words.some(rng, words.CITIES, count)
    svg, left, top, right, bottom = frame(rng, p, f"Spread of {topic.lower()}", *size(rng))
    grid(svg, p, left, top, right, bottom, 100, 5)
    slot, scale, medians = (right - left) / count, (bottom - top) / 100, []
    for k, name in enumerate(names):
        low, q1, median, q3, high = sorted(rng.sample(range(4, 97), 5))
        medians.append(median)
        x, half, colour = left + slot * (k + 0.5), slot * 0.28, legible(p.accents[k % 6], p.paper)
        with svg.group(id=f"box-{slug(name)}", stroke=colour, stroke_width=2):
            svg.add("line", x1=x, y1=bottom - high * scale, x2=x, y2=bottom - low * scale)
            for value in (low, high):
                svg.add("line", x1=x - half / 2, y1=bottom - value * scale, x2=x + half / 2, y2=bottom - value * scale)
            svg.rect(x - half, bottom - q3 * scale, 2 * half, (q3 - q1) * scale, mix(colour, p.paper, 0.6))
            svg.add(
                "line", x1=x - half, y1=bottom - median * scale, x2=x + half, y2=bottom - median * scale, stroke_width=4
            )
        svg.text(x, bottom + 20, name, fit(name, svg.width * 0.025, slot * 0.95), p.ink, "middle")
    best = medians.index(max(medians))
    caption = (
        f"A box plot of {topic.lower()} in {words.join(names)}; the highest median, {medians[best]}, is that "
        f"of {names[best]}."
    )
    return Drawing(svg, caption, {"boxes": count, "highest_median": medians[best], "highest": names[best]})


def pyramid(rng: random.Random, p: Palette) -> Drawing:
    bands, place = rng.randint(6, 12), rng.choice(words.CITIES)
    svg = Svg(560, 120 + bands * 30, p.paper)
    svg.text(280, 42, f"Population of {place} by age", 22, p.ink, "middle", id="title", font_weight="bold")
    left, right, shape = p.accents[0], p.accents[1], rng.choice((-1, 0, 1))
    for k in range(bands):
        age, y = (bands - 1 - k) * 100 // bands, 84 + 30 * k
        for side, colour in ((-1, left), (1, right)):
            length = 60 + 130 * abs(rng.random() * 0.6 + shape * (k / bands - 0.5) * 0.8 + 0.2)
            length = min(length, 215)
            svg.rect(
                280 + (30 if side > 0 else -30 - length),
                y,
                length,
                24,
                colour,
                id=f"{'left' if side < 0 else 'right'}-{age}",
            )
        svg.text(280, y + 17, age, 13, p.ink, "middle")
    svg.text(130, 72, "women", 14, legible(left, p.paper), "middle", id="label-women")
    svg.text(430, 72, "men", 14, legible(right, p.paper), "middle", id="label-men")
    return Drawing(
        svg,
        f"A population pyramid of {place} with {bands} age bands, women at the left and men at the right.",
        {"bands": bands},
    )


def gantt(rng: random.Random, p: Palette) -> Drawing:
    tasks, weeks = rng.randint(5, 10), rng.randint(8, 16)
    left, step, row = 170, 30, 34
    svg = Svg(left + weeks * step + 30, 96 + tasks * row, p.paper)
    svg.text(24, 38, f"Plan for {words.title(rng)}", 20, p.ink, id="title", font_weight="bold")
    for week in range(weeks):
        svg.line((left + week * step, 64), (left + week * step, 76 + tasks * row), p.line)
        svg.text(left + (week + 0.5) * step, 66, week + 1, 10, p.muted, "middle")
    start, longest, diamond = 0, (0, ""), 0
    for k in range(tasks):
        label = words.action(rng)
        length = rng.randint(1, max(1, weeks // 3))
        start = min(max(0, start + rng.randint(-1, 2)), weeks - length)
        longest = max(longest, (length, label))
        y, colour = 76 + k * row, p.accents[k % 4]
        svg.text(24, y + 20, label, fit(label, 13, left - 34), p.ink)
        svg.rect(left + start * step, y + 5, length * step, row - 12, colour, id=f"task-{k + 1}", rx=5)
        if rng.random() < 0.25:
            diamond += 1
            cx = left + (start + length) * step
            svg.polygon(
                [(cx - 8, y + 16), (cx, y + 8), (cx + 8, y + 16), (cx, y + 24)], p.ink, id=f"milestone-{diamond}"
            )
        start += length
    marks = f" and {words.plural(diamond, 'milestone')}" if diamond else ""
    caption = (
        f"A Gantt chart with {words.plural(tasks, 'task')}{marks} over {weeks} weeks; the longest task takes "
        f"{words.plural(longest[0], 'week')}."
    )
    return Drawing(svg, caption, {"tasks": tasks, "weeks": weeks, "milestones": diamond, "longest_weeks": longest[0]})


TEMPLATES = {
    "radar_chart": radar_chart,
    "heat_map": heat_map,
    "candlesticks": candlesticks,
    "box_plot": box_plot,
    "pyramid": pyramid,
    "gantt": gantt,
}
