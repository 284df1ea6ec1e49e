"""The first results of a job, without a run: for `--preview`, and for the pilot behind an estimate."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from datatrove.data import Document

from .flight import Flight
from .plan import Plan, Unit
from .recipe import Job, Recipe
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


class _Trial(UnitRun):
    """A unit of which only the first items are done, for a preview."""

    def __init__(self, recipe: Recipe, job: Job, plan: Plan, unit: Unit, store: Store, output: str):
        folder = Path(tempfile.mkdtemp(prefix="k3data-preview-"))
        super().__init__(recipe, job, plan, unit, store, output, Flight(folder / "flight"), scratch=folder)

    def results(self, count: int) -> Iterator[Result]:
        given = 0
        try:
            self.open_stages()
            for record in self.chain_records():
                given += 1
                yield record
                if given >= count:
                    return
            yield from self.rejects[: count - given]
        finally:
            for step in self.job.stages:
                step.build.close()
            shutil.rmtree(self.scratch, ignore_errors=True)
