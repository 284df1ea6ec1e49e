"""`k3data run`, as a story: claim the output, hold its lease, and for each job plan, work, audit, finish.

Everything here can be killed at any line and run again: the plan is frozen before work starts, the ledger says which
units are done, and `dataset.json`, written last, says that a data set is complete.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from . import plan as plans
from .errors import K3DataError, UserError
from .finish import finish
from .lease import Lease
from .ledger import Ledger, UnitRecord
from .output import DATASET_FILE, DatasetFile, claim, write_root
from .plan import Plan
from .recipe import Job, Recipe
from .store import Store, open_store
from .supervisor import Progress, Supervisor

log = logging.getLogger(__name__)


class Screen(Protocol):
    """Where a run shows itself."""

    def say(self, line: str) -> None: ...

    def show(self, progress: Progress) -> None: ...

    def done(self, progress: Progress) -> None: ...


@dataclass(frozen=True)
class Options:
    """How to run; none of it changes the data, except `limit`, which makes less of it.

    Attributes:
        file: the recipe's name in messages.
        limit: see `plan.make`.
        workers: overrides the recipe's `executor.workers`.
        replan: accept inputs that have changed since the plan was frozen.
    """

    file: str
    limit: int | None = None
    workers: int | None = None
    replan: bool = False


def run(recipe: Recipe, out: str, options: Options, screen: Screen) -> list[DatasetFile]:
    """Run a recipe's jobs in order, each to its complete data set; what is complete already is kept.

    Raises:
        UserError: the output, the inputs or the plan are not usable as they are.
        K3DataError: some work failed; what was done is kept, and another run goes on from there.
    """
    root = open_store(out)
    claim(root, recipe)
    stop: list[Callable[[str], None]] = []

    def lost(reason: str) -> None:
        for one in stop:
            one(reason)

    with Lease(root, lost):
        write_root(root, recipe, options.limit)
        _clear_scratch(root)
        return [_run_job(recipe, job, root, options, screen, stop) for job in recipe.jobs]


def _run_job(
    recipe: Recipe, job: Job, root: Store, options: Options, screen: Screen, stop: list[Callable[[str], None]]
) -> DatasetFile:
    store = root.sub(job.name)
    plan = freeze(recipe, job, root, options, screen)
    complete = DatasetFile.load(store)
    if complete and complete.plan == plan.digest:
        screen.say(f"{job.name}: complete, {complete.samples} samples")
        return complete
    ledger = Ledger(store)
    records = ledger.records()
    missing = [unit for unit in plan.units if unit.id not in records]
    progress = progress_of(job.name, plan, records)
    if missing:
        workers = options.workers or _workers(recipe)
        show = _SpaceWatch(store, screen).show
        supervisor = Supervisor(recipe, job, plan, store, root.url, options.file, workers, show)
        stop.append(supervisor.stop)
        progress = supervisor.run(missing, progress)
        stop.remove(supervisor.stop)
    records = audit(plan, ledger, job)
    ledger.compact()
    screen.done(progress)
    check_budget(recipe, job, plan, records, root.url)
    return finish(recipe, job, plan, records, root)


def freeze(recipe: Recipe, job: Job, root: Store, options: Options, screen: Screen) -> Plan:
    """The job's plan: the stored one if it still holds, else a new revision, saying what changed and why.

    Raises:
        UserError: the recipe is the same but its inputs are not, and `replan` was not given; the message names them.
    """
    store = root.sub(job.name)
    old = Plan.load(store)
    new = plans.make(recipe, job, root.url, options.limit, store, screen.say)
    if old is None:
        new.save(store)
        return new
    if old.digest == new.digest:
        return old
    changed = plans.changed_inputs(old, new)
    reasons = list(plans.why_changed(old, new))
    external = any(not step.build.internal for step in job.sources)
    if changed and external and not reasons and not options.replan:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise UserError(
            f"the inputs of job {job.name!r} changed since its plan was frozen: {', '.join(changed[:3])}{more}; "
            "give --replan to plan again and keep every unit that is the same"
        )
    before, after = {unit.id for unit in old.units}, {unit.id for unit in new.units}
    why = "; ".join([*reasons, *changed[:3]]) or "the inputs are in another order"
    screen.say(
        f"{job.name}: plan revision {old.revision + 1}: {len(before & after)} units kept, {len(after - before)} new, "
        f"{len(before - after)} dropped, because {why}"
    )
    # The old data set ends before the new plan begins, so that no reader takes one for the other.
    store.delete(DATASET_FILE)
    new = replace(new, revision=old.revision + 1)
    new.save(store)
    return new


def audit(plan: Plan, ledger: Ledger, job: Job) -> dict[str, UnitRecord]:
    """The plan's unit records, read anew from the ledger: what workers said is not evidence.

    Raises:
        K3DataError: units are missing; the message names them.
    """
    records = ledger.records()
    missing = [unit.id for unit in plan.units if unit.id not in records]
    if missing:
        named = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise K3DataError(f"job {job.name!r}: {len(missing)} of {len(plan.units)} units are not in the ledger: {named}")
    return {unit.id: records[unit.id] for unit in plan.units}


def check_budget(recipe: Recipe, job: Job, plan: Plan, records: dict[str, UnitRecord], out: str) -> None:
    """Raise `K3DataError` when more items ended as `error` than the recipe allows."""
    items = sum(record.items for record in records.values())
    errors = sum(record.outcomes["error"] for record in records.values())
    if errors <= recipe.errors.budget * items:
        return
    codes: Counter[str] = Counter()
    for record in records.values():
        codes.update({code: n for code, n in record.codes.items() if code.startswith("error/")})
    named = ", ".join(f"{code.removeprefix('error/')} {count}" for code, count in codes.most_common(3))
    raise K3DataError(
        f"job {job.name!r}: {errors} of {items} items ended as error ({named}), over the budget of "
        f"{recipe.errors.budget:.1%}; see `k3data inspect {out} --rejects`, then raise errors.budget or mend the cause"
    )


def progress_of(job: str, plan: Plan, records: dict[str, UnitRecord]) -> Progress:
    """The progress that the ledger shows."""
    done = [records[unit.id] for unit in plan.units if unit.id in records]
    progress = Progress(job, len(plan.units), len(done), plan.items, sum(record.items for record in done))
    for record in done:
        progress.outcomes.update(record.outcomes)
        progress.samples += record.samples
        progress.bytes += sum(shard.bytes for shard in record.shards)
    return progress


class _SpaceWatch:
    """Shows progress, and says once when what is still to come will not fit on the disk."""

    def __init__(self, store: Store, screen: Screen):
        self._folder = store.local("")
        self._screen = screen
        self._seen = 0

    def show(self, progress: Progress) -> None:
        self._screen.show(progress)
        if self._folder is None or progress.units_done <= self._seen:
            return
        self._seen = progress.units_done
        to_come = progress.bytes / progress.units_done * (progress.units - progress.units_done)
        free = shutil.disk_usage(self._folder).free
        if to_come > free:
            self._folder = None
            self._screen.say(
                f"{progress.job}: about {to_come / 1e9:.1f} GB are still to come and {free / 1e9:.1f} GB are free; "
                "when the disk is full the run stops, and goes on once there is room"
            )


def _workers(recipe: Recipe) -> int:
    wanted = recipe.executor.workers
    return len(os.sched_getaffinity(0)) if wanted == "auto" else wanted


def _clear_scratch(root: Store) -> None:
    """Remove what killed workers left unfinished. We hold the lease, so nobody is working in there."""
    for path in root.scratch().iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.suffix != ".flight":
            path.unlink(missing_ok=True)
