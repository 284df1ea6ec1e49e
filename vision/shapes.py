"""The `vision.shapes` source: drawings of a closed grammar, so small that a model can learn to see all of it.

A drawing is 112 pixels wide and high and holds one to four shapes in the cells of a 2 × 2 grid:

    drawing = background, shape₁ … shapeₙ in ascending cells;  shape = (form, colour, size, cell)

With 6 backgrounds, 4 forms, 6 colours and 2 sizes there are 1,152 drawings of one shape, 82,944 of two, 2.7 million of
three and 32 million of four. Every drawing occurs once, so what is held out has never been seen. The background fills
the whole picture: it is what a model sees first, and what leads it to look.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, islice
from math import comb, gcd
from typing import Any, ClassVar

from datatrove.data import Document
from pydantic import Field

from ..pipelines.errors import UserError
from ..pipelines.record import licence, new_record
from ..pipelines.stage import Context, Input, Item, Slice, Source

SIDE = 112
CELLS = 2
BACKGROUNDS = ("white", "gold", "pink", "skyblue", "palegreen", "silver")
COLOURS = ("red", "green", "blue", "orange", "purple", "black")
FORMS = ("circle", "square", "triangle", "diamond")
SIZES = {"small": 12, "large": 24}
_VARIANTS = len(FORMS) * len(COLOURS) * len(SIZES)
_UNIT_ITEMS = 200


class Shapes(Source):
    """`count` different drawings. Raising `count` keeps every drawing that was there before.

    Attributes:
        shapes: how many a drawing may have, each as often as the others.
        count: how many drawings.
    """

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"count"})

    shapes: list[int] = Field(default=[2], min_length=1)
    count: int = Field(default=1500, ge=1)

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        """Raises UserError when the grammar has fewer drawings."""
        for position, number in enumerate(self.shapes):
            if not 1 <= number <= CELLS**2:
                raise UserError(f"vision.shapes: a drawing of {number} shapes; there can be 1 to {CELLS**2}")
            share = len(range(position, self.count, len(self.shapes)))
            if share > drawings(number):
                raise UserError(
                    f"vision.shapes: {share:,} drawings of {number} shapes are asked for, and there are "
                    f"{drawings(number):,}"
                )
        step = unit_items or _UNIT_ITEMS
        for start in range(0, self.count, step):
            stop = min(start + step, self.count)
            yield Slice({"start": start, "stop": stop}, stop - start)

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        """Yield one item a drawing."""
        for index in range(where["start"], where["stop"]):
            turn, position = divmod(index, len(self.shapes))
            number = self.shapes[position]
            place = _scattered(turn, drawings(number), context.seed)
            identity = f"shapes:{self.version}:{number}:{place}"
            yield Item(f"{index:08d}", identity, partial(_load, number, place, f"{index:08d}"))


def drawings(number: int) -> int:
    """How many there are of so many shapes."""
    return len(BACKGROUNDS) * comb(CELLS**2, number) * _VARIANTS**number


def _load(number: int, place: int, key: str) -> Document:
    text, caption = drawing(number, place)
    return new_record(
        text, kind="svg", domain="vision", uri=f"shapes:{number}", item=key, content=text,
        licence=licence("CC0-1.0"), scratch={"trusted": True, "caption": caption, "template": f"{number} shapes"},
    )  # fmt: skip


def drawing(number: int, place: int) -> tuple[str, str]:
    """The drawing at a place among those of so many shapes, and a caption."""
    place, ground = divmod(place, len(BACKGROUNDS))
    cells_place, variants = divmod(place, _VARIANTS**number)
    cells = next(islice(combinations(range(CELLS**2), number), cells_place, None))
    elements = [f'<rect width="{SIDE}" height="{SIDE}" fill="{BACKGROUNDS[ground]}"/>']
    words = [f"on {BACKGROUNDS[ground]}"]
    for cell in cells:
        variants, variant = divmod(variants, _VARIANTS)
        variant, form = divmod(variant, len(FORMS))
        size, colour = divmod(variant, len(COLOURS))
        row, column = divmod(cell, CELLS)
        name = list(SIZES)[size]
        elements.append(_element(FORMS[form], COLOURS[colour], SIZES[name], row, column))
        words.append(f"a {name} {COLOURS[colour]} {FORMS[form]} in row {row + 1}, column {column + 1}")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE}" height="{SIDE}">'
    return "\n".join([head, *elements, "</svg>"]), f"{'; '.join(words).capitalize()}."


def _element(form: str, colour: str, r: int, row: int, column: int) -> str:
    step = SIDE // CELLS
    x, y = column * step + step // 2, row * step + step // 2
    if form == "circle":
        return f'<circle cx="{x}" cy="{y}" r="{r}" fill="{colour}"/>'
    if form == "square":
        return f'<rect x="{x - r}" y="{y - r}" width="{2 * r}" height="{2 * r}" fill="{colour}"/>'
    points = {
        "triangle": [(x, y - r), (x + r, y + r), (x - r, y + r)],
        "diamond": [(x, y - r), (x + r, y), (x, y + r), (x - r, y)],
    }[form]
    return f'<polygon points="{" ".join(f"{a},{b}" for a, b in points)}" fill="{colour}"/>'


def _scattered(index: int, total: int, seed: int) -> int:
    """A bijection of 0 … total − 1: a step through it that is coprime to its size, from a start that the seed gives."""
    step = int(total * 0.6180339887) | 1
    while gcd(step, total) != 1:
        step += 2
    return (seed * 7919 + index * step) % total
