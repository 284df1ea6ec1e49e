"""One unit of work, from its slice of the source to its record in the ledger.

    load items → stages, one record at a time → shards in scratch → publish shards, index, rejects → ledger record

Every item ends as published, filtered, invalid_input, error or merged, and the counts of each stage add up. Nothing a
reader could see exists before the ledger record does.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from datatrove.data import Document

from . import index
from . import record as records
from .adapters import DatatroveStep
from .errors import K3DataError
from .flight import Flight
from .ledger import Ledger, PublishedFile, PublishedShard, UnitRecord, digest_of_items
from .outcomes import Outcomes
from .plan import Plan, Unit, chain_digest
from .recipe import Job, Recipe, Step
from .shards import Shard, ShardSet
from .stage import Context, Failed, InvalidInput, Item, Rejected
from .store import Store, disk_errors

REJECTS = pa.schema(
    [
        ("item", pa.string()),
        ("id", pa.string()),
        ("outcome", pa.string()),
        ("stage", pa.string()),
        ("code", pa.string()),
        ("detail", pa.string()),
        ("source", pa.string()),
        ("kind", pa.string()),
    ]
)
"""A row per record that was not published. `item` is null beside another row or a published sample of the same item."""

OUTCOMES = ("published", "filtered", "invalid_input", "error", "merged")


class UnitRun:
    """Runs one unit of a job.

    Args:
        recipe, job, plan, unit: what to do.
        store: the job's folder in the output.
        output: URL of the whole output.
        flight: told of every item before it is touched.
        progress: called after every item with how many are done.
        only: do this item alone and publish nothing.
        scratch: folder for unfinished files, if not the store's own.
    """

    def __init__(
        self,
        recipe: Recipe,
        job: Job,
        plan: Plan,
        unit: Unit,
        store: Store,
        output: str,
        flight: Flight,
        progress: Callable[[int], None] = lambda done: None,
        only: str | None = None,
        scratch: Path | None = None,
    ):
        self.recipe, self.job, self.plan, self.unit, self.store = recipe, job, plan, unit, store
        self.flight, self.progress, self.only = flight, progress, only
        self.source = job.sources[unit.source]
        self.chain = chain_digest(recipe, job, unit.source)
        self.scratch = scratch or store.scratch() / f"{unit.id}-{os.getpid()}"
        self.context = Context(
            recipe.seed, recipe.name, job.name, unit.id, self.scratch, output, recipe.base, recipe.shards.max_bytes
        )
        self.outcomes = Outcomes(store, unit.id)
        names = ["source", *(step.name for step in job.stages), "publish"]
        self.counts = [Counter[str]() for _ in names]
        self.seconds = [0.0] * len(names)
        self.names = names
        self.versions = [{"name": self.source.name, "version": self.source.build.version}]
        self.versions += [{"name": step.name, "version": step.build.version} for step in job.stages]
        self.rejects: list[dict[str, Any]] = []
        self.codes: Counter[str] = Counter()
        self.keys: list[str] = []
        self.published: set[str] = set()
        self.tracebacks: list[str] = []

    def run(self) -> UnitRecord | None:
        """Do the unit. Returns its ledger record, or None for a trial of one item.

        Raises:
            K3DataError: nothing was recorded; the unit can be run again.
        """
        started = time.monotonic()
        # What stages raise is caught item by item; an OSError that reaches us is the scratch disk's.
        with disk_errors(f"writing {self.scratch}"):
            self.scratch.mkdir(parents=True, exist_ok=True)
            shards = ShardSet(self.scratch, self.unit.id)
            try:
                self.open_stages()
                for record in self.chain_records():
                    self._write(shards, record)
                self.flight.land()
                return None if self.only is not None else self._publish(shards, time.monotonic() - started)
            finally:
                shards.discard()
                for step in self.job.stages:
                    step.build.close()
                shutil.rmtree(self.scratch, ignore_errors=True)
                self.flight.land()

    def open_stages(self) -> None:
        """Open every stage for this unit."""
        for step in self.job.stages:
            step.build.open(self.context)

    def chain_records(self) -> Iterator[Document]:
        """The records that come out of the last stage, pulled one by one through all of them."""
        stream: Iterator[Document] = self._load()
        for number, step in enumerate(self.job.stages, start=1):
            stream = self._apply(number, step, stream)
        return stream

    def _load(self) -> Iterator[Document]:
        """The source's items as records with id, split and lineage."""
        source = self.source.build
        for done, item in enumerate(source.read(self.unit.where, self.plan.inputs_of(self.unit), self.context)):
            if self.only is not None and item.key != self.only:
                continue
            self.progress(done)
            self.flight.at(self.unit.id, item.key)
            self.keys.append(item.key)
            self.counts[0]["in"] += 1
            record = self._settle(0, item.key, lambda item=item: self._first(item))  # type: ignore[misc]
            if record is not None:
                self.counts[0]["out"] += 1
                yield record

    def _first(self, item: Item) -> Document:
        record = item.load()
        if self.source.build.passthrough:
            return record
        parents = [record.id] if record.id else []
        record.id = _hash(item.identity, self.chain, 0)
        meta = record.metadata
        meta["split"] = meta.get("split") or self._split(item.root or item.identity)
        meta["lineage"] = {
            "recipe": self.recipe.name,
            "unit": self.unit.id,
            "item": item.key,
            "seed": self.recipe.seed,
            "stages": self.versions,
            "parents": parents,
        }
        if meta["licence"]["class"] == "unknown" and not self.recipe.licences.allow_unknown:
            raise InvalidInput("licence_unknown", f"licence {meta['licence']['spdx']!r}; see licences.allow_unknown")
        return record

    def _item(self, record: Document) -> str:
        """The planned item that a record came from; whole samples of an earlier job are known by their own id."""
        return record.id if self.source.build.passthrough else record.metadata["lineage"]["item"]

    def _split(self, identity: str) -> str:
        place = int(hashlib.sha256(f"split:{identity}".encode()).hexdigest()[:12], 16) / 16**12
        splits = self.recipe.splits
        return "val" if place < splits.val else "test" if place < splits.val + splits.test else "train"

    def _apply(self, number: int, step: Step, stream: Iterator[Document]) -> Iterator[Document]:
        if isinstance(step.build, DatatroveStep):
            yield from self._apply_stream(number, step.build, stream)
            return
        for record, work in self._ahead(number, step, stream):
            self.counts[number]["in"] += 1
            produced = self._settle(number, record.id, work, record)
            if produced is None:
                continue
            self.counts[number]["out"] += len(produced)
            self.counts[number]["added"] += len(produced) - 1
            yield from produced

    def _ahead(
        self, number: int, step: Step, stream: Iterator[Document]
    ) -> Iterator[tuple[Document, Callable[[], list[Document]]]]:
        """Each record with the call that gives its results; as many are at work beside it as the stage can use."""
        if step.build.concurrency == 1:
            for record in stream:
                yield record, lambda record=record: self._process(step, record)  # type: ignore[misc]
            return
        waiting: deque[tuple[Document, Callable[[], list[Document]]]] = deque()
        pool = ThreadPoolExecutor(step.build.concurrency, thread_name_prefix=step.name)
        try:
            for record in stream:
                settled = self.outcomes.get(self.names[number], record.id) is not None
                waiting.append((record, list if settled else pool.submit(self._process, step, record).result))
                if len(waiting) == step.build.concurrency:
                    yield waiting.popleft()
            while waiting:
                yield waiting.popleft()
        finally:
            pool.shutdown(cancel_futures=True)

    def _process(self, step: Step, record: Document) -> list[Document]:
        parent, lineage = record.id, record.metadata["lineage"]
        result = step.build.process(record)
        produced = [result] if isinstance(result, Document) else list(result)
        if not produced:
            raise Failed("vanished", f"{step.name} returned nothing and gave no reason")
        for ordinal, one in enumerate(produced):
            if ordinal:
                one.id = _hash(parent, step.name, ordinal)
            one.metadata["lineage"] = lineage
            records.validate(one)
        return produced

    def _apply_stream(self, number: int, step: DatatroveStep, stream: Iterator[Document]) -> Iterator[Document]:
        counts = self.counts[number]

        def counted() -> Iterator[Document]:
            for record in stream:
                counts["in"] += 1
                yield record

        for record in step.stream(counted(), lambda record, why: self._reject(number, record.id, why, record)):
            try:
                records.validate(record)
            except records.BrokenRecord as error:
                self._reject(number, record.id, InvalidInput(error.code, error.detail), record)
                continue
            counts["out"] += 1
            yield record

    def _write(self, shards: ShardSet, record: Document) -> None:
        """Add the record to its shard. One that cannot be written is its own error; a disk that cannot is not."""
        self.counts[-1]["in"] += 1
        try:
            shards.add(record)
        except OSError:
            raise
        except Exception as error:
            self.tracebacks.append(f"publish {record.id}\n{traceback.format_exc()}")
            why = Failed("unwritable", f"{type(error).__name__}: {error}")
            self._reject(len(self.names) - 1, record.id, why, record)
            return
        self.counts[-1]["out"] += 1
        self.published.add(self._item(record))

    def _settle(self, number: int, key: str, work: Callable[[], Any], record: Document | None = None) -> Any:
        """The result of `work`, or None once it has been rejected; an outcome settled earlier is replayed."""
        started = time.monotonic()
        stage = self.names[number]
        try:
            stored = self.outcomes.get(stage, key)
            if stored is None and number == 0:
                stored = self.outcomes.get("worker", key)
            if stored is not None:
                raise stored
            return work()
        except Rejected as why:
            why.detail = self.recipe.redact(why.detail)
            self._reject(number, key, self.outcomes.settle(stage, key, why) if why.fickle else why, record)
        except records.BrokenRecord as error:
            self._reject(number, key, InvalidInput(error.code, error.detail), record)
        except K3DataError:
            raise
        except Exception as error:
            self.tracebacks.append(f"{stage} {key}\n{traceback.format_exc()}")
            self._reject(number, key, Failed("exception", f"{type(error).__name__}: {error}"), record)
        finally:
            self.seconds[number] += time.monotonic() - started
        return None

    def _reject(self, number: int, key: str, why: Rejected, record: Document | None) -> None:
        stage = self.names[number]
        self.counts[number][why.outcome if why.outcome in ("filtered", "merged") else "rejected"] += 1
        self.codes[f"{why.outcome}/{stage}/{why.code}"] += 1
        meta = record.metadata if record else {}
        self.rejects.append(
            {
                "item": self._item(record) if record else key,
                "id": record.id if record else None,
                "outcome": why.outcome,
                "stage": stage,
                "code": why.code,
                "detail": self.recipe.redact(why.detail[:2000]),
                "source": meta["source"]["uri"] if record else key,
                "kind": meta.get("kind"),
            }
        )

    def _publish(self, shards: ShardSet, seconds: float) -> UnitRecord:
        finished = shards.finish()
        rows = [row for shard in finished for row in shard.rows]
        rejects = self._fates()
        published = [self._put_shard(shard) for shard in finished]
        index_path = self.scratch / "index.parquet"
        index.write_unit_index(rows, index_path)
        index_file = self._put_named(index_path, f"index/units/{self.unit.id}")
        rejects_file = None
        if rejects:
            path = self.scratch / "rejects.parquet"
            pq.write_table(pa.Table.from_pylist(rejects, schema=REJECTS), path, compression="zstd")
            rejects_file = self._put_named(path, f"rejects/{self.unit.id}")
        if self.tracebacks:
            text = self.recipe.redact("\n".join(self.tracebacks))
            self.store.put_bytes(f"logs/{self.unit.id}.log", text.encode())
        fates = Counter(row["outcome"] for row in rejects if row["item"] is not None)
        fates["published"] = len(self.published)
        record = UnitRecord(
            unit=self.unit.id,
            items=len(self.keys),
            item_digest=digest_of_items(self.keys),
            outcomes={name: fates[name] for name in OUTCOMES},
            samples=len(rows),
            shards=published,
            index=index_file,
            rejects=rejects_file,
            stages=self._stages(),
            codes=dict(sorted(self.codes.items())),
            seconds=round(seconds, 3),
            passthrough=self.source.build.passthrough,
        )
        Ledger(self.store).record(record)
        return record

    def _fates(self) -> list[dict[str, Any]]:
        """The reject rows, `item` kept on exactly one row of each item that has no published sample."""
        told: set[str] = set(self.published)
        for row in self.rejects:
            if row["item"] in told:
                row["item"] = None
            told.add(row["item"])
        return self.rejects

    def _stages(self) -> list[dict[str, Any]]:
        names = ("in", "out", "filtered", "rejected", "merged", "added")
        return [
            {"name": stage, **{name: counts[name] for name in names}, "seconds": round(seconds, 3)}
            for stage, counts, seconds in zip(self.names, self.counts, self.seconds, strict=True)
        ]

    def _put_shard(self, shard: Shard) -> PublishedShard:
        file = self._put(shard.path, f"{index.SHARD_FOLDER}/{shard.name}", shard.sha256)
        return PublishedShard(**asdict(file), samples=shard.samples, split=shard.split, licence=shard.licence,
                              signature=shard.signature)  # fmt: skip

    def _put(self, path: Path, name: str, sha256: str) -> PublishedFile:
        size = path.stat().st_size
        self.store.put_file(path, name)
        return PublishedFile(name, size, sha256)

    def _put_named(self, path: Path, stem: str) -> PublishedFile:
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        return self._put(path, f"{stem}-{sha256[:8]}.parquet", sha256)


def _hash(*parts: object) -> str:
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:32]
