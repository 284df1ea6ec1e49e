"""SVG templates: posters, postage stamps and lettering."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, legible, mix, on
from .svg import Drawing, Svg, fit, polar, short, star


def poster(rng: random.Random, p: Palette) -> Drawing:
    w, h = 420, 600
    svg, art = Svg(w, h, p.paper), rng.choice(("discs", "stripes", "arch", "burst", "steps", "grid"))
    split, flip = rng.uniform(0.5, 0.68) * h, rng.random() < 0.35
    y0 = h - split if flip else 0
    with svg.group(id=f"art-{art}", clip_path=svg.clip_rect("art-area", 0, y0, w, split)):
        svg.rect(0, y0, w, split, p.accents[0])
        cx, cy, n = w * rng.uniform(0.3, 0.7), y0 + split * rng.uniform(0.4, 0.7), rng.randint(3, 7)
        for k in range(n):
            colour, share = p.accents[1 + k % 5], 1 - k / n
            if art == "discs":
                svg.circle(cx, cy, split * 0.48 * share, colour)
            elif art == "stripes":
                x = w * k / n + 10
                svg.polygon(
                    [(x, y0), (x + w / n * 0.6, y0), (x + w / n * 0.6 - 120, y0 + split), (x - 120, y0 + split)], colour
                )
            elif art == "arch":
                r = w * 0.46 * share
                svg.path(
                    f"M{short(cx - r)} {short(y0 + split)} v{short(-split * 0.35)} a{short(r)} {short(r)} 0 0 "
                    f"1 {short(2 * r)} 0 v{short(split * 0.35)} Z",
                    colour,
                )
            elif art == "burst":
                svg.polygon(star(cx, cy, split * 0.75 * share, split * 0.3 * share, 9 + n), colour)
            elif art == "steps":
                svg.rect(w * k / n, y0 + split * (n - k - 1) / n, w / n, split, colour)
            else:
                for j in range(n):
                    c = p.accents[1 + (k * j + k + j) % 5]
                    svg.circle(w * (k + 0.5) / n, y0 + split * (j + 0.5) / n, w / n * 0.4, c)
    title, y1 = words.title(rng).upper(), 0 if flip else split
    lines = title.split()
    for k, line in enumerate(lines):
        svg.text(32, y1 + 66 + 52 * k, line, fit(line, 50, w - 80), p.ink, id=f"title-{k + 1}", font_weight="bold")
    place, day, month = rng.choice(words.CITIES), rng.randint(1, 28), rng.choice(words.MONTHS_LONG)
    svg.text(32, y1 + 148, f"{day} {month}", 20, legible(p.accents[0], p.paper), id="date")
    svg.text(
        32,
        y1 + 174,
        f"{rng.choice(('Town Hall', 'Gallery', 'Riverside', 'Old Market', 'Theatre'))}, {place}",
        16,
        p.muted,
        id="place",
    )
    return Drawing(
        svg,
        f'A poster with {art} artwork announces "{title.title()}" on {day} {month} in {place}.',
        {"title": title, "day": day, "month": month, "place": place},
    )


def postage_stamp(rng: random.Random, p: Palette) -> Drawing:
    w, h = rng.choice(((360, 460), (460, 360), (420, 420)))
    svg, back = Svg(w, h), mix(p.ink, p.paper, 0.75)
    svg.rect(0, 0, w, h, back, id="background")
    svg.rect(30, 30, w - 60, h - 60, "#fffdf7", id="stamp")
    with svg.group(id="perforation", fill=back):
        for k in range(int((w - 60) / 20) + 1):
            for y in (30, h - 30):
                svg.add("circle", cx=30 + (w - 60) * k / int((w - 60) / 20), cy=y, r=6)
        for k in range(1, int((h - 60) / 20)):
            for x in (30, w - 30):
                svg.add("circle", cx=x, cy=30 + (h - 60) * k / int((h - 60) / 20), r=6)
    x0, y0, iw, ih = 56, 56, w - 112, h - 112 - 34
    motif = rng.choice(("lighthouse", "peaks", "bird", "leaf", "sun"))
    with svg.group(id=f"motif-{motif}", clip_path=svg.clip_rect("frame", x0, y0, iw, ih)):
        svg.rect(x0, y0, iw, ih, svg.linear("print", p.accents[0], mix(p.accents[1], "#ffffff", 0.4)))
        cx, base, s = x0 + iw * rng.uniform(0.35, 0.65), y0 + ih, min(iw, ih)
        second, third = p.accents[2], p.accents[3]
        if motif == "lighthouse":
            svg.polygon(
                [
                    (cx - s * 0.14, base),
                    (cx - s * 0.08, base - s * 0.6),
                    (cx + s * 0.08, base - s * 0.6),
                    (cx + s * 0.14, base),
                ],
                "#ffffff",
            )
            for k in range(rng.randint(2, 4)):
                svg.rect(cx - s * 0.12, base - s * (0.14 + 0.16 * k), s * 0.24, s * 0.07, second)
            svg.rect(cx - s * 0.07, base - s * 0.72, s * 0.14, s * 0.12, "#ffd97d")
            svg.polygon(
                [(cx - s * 0.1, base - s * 0.72), (cx, base - s * 0.84), (cx + s * 0.1, base - s * 0.72)], second
            )
        elif motif == "peaks":
            for k in range(rng.randint(2, 4)):
                peak, tall = x0 + iw * (k + 0.5) / 3.5, ih * rng.uniform(0.35, 0.75)
                svg.polygon(
                    [(peak - iw * 0.34, base), (peak, base - tall), (peak + iw * 0.34, base)], mix(second, third, k / 3)
                )
        elif motif == "bird":
            for k in range(rng.randint(1, 4)):
                bx, by, b = x0 + iw * rng.uniform(0.2, 0.8), y0 + ih * rng.uniform(0.2, 0.8), s * rng.uniform(0.12, 0.3)
                svg.path(
                    f"M{short(bx - b)} {short(by - b * 0.3)} Q{short(bx - b * 0.4)} {short(by - b * 0.7)} "
                    f"{short(bx)} {short(by)} Q{short(bx + b * 0.4)} {short(by - b * 0.7)} {short(bx + b)} "
                    f"{short(by - b * 0.3)} Q{short(bx + b * 0.4)} {short(by - b * 0.1)} {short(bx)} "
                    f"{short(by + b * 0.35)} Q{short(bx - b * 0.4)} {short(by - b * 0.1)} {short(bx - b)} "
                    f"{short(by - b * 0.3)} Z",
                    second if k % 2 == 0 else third,
                )
        elif motif == "leaf":
            for k in range(rng.randint(2, 5)):
                tip = polar(cx, base - s * 0.1, s * 0.8, -70 + 140 * (k + 0.5) / 5 + rng.uniform(-9, 9))
                mid = ((cx + tip[0]) / 2, (base - s * 0.1 + tip[1]) / 2)
                dx, dy = (tip[1] - base + s * 0.1) * 0.3, (cx - tip[0]) * 0.3
                svg.path(
                    f"M{short(cx)} {short(base - s * 0.05)} Q{short(mid[0] + dx)} {short(mid[1] + dy)} "
                    f"{short(tip[0])} {short(tip[1])} Q{short(mid[0] - dx)} {short(mid[1] - dy)} {short(cx)} "
                    f"{short(base - s * 0.05)} Z",
                    second if k % 2 == 0 else third,
                )
        else:
            rays = rng.randint(8, 20)
            svg.polygon(star(cx, base - s * 0.3, s * 0.7, s * 0.32, rays), second)
            svg.circle(cx, base - s * 0.3, s * 0.26, third)
    value, land = rng.choice((5, 10, 20, 25, 40, 60, 80)), words.word(rng)
    svg.text(x0, h - 56, land.upper(), 19, "#222222", id="country", letter_spacing=2)
    svg.text(w - x0, h - 54, value, 30, "#222222", "end", id="value", font_weight="bold")
    return Drawing(
        svg,
        f"A postage stamp of {land} with the value {value} and a {motif} motif.",
        {"country": land, "value": value, "motif": motif},
    )


def type_composition(rng: random.Random, p: Palette) -> Drawing:
    w, h = rng.choice(((520, 520), (600, 420), (420, 600)))
    word, count = rng.choice([n for n in words.NOUNS if 4 <= len(n) <= 7]).upper(), rng.randint(3, 6)
    svg, style = Svg(w, h, p.accents[0]), rng.choice(("stack", "letters", "ring", "steps"))
    ink = on(p.accents[0])
    shades = [ink, *p.accents[1:]]
    if style == "stack":
        for k in range(count):
            size = fit(word, 200, w * 0.8) * 0.98
            y = h * (k + 0.82) / count
            svg.text(
                w * (0.5 + rng.uniform(-0.09, 0.09)),
                y,
                word,
                min(size, h / count * 0.95) * rng.uniform(0.7, 1),
                legible(shades[k % len(shades)], p.accents[0]),
                "middle",
                id=f"line-{k + 1}",
                font_weight="bold",
            )
    elif style == "letters":
        count = len(word)
        cell = w / count
        for k, letter in enumerate(word):
            size, x = min(w, h) * rng.uniform(0.3, 0.55), cell * (k + 0.5)
            y = h * rng.uniform(0.35, 0.85)
            svg.text(
                x,
                y,
                letter,
                size,
                legible(shades[k % len(shades)], p.accents[0]),
                "middle",
                id=f"letter-{k + 1}",
                font_weight="bold",
                transform=f"rotate({short(rng.uniform(-25, 25))} {short(x)} {short(y)})",
            )
    elif style == "ring":
        count, start = rng.randint(8, 16), rng.uniform(0, 45)
        for k in range(count):
            svg.text(
                w / 2 + min(w, h) * 0.13,
                h / 2 + 10,
                word,
                min(w, h) * 0.065,
                legible(shades[k % len(shades)], p.accents[0]),
                id=f"ray-{k + 1}",
                font_weight="bold",
                transform=f"rotate({short(start + 360 * k / count)} {w / 2} {h / 2})",
            )
        svg.circle(w / 2, h / 2, min(w, h) * 0.08, ink, id="centre")
    else:
        count = len(word)
        for k in range(count):
            svg.text(
                w * 0.07,
                h * (k + 0.85) / count,
                word[: k + 1],
                min(h / count * 0.9, fit(word, 200, w * 0.76)),
                legible(shades[k % len(shades)], p.accents[0]),
                id=f"step-{k + 1}",
                font_weight="bold",
            )
    how = {
        "stack": f"{words.number(count)} times in a stack",
        "letters": "letter by letter at different heights and angles",
        "ring": f"{words.number(count)} times like rays around a disc",
        "steps": "growing by a letter in each line",
    }[style]
    return Drawing(svg, f'A typographic composition sets the word "{word}" {how}.', {"word": word, "style": style})


TEMPLATES = {
    "poster": poster,
    "postage_stamp": postage_stamp,
    "type_composition": type_composition,
}
