"""Fact pictures as CAD parts: the drawing sheet states three overall sizes in mm, each under a name of its own."""

from __future__ import annotations

import random
from collections.abc import Callable

from . import fact_words, words
from .cad import Part


def block(rng: random.Random) -> Part:
    """A block with a step cut out of it."""
    steps = """
    step = cq.Workplane("XY").box(width * step_share, depth, height * drop_share, centered=False)
    body = cq.Workplane("XY").box(width, depth, height, centered=False)
    result = body.cut(step.translate((width * (1 - step_share), 0, height * (1 - drop_share))))
    """
    shares = {"step_share": _share(rng, 30, 60), "drop_share": _share(rng, 30, 65)}
    return _part(rng, "Stepped block", shares, steps)


def tray(rng: random.Random) -> Part:
    """A box that is open above."""
    steps = """
    wall = min(width, depth, height) * wall_share
    body = cq.Workplane("XY").box(width, depth, height, centered=False)
    hollow = cq.Workplane("XY").box(width - 2 * wall, depth - 2 * wall, height, centered=False)
    result = body.cut(hollow.translate((wall, wall, wall)))
    """
    return _part(rng, "Open tray", {"wall_share": _share(rng, 9, 20)}, steps)


def bracket(rng: random.Random) -> Part:
    """An angle, perhaps with a chamfered upper edge."""
    steps = """
    plate = min(width, height) * plate_share
    foot = cq.Workplane("XY").box(width, depth, plate, centered=False)
    wall = cq.Workplane("XY").box(plate, depth, height, centered=False)
    result = foot.union(wall)
    """
    return _part(rng, "Angle bracket", {"plate_share": _share(rng, 14, 30)}, steps)


def channel(rng: random.Random) -> Part:
    """A block with a groove along its depth."""
    steps = """
    body = cq.Workplane("XY").box(width, depth, height, centered=False)
    groove = cq.Workplane("XY").box(width * groove_share, depth, height * deep_share, centered=False)
    result = body.cut(groove.translate((width * (1 - groove_share) / 2, 0, height * (1 - deep_share))))
    """
    shares = {"groove_share": _share(rng, 30, 60), "deep_share": _share(rng, 35, 70)}
    return _part(rng, "Grooved block", shares, steps)


def wedge(rng: random.Random) -> Part:
    """A prism with one side sloping down to a low edge."""
    steps = """
    side = [(0, 0), (width, 0), (width, height * low_share), (width * top_share, height), (0, height)]
    result = cq.Workplane("XZ").polyline(side).close().extrude(-depth)
    """
    shares = {"low_share": _share(rng, 15, 45), "top_share": _share(rng, 20, 50)}
    return _part(rng, "Sloping block", shares, steps)


def _share(rng: random.Random, least: int, most: int) -> float:
    return rng.randint(least, most) / 100


def _part(rng: random.Random, title: str, shares: dict[str, float], steps: str) -> Part:
    """Three sizes within a factor of 1.7, so that each view leaves room for the words of its dimension."""
    base = rng.choice((rng.randint(30, 90), rng.randint(100, 900), rng.randint(1000, 5600)))
    sizes: list[int] = []
    while len(sizes) < 3:
        size = round(base * rng.uniform(1, 1.7))
        if size not in sizes:
            sizes.append(size)
    labels = list(fact_words.facts(rng, 3, 3, 7))
    values = dict(zip(("width", "depth", "height"), sizes, strict=True))
    facts = dict(zip(labels, sizes, strict=True))
    names = "{" + ", ".join(f'"{side}": "{label}"' for side, label in zip(values, labels, strict=True)) + "}"
    named = f"names = {names}  # what the drawing calls them\n"
    pairs = words.join([f"{label} {value}" for label, value in facts.items()])
    caption = f"The drawing of {words.article(title.lower())} with the sizes {pairs} mm."
    return Part(title, {**values, **shares}, named + _dedented(steps), caption, dict(facts))


def _dedented(steps: str) -> str:
    return "\n".join(line[4:] for line in steps.strip("\n").splitlines())


TEMPLATES: dict[str, Callable[[random.Random], Part]] = {
    "block": block, "tray": tray, "bracket": bracket, "channel": channel, "wedge": wedge,
}  # fmt: skip
