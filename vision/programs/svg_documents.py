"""SVG templates: printed matter (calendars, sheet music, tickets)."""

from __future__ import annotations

import calendar
import random

from . import words
from .palette import Palette, legible, mix, on
from .svg import Drawing, Svg, fit, short


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


TEMPLATES = {
    "calendar_month": calendar_month,
    "music_staff": music_staff,
    "ticket": ticket,
}
