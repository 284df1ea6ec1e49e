"""SVG templates: instruments one reads a value from (gauges, clocks, thermometers, monitors)."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, legible, mix, on
from .svg import Drawing, Svg, path, polar, sector, slug


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
                svg.path(
                    sector(
                        cx, cy, radius * 0.78, radius, start + span * zone / zones, start + span * (zone + 1) / zones
                    ),
                    mix(p.accents[zone], p.paper, 0.55 if zones == 1 else 0.15),
                )
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
        svg.line(
            polar(c, c, -20, angles[name]),
            polar(c, c, r * length, angles[name]),
            hand,
            width,
            id=f"{name}-hand",
            stroke_linecap="round",
        )
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
    caption = (
        f"{words.number(count).capitalize()} thermometers for {words.join(names)}; the warmest is "
        f"{names[warm]} with {values[warm]} °C."
    )
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
    return Drawing(svg, f"A dark monitor screen with {words.plural(traces, 'trace')}: {shown}.", {"traces": traces})


TEMPLATES = {
    "gauge": gauge,
    "clock_face": clock_face,
    "thermometers": thermometers,
    "wave_monitor": wave_monitor,
}
