"""Seeded generators of programs: SVG drawings, web pages and CAD parts, each with a true caption and exact facts.

    generate("svg", seeded_rng(7, "example"))

A template is one small function with a structure of its own; what it draws varies with the generator it is given.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from ..types import Program
from . import palette, svg_charts, svg_measures

Template = Callable[..., object]

KINDS = ("svg", "web", "cad")

SVG: Mapping[str, Callable] = {
    **svg_charts.TEMPLATES,
    **svg_measures.TEMPLATES,
}


def templates(kind: str) -> tuple[str, ...]:
    """Names of the structural templates of a kind."""
    return tuple({"svg": SVG}[kind])


def generate(kind: str, rng: random.Random, template: str | None = None) -> Program:
    """One program of the kind, from a template by name or one that `rng` draws.

    Raises:
        KeyError: no such kind or template.
    """
    names = templates(kind)
    name = template or rng.choice(names)
    drawing = SVG[name](rng, palette.choose(rng))
    return Program("svg", drawing.svg.source(), name, drawing.caption, drawing.facts)
