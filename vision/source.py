"""The `vision.programs` source: programs made by our own seeded generators, as many as one asks for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Literal

from datatrove.data import Document
from pydantic import Field

from ..pipelines.record import licence, new_record
from ..pipelines.stage import Context, Input, Item, Slice, Source
from .programs import generate, templates

Kind = Literal["svg", "web", "cad"]


class Generated(Source):
    """What sources of generated programs have in common: `count` programs, spread evenly over the kinds, in slices of
    one kind each. Raising `count` keeps every program that was there before."""

    operational: ClassVar[frozenset[str]] = frozenset({"kinds", "count"})  # which programs there are, not what they are
    _unit_items: ClassVar[int]

    kinds: list[Kind] = Field(default=["svg", "web", "cad"], min_length=1)
    count: int = Field(ge=1)

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        """Yield slices of one kind each, in the order of `kinds`."""
        step = unit_items or self._unit_items
        share, rest = divmod(self.count, len(self.kinds))
        for position, kind in enumerate(self.kinds):
            total = share + (position < rest)
            for start in range(0, total, step):
                stop = min(start + step, total)
                yield Slice({"kind": kind, "start": start, "stop": stop}, stop - start)


class Programs(Generated):
    """`count` programs, spread evenly over the kinds. Item k of a kind is a function of the recipe's seed and k alone:
    raising `count` keeps every program that was there before."""

    version: ClassVar[int] = 1
    _unit_items: ClassVar[int] = 25

    count: int = Field(default=600, ge=1)

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        """Yield one item a program."""
        kind = where["kind"]
        for index in range(where["start"], where["stop"]):
            identity = f"programs:{kind}:{self.version}:{context.seed}:{index}"
            yield Item(f"{kind}/{index:08d}", identity, partial(_load, kind, index, context))


def _load(kind: str, index: int, context: Context) -> Document:
    key = f"{kind}/{index:08d}"
    program = generate(kind, context.rng("vision.programs", key), _template(kind, index, context))
    record = new_record(
        program.text,
        kind=kind,
        domain="web" if kind == "web" else "vision",
        uri=f"programs:{kind}/{program.template}",
        item=key,
        content=program.text,
        licence=licence("CC0-1.0"),
        scratch={
            "trusted": True,
            "caption": program.caption,
            "facts": program.facts,
            "template": program.template,
        },
    )
    record.metadata["template"] = program.template
    return record


def _template(kind: str, index: int, context: Context) -> str:
    """Templates take turns in random order, so that even a small data set shows most of them."""
    names = list(templates(kind))
    turn, place = divmod(index, len(names))
    context.rng("vision.programs", f"{kind}/order/{turn}").shuffle(names)
    return names[place]
