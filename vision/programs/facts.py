"""Programs that carry facts: small pictures of three to eight (name, number) pairs that a question can ask for.

    generate_facts("svg", seeded_rng(7, "example")).facts  # {"Bolvira": 1204, …}

Every picture is at most 448 pixels a side, 256 image tokens, and legible at that size. Names are single invented words
and numbers stand alone; nothing else in a picture looks like either, so that a layout can be read back.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from ..types import Program
from . import facts_cad, facts_svg, facts_web
from .cad import Part
from .palette import Palette, choose
from .svg import Drawing
from .web import Page

SIDE = 448
"""Pixels of a side, at most."""

SVG: Mapping[str, Callable[[random.Random, Palette], Drawing]] = facts_svg.TEMPLATES
WEB: Mapping[str, Callable[[random.Random, Palette], Page]] = facts_web.TEMPLATES
CAD: Mapping[str, Callable[[random.Random], Part]] = facts_cad.TEMPLATES


def fact_templates(kind: str) -> tuple[str, ...]:
    """Names of the structural templates of a kind."""
    return tuple({"svg": SVG, "web": WEB, "cad": CAD}[kind])


def generate_facts(kind: str, rng: random.Random, template: str | None = None) -> Program:
    """One program of the kind, with `facts` as name → number. Raises KeyError: no such kind or template."""
    chosen = template or rng.choice(fact_templates(kind))
    if kind == "cad":
        part = CAD[chosen](rng)
        return Program(kind, part.source(), chosen, part.caption, part.facts)
    palette = choose(rng)
    if kind == "svg":
        drawing = SVG[chosen](rng, palette)
        return Program(kind, drawing.svg.source(), chosen, drawing.caption, drawing.facts)
    page = WEB[chosen](rng, palette)
    return Program(kind, page.source(), chosen, page.caption, page.facts)
