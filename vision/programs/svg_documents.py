"""SVG templates: printed matter (calendars, sheet music, posters, tickets, stamps, lettering)."""

from __future__ import annotations

import calendar
import random

from . import words
from .palette import Palette, legible, mix, on
from .svg import Drawing, Svg, fit, polar, short, star


def calendar_month(rng: random.Random, p: Palette) -> Drawing:
    year, month = rng.randint(1990, 2035), rng.randint(1, 12)
    first, days = calendar.monthrange(year, month)
    weeks = (first + days + 6) // 7
    cell, row, side = rng.choice((56, 64, 72)), rng.choice((44, 56, 66)), rng.choice((0, 0, 150))
    svg = Svg(7 * cell + 50 + side, weeks * row + 136, p.paper)
    name = words.MONTHS_LONG[month - 1]
    band = rng.random() < 0.5
    if band:
        svg.rect(0, 0, svg.width, 74, p.accents[0], id="header")
    svg.text(25 + side, 50, f"{name} {year}", 28, on(p.accents[0]) if band else p.ink, id="title", font_weight="bold")
    if side:
        svg.rect(0, 74 if band else 0, side, svg.height, p.panel, id="notes")
        for k in range(rng.randint(2, 5)):
            text = words.action(rng)
            svg.text(14, 116 + 34 * k, text, fit(text, 12, side - 24), p.ink)
    marked = sorted(rng.sample(range(1, days + 1), rng.randint(1, 6)))
    for k, weekday_name in enumerate(words.DAYS):
        svg.text(25 + side + cell * (k + 0.5), 100, weekday_name, 14, p.muted, "middle")
    with svg.group(id="days"):
        for day in range(1, days + 1):
            week, weekday = divmod(first + day - 1, 7)
            x, y = 25 + side + cell * weekday, 112 + row * week
            fill = p.accents[1] if day in marked else p.panel
            svg.rect(x + 2, y + 2, cell - 4, row - 4, fill, id=f"day-{day}", rx=4)
            svg.text(x + cell / 2, y + row / 2 + 6, day, 17, on(fill) if day in marked else p.ink, "middle")
    caption = (
        f"A calendar page for {name} {year}, which has {days} days; marked in colour: "
        f"{words.join([str(d) for d in marked])}."
    )
    return Drawing(svg, caption, {"month": name, "year": year, "days": days, "marked": len(marked)})


def music_staff(rng: random.Random, p: Palette) -> Drawing:
    staves, per, gap = rng.randint(1, 4), rng.randint(6, 12), 11
    svg, total = Svg(620, 110 + staves * 120, mix("#fffdf5", p.paper, 0.3) if not p.dark else "#fffdf5"), 0
    title = words.title(rng)
    svg.text(310, 48, title, 26, "#1a1a1a", "middle", id="title", font_family="DejaVu Serif, serif")
    svg.text(590, 74, words.person(rng), 13, "#444444", "end", id="composer", font_style="italic")
    level, beats = rng.randint(0, 8), rng.choice((2, 3, 4, 6))
    for staff in range(staves):
        top = 110 + 120 * staff
        with svg.group(id=f"staff-{staff + 1}"):
            for line in range(5):
                svg.line((30, top + gap * line), (590, top + gap * line), "#333333", 1)
            for bar in (30, 590, *(90 + 500 * k / 3 for k in (1, 2))):
                svg.line((bar, top), (bar, top + 4 * gap), "#333333", 1.5)
            svg.text(40, top + 3.6 * gap, "4", 22, "#1a1a1a", "middle", font_weight="bold")
            svg.text(40, top + 1.8 * gap, beats, 22, "#1a1a1a", "middle", font_weight="bold")
            for k in range(per):
                level = min(max(level + rng.choice((-2, -1, -1, 0, 1, 1, 2)), -2), 10)
                x, y, kind = (
                    84 + 490 * (k + 0.5) / per,
                    top + 4 * gap - level * gap / 2,
                    rng.choice(("quarter", "quarter", "half", "eighth")),
                )
                total += 1
                stem = -1 if level < 5 else 1
                sx = x - stem * 6.2
                svg.ellipse(
                    x,
                    y,
                    7,
                    5,
                    "#fffdf5" if kind == "half" else "#1a1a1a",
                    stroke="#1a1a1a",
                    stroke_width=2,
                    transform=f"rotate(-20 {short(x)} {short(y)})",
                )
                svg.line((sx, y), (sx, y + stem * 36), "#1a1a1a", 2)
                if kind == "eighth":
                    svg.path(
                        f"M{short(sx)} {short(y + stem * 36)} q10 {-6 * stem} 9 {-20 * stem}",
                        stroke="#1a1a1a",
                        stroke_width=2.5,
                    )
                for ledger in [-2] if level <= -2 else [10] if level >= 10 else []:
                    svg.line(
                        (x - 11, top + 4 * gap - ledger * gap / 2),
                        (x + 11, top + 4 * gap - ledger * gap / 2),
                        "#333333",
                        1.5,
                    )
    return Drawing(
        svg,
        f'A page of sheet music titled "{title}" with {words.number(staves)} '
        f"{'staff' if staves == 1 else 'staves'} and {total} notes.",
        {"title": title, "staves": staves, "notes": total},
    )


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


def ticket(rng: random.Random, p: Palette) -> Drawing:
    w, h = 640, rng.choice((240, 280, 320))
    svg, colour = Svg(w, h, mix(p.paper, p.ink, 0.08)), p.accents[0]
    left = rng.random() < 0.4
    cut = w * (rng.uniform(0.24, 0.34) if left else rng.uniform(0.66, 0.76))
    svg.rect(24, 24, w - 48, h - 48, "#ffffff", id="ticket", rx=18)
    stub = (24, cut - 24) if left else (cut, w - 24 - cut)
    svg.rect(stub[0], 24, stub[1], h - 48, colour, id="stub", rx=18)
    for y in (24, h - 24):
        svg.circle(cut, y, 14, mix(p.paper, p.ink, 0.08))
    svg.line((cut, 44), (cut, h - 44), "#9aa0a6", 2, stroke_dasharray="6 6", id="perforation")
    kind = rng.choice(("Concert", "Train", "Cinema", "Ferry", "Museum"))
    a, b, seat, gate = (
        *words.some(rng, words.CITIES, 2),
        f"{rng.randint(1, 40)}{rng.choice('ABCDEF')}",
        rng.randint(1, 24),
    )
    x, room = (cut + 28, w - cut - 76) if left else (52, cut - 80)
    what = f"{a} → {b}" if kind in ("Train", "Ferry") else words.title(rng)
    svg.text(x, 68, kind.upper(), 15, legible(colour, "#ffffff"), id="kind", letter_spacing=4)
    svg.text(x, 112, what, fit(what, 32, room * 0.9), "#1d2433", id="title", font_weight="bold")
    for k, (key, value) in enumerate(
        (
            ("Date", f"{rng.randint(1, 28)} {rng.choice(words.MONTHS)}"),
            ("Time", f"{rng.randint(6, 22)}:{rng.choice(('00', '15', '30', '45'))}"),
            ("Gate", gate),
        )
    ):
        svg.text(x + room / 3 * k, h - 84, key, 13, "#6b7280")
        svg.text(x + room / 3 * k, h - 58, value, 21, "#1d2433", id=f"value-{key.lower()}", font_weight="bold")
    middle = stub[0] + stub[1] / 2
    svg.text(middle, h * 0.36, "SEAT", 15, on(colour), "middle")
    svg.text(middle, h * 0.36 + 46, seat, 40, on(colour), "middle", id="seat", font_weight="bold")
    bar = middle - 50
    with svg.group(id="barcode", fill=on(colour)):
        while bar < middle + 48:
            width = rng.choice((1.5, 2.5, 4))
            svg.add("rect", x=bar, y=h - 92, width=width, height=44)
            bar += width + rng.choice((2, 3, 5))
    return Drawing(
        svg,
        f"A {kind.lower()} ticket for {what}, seat {seat}, gate {gate}.",
        {"ticket_kind": kind, "seat": seat, "gate": gate},
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
    "calendar_month": calendar_month,
    "music_staff": music_staff,
    "poster": poster,
    "ticket": ticket,
    "postage_stamp": postage_stamp,
    "type_composition": type_composition,
}
