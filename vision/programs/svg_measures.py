"""SVG templates: instruments and measures (gauges, radar, heat map, candles, clocks, schedules)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, legible, mix, on
from .svg import Drawing, Svg, count_noun, fit, path, polar, ring, sector, slug
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
        f"A radar chart with {count_noun(axes, 'axis', 'axes')} and {count_noun(series, 'profile')}: {words.join(who)}."
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
    caption = f"A heat map of {topic.lower()} with {count_noun(rows, 'row')} (cities) and {count_noun(columns, 'column')} (hours from {first} to {first + columns - 1})."
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
        svg.rect(x - slot * 0.32, bottom - scale * max(level, close), slot * 0.64, scale * abs(close - level), colour,
                 id=f"day-{k + 1}")  # fmt: skip
        level = close
    caption = f"A candlestick chart of {name} over {count} days, of which {rises} closed higher than they opened."
    return Drawing(svg, caption, {"days": count, "rising_days": rises})


def gauge(rng: random.Random, p: Palette) -> Drawing:
    count = rng.choice((1, 1, 2, 3))
    names, span = words.some(rng, words.TOPICS, count), rng.choice((180, 240, 270))
    cell = {1: 420, 2: 300, 3: 240}[count]
    svg = Svg(cell * count, cell, p.paper)
    values = [rng.randint(4, 97) for _ in names]
    for k, (name, value) in enumerate(zip(names, values, strict=True)):
        cx, cy, radius = cell * (k + 0.5), cell * (0.62 if span == 180 else 0.52), cell * 0.36
        start = -span / 2
        with svg.group(id=f"gauge-{slug(name)}"):
            zones = rng.choice((1, 3, 5))
            for zone in range(zones):
                svg.path(sector(cx, cy, radius * 0.78, radius, start + span * zone / zones, start + span * (zone + 1) / zones),
                         mix(p.accents[zone], p.paper, 0.55 if zones == 1 else 0.15))  # fmt: skip
            if zones == 1:
                svg.path(sector(cx, cy, radius * 0.78, radius, start, start + span * value / 100), p.accents[0])
            ticks = rng.choice((10, 12, 20))
            for tick in range(ticks + 1):
                angle = start + span * tick / ticks
                svg.line(polar(cx, cy, radius * 1.04, angle), polar(cx, cy, radius * 1.1, angle), p.muted, 2)
            angle = start + span * value / 100
            needle = [polar(cx, cy, radius * 0.7, angle), polar(cx, cy, 8, angle + 90), polar(cx, cy, 8, angle - 90)]
            svg.polygon(needle, p.ink, id=f"needle-{slug(name)}")
            svg.circle(cx, cy, 10, p.ink)
            svg.text(
                cx,
                cy + radius * 0.5,
                f"{value}%",
                cell * 0.085,
                p.ink,
                "middle",
                id=f"value-{slug(name)}",
                font_weight="bold",
            )
            svg.text(cx, cell * 0.93, name, cell * 0.055, p.muted, "middle", id=f"name-{slug(name)}")
    shown = words.join([f"{name} at {value}%" for name, value in zip(names, values, strict=True)])
    caption = f"{words.number(count).capitalize()} dial {'gauge' if count == 1 else 'gauges'} showing {shown}."
    return Drawing(svg, caption, {"gauges": count, "first_value": values[0]})


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
    caption = f"A box plot of {topic.lower()} in {words.join(names)}; the highest median, {medians[best]}, is that of {names[best]}."
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
    marks = f" and {count_noun(diamond, 'milestone')}" if diamond else ""
    caption = f"A Gantt chart with {count_noun(tasks, 'task')}{marks} over {weeks} weeks; the longest task takes {count_noun(longest[0], 'week')}."
    return Drawing(svg, caption, {"tasks": tasks, "weeks": weeks, "milestones": diamond, "longest_weeks": longest[0]})


def clock_face(rng: random.Random, p: Palette) -> Drawing:
    hour, minute, look = (
        rng.randint(1, 12),
        rng.randrange(0, 60, 1),
        rng.choice(("numbers", "bars", "dots", "quarters")),
    )
    side = 440
    svg = Svg(side, side, rng.choice((p.paper, mix(p.accents[1], p.paper, 0.6))))
    c, r = side / 2, 180
    face, square = rng.choice((p.panel, "#ffffff", p.accents[0])), rng.random() < 0.3
    if square:
        svg.rect(c - r, c - r, 2 * r, 2 * r, face, id="face", rx=40, stroke=p.ink, stroke_width=rng.choice((4, 10)))
    else:
        svg.circle(c, c, r, face, id="face", stroke=p.ink, stroke_width=rng.choice((4, 10, 16)))
    hand = on(face)
    for k in range(60 if look == "bars" else 12):
        big = look != "bars" or k % 5 == 0
        angle = k * (6 if look == "bars" else 30)
        if look == "numbers" or (look == "quarters" and k % 3 == 0):
            x, y = polar(c, c, r * 0.8, angle)
            svg.text(x, y + 9, k or 12, 26, hand, "middle", id=f"hour-{k or 12}", font_weight="bold")
        elif look == "bars":
            svg.line(
                polar(c, c, r * (0.78 if big else 0.86), angle), polar(c, c, r * 0.91, angle), hand, 6 if big else 2
            )
        else:
            svg.circle(*polar(c, c, r * 0.82, angle), 5 if look == "quarters" else 9, hand)
    angles = {"hour": (hour % 12 + minute / 60) * 30, "minute": minute * 6.0}
    for name, length, width in (("hour", 0.48, 12), ("minute", 0.7, 7)):
        svg.line(polar(c, c, -20, angles[name]), polar(c, c, r * length, angles[name]), hand, width, id=f"{name}-hand",
                 stroke_linecap="round")  # fmt: skip
    accent = legible(p.accents[2], face)
    svg.line(polar(c, c, -30, 6 * rng.randrange(60)), (c, c), accent, 3)
    svg.circle(c, c, 12, accent, id="hub")
    caption = f"A {'square' if square else 'round'} clock face showing {hour}:{minute:02d}."
    return Drawing(svg, caption, {"hour": hour, "minute": minute})


def thermometers(rng: random.Random, p: Palette) -> Drawing:
    count = rng.randint(2, 6)
    names = words.some(rng, words.CITIES, count)
    values = [rng.randint(-15, 38) for _ in names]
    svg = Svg(110 * count + 60, 420, p.paper)
    for k, (name, value) in enumerate(zip(names, values, strict=True)):
        x, colour = 85 + 110 * k, "#d1495b" if value > 20 else "#457b9d" if value < 5 else p.accents[0]
        with svg.group(id=f"thermometer-{slug(name)}"):
            svg.rect(x - 15, 40, 30, 270, mix(p.ink, p.paper, 0.9), rx=15, stroke=p.ink, stroke_width=3)
            svg.circle(x, 318, 30, colour, stroke=p.ink, stroke_width=3)
            level = 290 - (value + 20) * 4
            svg.rect(x - 7, level, 14, 300 - level, colour, id=f"column-{slug(name)}", rx=5)
            for mark in range(-20, 41, 10):
                svg.line((x + 18, 290 - (mark + 20) * 4), (x + 26, 290 - (mark + 20) * 4), p.muted, 2)
                svg.text(x + 30, 294 - (mark + 20) * 4, mark, 11, p.muted)
        svg.text(x, 374, f"{value} °C", 19, p.ink, "middle", id=f"value-{slug(name)}", font_weight="bold")
        svg.text(x, 398, name, 14, p.muted, "middle", id=f"name-{slug(name)}")
    warm = values.index(max(values))
    caption = f"{words.number(count).capitalize()} thermometers for {words.join(names)}; the warmest is {names[warm]} with {values[warm]} °C."
    return Drawing(svg, caption, {"thermometers": count, "warmest": names[warm], "warmest_celsius": values[warm]})


def wave_monitor(rng: random.Random, p: Palette) -> Drawing:
    traces, width = rng.randint(2, 4), rng.choice((560, 640, 720))
    svg = Svg(width, 60 + 110 * traces, "#0b1416")
    names, colours = words.some(rng, words.NOUNS, traces), ("#4ade80", "#facc15", "#38bdf8", "#f472b6")
    readings = [rng.randint(40, 180) for _ in names]
    for k, name in enumerate(names):
        y, beat, kind = 85 + 110 * k, rng.uniform(50, 150), rng.choice(("pulse", "square", "saw", "bumps"))
        shapes = {
            "pulse": (
                (0, 0),
                (0.3, 0),
                (0.38, -0.2),
                (0.45, 0),
                (0.5, 1),
                (0.57, -0.5),
                (0.63, 0),
                (0.8, 0.15),
                (1, 0),
            ),
            "square": ((0, 0.8), (0.5, 0.8), (0.5, -0.4), (1, -0.4)),
            "saw": ((0, -0.4), (0.85, 0.8), (1, -0.4)),
            "bumps": ((0, -0.3), (0.2, 0.5), (0.4, 0.9), (0.6, 0.5), (0.8, -0.1), (1, -0.3)),
        }[kind]
        points, x = [], 20.0
        while x < width - 140:
            height = rng.uniform(30, 44)
            points += [(min(x + beat * u, width - 130), y - height * v) for u, v in shapes]
            x += beat
        svg.rect(12, y - 55, width - 24, 100, "#132024", id=f"panel-{name}", rx=6)
        svg.path(path(points), id=f"trace-{name}", stroke=colours[k], stroke_width=2.5, stroke_linejoin="round")
        svg.text(width - 104, y - 22, name, 14, colours[k], id=f"name-{name}")
        svg.text(width - 104, y + 22, readings[k], 36, colours[k], id=f"reading-{name}", font_weight="bold")
    svg.text(16, 22, f"Monitor {rng.randint(1, 40)}", 13, "#9fb3b5", id="title")
    shown = words.join([f"{name} at {value}" for name, value in zip(names, readings, strict=True)])
    return Drawing(svg, f"A dark monitor screen with {count_noun(traces, 'trace')}: {shown}.", {"traces": traces})


TEMPLATES = {
    "radar_chart": radar_chart,
    "heat_map": heat_map,
    "candlesticks": candlesticks,
    "gauge": gauge,
    "box_plot": box_plot,
    "pyramid": pyramid,
    "gantt": gantt,
    "clock_face": clock_face,
    "thermometers": thermometers,
    "wave_monitor": wave_monitor,
}
