"""The `vision.fact_pictures` source: programs that show invented names with numbers, as many as one asks for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from datatrove.data import Document
from pydantic import Field

from ..pipelines.record import licence, new_record
from ..pipelines.stage import Context, Input, Item
from .programs.facts import fact_templates, generate_facts
from .source import Generated


class FactPictures(Generated):
    """`count` programs, spread evenly over the kinds. Item k of a kind is a function of seeds and k alone: raising
    `count` keeps every program that was there before.

    Attributes:
        kinds: of svg, web and cad.
        count: how many programs.
        seed: added to the recipe's seed, for more pictures of another recipe with the same seed.
    """

    version: ClassVar[int] = 1
    _unit_items: ClassVar[int] = 50

    count: int = Field(default=300, ge=1)
    seed: int = 0

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        """Yield one item a program."""
        kind = where["kind"]
        for index in range(where["start"], where["stop"]):
            identity = f"facts:{kind}:{self.version}:{context.seed}:{self.seed}:{index}"
            yield Item(f"{kind}/{index:08d}", identity, partial(_load, kind, index, self.seed, context))


def _load(kind: str, index: int, seed: int, context: Context) -> Document:
    names = fact_templates(kind)
    program = generate_facts(
        kind, context.rng("vision.fact_pictures", f"{kind}/{seed}/{index}"), names[index % len(names)]
    )
    record = new_record(
        program.text,
        kind=kind,
        domain="web" if kind == "web" else "vision",
        uri=f"facts:{kind}/{program.template}",
        item=f"{kind}/{index:08d}",
        content=program.text,
        licence=licence("CC0-1.0"),
        scratch={"trusted": True, "caption": program.caption, "facts": program.facts, "template": program.template},
    )
    record.metadata["template"] = f"facts-{program.template}"
    return record
