"""SVG templates: boxes, arrows and circles that explain how things hang together."""

from __future__ import annotations

import itertools
import math
import random

from . import words
from .palette import Palette, mix, on
from .svg import Drawing, Point, Svg, fit, ring, short, slug, wrap


def label(svg: Svg, x: float, y: float, text: str, size: float, fill: str, width: float, **more: object) -> None:
    """Text in the middle of (x, y), on one or two lines, never wider than `width`."""
    lines = wrap(text, size, width)[:2] if fit(text, size, width) < size * 0.85 else [text]
    size = min(fit(line, size, width) for line in lines)
    for k, line in enumerate(lines):
        svg.text(
            x,
            y + size * (0.36 + 1.15 * (k - (len(lines) - 1) / 2)),
            line,
            size,
            fill,
            "middle",
            **(more if k == 0 else {}),
        )


def flowchart(rng: random.Random, p: Palette) -> Drawing:
    steps, sideways = rng.randint(4, 6), rng.random() < 0.4
    branch = rng.randint(1, steps - 3)
    texts = ["Start", *(words.action(rng) for _ in range(steps - 2)), "Done"]
    texts[branch] = f"{rng.choice(words.ADJECTIVES).capitalize()}?"
    w, h, gap = rng.randint(118, 160), rng.randint(46, 66), rng.randint(30, 60)
    if sideways:
        rise = rng.choice((0, 0, rng.uniform(10, 34), -rng.uniform(10, 34)))
        top = 90 + max(0.0, -rise * (steps - 1))
        svg = Svg(60 + steps * (w + gap), 310 + abs(rise) * (steps - 1), p.paper)
        centres = [(40 + w / 2 + k * (w + gap), top + rise * k) for k in range(steps)]
        side = (centres[branch][0], centres[branch][1] + rng.uniform(115, 140))
    else:
        svg = Svg(480, 60 + steps * (h + gap), p.paper)
        middle = rng.choice((rng.uniform(110, 170), rng.uniform(310, 370)))
        centres = [(middle, 50 + h / 2 + k * (h + gap)) for k in range(steps)]
        side = (middle + (-190 if middle > 200 else 190), centres[branch][1])
        side = (min(max(side[0], 78), 402), side[1] + (h + gap if abs(side[0] - middle) < 150 else 0))
    arrow = svg.arrow_marker("arrow", p.ink)
    with svg.group(id="arrows"):
        for k, ((x1, y1), (x2, y2)) in enumerate(itertools.pairwise(centres)):
            reach = 38 if k == branch and not sideways else h / 2
            a, b = (
                ((x1 + (52 if k == branch else w / 2), y1), (x2 - (52 if k + 1 == branch else w / 2) - 2, y2))
                if sideways
                else ((x1, y1 + reach), (x2, y2 - (38 if k + 1 == branch else h / 2) - 2))
            )
            svg.line(a, b, p.ink, 2, marker_end=arrow)
        (bx, by), (sx, sy) = centres[branch], side
        if sideways:
            svg.line((bx, by + 38), (sx, sy - h / 2 - 2), p.ink, 2, marker_end=arrow)
            svg.text(bx + 10, by + 62, "no", 13, p.muted)
            svg.text(bx + 54, by - 8, "yes", 13, p.muted)
        else:
            sign = 1 if sx > bx else -1
            svg.line((bx + 52 * sign, by), (sx - (w / 2 - 10) * sign, sy), p.ink, 2, marker_end=arrow)
            svg.text(bx + 58 * sign, by - 8, "no", 13, p.muted, "start" if sign > 0 else "end")
            svg.text(bx + 8, by + 54, "yes", 13, p.muted)
    rounding = rng.choice((0, 6, 14))
    for k, ((x, y), text) in enumerate(zip(centres, texts, strict=True)):
        wide = w if sideways else w * rng.uniform(0.85, 1.15)
        fill = p.accents[0] if k in (0, steps - 1) else p.accents[1]
        if k == branch:
            fill = p.accents[2]
            svg.polygon([(x - 52, y), (x, y - 38), (x + 52, y), (x, y + 38)], fill, id="decision")
        else:
            svg.rect(
                x - wide / 2, y - h / 2, wide, h, fill, id=f"step-{k}", rx=h / 2 if k in (0, steps - 1) else rounding
            )
        label(svg, x, y, text, 14, on(fill), 84 if k == branch else w - 18)
    other = words.action(rng)
    svg.rect(
        side[0] - w / 2 + 10, side[1] - h / 2, w - 20, h, mix(p.accents[3], p.paper, 0.5), id="otherwise", rx=rounding
    )
    label(svg, *side, other, 13, on(mix(p.accents[3], p.paper, 0.5)), w - 36)
    caption = (
        f'A flowchart of {steps + 1} boxes runs from "Start" to "Done"; at the question "{texts[branch]}" the '
        f'answer no leads to "{other}".'
    )
    return Drawing(svg, caption, {"boxes": steps + 1, "decision": texts[branch]})


def org_tree(rng: random.Random, p: Palette) -> Drawing:
    heads = rng.randint(2, 3)
    teams = [rng.randint(1, 3 if heads == 2 else 2) for _ in range(heads)]
    leaves, w = sum(teams), rng.randint(104, 124)
    gap, tall = rng.randint(10, 50), rng.choice((46, 54, 64))
    middle = 60 + rng.randint(90, 140)
    bottom = middle + rng.randint(90, 140)
    svg = Svg(max(leaves * (w + gap) + 30, 420), bottom + 60, p.paper)
    elbow, x, tops = rng.random() < 0.6, (svg.width - leaves * (w + gap)) / 2 + (w + gap) / 2, []
    rounding = rng.choice((4, 12, 24))

    def box(cx: float, cy: float, fill: str, who: str, role: str, ident: str) -> None:
        svg.rect(cx - w / 2, cy - tall / 2, w, tall, fill, id=ident, rx=rounding)
        svg.text(cx, cy - 3, who, fit(who, 13, w - 14), on(fill), "middle", font_weight="bold")
        svg.text(cx, cy + 15, role, 11, on(fill), "middle")

    def link(a: Point, b: Point) -> None:
        mid = (a[1] + b[1]) / 2
        points = [a, (a[0], mid), (b[0], mid), b] if elbow else [a, b]
        svg.polyline(points, p.muted, 2)

    boss, root = words.person(rng), (svg.width / 2, 60.0)
    people: list[tuple[float, float, str]] = []
    for k, size in enumerate(teams):
        xs = [x + j * (w + gap) for j in range(size)]
        x += size * (w + gap)
        centre = sum(xs) / size
        tops.append(centre)
        link((root[0], root[1] + tall / 2), (centre, middle - tall / 2))
        for leaf in xs:
            link((centre, middle + tall / 2), (leaf, bottom - tall / 2))
            people.append((leaf, bottom, p.accents[2 + k % 3]))
    box(*root, p.accents[0], boss, "Director", "person-director")
    for k, centre in enumerate(tops):
        box(centre, middle, p.accents[1], words.person(rng), rng.choice(words.ROLES), f"person-head-{k + 1}")
    for k, (px, py, colour) in enumerate(people):
        box(px, py, mix(colour, p.paper, 0.35), words.person(rng), rng.choice(words.ROLES), f"person-{k + 1}")
    caption = (
        f"An organisation chart with {boss} at the top, {words.plural(heads, 'team head')} below and "
        f"{words.plural(leaves, 'team member')} at the bottom."
    )
    return Drawing(svg, caption, {"heads": heads, "members": leaves, "director": boss})


def network_graph(rng: random.Random, p: Palette) -> Drawing:
    count = rng.randint(7, 14)
    svg = Svg(600, rng.choice((420, 480, 600)), p.paper)
    names, spots = words.some(rng, words.NOUNS, count), list[Point]()
    while len(spots) < count:
        spot = (rng.uniform(60, 540), rng.uniform(60, svg.height - 60))
        if all(math.dist(spot, other) > 92 for other in spots) or rng.random() < 0.002:
            spots.append(spot)
    edges: list[tuple[int, int]] = []
    for k in range(1, count):
        near = min(range(k), key=lambda j: math.dist(spots[j], spots[k]))
        edges.append((near, k))
    for _ in range(rng.randint(1, count // 2)):
        a, b = sorted(rng.sample(range(count), 2))
        if (a, b) not in edges and math.dist(spots[a], spots[b]) < 260:
            edges.append((a, b))
    curved = rng.random() < 0.4
    with svg.group(id="edges", stroke=p.muted, fill="none"):
        for a, b in edges:
            (x1, y1), (x2, y2) = spots[a], spots[b]
            bend = (
                f"Q{short((x1 + x2) / 2 + (y2 - y1) * 0.2)} {short((y1 + y2) / 2 - (x2 - x1) * 0.2)}" if curved else "L"
            )
            svg.path(f"M{short(x1)} {short(y1)} {bend} {short(x2)} {short(y2)}", stroke_width=rng.choice((1.5, 2.5, 4)))
    degree = [sum(k in edge for edge in edges) for k in range(count)]
    with svg.group(id="nodes"):
        for k, (x, y) in enumerate(spots):
            radius = 12 + 4 * degree[k]
            svg.circle(x, y, radius, p.accents[k % 5], id=f"node-{names[k]}", stroke=p.paper, stroke_width=3)
            svg.text(x, y + radius + 15, names[k], 13, p.ink, "middle", id=f"label-{names[k]}")
    hub = degree.index(max(degree))
    caption = (
        f"A network graph of {words.plural(count, 'node')} and {words.plural(len(edges), 'edge')}; the node "
        f"{names[hub]} has the most, {words.number(degree[hub])}."
    )
    return Drawing(svg, caption, {"nodes": count, "edges": len(edges), "hub": names[hub], "hub_edges": degree[hub]})


def venn(rng: random.Random, p: Palette) -> Drawing:
    count = rng.choice((2, 3, 3, 4))
    names = words.some(rng, words.TOPICS, count)
    svg = Svg(560, 480, p.paper)
    radius, spread, turn = rng.uniform(105, 140), rng.uniform(70, 105), rng.uniform(0, 360)
    spots = ring(280, 245, spread, count, turn)
    for name, colour, (x, y) in zip(names, p.accents, spots, strict=False):
        svg.circle(x, y, radius, colour, id=f"set-{slug(name)}", fill_opacity=0.5, stroke=colour, stroke_width=3)
    for name, (x, y) in zip(names, ring(280, 245, spread + radius * 0.5, count, turn), strict=True):
        label(svg, x, y, name, 17, p.ink, radius * 0.95, font_weight="bold")
    shared = rng.choice(words.NOUNS)
    svg.text(280, 250, shared, 16, p.ink, "middle", id="shared")
    caption = (
        f'A Venn diagram of {words.number(count)} overlapping circles, {words.join(names)}, with "{shared}" '
        "where they meet."
    )
    return Drawing(svg, caption, {"sets": count, "shared": shared})


def mind_map(rng: random.Random, p: Palette) -> Drawing:
    count = rng.randint(4, 7)
    svg = Svg(640, 460, p.paper)
    cx, cy, centre = 320.0, 230.0, words.word(rng)
    branches, twigs = words.some(rng, words.NOUNS, count), 0
    left = count // 2
    for k, name in enumerate(branches):
        side, place, total = (-1, k, left) if k < left else (1, k - left, count - left)
        x, y = cx + side * 150, 60 + 340 * (place + 0.5) / total
        colour = p.accents[k % 6]
        svg.path(
            f"M{short(cx)} {short(cy)} C{short(cx + side * 70)} {short(cy)} {short(x - side * 70)} {short(y)} "
            f"{short(x)} {short(y)}",
            stroke=colour,
            stroke_width=6,
            stroke_linecap="round",
        )
        few = rng.randint(1, 3)
        for j in range(few):
            leaf, ly = rng.choice(words.ADJECTIVES), y + (j - (few - 1) / 2) * 26
            svg.path(
                f"M{short(x)} {short(y)} Q{short(x + side * 60)} {short(ly)} {short(x + side * 82)} {short(ly)}",
                stroke=colour,
                stroke_width=2.5,
            )
            svg.text(x + side * 88, ly + 5, leaf, 13, p.ink, "start" if side > 0 else "end")
        twigs += few
        svg.rect(x - 46, y - 16, 92, 32, colour, id=f"branch-{name}", rx=16)
        label(svg, x, y, name, 14, on(colour), 80)
    svg.ellipse(cx, cy, 84, 42, p.ink, id="centre")
    label(svg, cx, cy, centre, 22, p.paper, 140, font_weight="bold")
    caption = (
        f'A mind map around "{centre}" with {words.plural(count, "branch", "branches")} ({words.join(branches)}) '
        f"and {twigs} twigs."
    )
    return Drawing(svg, caption, {"centre": centre, "branches": count, "twigs": twigs})


def layer_stack(rng: random.Random, p: Palette) -> Drawing:
    layers, parts = rng.randint(3, 5), [rng.randint(1, 4) for _ in range(5)]
    svg, row, look = Svg(560, 90 + layers * 92, p.paper), 92, rng.choice(("plain", "indent", "pyramid"))
    svg.text(280, 44, f"{words.brand(rng)} platform", 22, p.ink, "middle", id="title", font_weight="bold")
    names = words.some(
        rng, ["Clients", "Gateway", "Services", "Events", "Storage", "Search", "Devices", "Network"], layers
    )
    for k, name in enumerate(names):
        inset = {"plain": 0, "indent": 24 * k, "pyramid": 34 * (layers - 1 - k)}[look]
        x, y, w = 30 + inset, 68 + row * k, 500 - (2 * inset if look == "pyramid" else inset)
        colour = p.accents[k % 6]
        with svg.group(id=f"layer-{slug(name)}"):
            svg.rect(x, y, w, row - 14, mix(colour, p.paper, 0.7), rx=10, stroke=colour, stroke_width=2)
            svg.text(x + 14, y + 21, name, 14, p.ink, font_weight="bold")
            for j in range(parts[k]):
                cell = (w - 28 - 8 * (parts[k] - 1)) / parts[k]
                cx, what = x + 14 + j * (cell + 8), rng.choice(words.NOUNS)
                svg.rect(cx, y + 32, cell, 34, colour, rx=6)
                label(svg, cx + cell / 2, y + 49, what, 13, on(colour), cell - 8)
    caption = (
        f"A layered architecture diagram, from top to bottom: {words.join(names)}; it holds "
        f"{sum(parts[:layers])} parts."
    )
    return Drawing(svg, caption, {"layers": layers, "parts": sum(parts[:layers]), "top_layer": names[0]})


def entity_tables(rng: random.Random, p: Palette) -> Drawing:
    count = rng.randint(3, 5)
    names = words.some(
        rng, ["Customer", "Order", "Product", "Invoice", "Shipment", "Author", "Book", "Loan", "Room"], count
    )
    svg = Svg(640, 480, p.paper)
    slots = [(36, 40), (248, 70), (460, 36), (60, 276), (400, 290)]
    rng.shuffle(slots)
    spots = [(x + rng.randint(-16, 16), y + rng.randint(-16, 16)) for x, y in slots[:count]]
    fields = [
        words.some(
            rng, ["name", "email", "city", "price", "weight", "status", "created", "colour", "note"], rng.randint(2, 5)
        )
        for _ in names
    ]
    with svg.group(id="relations", stroke=p.muted):
        for k in range(1, count):
            (x1, y1), (x2, y2) = spots[k - 1], spots[k]
            svg.add("line", x1=x1 + 72, y1=y1 + 40, x2=x2 + 72, y2=y2 + 40, stroke_width=2)
    rows = 0
    for k, (name, (x, y)) in enumerate(zip(names, spots, strict=True)):
        colour, height = p.accents[k % 6], 58 + 22 * len(fields[k])
        with svg.group(id=f"table-{slug(name)}"):
            svg.rect(x, y, 144, height, p.panel, rx=6, stroke=colour, stroke_width=2)
            svg.rect(x, y, 144, 30, colour, rx=6)
            svg.text(x + 72, y + 21, name, 15, on(colour), "middle", font_weight="bold")
            for j, field in enumerate(["id", *fields[k]]):
                svg.text(x + 12, y + 50 + 22 * j, field, 13, p.ink, font_weight="bold" if j == 0 else None)
                svg.text(
                    x + 132,
                    y + 50 + 22 * j,
                    "key" if j == 0 else rng.choice(("text", "int", "date")),
                    11,
                    p.muted,
                    "end",
                )
        rows += len(fields[k]) + 1
    caption = f"An entity diagram of {words.plural(count, 'table')} ({words.join(names)}) with {rows} fields in all."
    return Drawing(svg, caption, {"tables": count, "fields": rows})


TEMPLATES = {
    "flowchart": flowchart,
    "org_tree": org_tree,
    "network_graph": network_graph,
    "venn": venn,
    "mind_map": mind_map,
    "layer_stack": layer_stack,
    "entity_tables": entity_tables,
}
