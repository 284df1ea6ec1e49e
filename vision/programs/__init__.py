"""Seeded generators of programs: SVG drawings, web pages and CAD parts, each with a true caption and exact facts.

    generate("svg", seeded_rng(7, "example"))

A template is one small function with a structure of its own; what it draws varies with the generator it is given.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from ..types import Program
from . import (
    cad_blocks,
    cad_brackets,
    cad_forms,
    cad_gears,
    cad_housings,
    cad_links,
    cad_plates,
    cad_round,
    svg_charts,
    svg_curves,
    svg_diagrams,
    svg_dials,
    svg_documents,
    svg_emblems,
    svg_games,
    svg_icons,
    svg_maps,
    svg_measures,
    svg_patterns,
    svg_people,
    svg_places,
    svg_posters,
    svg_scenes,
    svg_screens,
    svg_stories,
    svg_technical,
    web_apps,
    web_business,
    web_community,
    web_leisure,
    web_papers,
    web_reading,
    web_reference,
    web_service,
    web_tables,
    web_tools,
    web_viewers,
    web_world,
)
from .cad import Part
from .palette import Palette, choose
from .svg import Drawing
from .web import Page

KINDS = ("svg", "web", "cad")

SVG: Mapping[str, Callable[[random.Random, Palette], Drawing]] = {
    **svg_charts.TEMPLATES,
    **svg_curves.TEMPLATES,
    **svg_diagrams.TEMPLATES,
    **svg_dials.TEMPLATES,
    **svg_documents.TEMPLATES,
    **svg_posters.TEMPLATES,
    **svg_emblems.TEMPLATES,
    **svg_games.TEMPLATES,
    **svg_icons.TEMPLATES,
    **svg_maps.TEMPLATES,
    **svg_measures.TEMPLATES,
    **svg_patterns.TEMPLATES,
    **svg_people.TEMPLATES,
    **svg_places.TEMPLATES,
    **svg_scenes.TEMPLATES,
    **svg_screens.TEMPLATES,
    **svg_stories.TEMPLATES,
    **svg_technical.TEMPLATES,
}


WEB: Mapping[str, Callable[[random.Random, Palette], Page]] = {
    **web_apps.TEMPLATES,
    **web_tools.TEMPLATES,
    **web_viewers.TEMPLATES,
    **web_business.TEMPLATES,
    **web_service.TEMPLATES,
    **web_world.TEMPLATES,
    **web_reading.TEMPLATES,
    **web_reference.TEMPLATES,
    **web_papers.TEMPLATES,
    **web_tables.TEMPLATES,
    **web_leisure.TEMPLATES,
    **web_community.TEMPLATES,
}

CAD: Mapping[str, Callable[[random.Random], Part]] = {
    **cad_plates.TEMPLATES,
    **cad_brackets.TEMPLATES,
    **cad_round.TEMPLATES,
    **cad_gears.TEMPLATES,
    **cad_blocks.TEMPLATES,
    **cad_housings.TEMPLATES,
    **cad_forms.TEMPLATES,
    **cad_links.TEMPLATES,
}


def templates(kind: str) -> tuple[str, ...]:
    """Names of the structural templates of a kind."""
    return tuple({"svg": SVG, "web": WEB, "cad": CAD}[kind])


def generate(kind: str, rng: random.Random, template: str | None = None, colours: Palette | None = None) -> Program:
    """One program of the kind.

    Args:
        kind: `svg`, `web` or `cad`.
        rng: everything that varies is drawn from it.
        template: name of the template, else `rng` draws one.
        colours: colours to use instead of those that `rng` draws; the rest of the program stays the same.

    Raises:
        KeyError: no such kind or template.
    """
    name = template or rng.choice(templates(kind))
    if kind == "cad":
        part = CAD[name](rng)
        return Program(kind, part.source(), name, part.caption, {**part.parameters, **part.facts})
    drawn = choose(rng)
    if kind == "svg":
        drawing = SVG[name](rng, colours or drawn)
        return Program(kind, drawing.svg.source(), name, drawing.caption, drawing.facts)
    page = WEB[name](rng, colours or drawn)
    return Program(kind, page.source(), name, page.caption, page.facts)
