"""The `synth.scatter` source: windows of real documents with scattered items, each item with its proof."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any, ClassVar

import orjson
from datatrove.data import Document
from pydantic import Field, PrivateAttr, field_validator

from ...pipelines.errors import UserError
from ...pipelines.prepared import check_prepared, tokenizer_at
from ...pipelines.reader import Dataset
from ...pipelines.record import OBJECT, licence, new_record, strictest
from ...pipelines.sources.dataset import DatasetSource
from ...pipelines.stage import Context, Failed, Input, Item, Slice, Source, seeded_rng
from ...pipelines.table import suggest
from ...pipelines.tokens import TokenSample, token_record
from .draw import Draw, OutOfPictures
from .families import FAMILIES
from .haystack import Filler, Haystack, Layer, Piece
from .item import Item as Task
from .item import Picture
from .prove import Unproved
from .window import Braid, WindowBuilder

log = logging.getLogger(__name__)

_TRIES = 20
"""Draws before a window is given up: when a name occurs in the documents or an item fails, all is drawn anew."""

_UNIT_TOKENS = 1 << 23


class Scatter(Source):
    """Sequences of at most `window` tokens: real documents with several items scattered over all of them.

    Attributes:
        documents: data sets of token samples (jobs that end with `curriculum.tokenise`).
        pictures: data sets of pictures with facts (`vision.fact_pictures`); without one, no item needs a picture.
        tokenizer: the file that the documents were tokenised with.
        window: tokens of a sequence.
        windows: how many sequences.
        items: fewest and most items braided into one window.
        clues: fewest and most clues of an item.
        families: weight of each family, by name; all alike unless given.
        picture_share: share of items that need pictures, in every window as nearly as numbers allow.
        split: documents and pictures of this split are used, and the windows belong to it.
        piece: longer documents are cut into pieces of at most so many tokens; an eighth of the window unless given.
        reuse: documents may be used again once all have been used.
        max_image_tokens: bound on a picture's tokens, the one that the documents were tokenised with.
        answer_weight: loss weight of each token of an answer and of the gap that ends it; all else that is written has
            1.
    """

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"windows"})

    documents: list[DatasetSource] = Field(min_length=1)
    pictures: list[DatasetSource] = []
    tokenizer: str
    window: int = Field(ge=1024)
    windows: int = Field(ge=1)
    items: tuple[int, int] = (3, 8)
    clues: tuple[int, int] = (4, 12)
    families: dict[str, float] | None = None
    picture_share: float = Field(default=0.3, ge=0, le=1)
    split: str = "train"
    piece: int | None = Field(default=None, ge=512)
    reuse: bool = False
    max_image_tokens: int = Field(default=1024, ge=1)
    answer_weight: float = Field(default=1.0, gt=0, le=1000)

    _parts: _Parts | None = PrivateAttr(default=None)

    @field_validator("families")
    @classmethod
    def _known(cls, weights: dict[str, float] | None) -> dict[str, float] | None:
        for name, weight in (weights or {}).items():
            if name not in FAMILIES:
                raise ValueError(f"unknown family {name!r}{suggest(name, FAMILIES)}")
            if weight < 0:
                raise ValueError(f"family {name!r} has weight {weight}")
        if weights is not None and not sum(weights.values()) > 0:
            raise ValueError("no family has a weight above 0")
        return weights

    @field_validator("items", "clues")
    @classmethod
    def _range(cls, bounds: tuple[int, int]) -> tuple[int, int]:
        if not 1 <= bounds[0] <= bounds[1]:
            raise ValueError(f"{bounds[0]} to {bounds[1]} is not a range that begins at 1 or above")
        return bounds

    @property
    def jobs(self) -> tuple[str, ...]:
        return tuple(job for one in (*self.documents, *self.pictures) for job in one.jobs)

    def semantic(self) -> dict[str, Any]:
        # Where the tokenizer and the data sets lie is not what they are: their digests are in the units' ids.
        values = super().semantic()
        values.pop("tokenizer")
        weight = values.pop("answer_weight")
        if weight != 1:  # windows made before there was one are the same windows
            values["answer_and_gap_weight"] = weight  # and those whose gap had a weight of 1 are others
        for name in ("documents", "pictures"):
            values[name] = [one.semantic() for one in getattr(self, name)]
        return values

    def reads(self, context: Context) -> dict[str, str]:
        digest = tokenizer_at(context, self.tokenizer)[0].digest
        return {"tokenizer": digest, "image tokens": str(self.max_image_tokens)}

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        """Deal the documents to the windows. Every unit reads all data sets, since any window may use any document.

        Raises:
            UserError: too few documents, or a window too small for an item.
        """
        parts = self._open(context)
        parts.haystack.deal(self.windows, self.window, self.reuse)
        self._check_fit(context, parts)
        step = unit_items or max(1, _UNIT_TOKENS // self.window)
        for start in range(0, self.windows, step):
            stop = min(start + step, self.windows)
            yield Slice({"start": start, "stop": stop}, stop - start, parts.inputs)

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        """Yield one item a window."""
        parts = self._open(context)
        dealt = parts.haystack.deal(where["stop"], self.window, self.reuse)
        for number in range(where["start"], where["stop"]):
            key = f"window-{number:08d}"
            identity = f"scatter:{context.seed}:{self.window}:{self.split}:{number}"
            yield Item(key, identity, partial(self._load, key, dealt[number], parts, context))

    def _open(self, context: Context) -> _Parts:
        if self._parts is None:
            self._parts = _Parts(self, context)
        return self._parts

    def _load(self, key: str, pieces: list[Piece], parts: _Parts, context: Context) -> Document:
        rng = context.rng("synth.scatter", key)
        why: Unproved | None = None
        for _ in range(_TRIES):
            try:
                braid = self._braid(rng, parts)
                filler = parts.layer.lay(parts.datasets, pieces, self.window - braid.length)
                return self._record(key, parts.builder.build(braid, filler), filler)
            except Unproved as error:
                log.debug("%s: %s", key, error)
                why = error
        raise Failed("unproved", f"{_TRIES} draws; of the last one: {why}")

    def _record(self, key: str, sample: TokenSample, filler: Filler) -> Document:
        share: Counter[str] = Counter()
        for one in sample.docs:
            share[one["domain"]] += one["end"] - one["start"]
        about = new_record(
            "",
            kind="scatter",
            domain=max(sorted(share), key=share.__getitem__),
            uri=f"scatter:{self.window}",
            item=key,
            content=sample.tokens.tobytes(),
            licence=strictest(filler.licences or [licence("CC0-1.0")]),
        )
        about.metadata["split"] = self.split
        return token_record(sample, like=about.metadata)

    def _braid(self, rng: random.Random, parts: _Parts) -> Braid:
        """As many items as wanted, fewer where they would leave less than half of the window to documents."""
        draw = Draw(rng, parts.draw_pictures(rng))
        tasks: list[Task] = []
        braid: Braid | None = None
        share = self.picture_share if parts.pictures else 0.0
        phase = rng.random()
        for number in range(rng.randint(*self.items)):
            # Taken systematically, so that the share holds window by window and not only on average.
            pictured = int((number + 1) * share + phase) > int(number * share + phase)
            tasks.append(self._task(draw, rng, pictured))
            grown = parts.builder.braid(tasks, draw, rng)
            if grown.length <= self.window / 2:
                braid = grown
            elif braid is not None:
                break
            else:
                tasks.clear()  # a smaller one may fit
        if braid is None:
            raise Failed("no_fit", f"no item drawn fits into half of a window of {self.window:,} tokens")
        return braid

    def _task(self, draw: Draw, rng: random.Random, pictured: bool) -> Task:
        """An item of a family with pictures or without, as asked for; of the other sort where no family has a weight
        or the pictures are used up."""
        weights = self.families or dict.fromkeys(FAMILIES, 1.0)
        sorts = {
            kind: {name: one for name, one in weights.items() if FAMILIES[name].pictures is kind and one > 0}
            for kind in (False, True)
        }
        size = rng.randint(*self.clues)
        chosen = sorts[pictured] or sorts[not pictured]
        try:
            return FAMILIES[_choose(chosen, rng)].generate(draw, size)
        except OutOfPictures:
            if not sorts[False]:
                raise Failed("no_pictures", "the families need more pictures than there are") from None
            return FAMILIES[_choose(sorts[False], rng)].generate(draw, size)

    def _check_fit(self, context: Context, parts: _Parts) -> None:
        """Raise `UserError` if the smallest item of a family takes more than half of the window."""
        for name in self.families or FAMILIES:
            if FAMILIES[name].pictures and not parts.pictures:
                continue
            needs = 2 * self._smallest(name, parts, seeded_rng(context.seed, "fit", name))
            if needs > self.window:
                raise UserError(
                    f"a window of {self.window:,} tokens is too small for an item of family {name!r} with "
                    f"{self.clues[0]} clues, which needs {needs:,}; take a larger window, fewer clues or other families"
                )

    def _smallest(self, family: str, parts: _Parts, rng: random.Random) -> int:
        """Tokens of an item with the fewest clues."""
        for _ in range(_TRIES):
            draw = Draw(rng, parts.draw_pictures(rng))
            try:
                return parts.builder.braid([FAMILIES[family].generate(draw, self.clues[0])], draw, rng).length
            except Unproved as why:
                log.debug("%s: %s", family, why)
            except OutOfPictures:
                raise UserError(f"family {family!r} needs more pictures than there are") from None
        raise UserError(f"no item of family {family!r} with {self.clues[0]} clues holds; give it more clues")


class _Parts:
    """What a scatter source works with, opened once a process."""

    def __init__(self, scatter: Scatter, context: Context):
        tokenizer, _ = tokenizer_at(context, scatter.tokenizer)
        self.datasets = [one.open_dataset(context) for one in scatter.documents]
        for dataset in self.datasets:
            check_prepared(dataset, tokenizer, scatter.tokenizer, scatter.max_image_tokens, "synth.scatter")
        self._pictured = [one.open_dataset(context) for one in scatter.pictures]
        piece = scatter.piece or max(512, scatter.window // 8)
        self.haystack = Haystack(self.datasets, scatter.split, context.seed, piece)
        self.layer = Layer(tokenizer)
        self.builder = WindowBuilder(tokenizer, scatter.max_image_tokens, scatter.answer_weight)
        self._split = scatter.split
        used = zip((*scatter.documents, *scatter.pictures), (*self.datasets, *self._pictured), strict=True)
        inputs = {one.uri: one for source, dataset in used for one in source.inputs(dataset).values()}
        self.inputs: tuple[Input, ...] = tuple(inputs.values())

    @cached_property
    def pictures(self) -> list[tuple[int, int]]:
        """(data set, sample) of every picture of the split that states facts."""
        found = []
        for number, dataset in enumerate(self._pictured):
            index = dataset.samples
            rows = zip(index["split"].to_pylist(), index["tasks"].to_pylist(), strict=True)
            found += [(number, at) for at, (split, tasks) in enumerate(rows) if split == self._split and FACTS in tasks]
        return found

    def draw_pictures(self, rng: random.Random) -> Iterator[Picture]:
        """All pictures in an order of `rng`'s, read as they are asked for."""
        places = list(self.pictures)
        while places:
            at = rng.randrange(len(places))
            places[at], places[-1] = places[-1], places[at]
            number, sample = places.pop()
            yield _picture(self._pictured[number], sample)


FACTS = "facts"
"""Name of the task whose answer is a JSON object of what a picture shows: label → integer."""


def _picture(dataset: Dataset, number: int) -> Picture:
    record = dataset[number]
    (part,) = record.media
    facts = next(task["answer"] for task in record.metadata["tasks"] if task["name"] == FACTS)
    about = part.metadata
    return Picture(
        program=record.text.replace(OBJECT, ""),
        kind=record.metadata["kind"],
        facts=orjson.loads(facts),
        data=part.media_bytes or b"",
        mime=about["mime"],
        width=about["width"],
        height=about["height"],
    )


def _choose(weights: dict[str, float], rng: random.Random) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]
