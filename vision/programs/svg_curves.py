"""SVG templates: figures that a rule makes (rosettes, mazes, fractals, spirographs, string art, block towers)."""

from __future__ import annotations

import math
import random

from . import words
from .palette import Palette, mix
from .svg import Drawing, Point, Svg, polar, ring, short, star


def star_rosette(rng: random.Random, p: Palette) -> Drawing:
    fold, layers, side = rng.choice((5, 6, 7, 8, 10, 12, 16)), rng.randint(3, 6), 480
    svg, c, r = Svg(side, side, p.paper), side / 2, 225.0
    kinds = []
    for layer in range(layers):
        colour, kind = p.accents[layer % 6], rng.choice(("star", "petals", "circles", "polygon", "rays"))
        kinds.append(kind)
        turn = rng.choice((0, 180 / fold))
        with svg.group(id=f"layer-{layer + 1}"):
            if kind == "star":
                svg.polygon(star(c, c, r, r * rng.uniform(0.45, 0.85), fold, turn), colour)
            elif kind == "petals":
                svg.circle(c, c, r, mix(colour, p.paper, 0.5))
                for x, y in ring(c, c, r * 0.62, fold, turn):
                    angle = math.degrees(math.atan2(y - c, x - c))
                    svg.ellipse(
                        x,
                        y,
                        r * 0.36,
                        r * 1.3 / fold,
                        colour,
                        transform=f"rotate({short(angle)} {short(x)} {short(y)})",
                    )
            elif kind == "circles":
                svg.circle(c, c, r, mix(colour, p.ink, 0.3))
                for x, y in ring(c, c, r * 0.8, fold, turn):
                    svg.circle(x, y, r * min(0.18, 2.1 / fold), colour)
            elif kind == "polygon":
                svg.polygon(ring(c, c, r, fold, turn), colour, stroke=p.paper, stroke_width=4)
            else:
                svg.circle(c, c, r, colour)
                for x, y in ring(c, c, r, fold * 2, turn):
                    svg.line((c, c), (x, y), p.paper, 3)
        r *= rng.uniform(0.58, 0.78)
    svg.circle(c, c, r * 0.7, p.ink, id="heart")
    return Drawing(
        svg,
        f"A rosette of {layers} layers with {fold}-fold symmetry: {words.join(kinds)}, from the outside in.",
        {"fold": fold, "layers": layers},
    )


def iso_cubes(rng: random.Random, p: Palette) -> Drawing:
    size, tallest = rng.randint(3, 6), rng.randint(2, 5)
    edge = 170 / size
    dx, dy = edge * math.cos(math.pi / 6), edge * 0.5
    svg = Svg(420, 460, p.paper)
    ox, oy, total, by_height = 210, 190, 0, rng.random() < 0.6
    for row in range(size):
        for column in range(size):
            height = rng.randint(0, tallest)
            total += height
            if not height:
                continue
            colour = p.accents[(height if by_height else row + column) % 6]
            x, y, lift = ox + (column - row) * dx, oy + (column + row) * dy, height * edge * 0.62
            top = [(x, y - lift), (x + dx, y + dy - lift), (x, y + 2 * dy - lift), (x - dx, y + dy - lift)]
            with svg.group(id=f"tower-{row + 1}-{column + 1}"):
                svg.polygon(top, mix(colour, "#ffffff", 0.3))
                svg.polygon([top[3], top[2], (x, y + 2 * dy), (x - dx, y + dy)], colour)
                svg.polygon([top[2], top[1], (x + dx, y + dy), (x, y + 2 * dy)], mix(colour, "#000000", 0.25))
    caption = f"An isometric view of block towers on a {size} by {size} grid, {total} cubes in all."
    return Drawing(svg, caption, {"grid": size, "cubes": total})


def maze(rng: random.Random, p: Palette) -> Drawing:
    columns, rows = rng.randint(7, 16), rng.randint(7, 16)
    cell, width = 420 / max(columns, rows), rng.choice((2, 4, 6))
    svg = Svg(columns * cell + 40, rows * cell + 40, p.paper)
    open_walls, seen, trail = set(), {(0, 0)}, [(0, 0)]
    while trail:
        x, y = trail[-1] if rng.random() < 0.8 else rng.choice(trail)
        options = [(x + i, y + j) for i, j in ((1, 0), (-1, 0), (0, 1), (0, -1))]
        options = [(i, j) for i, j in options if 0 <= i < columns and 0 <= j < rows and (i, j) not in seen]
        if not options:
            trail.remove((x, y))
            continue
        step = rng.choice(options)
        open_walls |= {((x, y), step), (step, (x, y))}
        seen.add(step)
        trail.append(step)
    walls = []
    for y in range(rows):
        for x in range(columns):
            if x + 1 < columns and ((x, y), (x + 1, y)) not in open_walls:
                walls.append(f"M{short(20 + (x + 1) * cell)} {short(20 + y * cell)} v{short(cell)}")
            if y + 1 < rows and ((x, y), (x, y + 1)) not in open_walls:
                walls.append(f"M{short(20 + x * cell)} {short(20 + (y + 1) * cell)} h{short(cell)}")
    svg.path(" ".join(walls), id="walls", stroke=p.ink, stroke_width=width, stroke_linecap="round")
    svg.rect(20, 20, columns * cell, rows * cell, "none", id="border", stroke=p.ink, stroke_width=width * 1.5)
    svg.circle(20 + cell / 2, 20 + cell / 2, cell * 0.3, p.accents[0], id="start")
    svg.rect(20 + (columns - 0.8) * cell, 20 + (rows - 0.8) * cell, cell * 0.6, cell * 0.6, p.accents[1], id="goal")
    caption = (
        f"A rectangular maze of {columns} by {rows} cells with a round start at the top left and a square goal "
        "at the bottom right."
    )
    return Drawing(svg, caption, {"columns": columns, "rows": rows})


def fractal_tree(rng: random.Random, p: Palette) -> Drawing:
    depth, spread, lean = rng.randint(6, 9), rng.uniform(16, 38), rng.uniform(-7, 7)
    shrink, forks, side = rng.uniform(0.68, 0.8), rng.choice((2, 2, 3)), 480
    depth = min(depth, 6) if forks == 3 else depth
    svg = Svg(side, side, p.paper)
    levels: list[list[str]] = [[] for _ in range(depth)]
    tips: list[Point] = []

    def grow(x: float, y: float, length: float, angle: float, level: int) -> None:
        x2, y2 = polar(x, y, length, angle)
        levels[level].append(f"M{x:.1f} {y:.1f} L{x2:.1f} {y2:.1f}")
        if level + 1 == depth:
            tips.append((x2, y2))
            return
        for k in range(forks):
            turn = (k - (forks - 1) / 2) * spread * 2 / (forks - 1) + lean + rng.uniform(-7, 7)
            grow(x2, y2, length * shrink * rng.uniform(0.9, 1.06), angle + turn, level + 1)

    reach = sum(shrink**k for k in range(depth))
    grow(side * rng.uniform(0.4, 0.6), side * 0.94, side * 0.72 / reach, -lean * 1.5, 0)
    with svg.group(id="branches", fill="none", stroke_linecap="round"):
        for level, parts in enumerate(levels):
            svg.path(
                " ".join(parts),
                stroke=mix("#5c4033", p.accents[0], level / depth),
                stroke_width=max(1.2, 12 * 0.72**level),
            )
    leaves = rng.random() < 0.6
    if leaves:
        with svg.group(id="leaves", fill=p.accents[0], opacity=0.8):
            for x, y in tips:
                svg.add("circle", cx=x, cy=y, r=4)
    caption = (
        f"A fractal tree of {depth} levels where each branch splits in "
        f"{words.number(forks)}{', with round leaves at the tips' if leaves else ''}."
    )
    return Drawing(svg, caption, {"levels": depth, "forks": forks, "tips": len(tips)})


def spirograph(rng: random.Random, p: Palette) -> Drawing:
    side, curves = 480, rng.randint(1, 3)
    svg, facts = Svg(side, side, p.paper), []
    for k in range(curves):
        big, small = rng.randint(7, 24), rng.randint(2, 11)
        while math.gcd(big, small) > 1 or small >= big:
            big, small = rng.randint(7, 24), rng.randint(2, 11)
        pen, sign = rng.uniform(0.5, 1.4), rng.choice((1, -1))
        raw, steps = [], 90 * small + 200
        for j in range(steps + 1):
            t = 2 * math.pi * small * j / steps
            centre, ratio = (big - sign * small), (big - sign * small) / small
            raw.append(
                (
                    centre * math.cos(t) + sign * pen * small * math.cos(ratio * t),
                    centre * math.sin(t) - pen * small * math.sin(ratio * t),
                )
            )
        scale = (225 - 40 * k) / max(math.hypot(x, y) for x, y in raw)
        points = [(side / 2 + x * scale, side / 2 + y * scale) for x, y in raw]
        svg.polyline(points, p.accents[k], rng.choice((1.2, 2, 3)), id=f"curve-{k + 1}")
        facts.append(big)
    return Drawing(
        svg,
        f"A spirograph drawing of {words.plural(curves, 'closed curve')} with "
        f"{words.join([str(n) for n in facts])} lobes or cusps around.",
        {"curves": curves, "first_lobes": facts[0]},
    )


def string_art(rng: random.Random, p: Palette) -> Drawing:
    pins, step, side = rng.randint(24, 60), rng.randint(5, 23), 480
    svg, shape, turn = Svg(side, side, p.paper), rng.choice(("circle", "square", "cardioid")), rng.uniform(0, 360)
    factor = rng.randint(2, 7)
    pins *= 2 if shape == "cardioid" else 1
    if shape == "square":
        spots = [_on_square(side, k / pins) for k in range(pins)]
    else:
        spots = ring(side / 2, side / 2, 220, pins, turn)
    with svg.group(id="strings", stroke=p.accents[0], stroke_width=1.3):
        for k in range(pins):
            other = (k * factor) % pins if shape == "cardioid" else (k + step) % pins
            svg.add("line", x1=spots[k][0], y1=spots[k][1], x2=spots[other][0], y2=spots[other][1])
    with svg.group(id="pins", fill=p.ink):
        for x, y in spots:
            svg.add("circle", cx=x, cy=y, r=4)
    rule = (
        f"pin k is tied to pin {factor} times k"
        if shape == "cardioid"
        else f"each pin is tied to the one {step} further"
    )
    return Drawing(
        svg,
        f"String art on {pins} pins around a {'square' if shape == 'square' else 'circle'}; {rule}.",
        {"pins": pins},
    )


def _on_square(side: float, share: float) -> Point:
    edge, along = divmod(share * 4, 1)
    low, high = 24, side - 24
    place = low + (high - low) * along
    return ((place, low), (high, place), (high + low - place, high), (low, high + low - place))[int(edge)]


TEMPLATES = {
    "star_rosette": star_rosette,
    "iso_cubes": iso_cubes,
    "maze": maze,
    "fractal_tree": fractal_tree,
    "spirograph": spirograph,
    "string_art": string_art,
}
