"""`k3data verify`: recount an output from the bytes of its shards, and name what is lost, doubled or damaged.

What is compared with what: each shard's bytes with its digest in the ledger; each sample in it with the picture hashes
in its own JSON, with its row in the unit's index, and with every other sample (an id may stand once); each unit's
items, recounted from samples and rejects, with the ledger; the ledger with the plan; and every other file of a complete
data set with its digest in `dataset.json`.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from . import index, tokens
from .errors import K3DataError, UserError
from .ledger import Ledger, LedgerDamage, UnitRecord, digest_of_items
from .output import DatasetFile, open_output
from .plan import Plan
from .shards import split_media
from .store import Store
from .tar import BLOCK, Member, TarError, scan


@dataclass
class JobReport:
    """What the recount of one job found."""

    job: str
    complete: bool = False
    units: int = 0
    items: int = 0
    samples: int = 0
    shards: int = 0
    bytes: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: `kind` is lost, doubled or corrupt, `line` names the file and the sample."""

    kind: str
    line: str


@dataclass
class Report:
    """The recount of an output: per job its counts, and every problem."""

    jobs: list[JobReport] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def count(self, kind: str) -> int:
        return sum(problem.kind == kind for problem in self.problems)

    def as_dict(self) -> dict[str, Any]:
        return {
            "ok": not self.problems,
            "jobs": [{**vars(job), "outcomes": dict(job.outcomes)} for job in self.jobs],
            "problems": [asdict(one) for one in self.problems],
        }

    def text(self) -> str:
        lines = []
        for job in self.jobs:
            fates = ", ".join(f"{count:,} {name}" for name, count in job.outcomes.items() if count)
            state = "complete" if job.complete else "not complete"
            lines.append(
                f"{job.job}: {state}; {job.units:,} units, {job.items:,} items ({fates or 'none'}), "
                f"{job.samples:,} samples in {job.shards:,} shards, {job.bytes / 1e6:,.1f} MB"
            )
        lines += [problem.line for problem in self.problems]
        lines.append(", ".join(f"{self.count(kind)} {kind}" for kind in ("lost", "doubled", "corrupt")))
        return "\n".join(lines)


def verify(url: str, job: str | None = None) -> Report:
    """Recount an output, or one job of it.

    Raises:
        UserError: there is no output at that place, or no such job.
    """
    store, root = open_output(url)
    if job is not None and job not in root.jobs:
        raise UserError(f"{store.url} has no job {job!r}; it has {', '.join(root.jobs)}")
    report = Report()
    for name in [job] if job else root.jobs:
        _Recount(store.sub(name), name, report).run()
    return report


class _Recount:
    def __init__(self, store: Store, job: str, report: Report):
        self.store = store
        self.report = report
        self.found = JobReport(job)
        report.jobs.append(self.found)
        self.seen: dict[str, str] = {}  # sample id → shard

    def problem(self, path: str, what: str, kind: str = "corrupt") -> None:
        self.report.problems.append(Problem(kind, f"{self.found.job}/{path}: {what}"))

    def run(self) -> None:
        try:
            dataset = DatasetFile.load(self.store)
            plan = Plan.load(self.store)
            records = Ledger(self.store).records()
        except (UserError, LedgerDamage) as error:
            self.report.problems.append(Problem("corrupt", str(error)))
            return
        if plan is None:
            if dataset:
                self.problem("plan.parquet", "missing", "lost")
            return
        self.found.complete = dataset is not None
        for unit in plan.units:
            if unit.id in records:
                self._unit(records[unit.id], unit.items)
            elif dataset:
                self.problem("ledger", f"unit {unit.id} is lost: the plan has it, the ledger does not", "lost")
        if dataset:
            self._dataset(dataset, plan, [records[unit.id] for unit in plan.units if unit.id in records])

    def _unit(self, record: UnitRecord, planned: int | None) -> None:
        self.found.units += 1
        self.found.items += record.items
        self.found.outcomes.update({name: count for name, count in record.outcomes.items() if count})
        if planned is not None and planned != record.items:
            self.problem("ledger", f"unit {record.unit} did {record.items} items, {planned} were planned")
        rows: list[dict[str, Any]] = []
        items: list[str] = []
        for shard in record.shards:
            self._shard(shard.path, shard.bytes, shard.sha256, shard.samples, record, rows, items)
        self._index(record, rows)
        self._fates(record, items)

    def _shard(
        self, path: str, size: int, sha256: str, count: int, record: UnitRecord, rows: list[dict], items: list[str]
    ) -> None:
        self.found.shards += 1
        with self._file(path) as file:
            if file is None:
                return
            actual, digest = _digest(file)
            self.found.bytes += actual
            if actual != size:
                self.problem(path, f"has {actual} bytes, the ledger says {size}")
            elif digest != sha256:
                self.problem(path, "its bytes do not match the SHA-256 in the ledger")
            found = 0
            try:
                for key, group in groupby(scan(file), key=lambda member: member.key):
                    found += 1
                    self._sample(path, key, list(group), file, record, rows, items)
            except TarError as error:
                self.problem(path, str(error))
            if found != count:
                self.problem(path, f"holds {found} samples, the ledger says {count}")

    def _sample(
        self,
        path: str,
        key: str,
        members: list[Member],
        file: BinaryIO,
        record: UnitRecord,
        rows: list[dict],
        items: list[str],
    ) -> None:
        self.found.samples += 1
        if key in self.seen:
            self.problem(path, f"sample {key} is doubled: it stands in {self.seen[key]} too", "doubled")
        self.seen[key] = path
        end = -(-(members[-1].offset + members[-1].size) // BLOCK) * BLOCK
        offset = members[0].header
        rows.append({"id": key, "shard": path.rsplit("/", 1)[-1], "offset": offset, "size": end - offset})
        content = {member.suffix: _content(file, member) for member in members}
        read = self._tokens if tokens.TOKENS in content else self._record
        sample = read(path, key, content)
        if sample is not None:
            if sample["id"] != key:
                self.problem(path, f"sample {key} is corrupt: its JSON has the id {sample['id']}")
            items.append(key if record.passthrough else sample["lineage"]["item"])

    def _record(self, path: str, key: str, content: dict[str, bytes]) -> dict[str, Any] | None:
        try:
            sample = orjson.loads(content.pop("json"))
            (media,) = content.values()
            parts = split_media(sample, media)
        except (KeyError, ValueError, TypeError) as error:
            self.problem(path, f"sample {key} is corrupt: {type(error).__name__}: {error}")
            return None
        for number, (one, data) in enumerate(zip(sample["media"], parts, strict=True)):
            if hashlib.sha256(data).hexdigest() != one["sha256"]:
                self.problem(path, f"sample {key} is corrupt: media part {number} does not match its SHA-256")
        return sample

    def _tokens(self, path: str, key: str, content: dict[str, bytes]) -> dict[str, Any] | None:
        try:
            tokens.check(tokens.read_token_sample(content))
            tokens.check_digest(content)
            return orjson.loads(content[tokens.SPANS])
        except (KeyError, ValueError, TypeError) as error:
            self.problem(path, f"sample {key} is corrupt: {error}")
            return None

    def _index(self, record: UnitRecord, rows: list[dict[str, Any]]) -> None:
        path = record.index.path
        table = self._table(path, record.index.bytes, record.index.sha256)
        if table is not None:
            self._compare_rows(path, table, rows)

    def _compare_rows(self, path: str, table: pa.Table, rows: list[dict[str, Any]]) -> None:
        listed = Counter(tuple(row.values()) for row in table.select(["id", "shard", "offset", "size"]).to_pylist())
        there = Counter(tuple(row.values()) for row in rows)
        for entry in (listed - there).elements():
            self.problem(
                path, f"lists sample {entry[0]} at byte {entry[2]} of {entry[1]}, where it is not, or lists it twice"
            )
        for entry in (there - listed).elements():
            self.problem(path, f"does not list sample {entry[0]}, which is at byte {entry[2]} of {entry[1]}", "lost")

    def _fates(self, record: UnitRecord, items: list[str]) -> None:
        published = set(items)
        fates = Counter(published=len(published))
        keys = list(published)
        if record.rejects:
            table = self._table(record.rejects.path, record.rejects.bytes, record.rejects.sha256)
            if table is None:
                return
            for row in table.select(["item", "outcome"]).to_pylist():
                if row["item"] is not None:
                    fates[row["outcome"]] += 1
                    keys.append(row["item"])
        told = {name: count for name, count in record.outcomes.items() if count}
        counted = {name: count for name, count in fates.items() if count}
        if told != counted:
            self.problem("ledger", f"unit {record.unit}: the ledger says {told}, shards and rejects hold {counted}")
        if digest_of_items(keys) != record.item_digest:
            kind = "lost" if len(keys) < record.items else "doubled" if len(keys) > record.items else "corrupt"
            what = (
                f"unit {record.unit}: shards and rejects account for {len(keys)} items, not the {record.items} it did"
            )
            self.problem("ledger", what, kind)
        for stage in record.stages:
            if stage["in"] + stage["added"] != stage["out"] + stage["filtered"] + stage["rejected"] + stage["merged"]:
                self.problem("ledger", f"unit {record.unit}: the counts of stage {stage['name']} do not add up")

    def _dataset(self, dataset: DatasetFile, plan: Plan, records: list[UnitRecord]) -> None:
        if dataset.plan != plan.digest:
            self.problem("dataset.json", "belongs to another revision of the plan")
        for path, told in dataset.files.items():
            self._digested(path, told["bytes"], told["sha256"])
        counted = {"samples": self.found.samples, "items": self.found.items, "shards": self.found.shards,
                   "bytes": self.found.bytes}  # fmt: skip
        for name, count in counted.items():
            if getattr(dataset, name) != count:
                self.problem("dataset.json", f"says {getattr(dataset, name)} {name}, there are {count}")
        self._whole_index(records)

    def _whole_index(self, records: list[UnitRecord]) -> None:
        samples_path = f"index/{index.SAMPLES_FILE}"
        table = self._table(samples_path, None, None)
        if table is not None:
            ids = Counter(table["id"].to_pylist())
            for sample in (ids - Counter(self.seen.keys())).elements():
                what, kind = ("twice", "doubled") if sample in self.seen else ("but no shard holds it", "corrupt")
                self.problem(samples_path, f"lists sample {sample} {what}", kind)
            for sample in self.seen.keys() - ids.keys():
                self.problem(samples_path, f"does not list sample {sample}, which {self.seen[sample]} holds", "lost")
        shards_path = f"index/{index.SHARDS_FILE}"
        table = self._table(shards_path, None, None)
        if table is not None:
            listed = Counter(table["path"].to_pylist())
            there = Counter(shard.path for record in records for shard in record.shards)
            for path in (listed - there).elements():
                self.problem(shards_path, f"lists {path}, which no unit published, or lists it twice")
            for path in (there - listed).elements():
                self.problem(shards_path, f"does not list {path}", "lost")

    def _table(self, path: str, size: int | None, sha256: str | None) -> pa.Table | None:
        try:
            data = self.store.read(path)
        except FileNotFoundError:
            self.problem(path, "missing", "lost")
            return None
        except K3DataError as error:
            self.problem(path, str(error))
            return None
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            self.problem(path, f"its {len(data)} bytes do not match the SHA-256 in the ledger ({size} bytes)")
        try:
            return pq.read_table(io.BytesIO(data))
        except (pa.ArrowException, OSError) as error:
            self.problem(path, f"cannot be read: {str(error).splitlines()[0]}")
            return None

    def _digested(self, path: str, size: int, sha256: str) -> None:
        with self._file(path) as file:
            if file is not None and _digest(file) != (size, sha256):
                self.problem(path, f"does not match its SHA-256 in dataset.json ({size} bytes)")

    def _file(self, path: str) -> _Opened:
        return _Opened(self, path)


class _Opened:
    """A file of the output as a local file object: the file itself, or a download; None (and a problem) if missing."""

    def __init__(self, recount: _Recount, path: str):
        self._recount, self._path = recount, path
        self._file: Any = None

    def __enter__(self) -> Any:
        store = self._recount.store
        local = store.local(self._path)
        try:
            if local is not None:
                self._file = Path(local).open("rb")
            else:
                self._file = tempfile.TemporaryFile(dir=store.scratch())
                self._file.writelines(_blocks(store, self._path))
                self._file.seek(0)
        except FileNotFoundError:
            self._recount.problem(self._path, "missing", "lost")
            return None
        return self._file

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()


def _content(file: BinaryIO, member: Member) -> bytes:
    file.seek(member.offset)
    return file.read(member.size)


def _blocks(store: Store, path: str, block: int = 32 << 20) -> Iterator[bytes]:
    size = store.size(path)
    for start in range(0, size, block):
        yield store.read(path, start, min(start + block, size))


def _digest(file: Any) -> tuple[int, str]:
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    size = file.tell()
    file.seek(0)
    return size, digest
