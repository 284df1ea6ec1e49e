"""The source `synth.mix`: documents as they are together with rewrites of them, in a proportion that is kept.

Training on rewrites alone loses to a mixture (WRAP, arXiv:2401.16380, mixes one to one), so the originals always stay:
all of them, and of the rewrites as many as make up their share of the characters, in an order drawn by a hash.

Rewrites that begin alike teach the beginning: of those of one style that share their first eight words, no more are
taken than a small share of the style.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import orjson
from pydantic import Field

from ...pipelines.card import TOLD
from ...pipelines.errors import UserError
from ...pipelines.markdown import table
from ...pipelines.reader import Dataset
from ...pipelines.sources.dataset import shard_inputs, stored_items
from ...pipelines.stage import Context, Input, Item, Slice, Source
from .measures import in_words, measure, opening
from .rows import rewrite_of

MIX_FILE = "mix.json"
_LEAST = 3
"""Texts that may begin alike in any case."""


class Mix(Source):
    """The samples of two earlier jobs, published as they are.

    Attributes:
        originals: job of the documents; all of them are taken.
        rewrites: job of the rewrites.
        share: of the result's characters that are rewrites, at most. It is less where there are too few of them;
            `mix.json` says what was got.
        written: job of `synth.rephrase` whose pass rates the card is to state.
        openings: of a style's rewrites that may begin with the same eight words, at most (three in any case); null for
            no limit.
    """

    version: ClassVar[int] = 1
    passthrough: ClassVar[bool] = True

    originals: str
    rewrites: str
    share: float = Field(default=0.5, gt=0, lt=1)
    written: str | None = None
    openings: float | None = Field(default=0.005, gt=0, le=1)

    @property
    def jobs(self) -> tuple[str, ...]:
        return (self.originals, self.rewrites)

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        size = unit_items or 2000
        datasets = self._open(context)
        lengths = [_characters(one) for one in datasets]
        room = self.share / (1 - self.share) * sum(lengths[0])
        for at, dataset in enumerate(datasets):
            taken, alike = list(range(len(dataset))), 0
            if at == 1:
                order = _order(dataset, context.seed)
                fresh = order if self.openings is None else _fresh(dataset, order, self.openings)
                taken, alike = _fitting(fresh, lengths[1], room), len(order) - len(fresh)
            name = self.jobs[at]
            inputs = shard_inputs(dataset, name)
            shards = dataset.samples["shard"].to_pylist()
            for start in range(0, len(taken), size):
                part = taken[start : start + size]
                used = tuple(inputs[one] for one in dict.fromkeys(shards[number] for number in part))
                told = {"job": name, "samples": part, "characters": sum(lengths[at][number] for number in part),
                        "alike": alike if start == 0 else 0}  # fmt: skip
                yield Slice(told, len(part), used)

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        return stored_items(Dataset.open(context.output, job=where["job"]), where["samples"])

    def files(self, context: Context, slices: Sequence[dict[str, Any]]) -> Iterable[tuple[str, bytes]]:
        """`mix.json`: what was wanted and what was got, in samples and characters."""
        got = {name: {"samples": 0, "characters": 0, "left_out_alike": 0} for name in self.jobs}
        for where in slices:
            got[where["job"]]["samples"] += len(where["samples"])
            got[where["job"]]["characters"] += where["characters"]
            got[where["job"]]["left_out_alike"] += where["alike"]
        rewritten, total = got[self.rewrites]["characters"], sum(one["characters"] for one in got.values())
        facts = {"share_wanted": self.share, "share_got": round(rewritten / max(total, 1), 4), "jobs": got}
        yield MIX_FILE, orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n"
        rows = [[name, *one.values()] for name, one in got.items()]
        text = (
            f"Rewrites make up {facts['share_got']:.1%} of the characters; at most {self.share:.0%} was wanted.\n\n"
            + table(["job", "samples", "characters", "left out since they begin alike"], rows)
        )
        if self.written is not None:
            written = Dataset.open(context.output, job=self.written)
            text += "\n\n" + in_words(measure((written[at] for at in range(len(written))), shown=0))
        yield TOLD, text.encode()

    def _open(self, context: Context) -> list[Dataset]:
        if self.originals == self.rewrites:
            raise UserError(f"synth.mix: originals and rewrites are both {self.originals!r}")
        return [Dataset.open(context.output, job=name) for name in self.jobs]


def _characters(dataset: Dataset) -> list[int]:
    return dataset.samples["text_chars"].to_pylist()


def _order(dataset: Dataset, seed: int) -> list[int]:
    """All samples by number, in an order drawn by a hash."""
    ids = dataset.samples["id"].to_pylist()
    return sorted(range(len(ids)), key=lambda at: hashlib.sha256(f"mix:{seed}:{ids[at]}".encode()).digest())


def _fresh(dataset: Dataset, order: Sequence[int], share: float) -> list[int]:
    """Of the samples, in their order, those whose opening is not yet that of a share of their style."""
    openings = []
    for at in range(len(dataset)):
        record = dataset[at]
        openings.append((rewrite_of(record).get("style", ""), opening(record.text)))
    styles = Counter(style for style, _ in openings)
    taken: Counter[tuple[str, tuple[str, ...]]] = Counter()
    kept = []
    for at in order:
        one = openings[at]
        if taken[one] < max(_LEAST, int(share * styles[one[0]])):
            taken[one] += 1
            kept.append(at)
    return kept


def _fitting(order: Sequence[int], lengths: Sequence[int], room: float) -> list[int]:
    """As many as fit into so many characters, by number."""
    taken = []
    for at in order:
        if lengths[at] <= room:
            taken.append(at)
            room -= lengths[at]
    return sorted(taken)
