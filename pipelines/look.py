"""What the looking verbs print: a preview, a plan with its estimate, how far an output is, one sample, rejects."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from datatrove.data import Document

from . import lease, query, tokens
from . import plan as plans
from . import record as records
from .errors import UserError
from .ledger import Ledger
from .output import DatasetFile, open_output
from .plan import Plan
from .preview import pilot as run_pilot
from .preview import preview
from .reader import Dataset
from .recipe import Job, Recipe
from .store import open_store


def preview_results(recipe: Recipe, out: str, count: int) -> Iterable[tuple[str, Document | dict[str, Any]]]:
    """(job, result) of up to `count` items of the first job and of every later one whose input is complete."""
    for job in recipe.jobs:
        if _before(job):
            continue  # it reads what a run has yet to make
        plan = plans.make(recipe, job, out)
        with tempfile.TemporaryDirectory(prefix="k3data-preview-") as folder:
            for result in preview(recipe, job, plan, open_store(folder), out, count):
                yield job.name, result


def described(job: str, result: Document | dict[str, Any]) -> dict[str, Any]:
    """A preview's result as JSON values, pictures left out."""
    if isinstance(result, Document):
        return {"job": job, "outcome": "published", **records.to_sample(result)}
    return {"job": job, **result}


def preview_text(job: str, result: Document | dict[str, Any]) -> str:
    """A preview's result for a person."""
    if not isinstance(result, Document):
        what = f"{result['outcome']} · {result['stage']}/{result['code']} · {result['item']}"
        return f"── {job}: {what}\n   {result['detail']}"
    return f"── {job}: {sample_text(result)}"


def sample_text(record: Document, longest: int = 1200) -> str:
    """One sample for a person: what it is, its pictures, its text, its tasks, its checks."""
    meta = record.metadata
    lines = [f"{record.id} · {meta['kind']} · {meta['split']} · {meta['licence']['spdx']} · {meta['source']['uri']}"]
    for part in record.media:
        about, size = part.metadata, len(part.media_bytes or b"")
        lines.append(f"   {about['mime']} {about['width']}×{about['height']} {size:,} bytes {about['name']}")
    text = tokens.summary(meta["sample"]) if "sample" in meta else record.text.replace(records.OBJECT, "").strip()
    lines += _indented(text[:longest] + (f"\n… {len(text) - longest:,} more characters" if len(text) > longest else ""))
    for task in meta.get("tasks") or []:
        answer = task["answer"] if len(task["answer"]) <= 300 else f"{task['answer'][:300]} …"
        lines += [f"   [{task['name']}] {task['prompt']}", *_indented(answer, "      ")]
    checks = meta.get("checks") or []
    if checks:
        told = (f"{one['name']} {'ok' if one['passed'] else 'failed'}" for one in checks)
        lines.append("   checks: " + ", ".join(told))
    return "\n".join(lines)


def _indented(text: str, by: str = "   ") -> list[str]:
    return [f"{by}{line}" for line in text.splitlines()]


def plan_facts(recipe: Recipe, out: str, limit: int | None, pilot: int) -> dict[str, Any]:
    """What a run would do. With `pilot` items tried, also an estimate of time and space."""
    root = open_store(out)
    jobs = []
    for job in recipe.jobs:
        if not _readable(job, out):
            jobs.append({"job": job.name, "after": _before(job)})
            continue
        plan = plans.make(recipe, job, out, limit)
        stored = root.sub(job.name)
        done = Ledger(stored).records().keys() & {unit.id for unit in plan.units} if Plan.load(stored) else set()
        facts: dict[str, Any] = {
            "job": job.name,
            "sources": [step.name for step in job.sources],
            "stages": [step.name for step in job.stages],
            "units": len(plan.units),
            "units_done": len(done),
            "items": plan.items,
            "input_files": len(plan.inputs),
            "input_bytes": sum(one.size for one in plan.inputs.values()),
        }
        if pilot and job.stages and plan.items:
            facts["estimate"] = _pilot(recipe, job, plan, out, pilot)
        jobs.append(facts)
    return {"recipe": recipe.name, "out": out, "free_bytes": _free(out), "jobs": jobs}


def plan_text(facts: dict[str, Any]) -> str:
    lines = [f"{facts['recipe']} → {facts['out']}"]
    for job in facts["jobs"]:
        if "after" in job:
            lines.append(f"  {job['job']}: planned when {', '.join(job['after'])} is complete")
            continue
        chain = " → ".join([" + ".join(job["sources"]), *job["stages"]])
        items = "an unknown number of" if job["items"] is None else f"{job['items']:,}"
        done = f", {job['units_done']:,} done" if job["units_done"] else ""
        lines += [f"  {job['job']}: {chain}", f"    {items} items in {job['units']:,} units{done}"]
        if job["input_files"]:
            lines.append(f"    reads {job['input_files']:,} files, {job['input_bytes'] / 1e6:,.1f} MB")
        if estimate := job.get("estimate"):
            lines.append(
                f"    about {estimate['worker_seconds'] / 60:,.1f} worker-minutes and "
                f"{estimate['bytes'] / 1e6:,.0f} MB, from a pilot of {estimate['pilot_items']} items"
            )
            if "usd" in estimate:
                error = f", give or take {estimate['usd_error']:,.2f}" if estimate["usd_error"] is not None else ""
                lines.append(
                    f"    about {estimate['usd']:,.2f} USD{error}; the pilot spent {estimate['pilot_usd']:,.4f}, "
                    "and its answers are kept for the run"
                )
    if facts["free_bytes"] is not None:
        lines.append(f"  free space: {facts['free_bytes'] / 1e9:,.1f} GB")
    return "\n".join(lines)


def _before(job: Job) -> list[str]:
    """The earlier jobs whose data sets a job reads."""
    return [name for step in job.sources for name in step.build.jobs]


def _readable(job: Job, out: str) -> bool:
    root = open_store(out)
    return all(DatasetFile.load(root.sub(name)) for name in _before(job))


def _pilot(recipe: Recipe, job: Job, plan: Plan, out: str, items: int) -> dict[str, Any]:
    """Time, space and money of a few items, scaled to all."""
    with tempfile.TemporaryDirectory(prefix="k3data-pilot-") as folder:
        parts = list(run_pilot(recipe, job, plan, open_store(folder), out, items))
    done, total = sum(part.items for part in parts), plan.items or 0
    usd = sum(part.usd for part in parts)
    facts: dict[str, Any] = {
        "pilot_items": done,
        "worker_seconds": round(sum(p.seconds for p in parts) / max(sum(p.timed for p in parts), 1) * total, 1),
        "bytes": round(sum(part.bytes for part in parts) / max(done, 1) * total),
    }
    if usd:
        # Units differ in what their items cost; from that follows how far the mean of a few may be off.
        each = [part.usd / part.items for part in parts if part.items]
        error = round(statistics.stdev(each) / len(each) ** 0.5 * total, 2) if len(each) > 1 else None
        facts |= {"pilot_usd": round(usd, 4), "usd": round(usd / done * total, 2), "usd_error": error}
    return facts


def _free(out: str) -> int | None:
    if "://" in out:
        return None
    path = Path(out).absolute()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def status_facts(out: str) -> dict[str, Any]:
    """How far an output is."""
    store, root = open_output(out)
    holder = lease.newest(store)
    running = None
    if holder:
        try:
            lease.refuse_if_live(store, holder)
        except UserError:
            running = {
                "host": holder["host"],
                "pid": holder["pid"],
                "beat_age_s": round(time.time() - holder["beat"], 1),
            }
    jobs: list[dict[str, Any]] = []
    for name in root.jobs:
        job = store.sub(name)
        plan = Plan.load(job)
        if plan is None:
            jobs.append({"job": name, "state": "not planned"})
            continue
        ledger = Ledger(job).records()
        done = [ledger[unit.id] for unit in plan.units if unit.id in ledger]
        outcomes: dict[str, int] = {}
        for record in done:
            for fate, count in record.outcomes.items():
                outcomes[fate] = outcomes.get(fate, 0) + count
        complete = DatasetFile.load(job) is not None
        jobs.append(
            {
                "job": name,
                "state": "complete" if complete else "in work" if running else "not complete",
                "revision": plan.revision,
                "units": len(plan.units),
                "units_done": len(done),
                "items": plan.items,
                "items_done": sum(record.items for record in done),
                "samples": sum(record.samples for record in done),
                "bytes": sum(shard.bytes for record in done for shard in record.shards),
                "outcomes": outcomes,
            }
        )
    return {"recipe": root.recipe, "out": store.url, "running": running, "jobs": jobs}


def status_text(facts: dict[str, Any]) -> str:
    running = facts["running"]
    at_work = f", a run is at work (process {running['pid']} on {running['host']})" if running else ""
    lines = [f"{facts['recipe']} in {facts['out']}{at_work}"]
    for job in facts["jobs"]:
        if job["state"] == "not planned":
            lines.append(f"  {job['job']}: not planned yet")
            continue
        items = f"{job['items_done']:,}" + (f" of {job['items']:,}" if job["items"] is not None else "")
        fates = ", ".join(
            f"{count:,} {fate}" for fate, count in job["outcomes"].items() if count and fate != "published"
        )
        lines.append(
            f"  {job['job']}: {job['state']}; units {job['units_done']:,} of {job['units']:,}, items {items}, "
            f"{job['samples']:,} samples, {job['bytes'] / 1e6:,.1f} MB" + (f"; {fates}" if fates else "")
        )
    return "\n".join(lines)


def find_sample(dataset: Dataset, wanted: str) -> Document:
    """The sample whose id starts with `wanted`.

    Raises:
        UserError: none or several do.
    """
    import pyarrow.compute as pc

    ids = dataset.samples["id"]
    found = ids.filter(pc.starts_with(ids, wanted)).to_pylist()
    if len(found) != 1:
        raise UserError(f"{len(found)} samples have an id that starts with {wanted!r}")
    return dataset[found[0]]


def rejects_relation(out: str, job: str | None, condition: str | None) -> Any:
    """What was not published, as a DuckDB relation; of every job of the output unless one is named.

    Raises:
        UserError: no such job, or a wrong condition.
    """
    import duckdb

    store, root = open_output(out)
    if job is not None and job not in root.jobs:
        raise UserError(f"{store.url} has no job {job!r}; it has {', '.join(root.jobs)}")
    tables = []
    for name in [job] if job else root.jobs:
        table = query.rejects(store.sub(name))
        tables.append(table.add_column(0, "job", pa.array([name] * len(table), pa.string())))
    rejected = pa.concat_tables(tables)
    try:
        relation = duckdb.connect().from_arrow(rejected).filter(condition or "true")
        relation.limit(0).fetchall()
    except duckdb.Error as error:
        raise UserError(f"--where {condition!r}: {str(error).splitlines()[0]}") from None
    return relation


def stats_text(facts: dict[str, Any]) -> str:
    """Statistics for a person."""
    lines = [
        f"{facts['name']}: {facts['samples']:,} samples in {facts['shards']:,} shards, {facts['bytes'] / 1e6:,.1f} MB"
    ]
    for column, counts in facts["counts"].items():
        if counts:
            shown = list(counts.items())[:8]
            more = f", {len(counts) - 8} more" if len(counts) > 8 else ""
            lines.append(f"  {column:<9} " + ", ".join(f"{name} {count:,}" for name, count in shown) + more)
    if facts["tasks"]:
        lines.append("  tasks     " + ", ".join(f"{name} {count:,}" for name, count in facts["tasks"].items()))
    for name, sizes in facts["sizes"].items():
        if sizes:
            lines.append(
                f"  {name:<10} {sizes['min']:,.0f} … {sizes['q25']:,.0f} | {sizes['median']:,.0f} | "
                f"{sizes['q75']:,.0f} … {sizes['max']:,.0f}"
            )
    for stage in facts["stages"]:
        left = ", ".join(f"{stage[fate]:,} {fate}" for fate in ("filtered", "rejected", "merged") if stage[fate])
        lines.append(f"  {stage['name']:<16} {stage['in']:,} in, {stage['out']:,} out" + (f", {left}" if left else ""))
    for code, count in sorted(facts["rejects"].items(), key=lambda one: -one[1]):
        lines.append(f"    {count:>7,}  {code}")
    return "\n".join(lines)


def card_files(out: str, job: str | None) -> dict[str, bytes]:
    """The files of an output's dataset card by path: the page, its pictures, the attribution."""
    dataset = Dataset.open(out, job=job)
    wanted = ("README.md", "ATTRIBUTION", "samples/")
    paths = [path for path in dataset.info["files"] if path.startswith(wanted)]
    return {path: dataset.store.read(path) for path in paths}
