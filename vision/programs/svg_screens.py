"""SVG templates: screens of a phone and of a dashboard, drawn as mock-ups."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .svg import Drawing, Svg, fit, path, polar, ring, short, slug
from .svg_maps import weather_icon


def phone_screen(rng: random.Random, p: Palette) -> Drawing:
    w, h, kind = 320, 600, rng.choice(("player", "list", "tiles", "weather", "chat"))
    svg = Svg(w, h, mix(p.accents[0], p.paper, 0.7))
    svg.rect(22, 18, w - 44, h - 36, "#14161c", id="phone", rx=38)
    svg.rect(34, 30, w - 68, h - 60, p.paper, id="screen", rx=28)
    svg.text(54, 62, f"{rng.randint(1, 12)}:{rng.randint(10, 59)}", 14, p.ink, id="clock", font_weight="bold")
    svg.rect(238, 52, 24, 11, "none", id="battery", rx=3, stroke=p.ink, stroke_width=1.5)
    svg.rect(240, 54, 20 * rng.uniform(0.2, 1), 7, p.ink)
    title = words.title(rng)
    svg.text(54, 104, title, fit(title, 22, 190), p.ink, id="title", font_weight="bold")
    count = rng.randint(3, 6)
    if kind == "player":
        svg.rect(54, 128, 212, 190, p.accents[0], id="cover", rx=16)
        for k, (x, y) in enumerate(ring(160, 223, rng.uniform(30, 55), count, rng.uniform(0, 90))):
            svg.circle(x, y, rng.uniform(14, 34), p.accents[1 + k % 5], opacity=0.85)
        done = rng.uniform(0.15, 0.9)
        svg.rect(54, 376, 212, 6, p.line, rx=3)
        svg.rect(54, 376, 212 * done, 6, p.accents[1], id="progress", rx=3)
        svg.text(160, 350, words.person(rng), 15, p.muted, "middle", id="artist")
        svg.circle(160, 446, 34, p.accents[1], id="play-button")
        svg.polygon([(150, 430), (150, 462), (176, 446)], on(p.accents[1]))
    elif kind == "weather":
        with svg.group(id="icon", transform="translate(160 196) scale(2.4)"):
            weather_icon(svg, rng.choice(("sun", "rain", "snow", "storm")))
        svg.text(160, 340, f"{rng.randint(-9, 38)}°", 62, p.ink, "middle", id="temperature", font_weight="bold")
        for k in range(count):
            y = 384 + 30 * k
            svg.text(58, y, words.DAYS[k], 15, p.ink)
            low, high = sorted(rng.sample(range(10), 2))
            svg.rect(120 + low * 13, y - 11, max((high - low) * 13, 10), 10, p.accents[2], rx=5)
    else:
        step = {"list": 64, "tiles": 106, "chat": 70}[kind]
        for k in range(count):
            y, colour = 130 + step * k, p.accents[k % 6]
            if kind == "list":
                svg.circle(76, y + 24, 20, colour, id=f"avatar-{k + 1}")
                svg.text(108, y + 21, words.person(rng), 13, p.ink, font_weight="bold")
                svg.rect(108, y + 30, rng.randint(60, 150), 8, p.line, rx=4)
            elif kind == "tiles":
                x, y = 54 + 110 * (k % 2), 130 + step * (k // 2)
                svg.rect(x, y, 102, 96, colour, id=f"tile-{k + 1}", rx=16)
                svg.text(x + 51, y + 56, rng.choice(words.NOUNS), 15, on(colour), "middle")
            elif y < h - 110:
                mine, wide = rng.random() < 0.5, rng.randint(90, 168)
                fill = p.accents[0] if mine else p.panel
                svg.rect(266 - wide if mine else 54, y, wide, 52, fill, id=f"bubble-{k + 1}", rx=18)
                svg.text(
                    266 - wide / 2 if mine else 54 + wide / 2,
                    y + 31,
                    rng.choice(words.ADJECTIVES),
                    14,
                    on(fill) if mine else p.ink,
                    "middle",
                )
    svg.rect(115, h - 50, 90, 5, p.ink, id="home-bar", rx=2.5)
    return Drawing(svg, f'A phone shows a {kind} screen titled "{title}".', {"screen": kind, "title": title})


def dashboard(rng: random.Random, p: Palette) -> Drawing:
    w, h, cards = 700, 480, rng.randint(2, 4)
    svg, side = Svg(w, h, p.panel), rng.random() < 0.5
    x0 = 96 if side else 24
    if side:
        svg.rect(0, 0, 72, h, p.accents[0], id="sidebar")
        for k in range(rng.randint(3, 6)):
            svg.rect(22, 70 + 52 * k, 28, 28, on(p.accents[0]), rx=8, opacity=1 if k == 0 else 0.5)
    title = f"{words.brand(rng)} overview"
    svg.text(x0, 46, title, 22, p.ink, id="title", font_weight="bold")
    space = w - x0 - 24
    names, values = words.some(rng, words.TOPICS, cards), []
    for k, name in enumerate(names):
        cw, x, value = (space - 14 * (cards - 1)) / cards, x0 + k * ((space + 14) / cards), rng.randint(12, 9800)
        values.append(value)
        with svg.group(id=f"card-{slug(name)}"):
            svg.rect(x, 68, cw, 84, p.paper, rx=12)
            svg.text(x + 14, 94, name, fit(name, 13, cw - 28), p.muted)
            svg.text(x + 14, 132, f"{value:,}", 27, p.ink, font_weight="bold")
    split = x0 + space * rng.uniform(0.45, 0.68)
    swap = rng.random() < 0.5
    left, right = (x0, split - x0 - 7), (split + 7, x0 + space - split - 7)
    bars, donut = (right, left) if swap else (left, right)
    for x, cw in (left, right):
        svg.rect(x, 168, cw, h - 192, p.paper, rx=12)
    n = rng.randint(5, 9)
    with svg.group(id="bars"):
        for k in range(n):
            tall, slot = rng.uniform(30, 210), (bars[1] - 36) / n
            svg.rect(bars[0] + 18 + slot * k, h - 52 - tall, slot * 0.66, tall, p.accents[1], rx=4)
    cx, cy, r, start = donut[0] + donut[1] / 2, 300, min(donut[1] * 0.36, 92), 0.0
    parts = rng.randint(2, 5)
    with svg.group(id="donut"):
        for k in range(parts):
            end = 360.0 if k == parts - 1 else start + (360 - start) * rng.uniform(0.3, 0.6)
            mid = (start + end) / 2
            a, m, b = (polar(cx, cy, r, angle) for angle in (start, mid, end - 0.01))
            arcs = (
                f"{path([a])} A{short(r)} {short(r)} 0 0 1 {short(m[0])} {short(m[1])} A{short(r)} {short(r)} "
                f"0 0 1 {short(b[0])} {short(b[1])}"
            )
            svg.path(arcs, stroke=p.accents[1 + k % 5], stroke_width=r * 0.36)
            start = end
    shown = words.join([f"{name} {value:,}" for name, value in zip(names, values, strict=True)])
    return Drawing(
        svg,
        f'A dashboard titled "{title}" with {words.plural(cards, "figure")} ({shown}), a chart of {n} bars and a '
        f"ring of {words.plural(parts, 'part')}.",
        {"cards": cards, "bars": n, "ring_parts": parts},
    )


TEMPLATES = {
    "phone_screen": phone_screen,
    "dashboard": dashboard,
}
