"""SVG templates: gardens, houses, aquariums and planets, with things one can count."""

from __future__ import annotations

import math
import random

from . import words
from .palette import Palette, mix
from .svg import Drawing, Svg, ring, short, slug, smooth
from .svg_scenes import canvas, sky


def flower_garden(rng: random.Random, p: Palette) -> Drawing:
    svg = canvas(rng)
    w, h = svg.width, svg.height
    svg.rect(0, 0, w, h, rng.choice(("#eaf6ff", "#fff7e6", "#fdf0f5", "#eef8ee")), id="air")
    ground = h * rng.uniform(0.72, 0.86)
    svg.rect(0, ground, w, h - ground, rng.choice(("#6a994e", "#588157", "#8d6e4a")), id="ground")
    count, total = rng.randint(3, 7), 0
    for k in range(count):
        x, top = w * (k + 0.5) / count + rng.uniform(-12, 12), ground - h * rng.uniform(0.22, 0.58)
        petals, r, colour = rng.choice((5, 6, 7, 8, 10)), min(w / count * 0.24, h * 0.09), p.accents[k % 6]
        sway = rng.uniform(-20, 20)
        with svg.group(id=f"flower-{k + 1}"):
            svg.path(
                f"M{short(x + sway)} {short(ground + 6)} Q{short(x - sway)} {short((top + ground) / 2)} "
                f"{short(x)} {short(top)}",
                stroke="#3a7d44",
                stroke_width=5,
            )
            leaf = (top + ground) / 2 + rng.uniform(-10, 20)
            svg.path(
                f"M{short(x)} {short(leaf)} q{short(r)} {short(-r)} {short(2 * r)} {short(-r * 0.3)} "
                f"q{short(-r)} {short(r)} {short(-2 * r)} {short(r * 0.3)} Z",
                "#52a35e",
            )
            for px, py in ring(x, top, r, petals, rng.uniform(0, 40)):
                svg.ellipse(
                    px,
                    py,
                    r * 0.42,
                    r * 0.62,
                    colour,
                    transform=(
                        f"rotate({short(math.degrees(math.atan2(py - top, px - x)) + 90)} {short(px)} {short(py)})"
                    ),
                )
            svg.circle(x, top, r * 0.6, "#f9c74f", stroke=mix("#f9c74f", "#7a4b00", 0.4), stroke_width=2)
        total += petals
    return Drawing(
        svg,
        f"A garden of {words.plural(count, 'flower')} in a row with {total} petals in all.",
        {"flowers": count, "petals": total},
    )


def house(rng: random.Random, p: Palette) -> Drawing:
    svg = canvas(rng)
    sky(svg, rng)
    w, h, ground = svg.width, svg.height, svg.height * rng.uniform(0.76, 0.86)
    svg.rect(0, ground, w, h - ground, rng.choice(("#7cb518", "#588157", "#84a98c", "#d4c5a0")), id="lawn")
    wide, tall = w * rng.uniform(0.34, 0.55), h * rng.uniform(0.26, 0.42)
    x, y, floors, columns = (w - wide) * rng.uniform(0.2, 0.8), ground - tall, rng.randint(1, 2), rng.randint(2, 4)
    wall, roof = mix(p.accents[0], "#ffffff", 0.35), mix(p.accents[1], "#3b1f1f", 0.25)
    if rng.random() < 0.6:
        svg.rect(x + wide * 0.7, y - h * 0.2, wide * 0.1, h * 0.2, mix(roof, "#000000", 0.2), id="chimney")
    svg.rect(x, y, wide, tall, wall, id="wall")
    style, rise, eave = rng.choice(("gable", "hip", "flat", "shed")), h * rng.uniform(0.13, 0.22), wide * 0.07
    tops = {
        "gable": [(x + wide / 2, y - rise)],
        "hip": [(x + wide * 0.75, y - rise), (x + wide * 0.25, y - rise)],
        "flat": [(x + wide + eave, y - h * 0.05), (x - eave, y - h * 0.05)],
        "shed": [(x + wide + eave, y - rise)],
    }[style]
    svg.polygon([(x - eave, y), (x + wide + eave, y), *tops], roof, id="roof")
    door = rng.randrange(columns)
    cell, level = wide / columns, tall / floors
    windows = 0
    for floor in range(floors):
        for column in range(columns):
            cx, cy = x + cell * (column + 0.5), y + level * floor
            if floor == floors - 1 and column == door:
                svg.rect(
                    cx - cell * 0.24,
                    cy + level * 0.25,
                    cell * 0.48,
                    level * 0.75,
                    p.accents[2],
                    id="door",
                    rx=cell * 0.06,
                )
                svg.circle(cx + cell * 0.14, cy + level * 0.65, 3.5, "#ffffff")
                continue
            windows += 1
            s = min(cell, level) * 0.52
            with svg.group(id=f"window-{windows}"):
                svg.rect(cx - s / 2, cy + level * 0.25, s, s, "#d9f0ff", stroke="#ffffff", stroke_width=4)
                svg.line((cx, cy + level * 0.25), (cx, cy + level * 0.25 + s), "#ffffff", 3)
    trees = 0
    for tx in (x * 0.5, (x + wide + w) / 2):
        if min(tx, w - tx) > 30 and rng.random() < 0.8:
            trees += 1
            r = h * rng.uniform(0.08, 0.13)
            svg.rect(tx - 6, ground - r * 1.2, 12, r * 1.3, "#6f4e37")
            svg.circle(tx, ground - r * 1.8, r, rng.choice(("#386641", "#6a994e", "#bc6c25")), id=f"tree-{trees}")
    caption = (
        f"A house with a {style} roof, {words.plural(floors, 'floor')}, {words.plural(windows, 'window')} and a "
        f"door, with {words.plural(trees, 'tree')} beside it."
    )
    return Drawing(svg, caption, {"windows": windows, "floors": floors, "trees": trees, "roof": style})


def fish_tank(rng: random.Random, p: Palette) -> Drawing:
    svg = canvas(rng)
    w, h, count = svg.width, svg.height, rng.randint(3, 8)
    svg.rect(
        0,
        0,
        w,
        h,
        svg.linear(
            "water-colours", *rng.choice((("#a8e0ff", "#1b6ca8"), ("#bff0e4", "#0f766e"), ("#c7d2fe", "#312e81")))
        ),
        id="water",
    )
    sand = [(w * k / 6, h * rng.uniform(0.84, 0.92)) for k in range(7)]
    svg.path(f"{smooth(sand)} L{w} {h} L0 {h} Z", "#e9d8a6", id="sand")
    weeds = rng.randint(2, 5)
    for k in range(weeds):
        x, tall = rng.uniform(0.05, 0.95) * w, h * rng.uniform(0.15, 0.4)
        blades = [(x + (10 if j % 2 else -10), h * 0.92 - tall * j / 5) for j in range(6)]
        svg.path(
            smooth(blades, 0.3),
            stroke=rng.choice(("#2a9d6f", "#52b788", "#bc4b51")),
            stroke_width=9,
            stroke_linecap="round",
            id=f"weed-{k + 1}",
        )
    leftward = 0
    for k in range(count):
        x, y, s, face = (
            rng.uniform(0.14, 0.86) * w,
            h * (0.08 + 0.7 * (k + rng.random() * 0.6) / count),
            min(w, h) * rng.uniform(0.05, 0.11),
            rng.choice((-1, 1)),
        )
        leftward += face < 0
        colour, stripes = p.accents[k % 6], rng.random() < 0.5
        with svg.group(id=f"fish-{k + 1}"):
            svg.polygon(
                [(x - face * s * 0.8, y), (x - face * s * 1.6, y - s * 0.6), (x - face * s * 1.6, y + s * 0.6)],
                mix(colour, "#000000", 0.15),
            )
            svg.ellipse(x, y, s, s * 0.58, colour)
            if stripes:
                svg.rect(x - s * 0.25, y - s * 0.5, s * 0.2, s, "#ffffff", opacity=0.7)
            svg.circle(x + face * s * 0.55, y - s * 0.12, s * 0.14, "#ffffff")
            svg.circle(x + face * s * 0.6, y - s * 0.12, s * 0.07, "#111111")
    with svg.group(id="bubbles", fill="none", stroke="#ffffff", stroke_width=2, opacity=0.8):
        for _ in range(rng.randint(4, 12)):
            svg.add("circle", cx=rng.uniform(0, w), cy=rng.uniform(0, h * 0.8), r=rng.uniform(3, 9))
    caption = (
        f"An aquarium with {words.plural(count, 'fish', 'fish')}, {words.number(leftward)} of them facing left, "
        f"and {words.plural(weeds, 'water plant')}."
    )
    return Drawing(svg, caption, {"fish": count, "facing_left": leftward, "plants": weeds})


def planets(rng: random.Random, p: Palette) -> Drawing:
    svg, count = Svg(*rng.choice(((640, 480), (560, 560), (700, 420)))), rng.randint(3, 7)
    w, h = svg.width, svg.height
    svg.rect(0, 0, w, h, rng.choice(("#0b1026", "#111111", "#1a1033")), id="space")
    cx, cy, squash = w * rng.choice((0.5, 0.5, 0.15)), h / 2, rng.choice((1.0, 0.6, 0.4))
    reach = max(cx, w - cx) - 40 if squash < 1 or cx < w / 3 else h / 2 - 30
    names = words.some(rng, words.NOUNS, count)
    svg.circle(cx, cy, 30, svg.radial("sun-glow", "#fff3b0", "#f3722c"), id="sun")
    for k in range(count):
        r = 52 + (reach - 52) * (k + 1) / count
        svg.ellipse(cx, cy, r, r * squash, "none", stroke="#4a5578", stroke_width=1)
        angle = rng.uniform(0, 2 * math.pi) if cx > w / 3 else rng.uniform(-1.0, 1.0)
        x, y = cx + r * math.cos(angle), cy + r * squash * math.sin(angle)
        size = rng.uniform(6, 17)
        with svg.group(id=f"planet-{slug(names[k])}"):
            if rng.random() < 0.25:
                svg.ellipse(
                    x, y, size * 1.8, size * 0.5, "none", stroke=mix(p.accents[k % 6], "#ffffff", 0.5), stroke_width=3
                )
            svg.circle(x, y, size, mix(p.accents[k % 6], "#ffffff", 0.2))
        svg.text(x, y + size + 14, names[k], 12, "#d8def0", "middle")
    return Drawing(
        svg,
        f"A star with {words.plural(count, 'planet')} on {'round' if squash == 1 else 'flattened'} orbits: "
        f"{words.join(names)}.",
        {"planets": count},
    )


TEMPLATES = {
    "flower_garden": flower_garden,
    "house": house,
    "fish_tank": fish_tank,
    "planets": planets,
}
