"""SVG templates: faces and people."""

from __future__ import annotations

import random

from . import words
from .palette import Palette, mix, on
from .svg import Drawing, Svg, fit, short


def robot_face(rng: random.Random, p: Palette) -> Drawing:
    svg, head = Svg(420, 440, mix(p.accents[3], p.paper, 0.7)), rng.choice(("square", "round", "wide", "dome"))
    c, colour, eyes, mood = (
        210,
        p.accents[0],
        rng.choice((1, 2, 2, 2, 3)),
        rng.choice(("smiling", "sad", "neutral", "surprised", "gritting its teeth")),
    )
    wide, tall = {"square": (240, 230), "round": (250, 250), "wide": (310, 190), "dome": (240.0, 240.0)}[head]
    w, h = wide * rng.uniform(0.85, 1.1), tall * rng.uniform(0.85, 1.1)
    x, y = c - w / 2, 240 - h / 2
    antennas = rng.randint(0, 3)
    for k in range(antennas):
        ax = c + (k - (antennas - 1) / 2) * w * 0.35
        svg.line((ax, y + 8), (ax + (ax - c) * 0.3, y - 48), p.ink, 6)
        svg.circle(ax + (ax - c) * 0.3, y - 52, 12, p.accents[2], id=f"antenna-{k + 1}")
    if rng.random() < 0.6:
        for side in (x - 22, x + w - 6):
            svg.rect(side, 210, 28, 62, p.accents[1], rx=10)
    svg.rect(x, y, w, h, colour, id="head", rx={"square": 18, "round": min(w, h) / 2, "wide": 50, "dome": 110}[head])
    size = rng.uniform(20, 34)
    for k in range(eyes):
        ex, ey = c + (k - (eyes - 1) / 2) * w * 0.3, y + h * 0.38
        svg.circle(ex, ey, size * (1.3 if eyes == 1 else 1), "#ffffff", id=f"eye-{k + 1}")
        svg.circle(ex + rng.uniform(-7, 7), ey + rng.uniform(-7, 7), size * 0.45, "#1a1a1a")
    my, mw, ink = y + h * 0.72, w * rng.uniform(0.2, 0.32), on(colour)
    if mood == "smiling":
        svg.path(
            f"M{short(c - mw)} {short(my - 8)} Q{c} {short(my + 44)} {short(c + mw)} {short(my - 8)}",
            id="mouth",
            stroke=ink,
            stroke_width=9,
            stroke_linecap="round",
        )
    elif mood == "sad":
        svg.path(
            f"M{short(c - mw)} {short(my + 18)} Q{c} {short(my - 30)} {short(c + mw)} {short(my + 18)}",
            id="mouth",
            stroke=ink,
            stroke_width=9,
            stroke_linecap="round",
        )
    elif mood == "neutral":
        svg.line((c - mw, my), (c + mw, my), ink, 9, id="mouth", stroke_linecap="round")
    elif mood == "surprised":
        svg.ellipse(c, my, 17, 22, ink, id="mouth")
    else:
        svg.rect(c - mw, my - 15, mw * 2, 30, "#ffffff", id="mouth", rx=6, stroke=ink, stroke_width=4)
        for k in range(1, 6):
            svg.line((c - mw + mw * k / 3, my - 15), (c - mw + mw * k / 3, my + 15), ink, 3)
    return Drawing(
        svg,
        f"A robot with a {head} head, {words.plural(eyes, 'eye')} and {words.plural(antennas, 'antenna')}, "
        f"{mood if mood.endswith('ing') or ' ' in mood else 'looking ' + mood}.",
        {"eyes": eyes, "antennas": antennas, "mood": mood},
    )


def speech_scene(rng: random.Random, p: Palette) -> Drawing:
    svg, people = Svg(640, 400, mix(p.accents[4], p.paper, 0.75)), rng.randint(2, 4)
    svg.rect(0, 330, 640, 70, mix(p.accents[3], p.paper, 0.3), id="floor")
    said: list[str] = []
    for k in range(people):
        cx, tall = 640 * (k + 0.5) / people + rng.uniform(-16, 16), rng.uniform(120, 180)
        top, skin = 345 - tall, rng.choice(("#f2c9a1", "#c68642", "#8d5524", "#ffdbac"))
        with svg.group(id=f"person-{k + 1}"):
            svg.path(
                f"M{short(cx - 40)} 345 V{short(top + 84)} A40 34 0 0 1 {short(cx + 40)} {short(top + 84)} V345 Z",
                p.accents[k % 6],
            )
            svg.circle(cx, top + 24, 28, skin)
            hair = rng.choice(("#2b1d14", "#6b4423", "#c9a227", "#8c8c8c"))
            svg.path(
                f"M{short(cx - 28)} {short(top + 22)} A28 28 0 0 1 {short(cx + 28)} {short(top + 22)} "
                f"Q{short(cx)} {short(top + 4)} {short(cx - 28)} {short(top + 22)} Z",
                hair,
            )
            for side in (-9, 9):
                svg.circle(cx + side, top + 26, 3, "#222222")
            svg.path(f"M{short(cx - 8)} {short(top + 37)} q8 8 16 0", stroke="#222222", stroke_width=2.5)
        if rng.random() < 0.75 or not said:
            text = rng.choice(words.ADJECTIVES).capitalize() + rng.choice(("!", "?", "..."))
            said.append(text)
            bw, by = 640 / people - 30, max(top - 84 - rng.uniform(0, 30), 12)
            svg.polygon([(cx - 10, by + 44), (cx + 12, by + 44), (cx + 2, top - 12)], "#ffffff")
            svg.rect(cx - bw / 2, by, bw, 48, "#ffffff", id=f"bubble-{k + 1}", rx=20)
            svg.text(cx, by + 31, text, fit(text, 20, bw - 24), "#222222", "middle")
    return Drawing(
        svg,
        f"{words.number(people).capitalize()} people; {words.plural(len(said), 'speech bubble')} with "
        f"{words.join([f'“{t}”' for t in said])}.",
        {"people": people, "bubbles": len(said)},
    )


TEMPLATES = {
    "robot_face": robot_face,
    "speech_scene": speech_scene,
}
