"""The end of a job: what makes its units one data set. `dataset.json` comes last; before it there is no data set."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from . import card, energon, index
from .ledger import PublishedFile, UnitRecord
from .output import RECIPE_FILE, DatasetFile, put_described
from .plan import FILE as PLAN_FILE
from .plan import INPUTS_FILE, Plan
from .reader import Dataset
from .recipe import Job, Recipe
from .record import SCHEMA_VERSION
from .stage import Context
from .store import Store

STATS_FILE = "stats.json"


def finish(recipe: Recipe, job: Job, plan: Plan, records: dict[str, UnitRecord], root: Store) -> DatasetFile:
    """Write indexes, statistics, card and attribution, and at last `dataset.json`.

    Args:
        records: the ledger's record of every unit of the plan, by unit id.
        root: the output's root.

    Returns:
        What `dataset.json` says.
    """
    store = root.sub(job.name)
    ordered = [records[unit.id] for unit in plan.units]
    stats = statistics(recipe, job, plan, ordered)
    files = [
        _described(store, PLAN_FILE),
        _described(store, INPUTS_FILE),
        put_described(store, RECIPE_FILE, recipe.text.encode()),
        put_described(store, STATS_FILE, orjson.dumps(stats, option=orjson.OPT_INDENT_2)),
        *_indexes(store, ordered),
        *(put_described(store, path, data) for path, data in _own_files(recipe, job, plan, root)),
    ]
    about = [*energon.files(Dataset(store, {}).shards.to_pylist()), *_card(recipe, job, plan, root, stats)]
    files += [put_described(store, path, data) for path, data in about]
    dataset = DatasetFile(
        name=f"{recipe.name}/{job.name}",
        recipe=recipe.name,
        job=job.name,
        schema=SCHEMA_VERSION,
        revision=plan.revision,
        plan=plan.digest,
        seed=recipe.seed,
        units=len(ordered),
        items=stats["items"],
        samples=stats["samples"],
        shards=stats["shards"],
        bytes=stats["bytes"],
        outcomes=stats["outcomes"],
        environment=plan.environment,
        files={one.path: {"bytes": one.bytes, "sha256": one.sha256} for one in files},
    )
    dataset.save(store)
    return dataset


def _card(recipe: Recipe, job: Job, plan: Plan, root: Store, stats: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    earlier = recipe.jobs[: recipe.jobs.index(job)]
    history = [orjson.loads(root.sub(one.name).read(STATS_FILE)) for one in earlier]
    dataset = Dataset(root.sub(job.name), {})
    name = f"{recipe.name}/{job.name}"
    return card.files(dataset, name, recipe.text, [*history, stats], plan.environment)


def _own_files(recipe: Recipe, job: Job, plan: Plan, root: Store) -> Iterator[tuple[str, bytes]]:
    """What the job's sources add to the data set."""
    context = Context(
        recipe.seed, recipe.name, job.name, "", root.scratch(), root.url, recipe.base, recipe.shards.max_bytes
    )
    for number, step in enumerate(job.sources):
        yield from step.build.files(context, [unit.where for unit in plan.units if unit.source == number])


def statistics(recipe: Recipe, job: Job, plan: Plan, records: list[UnitRecord]) -> dict[str, Any]:
    """The units' counters, merged: they are sums, so any grouping of units gives the same."""
    outcomes: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    stages: dict[str, Counter[str]] = {}
    for record in records:
        outcomes.update(record.outcomes)
        codes.update(record.codes)
        for stage in record.stages:
            counts = {name: value for name, value in stage.items() if name != "name"}
            stages.setdefault(stage["name"], Counter()).update(counts)
    return {
        "recipe": recipe.name,
        "job": job.name,
        "revision": plan.revision,
        "units": len(records),
        "items": sum(record.items for record in records),
        "samples": sum(record.samples for record in records),
        "shards": sum(len(record.shards) for record in records),
        "bytes": sum(shard.bytes for record in records for shard in record.shards),
        "outcomes": dict(outcomes),
        "stages": [{"name": name, **counts} for name, counts in stages.items()],
        "codes": dict(sorted(codes.items())),
        "worker_seconds": round(sum(record.seconds for record in records), 1),
    }


def shard_rows(records: list[UnitRecord]) -> list[dict[str, Any]]:
    """Rows of the shard index, in the plan's order."""
    return [
        {**asdict(shard), "shard": shard.path.rsplit("/", 1)[-1], "unit": record.unit}
        for record in records
        for shard in record.shards
    ]


def _indexes(store: Store, records: list[UnitRecord]) -> Iterator[PublishedFile]:
    with tempfile.TemporaryDirectory(dir=store.scratch()) as folder:
        units = (index.read_unit_index(store.read(record.index.path)) for record in records)
        for path in index.merge(units, shard_rows(records), Path(folder)):
            yield put_described(store, f"index/{path.name}", path.read_bytes())


def _described(store: Store, path: str) -> PublishedFile:
    data = store.read(path)
    return PublishedFile(path, len(data), hashlib.sha256(data).hexdigest())
