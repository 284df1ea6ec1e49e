"""SVG templates: diagrams that tell what follows what (timelines, sequences, funnels, cycles, decisions)."""

from __future__ import annotations

import itertools
import math
import random

from . import words
from .palette import Palette, legible, on
from .svg import Drawing, Point, Svg, fit, path, polar, ring, short, slug
from .svg_diagrams import label


def cycle(rng: random.Random, p: Palette) -> Drawing:
    count, side = rng.randint(3, 7), 520
    svg, c, r = Svg(side, side, p.paper), side / 2, 165
    names, turn = words.some(rng, words.VERBS, count), rng.uniform(0, 360 / count)
    size = min(58, 132 * math.sin(math.pi / count))
    shape = rng.choice(("circle", "hexagon", "card"))
    gap = math.degrees(size / r) + 4
    for k in range(count):
        start, end = turn + 360 * k / count + gap, turn + 360 * (k + 1) / count - gap - 4
        (x1, y1), (x2, y2) = polar(c, c, r, start), polar(c, c, r, end)
        svg.path(f"M{short(x1)} {short(y1)} A{r} {r} 0 0 1 {short(x2)} {short(y2)}", stroke=p.muted, stroke_width=4)
        svg.polygon([polar(c, c, r - 9, end), polar(c, c, r + 9, end), polar(c, c, r, end + 5)], p.muted)
    for k, (x, y) in enumerate(ring(c, c, r, count, turn)):
        fill, ident = p.accents[k % 6], f"stage-{names[k]}"
        if shape == "circle":
            svg.circle(x, y, size, fill, id=ident)
        elif shape == "hexagon":
            svg.polygon(ring(x, y, size, 6), fill, id=ident)
        else:
            svg.rect(x - size, y - size * 0.66, size * 2, size * 1.32, fill, id=ident, rx=10)
        label(svg, x, y, names[k], 18, on(fill), size * 1.6, font_weight="bold")
    topic = words.word(rng)
    svg.text(c, c + 9, topic, fit(topic, 30, 190), p.ink, "middle", id="title", font_weight="bold")
    caption = f"A cycle of {words.plural(count, 'stage')} around the word {topic}: {words.join(names)}."
    return Drawing(svg, caption, {"stages": count, "centre": topic})


def timeline(rng: random.Random, p: Palette) -> Drawing:
    count, year = rng.randint(4, 7), rng.randint(1900, 2000)
    upright, events = rng.random() < 0.45, []
    for _ in range(count):
        events.append((year, words.title(rng)))
        year += rng.randint(1, 14)
    scale = rng.uniform(2, 6)
    gaps = [0.0, *(72 + 50 * (not upright) + scale * (b - a) for (a, _), (b, _) in itertools.pairwise(events))]
    places = list(itertools.accumulate(gaps))
    svg = Svg(420, 190 + places[-1], p.paper) if upright else Svg(190 + places[-1], 340, p.paper)
    heading = f"{words.brand(rng)}: a short history"
    svg.text(30, 44, heading, fit(heading, 22, svg.width * 0.9 - 60), p.ink, id="title", font_weight="bold")
    if upright:
        x = rng.choice((80, 120, 210))
        svg.line((x, 80), (x, svg.height - 40), p.line, 5, id="axis")
    else:
        svg.line((30, 190), (svg.width - 30, 190), p.line, 5, id="axis")
    for k, (when, what) in enumerate(events):
        colour = p.accents[k % 6]
        with svg.group(id=f"event-{when}"):
            if upright:
                y, right = 108 + places[k], x < 200 or k % 2 == 0
                svg.circle(x, y, 13, colour, stroke=p.paper, stroke_width=4)
                anchor, tx = ("start", x + 28) if right else ("end", x - 28)
                svg.text(tx, y - 4, when, 20, legible(colour, p.paper), anchor, font_weight="bold")
                svg.text(tx, y + 17, what, fit(what, 14, 150), p.ink, anchor)
            else:
                cx, up = 95 + places[k], k % 2 == 0
                svg.line((cx, 190), (cx, 130 if up else 250), colour, 3)
                svg.circle(cx, 190, 12, colour, stroke=p.paper, stroke_width=4)
                svg.text(cx, 108 if up else 276, when, 20, legible(colour, p.paper), "middle", font_weight="bold")
                label(svg, cx, 122 if up else 296, what, 13, p.ink, 124)
    caption = (
        f"A {'vertical' if upright else 'horizontal'} timeline of {words.plural(count, 'event')} from "
        f'{events[0][0]} ("{events[0][1]}") to {events[-1][0]} ("{events[-1][1]}").'
    )
    return Drawing(svg, caption, {"events": count, "first_year": events[0][0], "last_year": events[-1][0]})


def sequence_diagram(rng: random.Random, p: Palette) -> Drawing:
    actors, count = rng.randint(3, 5), rng.randint(5, 10)
    names = words.some(
        rng, ["Browser", "Shop", "Bank", "Mailer", "Cache", "Store", "Index", "Courier", "Editor"], actors
    )
    gap = 150
    svg = Svg(actors * gap + 30, 130 + count * 40, p.paper)
    xs = [90 + gap * k for k in range(actors)]
    call, reply = svg.arrow_marker("call", p.ink), svg.arrow_marker("reply", p.muted)
    for x, name, colour in zip(xs, names, p.accents, strict=False):
        svg.line((x, 70), (x, svg.height - 24), p.muted, 1.5, stroke_dasharray="5 5")
        svg.rect(x - 56, 28, 112, 42, colour, id=f"actor-{slug(name)}", rx=6)
        label(svg, x, 49, name, 15, on(colour), 100, font_weight="bold")
    here, back = 0, 0
    for k in range(count):
        there = rng.choice([j for j in range(actors) if j != here])
        y, sign, answer = 108 + 40 * k, 1 if there > here else -1, rng.random() < 0.3
        svg.rect(xs[there] - 5, y - 4, 10, 30, p.accents[5], opacity=0.6)
        svg.line(
            (xs[here], y),
            (xs[there] - 7 * sign, y),
            p.muted if answer else p.ink,
            2,
            id=f"message-{k + 1}",
            marker_end=reply if answer else call,
            stroke_dasharray="6 4" if answer else None,
        )
        middle = (xs[here] + xs[here + sign]) / 2
        svg.text(
            middle, y - 7, rng.choice(words.NOUNS) if answer else f"{rng.choice(words.VERBS)}()", 12, p.ink, "middle"
        )
        back += answer
        here = there
    caption = (
        f"A sequence diagram between {words.join(names)} with {words.plural(count, 'message')}, "
        f"{words.number(back)} of them dashed."
    )
    return Drawing(svg, caption, {"actors": actors, "messages": count, "dashed": back})


def funnel(rng: random.Random, p: Palette) -> Drawing:
    count, style = rng.randint(3, 6), rng.choice(("trapeze", "bars", "chevrons"))
    names = words.some(rng, ["Visits", "Sign-ups", "Trials", "Baskets", "Orders", "Renewals", "Referrals"], count)
    value, values = rng.randint(4000, 9800), []
    for _ in names:
        values.append(value)
        value = int(value * rng.uniform(0.35, 0.85))
    if style == "chevrons":
        svg, w = Svg(150 * count + 60, 220, p.paper), 150
        for k, name in enumerate(names):
            x, colour = 24 + w * k, p.accents[k % 6]
            svg.polygon(
                [(x, 60), (x + w - 16, 60), (x + w + 12, 110), (x + w - 16, 160), (x, 160), (x + 28, 110)],
                colour,
                id=f"stage-{slug(name)}",
            )
            svg.text(x + w / 2 + 8, 106, name, 15, on(colour), "middle", font_weight="bold")
            svg.text(x + w / 2 + 8, 128, values[k], 15, on(colour), "middle")
    else:
        svg, h = Svg(520, 90 + 74 * count, p.paper), 74
        svg.text(260, 44, f"{words.brand(rng)} funnel", 22, p.ink, "middle", id="title", font_weight="bold")
        for k, name in enumerate(names):
            half, y, colour = 220 * values[k] / values[0] + 14, 66 + h * k, p.accents[k % 6]
            lower = 220 * values[min(k + 1, count - 1)] / values[0] + 14 if style == "trapeze" else half
            svg.polygon(
                [(260 - half, y), (260 + half, y), (260 + lower, y + h - 8), (260 - lower, y + h - 8)],
                colour,
                id=f"stage-{slug(name)}",
            )
            inside = half > 90
            ink = on(colour) if inside else p.ink
            svg.text(
                260 if inside else 268 + half, y + 38, f"{name}: {values[k]}", 15, ink, "middle" if inside else "start"
            )
    caption = f"A funnel of {words.plural(count, 'stage')} from {names[0]} ({values[0]}) to {names[-1]} ({values[-1]})."
    return Drawing(svg, caption, {"stages": count, "first": values[0], "last": values[-1]})


def decision_tree(rng: random.Random, p: Palette) -> Drawing:
    depth, across = rng.choice((2, 3, 3)), rng.random() < 0.35
    svg = Svg(*((620, 520) if across else rng.choice(((640, 400), (640, 480), (720, 420)))), p.paper)
    span, fall = (svg.height - 20, (svg.width - 130) / depth) if across else (svg.width - 20, (svg.height - 80) / depth)
    leaves = inner = 0
    links: list[str] = []
    boxes: list[tuple[float, float, bool]] = []

    def place(x: float, y: float) -> Point:
        return (y, x) if across else (x, y)

    def grow(x: float, y: float, span: float, level: int) -> None:
        nonlocal leaves, inner
        split = level < depth and (level == 0 or rng.random() < 0.8)
        boxes.append((x, y, split))
        leaves, inner = leaves + (not split), inner + split
        if split:
            lean = rng.uniform(0.36, 0.64)
            for side, share in ((-1, lean), (1, 1 - lean)):
                nx, ny = x + side * span * share / 2, y + fall
                links.append(path([place(x, y), place(nx, ny)]))
                grow(nx, ny, span / 2, level + 1)

    grow((svg.height if across else svg.width) / 2, 60 if across else 40, span, 0)
    svg.path(" ".join(links), id="links", stroke=p.muted, stroke_width=2)
    for k, (u, v, split) in enumerate(boxes):
        x, y = place(u, v)
        fill = p.accents[0] if split else p.accents[1 + rng.randrange(2)]
        if split:
            svg.rect(x - 46, y - 19, 92, 38, fill, id=f"question-{k + 1}", rx=4)
            label(svg, x, y, f"{rng.choice(words.NOUNS)} > {rng.randint(1, 90)}?", 12, on(fill), 84)
        else:
            svg.circle(x, y, 24, fill, id=f"leaf-{k + 1}")
            label(svg, x, y, rng.choice(("yes", "no", "A", "B", "C")), 13, on(fill), 40)
    caption = f"A decision tree with {words.plural(inner, 'question')} and {words.plural(leaves, 'leaf', 'leaves')}."
    return Drawing(svg, caption, {"questions": inner, "leaves": leaves})


TEMPLATES = {
    "cycle": cycle,
    "timeline": timeline,
    "sequence_diagram": sequence_diagram,
    "funnel": funnel,
    "decision_tree": decision_tree,
}
