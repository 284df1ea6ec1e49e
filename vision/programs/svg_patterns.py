"""SVG templates: patterns and tilings that fill the sheet."""

from __future__ import annotations

import math
import random

from . import words
from .palette import Palette, mix
from .svg import Drawing, Svg, path, ring, short, star


def truchet(rng: random.Random, p: Palette) -> Drawing:
    columns, rows = rng.randint(4, 9), rng.randint(4, 9)
    cell = 480 // max(columns, rows)
    svg = Svg(columns * cell, rows * cell, p.paper)
    style, half, width = rng.choice(("arcs", "triangles", "diagonals")), cell / 2, cell * rng.uniform(0.12, 0.3)
    with svg.group(
        id="tiles",
        fill="none" if style != "triangles" else None,
        stroke=None if style == "triangles" else p.accents[0],
        stroke_width=None if style == "triangles" else width,
    ):
        for row in range(rows):
            for column in range(columns):
                x, y, turned = column * cell, row * cell, rng.random() < 0.5
                if style == "arcs":
                    a = (
                        f"M{short(x + half)} {y} A{short(half)} {short(half)} 0 0 {int(turned)} "
                        f"{x + (cell if not turned else 0)} {short(y + half)}"
                    )
                    b = (
                        f"M{short(x + half)} {y + cell} A{short(half)} {short(half)} 0 0 {int(turned)} "
                        f"{x + (0 if not turned else cell)} {short(y + half)}"
                    )
                    svg.add("path", d=f"{a} {b}")
                elif style == "diagonals":
                    points = [(x, y), (x + cell, y + cell)] if turned else [(x + cell, y), (x, y + cell)]
                    svg.add("path", d=path(points), stroke_linecap="round")
                else:
                    corners = [(x, y), (x + cell, y), (x + cell, y + cell), (x, y + cell)]
                    skip = rng.randrange(4)
                    svg.polygon([c for k, c in enumerate(corners) if k != skip], rng.choice(p.accents[:3]))
    caption = f"A Truchet tiling of {columns} by {rows} tiles made of {style}."
    return Drawing(svg, caption, {"columns": columns, "rows": rows, "tile": style})


def hexagons(rng: random.Random, p: Palette) -> Drawing:
    columns, rows, flat = rng.randint(4, 9), rng.randint(4, 8), rng.random() < 0.5
    r, colours = 300 / columns, rng.randint(2, 5)
    dx, dy = (r * 1.5, r * math.sqrt(3)) if flat else (r * math.sqrt(3), r * 1.5)
    svg = Svg(dx * (columns + 0.5) + r, dy * (rows + 0.5) + r, p.paper)
    peak, scale, gaps, total = (
        (rng.random() * columns, rng.random() * rows),
        rng.uniform(0.8, 1.06),
        rng.uniform(0, 0.3),
        0,
    )
    with svg.group(id="hexagons", stroke=p.paper, stroke_width=rng.choice((1, 3, 6))):
        for row in range(rows):
            for column in range(columns):
                if rng.random() < gaps:
                    continue
                x = r + dx * column + (0 if flat else dx / 2 * (row % 2))
                y = r + dy * row + (dy / 2 * (column % 2) if flat else 0)
                near = math.dist((column, row), peak) / max(columns, rows)
                colour = mix(p.accents[rng.randrange(colours)], p.paper, min(near, 0.6))
                svg.polygon(ring(x, y, r * scale, 6, 30 if flat else 0), colour)
                total += 1
    caption = f"A honeycomb of {total} hexagons that fade away from one spot."
    return Drawing(svg, caption, {"hexagons": total})


def quilt(rng: random.Random, p: Palette) -> Drawing:
    n, blocks, margin = rng.randint(2, 5), rng.randint(1, 3), rng.uniform(8, 60)
    cell = (480 - 2 * margin) / n
    order = [[rng.randrange(blocks) for _ in range(2)] for _ in range(2)]
    svg = Svg(480, 480, p.paper)
    kinds = words.some(
        rng, ["pinwheel", "star", "diamond", "nine patch", "log cabin", "hourglass", "rings", "quarters"], blocks
    )
    for row in range(n):
        for column in range(n):
            kind = kinds[order[row % 2][column % 2]]
            a, b = (p.accents[0], p.accents[1]) if (row + column) % 2 else (p.accents[2], p.accents[3])
            with svg.group(
                id=f"block-{row + 1}-{column + 1}",
                transform=f"translate({short(margin + column * cell)} {short(margin + row * cell)})",
            ):
                _block(svg, kind, cell - 2, a, b, mix(a, p.paper, 0.75))
    used = sorted({kinds[k] for row in order for k in row})
    caption = (
        f"A quilt of {n} by {n} blocks in {'the pattern' if len(used) == 1 else 'the patterns'} {words.join(used)}."
    )
    return Drawing(svg, caption, {"blocks_a_side": n, "patterns": len(used)})


def _block(svg: Svg, kind: str, s: float, a: str, b: str, ground: str) -> None:
    """One quilt block of side `s` at the origin."""
    h = s / 2
    svg.rect(0, 0, s, s, ground)
    if kind == "pinwheel":
        for corners in (
            ((0, 0), (h, 0), (h, h)),
            ((s, 0), (s, h), (h, h)),
            ((s, s), (h, s), (h, h)),
            ((0, s), (0, h), (h, h)),
        ):
            svg.polygon(corners, a)
    elif kind == "star":
        svg.polygon(star(h, h, s * 0.48, s * 0.2, 8), a)
        svg.circle(h, h, s * 0.12, b)
    elif kind == "diamond":
        svg.polygon(((h, 0), (s, h), (h, s), (0, h)), a)
        svg.polygon(((h, s / 4), (s * 0.75, h), (h, s * 0.75), (s / 4, h)), b)
    elif kind == "nine patch":
        for k in range(9):
            svg.rect(s / 3 * (k % 3), s / 3 * (k // 3), s / 3, s / 3, a if k % 2 == 0 else b)
    elif kind == "log cabin":
        for k in range(5):
            inset = s * 0.1 * k
            svg.rect(inset, inset, s - 2 * inset, s - 2 * inset, a if k % 2 == 0 else b)
    elif kind == "hourglass":
        svg.polygon(((0, 0), (s, 0), (h, h)), a)
        svg.polygon(((0, s), (s, s), (h, h)), b)
    elif kind == "rings":
        for k in range(4):
            svg.circle(h, h, s * (0.48 - 0.11 * k), a if k % 2 == 0 else b)
    else:
        svg.path(f"M0 {short(h)} A{short(h)} {short(h)} 0 0 1 {short(h)} 0 L{short(h)} {short(h)} Z", a)
        svg.path(
            f"M{short(s)} {short(h)} A{short(h)} {short(h)} 0 0 1 {short(h)} {short(s)} L{short(h)} {short(h)} Z", b
        )


def halftone(rng: random.Random, p: Palette) -> Drawing:
    n, shape = rng.randint(14, 26), rng.choice(("circle", "square", "diamond"))
    svg, cell = Svg(480, 480, p.paper), 480 / n
    centres = [(rng.uniform(0, n), rng.uniform(0, n), rng.uniform(n * 0.25, n * 0.6)) for _ in range(rng.randint(1, 4))]
    dots = 0
    with svg.group(id="dots", fill=p.accents[0]):
        for row in range(n):
            for column in range(n):
                tone = max(max(0.0, 1 - math.dist((column, row), (x, y)) / reach) for x, y, reach in centres)
                x, y, r = cell * (column + 0.5), cell * (row + 0.5), cell * 0.62 * tone
                if r < cell * 0.07:
                    continue
                dots += 1
                if shape == "circle":
                    svg.add("circle", cx=x, cy=y, r=r)
                elif shape == "square":
                    svg.add("rect", x=x - r * 0.85, y=y - r * 0.85, width=r * 1.7, height=r * 1.7)
                else:
                    svg.add("path", d=path(ring(x, y, r * 1.15, 4), close=True))
    caption = (
        f"A halftone of {dots} {shape}s on a {n} by {n} grid, largest around {words.plural(len(centres), 'centre')}."
    )
    return Drawing(svg, caption, {"dots": dots, "grid": n, "shape": shape})


def wave_bands(rng: random.Random, p: Palette) -> Drawing:
    svg, bands = Svg(*rng.choice(((480, 480), (640, 400), (400, 600)))), rng.randint(5, 11)
    w, h, amplitude, waves = svg.width, svg.height, rng.uniform(12, 46), rng.uniform(0.8, 3.2)
    drift, tilt = rng.uniform(-1.2, 1.2), rng.uniform(-60, 60)
    svg.rect(0, 0, w, h, p.accents[0], id="band-1")
    for band in range(1, bands):
        base, phase = h * band / bands, drift * band
        points = [
            (w * k / 48, base + tilt * (k / 48 - 0.5) + amplitude * math.sin(2 * math.pi * waves * k / 48 + phase))
            for k in range(49)
        ]
        svg.path(
            f"{path(points)} L{w} {h + 80} L0 {h + 80} Z",
            mix(p.accents[band % 6], p.paper, 0.25 * (band // 6)),
            id=f"band-{band + 1}",
        )
    return Drawing(
        svg, f"A picture of {words.plural(bands, 'coloured wave band')} stacked from top to bottom.", {"bands": bands}
    )


def mosaic_blocks(rng: random.Random, p: Palette) -> Drawing:
    svg = Svg(*rng.choice(((480, 480), (600, 420), (420, 560))), "#f7f5ef")
    boxes, wanted, line = [(0.0, 0.0, svg.width, svg.height)], rng.randint(8, 18), rng.choice((6, 10, 14))
    while len(boxes) < wanted:
        boxes.sort(key=lambda box: box[2] * box[3])
        x, y, w, h = boxes.pop(-1 if rng.random() < 0.7 else rng.randrange(len(boxes)))
        cut = rng.uniform(0.3, 0.7)
        across = w > h if rng.random() < 0.8 else w <= h
        boxes += (
            [(x, y, w * cut, h), (x + w * cut, y, w * (1 - cut), h)]
            if across
            else [(x, y, w, h * cut), (x, y + h * cut, w, h * (1 - cut))]
        )
    coloured, primaries = 0, rng.random() < 0.4
    for k, (x, y, w, h) in enumerate(boxes):
        filled = rng.random() < 0.45
        coloured += filled
        colour = rng.choice(("#d62828", "#1d4e89", "#f7c815") if primaries else p.accents[:4]) if filled else "#f7f5ef"
        svg.rect(x, y, w, h, colour, id=f"block-{k + 1}", stroke="#1a1a1a", stroke_width=line)
    caption = (
        f"A composition of {len(boxes)} rectangles divided by thick black lines; {words.number(coloured)} of "
        "them are coloured."
    )
    return Drawing(svg, caption, {"rectangles": len(boxes), "coloured": coloured})


TEMPLATES = {
    "truchet": truchet,
    "hexagons": hexagons,
    "quilt": quilt,
    "halftone": halftone,
    "wave_bands": wave_bands,
    "mosaic_blocks": mosaic_blocks,
}
