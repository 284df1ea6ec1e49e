"""SVG templates: badges, shields, flags and logos."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, legible, mix, on
from .svg import Drawing, Svg, fit, path, polar, ring, short, star
from .svg_icons import ICONS


def round_badge(rng: random.Random, p: Palette) -> Drawing:
    side, points = 420, rng.randint(12, 40)
    svg, c, name = Svg(side, side, p.paper), 210, rng.choice(list(ICONS))
    edge, outer = rng.choice(("scalloped", "toothed", "plain", "double")), p.accents[0]
    if edge == "scalloped":
        for x, y in ring(c, c, 172, points):
            svg.circle(x, y, 172 * 3.3 / points, outer)
        svg.circle(c, c, 174, outer, id="disc")
    elif edge == "toothed":
        svg.polygon(star(c, c, 196, 174, points), outer, id="disc")
    else:
        svg.circle(c, c, 192, outer, id="disc")
        if edge == "double":
            svg.circle(c, c, 178, "none", stroke=on(outer), stroke_width=5)
    r = rng.uniform(118, 152)
    svg.circle(c, c, r, p.paper, id="field")
    with svg.group(
        id=f"icon-{name}",
        transform=f"translate({c} {short(c - r * 0.26)}) scale({short(r / 100 * rng.uniform(0.95, 1.25))})",
    ):
        ICONS[name](svg, legible(p.accents[1], p.paper))
    title, year = words.word(rng).upper(), rng.randint(1890, 2024)
    svg.text(c, c + r * 0.46, title, fit(title, 30, r * 1.35), p.ink, "middle", id="title", font_weight="bold")
    svg.text(c, c + r * 0.7, f"EST. {year}", 15, p.muted, "middle", id="year", letter_spacing=2)
    ribbon = rng.random() < 0.5
    if ribbon:
        y = c + r * rng.choice((0.86, -1.05)) + 8
        svg.polygon(
            [(40, y), (380, y), (360, y + 22), (380, y + 44), (40, y + 44), (60, y + 22)], p.accents[2], id="ribbon"
        )
        text = words.title(rng)
        svg.text(c, y + 29, text, fit(text, 20, 260), on(p.accents[2]), "middle", id="ribbon-text", font_weight="bold")
    return Drawing(
        svg,
        f'A round badge with a {edge} edge, a {name} and the words "{title}" and "EST. '
        f'{year}"{", with a ribbon across" if ribbon else ""}.',
        {"title": title, "year": year, "icon": name},
    )


def shield(rng: random.Random, p: Palette) -> Drawing:
    w, h, division = 400, 470, rng.choice(("pale", "fess", "bend", "quarterly", "chevron", "cross", "saltire", "bars"))
    svg = Svg(w, h, p.paper)
    base = rng.choice(("point", "round", "swiss"))
    outline = {
        "point": "M40 40 H360 V220 C360 330 290 400 200 440 C110 400 40 330 40 220 Z",
        "round": "M40 40 H360 V270 A160 160 0 0 1 40 270 Z",
        "swiss": "M40 40 Q120 70 200 40 Q280 70 360 40 V230 C360 340 280 390 200 440 C120 390 40 340 40 230 Z",
    }[base]
    a, b = p.accents[0], rng.choice((p.accents[1], "#f7f3e3"))
    with svg.group(id=f"division-{division}", clip_path=svg.clip_path("field", outline)):
        svg.rect(40, 40, 320, 400, a)
        bands = {
            "pale": [[(200, 0), (400, 0), (400, 470), (200, 470)]],
            "fess": [[(0, 170), (400, 170), (400, 290), (0, 290)]],
            "bend": [[(40, 40), (130, 40), (400, 340), (400, 440), (340, 440), (40, 110)]],
            "quarterly": [[(200, 0), (400, 0), (400, 230), (200, 230)], [(0, 230), (200, 230), (200, 470), (0, 470)]],
            "chevron": [[(40, 320), (200, 170), (360, 320), (360, 400), (200, 250), (40, 400)]],
            "cross": [[(165, 0), (235, 0), (235, 470), (165, 470)], [(0, 170), (400, 170), (400, 240), (0, 240)]],
            "saltire": [[(40, 40), (100, 40), (380, 400), (320, 430)], [(300, 40), (360, 40), (80, 430), (20, 400)]],
            "bars": [[(0, y), (400, y), (400, y + 45), (0, y + 45)] for y in (85, 175, 265, 355)],
        }[division]
        for corners in bands:
            svg.polygon(corners, b)
        chief = rng.random() < 0.4
        if chief:
            svg.rect(40, 40, 320, rng.uniform(40, 95), p.accents[3], id="chief")
    svg.path(outline, id="border", stroke=p.ink, stroke_width=rng.choice((5, 9)))
    count = rng.randint(1, 4)
    name = rng.choice(("star", "heart", "leaf", "key", "bolt", "flag", "bell", "cup"))
    layout = {
        1: [(200, 210)],
        2: [(120, 140), (280, 290)],
        3: [(115, 120), (285, 120), (200, 330)],
        4: [(120, 130), (280, 130), (140, 290), (260, 290)],
    }[count]
    drop, size = rng.uniform(-22, 22), rng.uniform(1.4, 2.3) if count == 1 else rng.uniform(0.8, 1.15)
    for k, (x, y) in enumerate(layout):
        with svg.group(id=f"charge-{k + 1}", transform=f"translate({x} {short(y + drop)}) scale({short(size)})"):
            svg.circle(0, 0, 45, p.paper)
            ICONS[name](svg, legible(p.accents[2], p.paper))
    return Drawing(
        svg,
        f"A heraldic shield divided by {division} that bears {words.number(count)} {name} "
        f"{'charge' if count == 1 else 'charges'}{' below a chief' if chief else ''}.",
        {"division": division, "charges": count, "charge": name},
    )


FLAGS = (
    "vertical bands", "horizontal bands", "nordic cross", "triangle at the hoist", "diagonal", "canton", "quarters",
    "disc",
)  # fmt: skip


def flag(rng: random.Random, p: Palette) -> Drawing:
    w, h = rng.choice(((600, 400), (600, 300), (480, 320), (420, 420)))
    layout, colours = rng.choice(FLAGS), list(p.accents[:5])
    svg, n = Svg(w, h, colours[0]), rng.randint(2, 5)
    if layout in ("vertical bands", "horizontal bands"):
        cuts = (
            [0.0, *sorted(rng.uniform(0.15, 0.85) for _ in range(n - 1)), 1.0]
            if rng.random() < 0.85
            else [k / n for k in range(n + 1)]
        )
        for k in range(n):
            a, b = cuts[k], cuts[k + 1]
            box = (w * a, 0, w * (b - a), h) if layout.startswith("v") else (0, h * a, w, h * (b - a))
            svg.rect(box[0], box[1], box[2], box[3], colours[k % 5], id=f"band-{k + 1}")
    elif layout == "nordic cross":
        x, t = w * rng.uniform(0.26, 0.42), h * rng.uniform(0.12, 0.22)
        svg.path(
            f"M{short(x)} 0 h{short(t)} v{h} h{short(-t)} Z M0 {short(h / 2 - t / 2)} h{w} v{short(t)} h{-w} Z",
            colours[1],
            id="cross",
        )
        svg.path(
            f"M{short(x + t * 0.3)} 0 h{short(t * 0.4)} v{h} h{short(-t * 0.4)} Z M0 {short(h / 2 - t * 0.2)} "
            f"h{w} v{short(t * 0.4)} h{-w} Z",
            colours[2],
            id="inner-cross",
        )
    elif layout == "triangle at the hoist":
        for k in range(n):
            svg.rect(0, h * k / n, w, h / n, colours[1 + k % 4], id=f"band-{k + 1}")
        svg.polygon([(0, 0), (w * rng.uniform(0.25, 0.6), h / 2), (0, h)], colours[0], id="triangle")
    elif layout == "diagonal":
        t = rng.uniform(0.06, 0.2)
        svg.polygon([(0, h), (w, 0), (w, h)], colours[1], id="lower-half")
        svg.polygon(
            [(0, h), (0, h * (1 - 2 * t)), (w * (1 - 2 * t), 0), (w, 0), (w, h * 2 * t), (w * 2 * t, h)],
            colours[2],
            id="stripe",
        )
    elif layout == "canton":
        stripes = rng.randint(4, 11)
        for k in range(0, stripes, 2):
            svg.rect(0, h * k / stripes, w, h / stripes, colours[1], id=f"stripe-{k + 1}")
        svg.rect(0, 0, w * rng.uniform(0.3, 0.5), h * ((stripes + 1) // 2) / stripes, colours[2], id="canton")
    elif layout == "quarters":
        for k in range(1, 4):
            svg.rect(w / 2 * (k % 2), h / 2 * (k // 2), w / 2, h / 2, colours[k], id=f"quarter-{k + 1}")
    else:
        svg.circle(w * rng.uniform(0.35, 0.65), h / 2, h * rng.uniform(0.2, 0.4), colours[1], id="disc")
    count = rng.randint(1, 7)
    if rng.random() < 0.65:
        cx, cy, spread = (
            w * rng.uniform(0.2, 0.5),
            h * rng.uniform(0.28, 0.55),
            0 if count == 1 else h * rng.uniform(0.13, 0.22),
        )
        for k, (x, y) in enumerate(ring(cx, cy, spread, count)):
            r = h * (0.15 if count == 1 else 0.06)
            svg.polygon(
                star(x, y, r, r * 0.42, rng.choice((5, 5, 5, 6, 8)) if count == 1 else 5), "#ffffff", id=f"star-{k + 1}"
            )
    else:
        count = 0
    stars = f" with {words.plural(count, 'white star')}" if count else ""
    return Drawing(svg, f"A flag in the layout {layout}{stars}.", {"layout": layout, "stars": count})


def logo(rng: random.Random, p: Palette) -> Drawing:
    beside, brand = rng.random() < 0.5, words.brand(rng)
    paper = rng.choice((p.paper, p.paper, p.accents[5]))
    svg = Svg(*((620, 240) if beside else (420, 400)), paper)
    cx, cy, r, n = (125, 120, 84, rng.randint(3, 8)) if beside else (210, 150, 100, rng.randint(3, 8))
    mark, turn = rng.choice(("petals", "arcs", "bars", "nested", "pixels", "orbit", "sectors")), rng.uniform(0, 360)
    with svg.group(id=f"mark-{mark}"):
        for k in range(n):
            colour = legible(p.accents[k % 4], paper)
            if mark == "petals":
                x, y = polar(cx, cy, r * 0.5, turn + 360 * k / n)
                svg.ellipse(
                    x,
                    y,
                    r * 0.5,
                    r * 0.26,
                    colour,
                    opacity=0.85,
                    transform=f"rotate({short(turn + 360 * k / n - 90)} {short(x)} {short(y)})",
                )
            elif mark == "arcs":
                q = r * (k + 1) / n
                a, b = polar(cx, cy, q, turn + 40 * k), polar(cx, cy, q, turn + 40 * k + 180)
                svg.path(
                    f"{path([a])} A{short(q)} {short(q)} 0 0 1 {short(b[0])} {short(b[1])}",
                    stroke=colour,
                    stroke_width=r / n * 0.6,
                    stroke_linecap="round",
                )
            elif mark == "bars":
                tall, wide = r * 2 * rng.uniform(0.3, 1), 2 * r / n
                svg.rect(cx - r + wide * k, cy + r - tall, wide * 0.72, tall, colour, rx=wide * 0.3)
            elif mark == "nested":
                svg.polygon(ring(cx, cy, r * (1 - k / n), 3 + n % 4, turn + 15 * k), colour)
            elif mark == "pixels":
                side = 2 * r / n
                for j in range(n):
                    if rng.random() < 0.62:
                        svg.rect(cx - r + side * k, cy - r + side * j, side * 0.9, side * 0.9, colour)
            elif mark == "orbit":
                svg.ellipse(
                    cx,
                    cy,
                    r,
                    r * 0.38,
                    "none",
                    stroke=colour,
                    stroke_width=7,
                    transform=f"rotate({short(turn + 180 * k / n)} {cx} {cy})",
                )
            else:
                a, b = polar(cx, cy, r, turn + 360 * k / n), polar(cx, cy, r, turn + 360 * (k + 0.82) / n)
                svg.path(
                    f"M{cx} {cy} L{short(a[0])} {short(a[1])} A{r} {r} 0 0 1 {short(b[0])} {short(b[1])} Z", colour
                )
    ink = on(paper) if paper != p.paper else p.ink
    x, y, anchor, room = (240, 128, "start", 330) if beside else (210, 318, "middle", 350)
    svg.text(x, y, brand, fit(brand, 46, room), ink, anchor, id="name", font_weight="bold")
    line = f"since {rng.randint(1920, 2024)}" if rng.random() < 0.4 else f"made in {rng.choice(words.CITIES)}"
    svg.text(x, y + 36, line, 19, mix(ink, paper, 0.35), anchor, id="tagline", letter_spacing=2)
    return Drawing(
        svg, f'A logo for "{brand}" with a mark of {mark} and the line "{line}".', {"name": brand, "mark": mark}
    )


TEMPLATES = {
    "round_badge": round_badge,
    "shield": shield,
    "flag": flag,
    "logo": logo,
}
