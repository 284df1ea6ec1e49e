"""The frozen plan: which items make which unit, written once before any work and never guessed again.

A unit's id is the hash of everything that shapes its data: the stages with their versions and semantic parameters, the
seed, the slice of the source with the digests of its inputs, and the environment (browser build, fonts, …). The same
unit in another recipe, on another machine, under another number of workers has the same id; one whose data would
differ has another. That is what makes resuming, and changing a recipe, safe.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from .errors import UserError
from .recipe import Job, Recipe, digest_of
from .stage import Context, Input
from .store import Store

FILE = "plan.parquet"
INPUTS_FILE = "inputs.parquet"


@dataclass(frozen=True)
class Unit:
    """One unit of work: a slice of one of the job's sources.

    Attributes:
        id: see the module's first lines; 24 hex digits.
        position: place in the plan, which is also its place in the data set.
        source: index of the source in the job.
        where: the slice, for `Source.read`.
        items: number of items, or None when only reading tells.
        inputs: uris of the files it reads.
    """

    id: str
    position: int
    source: int
    where: dict[str, Any]
    items: int | None
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A job's units and what they were made from.

    Attributes:
        inputs: the files it was made from, by source and uri: two sources may call different files the same.
        revision: 1, and one more each time the recipe, its inputs or the environment changed the plan.
        semantics: what the recipe says of this job, as JSON values; equal semantics and inputs give equal units.
        environment: versions of the programs and fonts that the data depends on.
    """

    revision: int
    units: tuple[Unit, ...]
    inputs: dict[tuple[int, str], Input]
    semantics: dict[str, Any]
    environment: dict[str, str]

    @property
    def digest(self) -> str:
        return digest_of([unit.id for unit in self.units])

    @property
    def items(self) -> int | None:
        counts = [unit.items for unit in self.units]
        return None if None in counts else sum(count or 0 for count in counts)

    def inputs_of(self, unit: Unit) -> tuple[Input, ...]:
        return tuple(self.inputs[unit.source, uri] for uri in unit.inputs)

    def save(self, store: Store) -> None:
        """Write the plan, inputs first, so that a plan that is there is whole."""
        files = [{"source": source, **asdict(one)} for (source, _), one in self.inputs.items()]
        inputs = pa.Table.from_pylist(files, schema=_INPUTS)
        store.put_bytes(INPUTS_FILE, _parquet(inputs))
        rows = [
            {**asdict(unit), "where": orjson.dumps(unit.where).decode(), "inputs": list(unit.inputs)}
            for unit in self.units
        ]
        about = {"revision": self.revision, "semantics": self.semantics, "environment": self.environment}
        schema = _UNITS.with_metadata({b"k3data": orjson.dumps(about)})
        store.put_bytes(FILE, _parquet(pa.Table.from_pylist(rows, schema=schema)))

    @classmethod
    def load(cls, store: Store) -> Plan | None:
        """The plan stored there, or None.

        Raises:
            UserError: the file is damaged; the message names it.
        """
        if not store.exists(FILE):
            return None
        try:
            table = pq.read_table(io.BytesIO(store.read(FILE)))
            files = pq.read_table(io.BytesIO(store.read(INPUTS_FILE))).to_pylist()
            inputs = {(row.pop("source"), row["uri"]): Input(**row) for row in files}
            about = orjson.loads(table.schema.metadata[b"k3data"])
            rows = table.to_pylist()
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise UserError(f"{store.url}/{FILE} is damaged: {error}") from None
        units = tuple(
            Unit(**{**row, "where": orjson.loads(row["where"]), "inputs": tuple(row["inputs"])}) for row in rows
        )
        return cls(units=units, inputs=inputs, **about)


_INPUTS = pa.schema(
    [
        ("source", pa.int32()),
        ("uri", pa.string()),
        ("size", pa.int64()),
        ("stamp", pa.string()),
        ("sha256", pa.string()),
    ]
)
_UNITS = pa.schema(
    [
        ("id", pa.string()),
        ("position", pa.int64()),
        ("source", pa.int32()),
        ("where", pa.string()),
        ("items", pa.int64()),
        ("inputs", pa.list_(pa.string())),
    ]
)


def make(
    recipe: Recipe,
    job: Job,
    output: str,
    limit: int | None = None,
    kept: Store | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Plan:
    """Plan a job afresh from its sources, as they are now.

    Args:
        output: URL of the run's output, for sources that read an earlier job of it.
        limit: at least so many items, in whole units spread evenly over the plan, so that they are units of the full
            plan too. None = all.
        kept, say: see `Context`.

    Raises:
        UserError: an input is missing, or there is nothing to do.
    """
    with tempfile.TemporaryDirectory(prefix="k3data-plan-") as scratch:
        context = Context(
            recipe.seed,
            recipe.name,
            job.name,
            "",
            Path(scratch),
            output,
            recipe.base,
            recipe.shards.max_bytes,
            kept,
            say,
        )
        return _make(recipe, job, context, limit)


def _make(recipe: Recipe, job: Job, context: Context, limit: int | None) -> Plan:
    _check_installed(recipe)
    environment: dict[str, str] = {}
    for part in (*(step.build for step in job.sources), *(step.build for step in job.stages)):
        environment.update(part.environment())
        environment.update(part.reads(context))
    semantics = semantics_of(recipe, job)
    units: list[Unit] = []
    inputs: dict[tuple[int, str], Input] = {}
    for index, step in enumerate(job.sources):
        about = {**semantics, "source": semantics["sources"][index], "environment": environment}
        about.pop("sources")
        for piece in step.build.plan(context, job.unit_items):
            digests = [(one.uri, one.sha256) for one in piece.inputs]
            identity = digest_of([about, piece.where, digests])[:24]
            uris = tuple(one.uri for one in piece.inputs)
            units.append(Unit(identity, len(units), index, piece.where, piece.items, uris))
            inputs.update({(index, one.uri): one for one in piece.inputs})
    units = _unique(units)
    if not units:
        raise UserError(f"job {job.name!r}: its source holds no items")
    if limit is not None:
        units = _spread(units, limit)
        used = {(unit.source, uri) for unit in units for uri in unit.inputs}
        inputs = {key: one for key, one in inputs.items() if key in used}
    return Plan(1, tuple(units), inputs, recipe.redact({**semantics, "limit": limit}), environment)


def _check_installed(recipe: Recipe) -> None:
    """Name all that the sources of all jobs need and this machine lacks, before any work, in one line."""
    missing: dict[str, list[str]] = {}
    for job in recipe.jobs:
        for step in job.sources:
            for command, names in step.build.missing().items():
                missing.setdefault(command, []).extend(names)
    if missing:
        commands = "; ".join(f"{command} {' '.join(dict.fromkeys(names))}" for command, names in missing.items())
        raise UserError(f"the recipe reads packages that are not installed: {commands}")


def semantics_of(recipe: Recipe, job: Job) -> dict[str, Any]:
    """What the recipe says of a job that can change its data, as JSON values."""

    def describe(step: Any) -> dict[str, Any]:
        return {"name": step.name, "version": step.build.version, "parameters": step.build.semantic()}

    sources = [describe(step) for step in job.sources]
    for at, source in enumerate(sources):
        # Two sources of the same parameters may hold the same content, which must become two samples.
        if copies := sources[:at].count(source):
            sources[at] = {**source, "copy": copies}
    return {
        "seed": recipe.seed,
        "sources": sources,
        "stages": [describe(step) for step in job.stages],
        "splits": recipe.splits.model_dump(),
        "licences": recipe.licences.model_dump(),
    }


def chain_digest(recipe: Recipe, job: Job, source: int) -> str:
    """Hash of the semantic chain that a source's items go through: with an item's identity it makes sample ids."""
    about = semantics_of(recipe, job)
    return digest_of([about["seed"], about["sources"][source], about["stages"]])


def changed_inputs(old: Plan, new: Plan) -> list[str]:
    """One line for each file that is not what the old plan was made from."""
    before, now = _by_file(old), _by_file(new)
    lines = [f"{file} is gone" for file in before if file not in now]
    lines += [f"{file} is new" for file in now if file not in before]
    lines += [f"{file} has changed" for file in now if file in before and before[file] != now[file]]
    return lines


def _by_file(plan: Plan) -> dict[str, list[tuple[str, str]]]:
    """The inputs by file; those of a large file are ranges of it, `<file>@<start>-<stop>`."""
    files: dict[str, list[tuple[str, str]]] = {}
    for one in plan.inputs.values():
        files.setdefault(re.sub(r"@\d+-\d+$", "", one.uri), []).append((one.uri, one.sha256))
    return files


def why_changed(old: Plan, new: Plan) -> Iterator[str]:
    """One line for each reason why the new plan's units differ from the old one's."""
    for key in sorted(old.environment.keys() | new.environment.keys()):
        version, now = old.environment.get(key, "absent"), new.environment.get(key, "absent")
        if version != now:
            yield f"{key}: {version} → {now}"
    for key, value in new.semantics.items():
        before = old.semantics.get(key)
        if before == value:
            continue
        if key in ("sources", "stages") and before is not None:
            yield from _chain_changes(key, before, value)
        else:
            yield f"{key}: {before} → {value}"


def _chain_changes(key: str, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Iterator[str]:
    before, now = [one["name"] for one in old], [one["name"] for one in new]
    if before != now:
        yield f"{key}: {', '.join(before) or 'none'} → {', '.join(now) or 'none'}"
    for one, other in zip(old, new, strict=False):
        if one["name"] == other["name"] and one != other:
            yield from _parameter_changes(one, other)


def _parameter_changes(was: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    if was["version"] != now["version"]:
        yield f"{now['name']}: version {was['version']} → {now['version']}"
    yield from _value_changes(now["name"], was["parameters"], now["parameters"])


def _value_changes(name: str, was: Any, now: Any) -> Iterator[str]:
    """One line for each value that differs, named by the keys that lead to it."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in [*now, *(key for key in was if key not in now)]:
            yield from _value_changes(f"{name}.{key}", was.get(key), now.get(key))
    elif was != now:
        yield f"{name}: {was} → {now}"


def _unique(units: list[Unit]) -> list[Unit]:
    seen: dict[str, Unit] = {}
    for unit in units:
        if unit.id in seen:
            raise UserError(f"the sources hold the same slice twice: {unit.where}")
        seen[unit.id] = unit
    return units


def _spread(units: list[Unit], limit: int) -> list[Unit]:
    """Whole units at even distances, until they hold `limit` items."""
    known = [unit.items or 1 for unit in units]
    wanted = max(1, round(limit / (sum(known) / len(units))))
    while True:
        step = len(units) / min(wanted, len(units))
        chosen = [units[int(index * step)] for index in range(min(wanted, len(units)))]
        if wanted >= len(units) or sum(unit.items or 1 for unit in chosen) >= limit:
            return [Unit(**{**asdict(unit), "inputs": unit.inputs, "position": at}) for at, unit in enumerate(chosen)]
        wanted += 1


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()
