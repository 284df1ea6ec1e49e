"""The first results of a job, without a run: for `--preview`, and for the pilot behind an estimate."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from datatrove.data import Document

from .flight import Flight
from .plan import Plan, Unit
from .recipe import Job, Recipe
from .stage import Stage
from .store import Store
from .unit import UnitRun

Result: TypeAlias = Document | dict[str, Any]
"""A record that would be published, or the row of one that would not."""


def preview(recipe: Recipe, job: Job, plan: Plan, store: Store, output: str, count: int) -> Iterable[Result]:
    """The first outcomes of a job, evenly over its units: records, or reject rows. Nothing is written to the output."""
    step = max(1, len(plan.units) // count)
    for unit in plan.units[::step][:count]:
        run = _Trial(recipe, job, plan, unit, store, output)
        yield from run.results(-(-count // len(plan.units[::step][:count])))


@dataclass(frozen=True)
class Pilot:
    """What the first items of one unit took and gave.

    Attributes:
        items: that went in, published or not.
        seconds: their time; without that to the first result, which starts renderers and servers, where there are more.
        timed: how many items `seconds` is the time of.
        bytes: about what is stored of them.
        usd: what stages say they spent.
    """

    items: int
    seconds: float
    timed: int
    bytes: int
    usd: float


def pilot(recipe: Recipe, job: Job, plan: Plan, store: Store, output: str, items: int) -> Iterable[Pilot]:
    """Do the first items of some units, evenly over all, and measure them. What they are made into is thrown away."""
    step = max(1, len(plan.units) // items)
    units = plan.units[::step][:items]
    for number, unit in enumerate(units):
        # The last units make up for what does not divide.
        share = items * (number + 1) // len(units) - items * number // len(units)
        yield _Trial(recipe, job, plan, unit, store, output, share).pilot()


class _Trial(UnitRun):
    """A unit of which only the first items are done, for a preview."""

    def __init__(
        self, recipe: Recipe, job: Job, plan: Plan, unit: Unit, store: Store, output: str, most: int | None = None
    ):
        folder = Path(tempfile.mkdtemp(prefix="k3data-preview-"))
        super().__init__(recipe, job, plan, unit, store, output, Flight(folder / "flight"), scratch=folder)
        self.most = most

    def _load(self) -> Iterator[Document]:
        loaded = super()._load()
        while self.most is None or len(self.keys) < self.most:
            record = next(loaded, None)
            if record is None:
                return
            yield record

    def pilot(self) -> Pilot:
        """Do the items and measure them."""
        before, began, stored = self._spent(), time.monotonic(), 0
        first: tuple[float, int] | None = None
        for record in self.results(None):
            first = first or (time.monotonic(), len(self.keys))
            stored += _stored_bytes(record) if isinstance(record, Document) else 0
        ended, items = time.monotonic(), len(self.keys)
        if first and first[1] < items:
            began, timed = first[0], items - first[1]
        else:
            timed = items
        return Pilot(items, ended - began, timed, stored, self._spent() - before)

    def _spent(self) -> float:
        return sum(step.build.spent(self.context) for step in self.job.stages if isinstance(step.build, Stage))

    def results(self, count: int | None) -> Iterator[Result]:
        """The first so many, or all."""
        given = 0
        try:
            self.open_stages()
            for record in self.chain_records():
                given += 1
                yield record
                if given == count:
                    return
            yield from self.rejects if count is None else self.rejects[: count - given]
        finally:
            for step in self.job.stages:
                step.build.close()
            shutil.rmtree(self.scratch, ignore_errors=True)


def _stored_bytes(record: Document) -> int:
    """About what a record takes in a shard."""
    sample = record.metadata.get("sample")
    if sample is not None:
        return sample.tokens.nbytes + len(sample.media)
    extra = len(record.metadata.get("extra") or "")
    return len(record.text.encode()) + extra + sum(len(part.media_bytes or b"") for part in record.media)
