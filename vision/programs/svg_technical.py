"""SVG templates: technical sheets (circuits, floor plans, molecules, gears, dimensioned plates)."""

from __future__ import annotations

import math
import random

from . import words
from .palette import Palette, legible, mix, on
from .svg import Drawing, Point, Svg, polar, ring, short, slug


def circuit(rng: random.Random, p: Palette) -> Drawing:
    columns, rows = rng.randint(2, 4), rng.randint(1, 2)
    dx, dy = rng.randint(120, 170), rng.randint(110, 150)
    svg = Svg(columns * dx + 160, rows * dy + 130, p.paper)
    left, top, counts = 50, 70, {"resistor": 0, "capacitor": 0, "lamp": 0, "switch": 0, "battery": 0}
    units = {
        "resistor": ("R", "kΩ"),
        "capacitor": ("C", "nF"),
        "lamp": ("L", "W"),
        "switch": ("S", ""),
        "battery": ("B", "V"),
    }

    def part(kind: str, x: float, y: float, upright: bool, length: float) -> None:
        counts[kind] += 1
        name, unit = units[kind][0] + str(counts[kind]), units[kind][1]
        with svg.group(
            id=f"{kind}-{counts[kind]}", transform=f"translate({short(x)} {short(y)}){' rotate(90)' if upright else ''}"
        ):
            _symbol(svg, kind, length, p.ink, p.paper)
        value = f"{name} {rng.choice((1, 2, 5, 9, 10, 12, 22, 47, 100))} {unit}".rstrip() if unit else name
        svg.text(
            x + (24 if upright else 0),
            y + (5 if upright else -24),
            value,
            13,
            legible(p.accents[0], p.paper),
            "start" if upright else "middle",
        )

    part("battery", left, top + dy / 2, True, dy)
    for row in range(rows + 1):
        for column in range(columns):
            kind = rng.choice(("resistor", "capacitor", "lamp", "switch", "wire", "wire"))
            a, b = (left + column * dx, top + row * dy), (left + (column + 1) * dx, top + row * dy)
            if kind == "wire":
                svg.line(a, b, p.ink, 2)
            else:
                part(kind, (a[0] + b[0]) / 2, a[1], False, dx)
    for column in range(columns + 1):
        for row in range(rows):
            if column == row == 0:
                continue
            x, y = left + column * dx, top + row * dy
            kind = rng.choice(
                ("resistor", "capacitor", "lamp", "none", "wire") if column < columns else ("wire", "resistor", "lamp")
            )
            if kind == "wire":
                svg.line((x, y), (x, y + dy), p.ink, 2)
            elif kind != "none":
                part(kind, x, y + dy / 2, True, dy)
    shown = [
        words.plural(count, kind, "switches" if kind == "switch" else "batteries" if kind == "battery" else None)
        for kind, count in counts.items()
        if count
    ]
    return Drawing(svg, f"A circuit diagram with {words.join(shown)}.", dict(counts))


def _symbol(svg: Svg, kind: str, length: float, ink: str, paper: str) -> None:
    """A component with its leads, lying along x, centred on the origin."""
    reach = {"resistor": 26, "capacitor": 6, "lamp": 18, "switch": 22, "battery": 7}[kind]
    svg.line((-length / 2, 0), (-reach, 0), ink, 2)
    svg.line((reach, 0), (length / 2, 0), ink, 2)
    if kind == "resistor":
        points = [(-26, 0.0), *((-22 + 44 * k / 6, -11.0 if k % 2 else 11.0) for k in range(7)), (26, 0.0)]
        svg.polyline(points, ink, 2.5)
    elif kind == "capacitor":
        for x in (-6, 6):
            svg.line((x, -16), (x, 16), ink, 3)
    elif kind == "lamp":
        svg.circle(0, 0, 18, paper, stroke=ink, stroke_width=2.5)
        svg.path("M-12.7 -12.7 L12.7 12.7 M-12.7 12.7 L12.7 -12.7", stroke=ink, stroke_width=2)
    elif kind == "switch":
        svg.line((-22, 0), (16, -16), ink, 2.5)
        for x in (-22, 22):
            svg.circle(x, 0, 4, paper, stroke=ink, stroke_width=2)
    else:
        svg.line((-7, -20), (-7, 20), ink, 2.5)
        svg.line((7, -10), (7, 10), ink, 6)


def floor_plan(rng: random.Random, p: Palette) -> Drawing:
    w, h, wanted = rng.randint(420, 560), rng.randint(320, 440), rng.randint(4, 7)
    rooms = [(40.0, 60.0, float(w), float(h))]
    while len(rooms) < wanted:
        rooms.sort(key=lambda room: room[2] * room[3])
        x, y, rw, rh = rooms.pop()
        cut = rng.uniform(0.36, 0.64)
        if rw > rh:
            rooms += [(x, y, rw * cut, rh), (x + rw * cut, y, rw * (1 - cut), rh)]
        else:
            rooms += [(x, y, rw, rh * cut), (x, y + rh * cut, rw, rh * (1 - cut))]
    svg = Svg(w + 80, h + 110, p.paper)
    names = words.some(
        rng, ["Kitchen", "Bath", "Bedroom", "Study", "Hall", "Living", "Store", "Studio", "Pantry"], wanted
    )
    svg.text(
        40, 38, f"Plan of {rng.choice(words.CITIES)} {rng.randint(1, 90)}", 20, p.ink, id="title", font_weight="bold"
    )
    largest, wall, colourful = max(rooms, key=lambda room: room[2] * room[3]), rng.choice((5, 8)), rng.random() < 0.6
    for k, (room, name) in enumerate(zip(rooms, names, strict=True)):
        x, y, rw, rh = room
        fill = mix(p.accents[k % 6], p.paper, 0.75) if colourful else p.panel
        with svg.group(id=f"room-{slug(name)}"):
            svg.rect(x, y, rw, rh, fill, stroke=p.ink, stroke_width=wall)
            if rng.random() < 0.75:
                d = min(rw, rh) * 0.3
                svg.line((x + rw * 0.3, y + rh), (x + rw * 0.3 + d, y + rh), fill, wall + 1)
                svg.path(
                    f"M{short(x + rw * 0.3)} {short(y + rh)} v{short(-d)} A{short(d)} {short(d)} 0 0 1 "
                    f"{short(x + rw * 0.3 + d)} {short(y + rh)}",
                    stroke=p.muted,
                    stroke_width=1.5,
                )
            svg.text(x + rw / 2, y + rh * 0.42, name, 15, p.ink, "middle", font_weight="bold")
            svg.text(x + rw / 2, y + rh * 0.42 + 18, f"{rw * rh / 2500:.1f} m²", 12, p.muted, "middle")
    svg.line((40, h + 86), (w + 40, h + 86), p.ink, 1.5, id="scale")
    for x in (40, w + 40):
        svg.line((x, h + 80), (x, h + 92), p.ink, 1.5)
    svg.text(40 + w / 2, h + 82, f"{w / 50:.1f} m", 13, p.ink, "middle", id="scale-text")
    big = names[rooms.index(largest)]
    return Drawing(
        svg,
        f"A floor plan with {words.plural(wanted, 'room')}: {words.join(names)}; the largest is the one named {big}.",
        {"rooms": wanted, "largest": big, "width_m": round(w / 50, 1)},
    )


def molecule(rng: random.Random, p: Palette) -> Drawing:
    size, rings = rng.uniform(48, 62), rng.randint(1, 3)
    atoms: dict[tuple[int, int], Point] = {}
    bonds: set[tuple[tuple[int, int], tuple[int, int]]] = set()

    def atom(x: float, y: float) -> tuple[int, int]:
        key = (round(x / 6), round(y / 6))
        found = next((k for k in atoms if abs(k[0] - key[0]) <= 1 and abs(k[1] - key[1]) <= 1), None)
        if found is None:
            atoms[key] = (x, y)
        return found or key

    cx, cy = 280 - size * math.sqrt(3) * (rings - 1) / 2, rng.uniform(200, 240)
    sides = [rng.choice((6, 6, 5))] if rings == 1 else [6] * rings
    for n in sides:
        corners = [atom(*point) for point in ring(cx, cy, size if n == 6 else size * 0.9, n)]
        bonds |= {tuple(sorted((a, b))) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)}  # type: ignore[misc]
        cx += size * math.sqrt(3)
    ring_atoms, letters = list(atoms), {}
    mid = (sum(x for x, _ in atoms.values()) / len(atoms), sum(y for _, y in atoms.values()) / len(atoms))
    for key in rng.sample(ring_atoms, rng.randint(2, min(5, len(ring_atoms)))):
        x, y = atoms[key]
        angle, last = math.degrees(math.atan2(y - mid[1], x - mid[0])) + 90, key
        for step in range(rng.randint(1, 2)):
            x, y = polar(x, y, size, angle + (0 if step == 0 else rng.choice((-50, 50))))
            if not (30 < x < 530 and 40 < y < 400):
                break
            new = atom(x, y)
            bonds.add(tuple(sorted((last, new))))  # type: ignore[arg-type]
            last = new
        if last != key:
            letters[last] = rng.choice(("O", "N", "S", "F", "Cl", "Br", "H"))
    left, top = min(x for x, _ in atoms.values()) - 50, min(y for _, y in atoms.values()) - 50
    right, bottom = max(x for x, _ in atoms.values()) + 50, max(y for _, y in atoms.values()) + 50
    svg = Svg(right - left, bottom - top, p.paper)
    atoms = {key: (x - left, y - top) for key, (x, y) in atoms.items()}
    balls = rng.random() < 0.45
    with svg.group(id="bonds", stroke=p.ink):
        for k, (a, b) in enumerate(sorted(bonds)):
            (x1, y1), (x2, y2) = atoms[a], atoms[b]
            svg.line((x1, y1), (x2, y2), p.ink, 3)
            if k % 3 == 1:
                nx, ny = (y2 - y1) / size * 6, (x1 - x2) / size * 6
                svg.line(
                    (x1 * 0.85 + x2 * 0.15 + nx, y1 * 0.85 + y2 * 0.15 + ny),
                    (x2 * 0.85 + x1 * 0.15 + nx, y2 * 0.85 + y1 * 0.15 + ny),
                    p.ink,
                    2,
                )
    colours = {
        "O": "#e5383b",
        "N": "#3a6ea5",
        "S": "#e0b400",
        "F": "#2a9d6f",
        "Cl": "#3c9d3c",
        "Br": "#8d3b2b",
        "H": "#8d99ae",
    }
    for k, (key, (x, y)) in enumerate(atoms.items()):
        if key in letters:
            svg.circle(x, y, 17, colours[letters[key]] if balls else p.paper, id=f"atom-{k + 1}")
            svg.text(
                x,
                y + 7,
                letters[key],
                19,
                on(colours[letters[key]]) if balls else legible(colours[letters[key]], p.paper),
                "middle",
                font_weight="bold",
            )
        elif balls:
            svg.circle(x, y, 12, "#4a4e57", id=f"atom-{k + 1}")
    caption = (
        f"A structural formula with {words.plural(rings, 'fused ring' if rings > 1 else 'ring')}, {len(atoms)} "
        f"atoms and {len(bonds)} bonds; lettered atoms: {words.join(sorted(letters.values()) or ['none'])}."
    )
    return Drawing(svg, caption, {"rings": rings, "atoms": len(atoms), "bonds": len(bonds)})


def gears(rng: random.Random, p: Palette) -> Drawing:
    count, module = rng.randint(2, 5), rng.uniform(7, 11)
    teeth = [rng.randint(9, 24) for _ in range(count)]
    spots, angle = [(0.0, 0.0)], rng.uniform(50, 130)
    for k in range(1, count):
        angle += rng.uniform(-55, 55)
        spots.append(polar(*spots[-1], (teeth[k - 1] + teeth[k]) * module / 2 * 1.04, angle))
    reach = [t * module / 2 + module for t in teeth]
    x0, y0 = (
        min(x - r for (x, _), r in zip(spots, reach, strict=True)) - 26,
        min(y - r for (_, y), r in zip(spots, reach, strict=True)) - 26,
    )
    x1, y1 = (
        max(x + r for (x, _), r in zip(spots, reach, strict=True)) + 26,
        max(y + r for (_, y), r in zip(spots, reach, strict=True)) + 26,
    )
    svg = Svg(x1 - x0, max(y1 - y0, (x1 - x0) / 4.5), p.paper)
    for k, ((x, y), n) in enumerate(zip(spots, teeth, strict=True)):
        cx, cy, r, turn = x - x0, y - y0, n * module / 2, rng.uniform(0, 360 / n)
        outline = []
        for tooth in range(n):
            for share, radius in (
                (0, r - module),
                (0.14, r + module * 0.9),
                (0.4, r + module * 0.9),
                (0.54, r - module),
            ):
                outline.append(polar(cx, cy, radius, turn + (tooth + share) * 360 / n))
        with svg.group(id=f"gear-{k + 1}"):
            svg.polygon(outline, p.accents[k % 6])
            holes = rng.choice((0, 3, 4, 5, 6))
            for hx, hy in ring(cx, cy, r * 0.55, holes, turn) if holes and r > 45 else ():
                svg.circle(hx, hy, r * 0.17, p.paper)
            svg.circle(cx, cy, max(r * 0.24, 15), p.paper)
            svg.text(cx, cy + 5, n, 14, p.ink, "middle", id=f"teeth-{k + 1}")
    return Drawing(
        svg,
        f"A train of {words.plural(count, 'gear')} with {words.join([str(t) for t in teeth])} teeth.",
        {"gears": count, "first_teeth": teeth[0], "last_teeth": teeth[-1]},
    )


def dimension_plate(rng: random.Random, p: Palette) -> Drawing:
    w, h, across, down = rng.randint(60, 150), rng.randint(40, 110), rng.randint(1, 4), rng.randint(1, 3)
    diameter = rng.randint(4, min(24, int(min(w / across, h / down) * 0.4)))
    scale = 360 / max(w, h * 1.2)
    paper, ink = rng.choice((("#ffffff", "#1b2733"), ("#12355b", "#ffffff")))
    svg = Svg(w * scale + 150, h * scale + 150, paper)
    x0, y0, pw, ph = 90, 50, w * scale, h * scale
    svg.rect(x0, y0, pw, ph, "none", id="outline", stroke=ink, stroke_width=3, rx=rng.choice((0, 10, 24)))
    margin_x, margin_y = pw * rng.uniform(0.13, 0.26), ph * rng.uniform(0.17, 0.28)
    for row in range(down):
        for column in range(across):
            cx = x0 + (pw / 2 if across == 1 else margin_x + (pw - 2 * margin_x) * column / (across - 1))
            cy = y0 + (ph / 2 if down == 1 else margin_y + (ph - 2 * margin_y) * row / (down - 1))
            r = diameter * scale / 2
            svg.circle(cx, cy, r, "none", id=f"hole-{row * across + column + 1}", stroke=ink, stroke_width=2.5)
            svg.path(
                f"M{short(cx - r - 7)} {short(cy)} h{short(2 * r + 14)} M{short(cx)} {short(cy - r - 7)} "
                f"v{short(2 * r + 14)}",
                stroke=ink,
                stroke_width=1,
                stroke_dasharray="8 3 2 3",
            )
    arrow = svg.arrow_marker("tip", ink)
    for name, middle, end, where, text in (
        ("width", (x0 + pw / 2, y0 + ph + 46), (pw / 2, 0), (x0 + pw / 2, y0 + ph + 40), w),
        ("height", (x0 - 46, y0 + ph / 2), (0, ph / 2), (x0 - 54, y0 + ph / 2 + 5), h),
    ):
        for sign in (-1, 1):
            svg.line(middle, (middle[0] + sign * end[0], middle[1] + sign * end[1]), ink, 1.5, marker_end=arrow)
        svg.text(where[0], where[1], text, 17, ink, "middle" if name == "width" else "end", id=f"dimension-{name}")
    svg.text(x0 + pw, y0 - 16, f"{across * down} × ⌀{diameter}", 16, ink, "end", id="dimension-holes")
    caption = (
        f"A dimensioned drawing of a plate {w} mm wide and {h} mm high with "
        f"{words.plural(across * down, 'hole')} of {diameter} mm diameter."
    )
    return Drawing(svg, caption, {"width_mm": w, "height_mm": h, "holes": across * down, "hole_diameter_mm": diameter})


TEMPLATES = {
    "circuit": circuit,
    "floor_plan": floor_plan,
    "molecule": molecule,
    "gears": gears,
    "dimension_plate": dimension_plate,
}
