"""SVG templates: small landscapes built from a few clear shapes."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix
from .svg import Drawing, Svg, path, polar, short, smooth, star

SKIES = (
    ("#8ec5fc", "#e0f2ff"),
    ("#ff9a76", "#ffe3b3"),
    ("#2b1b4d", "#c85c8e"),
    ("#0b1d3a", "#34567f"),
    ("#b8e1dd", "#fdf3df"),
    ("#5c7cfa", "#dbe4ff"),
    ("#f9c5d1", "#fff1e6"),
    ("#355c7d", "#f8b195"),
)


def sky(svg: Svg, rng: random.Random) -> tuple[str, str]:
    """Paint a gradient sky; returns its upper and lower colour."""
    upper, lower = rng.choice(SKIES)
    svg.rect(0, 0, svg.width, svg.height, svg.linear("sky-colours", upper, lower), id="sky")
    return upper, lower


def canvas(rng: random.Random) -> Svg:
    return Svg(*rng.choice(((640, 400), (600, 450), (480, 480), (420, 560))))


def mountains(rng: random.Random, p: Palette) -> Drawing:
    svg = canvas(rng)
    _, lower = sky(svg, rng)
    w, h, ridges, peaks = svg.width, svg.height, rng.randint(2, 4), 0
    disc = rng.choice(("sun", "moon"))
    svg.circle(
        w * rng.uniform(0.15, 0.85), h * rng.uniform(0.15, 0.35), h * rng.uniform(0.05, 0.11), "#fff3c4", id=disc
    )
    base = rng.choice(("#2f4858", "#3d5a40", "#4a3b5c", "#284b63"))
    for ridge in range(ridges):
        count, x, points = rng.randint(2, 4), -40.0, [(-40.0, h)]
        level = h * (0.42 + 0.42 * ridge / ridges)
        fill, tops = mix(lower, base, (ridge + 1) / ridges), []
        for _ in range(count):
            span = (w + 80) / count
            peak = (x + span * rng.uniform(0.35, 0.65), level - h * rng.uniform(0.1, 0.26))
            points += [peak, (x + span, level + h * rng.uniform(0, 0.1))]
            tops.append(peak)
            x += span
        svg.polygon([*points, (w + 40, h)], fill, id=f"ridge-{ridge + 1}")
        peaks += count
        if ridge == 0 and rng.random() < 0.7:
            for k, (px, py) in enumerate(tops):
                svg.polygon(
                    [(px, py), (px - 16, py + 26), (px - 4, py + 20), (px + 6, py + 28), (px + 17, py + 26)],
                    "#ffffff",
                    id=f"snow-{k + 1}",
                )
    trees = rng.randint(0, 9)
    with svg.group(id="trees", fill=mix(base, "#000000", 0.35)):
        for _ in range(trees):
            tx, ty, s = rng.uniform(20, w - 20), h * rng.uniform(0.92, 1), h * rng.uniform(0.08, 0.16)
            svg.add("path", d=path([(tx, ty - s * 1.6), (tx - s * 0.4, ty), (tx + s * 0.4, ty)], close=True))
    wood = f" and {words.plural(trees, 'dark tree')} in front" if trees else ""
    caption = f"A landscape with {words.plural(ridges, 'mountain ridge')} under a {disc}{wood}."
    return Drawing(svg, caption, {"ridges": ridges, "peaks": peaks, "trees": trees})


def city_skyline(rng: random.Random, p: Palette) -> Drawing:
    svg = canvas(rng)
    upper, _ = sky(svg, rng)
    w, h, x, towers, lit = svg.width, svg.height, 0.0, 0, 0
    svg.circle(w * rng.uniform(0.2, 0.8), h * rng.uniform(0.12, 0.3), h * rng.uniform(0.04, 0.1), "#fff6d8", id="moon")
    dark = mix(upper, "#0b0f1a", 0.75)
    while x < w - 24:
        width = min(rng.uniform(0.08, 0.17) * w, w - x)
        height, roof = h * rng.uniform(0.22, 0.7), rng.choice(("flat", "flat", "spire", "slope", "dome"))
        towers += 1
        fill, top = mix(dark, upper, rng.uniform(0, 0.25)), h - height
        with svg.group(id=f"tower-{towers}"):
            svg.rect(x, top, width - 3, height, fill)
            if roof == "spire":
                svg.line((x + width / 2, top), (x + width / 2, top - h * 0.1), fill, 4)
            elif roof == "slope":
                svg.polygon([(x, top), (x + width - 3, top), (x + width - 3, top - h * 0.07)], fill)
            elif roof == "dome":
                svg.ellipse(x + width / 2 - 1.5, top, width / 2 - 1.5, h * 0.05, fill)
            step, columns = rng.choice((18, 24)), max(1, int(width // 20))
            for row in range(int((height - 20) // step)):
                for column in range(columns):
                    if rng.random() < 0.45:
                        lit += 1
                        cell = (width - 9) / columns
                        svg.rect(x + 5 + column * cell, top + 12 + row * step, cell - 5, step * 0.5, "#ffd97d")
        x += width
    caption = f"A city skyline of {words.plural(towers, 'tower')} with {lit} lit windows under a pale moon."
    return Drawing(svg, caption, {"towers": towers, "lit_windows": lit})


def night_sky(rng: random.Random, p: Palette) -> Drawing:
    svg = canvas(rng)
    w, h = svg.width, svg.height
    svg.rect(
        0,
        0,
        w,
        h,
        svg.linear(
            "night-colours", *rng.choice((("#050816", "#1d2b53"), ("#0b0620", "#3b1f5b"), ("#02111b", "#0b4f6c")))
        ),
        id="night",
    )
    with svg.group(id="faint-stars", fill="#ffffff"):
        for _ in range(rng.randint(40, 90)):
            svg.add(
                "circle",
                cx=rng.uniform(0, w),
                cy=rng.uniform(0, h * 0.85),
                r=rng.choice((0.8, 1.2, 1.8)),
                opacity=rng.choice((0.4, 0.7, 1)),
            )
    count, angle, spots = (
        rng.randint(5, 9),
        rng.uniform(0, 360),
        [(w * rng.uniform(0.2, 0.45), h * rng.uniform(0.25, 0.5))],
    )
    for _ in range(count - 1):
        angle += rng.uniform(-80, 80)
        x, y = polar(*spots[-1], rng.uniform(0.12, 0.22) * min(w, h), angle)
        spots.append((min(max(x, 30), w - 30), min(max(y, 30), h * 0.75)))
    colour = rng.choice(p.accents)
    colour = mix(colour, "#ffffff", 0.5)
    svg.polyline(spots, colour, 1.5, id="constellation", stroke_dasharray=rng.choice((None, "4 4")))
    for k, (x, y) in enumerate(spots):
        size = rng.uniform(7, 13)
        svg.polygon(star(x, y, size, size * 0.35, rng.choice((4, 5))), "#fff8dc", id=f"star-{k + 1}")
    hills = [(w * k / 5, h * rng.uniform(0.8, 0.93)) for k in range(6)]
    svg.path(f"{smooth(hills)} L{w} {h} L0 {h} Z", "#05070d", id="hills")
    name = words.word(rng)
    svg.text(w - 24, h - 20, name, 20, colour, "end", id="name", letter_spacing=3)
    return Drawing(
        svg,
        f"A night sky over dark hills with a constellation of {words.plural(count, 'star')} named {name}.",
        {"stars": count, "name": name},
    )


def seascape(rng: random.Random, p: Palette) -> Drawing:
    svg = canvas(rng)
    sky(svg, rng)
    w, h, horizon = svg.width, svg.height, svg.height * rng.uniform(0.45, 0.65)
    svg.circle(
        w * rng.uniform(0.15, 0.85),
        horizon - h * rng.uniform(-0.02, 0.25),
        h * rng.uniform(0.07, 0.13),
        "#ffe9a8",
        id="sun",
    )
    sea = rng.choice(("#1d6fa3", "#146c74", "#274c77", "#3a506b"))
    svg.rect(0, horizon, w, h - horizon, sea, id="sea")
    for row in range(rng.randint(3, 6)):
        y, length = horizon + 16 + row * (h - horizon) / 6, rng.uniform(30, 70)
        points = [(x, y + (5 if k % 2 else -5)) for k, x in enumerate(_steps(-20, w + 40, length))]
        svg.path(
            smooth(points, 0.25), stroke=mix(sea, "#ffffff", 0.35 - 0.04 * row), stroke_width=3, id=f"wave-{row + 1}"
        )
    boats, colours = rng.randint(1, 4), []
    for k, x in enumerate(sorted(rng.uniform(0.1, 0.9) * w for _ in range(boats))):
        s, y, hull = h * rng.uniform(0.1, 0.2), horizon + (h - horizon) * rng.uniform(0.08, 0.55), p.accents[k]
        colours.append(hull)
        with svg.group(id=f"boat-{k + 1}"):
            svg.line((x, y - s * 1.3), (x, y), "#3b2f2f", 3)
            svg.polygon([(x + 4, y - s * 1.25), (x + 4, y - s * 0.15), (x + s * 0.7, y - s * 0.15)], "#fffdf5")
            svg.polygon([(x - 4, y - s), (x - 4, y - s * 0.15), (x - s * 0.5, y - s * 0.15)], mix(hull, "#ffffff", 0.6))
            svg.path(
                path(
                    [(x - s * 0.7, y), (x + s * 0.75, y), (x + s * 0.45, y + s * 0.3), (x - s * 0.45, y + s * 0.3)],
                    close=True,
                ),
                hull,
            )
    gulls = rng.randint(0, 5)
    with svg.group(id="gulls", fill="none", stroke="#333344", stroke_width=2):
        for _ in range(gulls):
            x, y = rng.uniform(40, w - 40), rng.uniform(24, horizon * 0.6)
            svg.add("path", d=f"M{short(x - 12)} {short(y)} q6 -8 12 0 q6 -8 12 0")
    birds = f" and {words.plural(gulls, 'gull')} above" if gulls else ""
    return Drawing(
        svg,
        f"A sea view with {words.plural(boats, 'sailing boat')}, a low sun{birds}.",
        {"boats": boats, "gulls": gulls},
    )


def balloons(rng: random.Random, p: Palette) -> Drawing:
    svg = canvas(rng)
    sky(svg, rng)
    w, h, count = svg.width, svg.height, rng.randint(2, 6)
    for k in range(rng.randint(1, 4)):
        cx, cy, s = rng.uniform(0.1, 0.9) * w, rng.uniform(0.1, 0.9) * h, rng.uniform(20, 44)
        with svg.group(id=f"cloud-{k + 1}", fill="#ffffff", opacity=0.8):
            for dx, r in ((-0.9, 0.6), (0, 0.9), (0.9, 0.6), (0.4, 0.75)):
                svg.add("ellipse", cx=cx + dx * s, cy=cy, rx=r * s, ry=r * s * 0.7)
    spots: list[tuple[float, float, float]] = []
    for k in range(count):
        r = min(w, h) * rng.uniform(0.07, 0.16)
        x, y = w * (k + 0.5) / count + rng.uniform(-14, 14), rng.uniform(r * 1.3, h - r * 2.1)
        spots.append((x, y, r))
        colour, second = p.accents[k % 6], mix(p.accents[(k + 1) % 6], "#ffffff", 0.3)
        with svg.group(id=f"balloon-{k + 1}"):
            for side in (-0.35, 0.35):
                svg.line((x + side * r, y + r * 0.9), (x + side * r * 0.6, y + r * 1.45), "#5b4636", 1.5)
            svg.path(
                f"M{short(x - r)} {short(y)} A{short(r)} {short(r)} 0 1 1 {short(x + r)} {short(y)} "
                f"Q{short(x + r * 0.8)} {short(y + r * 0.7)} {short(x + r * 0.3)} {short(y + r * 1.1)} "
                f"L{short(x - r * 0.3)} {short(y + r * 1.1)} Q{short(x - r * 0.8)} {short(y + r * 0.7)} "
                f"{short(x - r)} {short(y)} Z",
                colour,
            )
            if rng.random() < 0.7:
                svg.ellipse(x, y, r * 0.4, r * 1.0, second)
            svg.rect(x - r * 0.25, y + r * 1.42, r * 0.5, r * 0.36, "#8d6e4a", rx=3)
    return Drawing(svg, f"A sky with {words.plural(count, 'hot-air balloon')}.", {"balloons": count})


def forest(rng: random.Random, p: Palette) -> Drawing:
    svg = canvas(rng)
    _, lower = sky(svg, rng)
    w, h, rows, total = svg.width, svg.height, rng.randint(2, 4), 0
    kind, base = (
        rng.choice(("firs", "round trees", "poplars")),
        rng.choice(("#1b4332", "#2d6a4f", "#9c6644", "#344e41")),
    )
    for row in range(rows):
        level, shade = h * (0.55 + 0.42 * row / rows), mix(lower, base, (row + 1) / rows)
        svg.rect(0, level, w, h - level, shade, id=f"ground-{row + 1}")
        count = rng.randint(5, 11)
        total += count
        with svg.group(id=f"row-{row + 1}", fill=shade):
            for k in range(count):
                x, s = w * (k + rng.uniform(0.2, 0.8)) / count, h * rng.uniform(0.12, 0.3)
                if kind == "firs":
                    for part in range(3):
                        y, half = level - s * (0.15 + 0.27 * part), s * (0.32 - 0.07 * part)
                        svg.add("path", d=path([(x - half, y), (x + half, y), (x, y - s * 0.42)], close=True))
                elif kind == "round trees":
                    svg.add("rect", x=x - 3, y=level - s * 0.5, width=6, height=s * 0.5)
                    svg.add("circle", cx=x, cy=level - s * 0.65, r=s * 0.32)
                else:
                    svg.add("ellipse", cx=x, cy=level - s * 0.5, rx=s * 0.13, ry=s * 0.55)
    return Drawing(
        svg,
        f"A forest of {total} {kind} in {words.plural(rows, 'row')} that fade into the distance.",
        {"trees": total, "rows": rows, "tree_kind": kind},
    )


def _steps(start: float, stop: float, step: float) -> list[float]:
    return [start + step * k for k in range(int((stop - start) / step) + 2)]


TEMPLATES = {
    "mountains": mountains,
    "city_skyline": city_skyline,
    "night_sky": night_sky,
    "seascape": seascape,
    "balloons": balloons,
    "forest": forest,
}
