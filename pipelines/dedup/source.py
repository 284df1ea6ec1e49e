"""The samples of earlier jobs without their duplicates: what is left out ends as `merged`, naming what is kept.

Finding duplicates needs all samples at once, so it happens while the job is planned; the plan then says of each sample
whether it is kept, and the units only carry that out. What planning found is kept in the job's folder, so that going on
with a run does not search again.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import pyarrow as pa
import pyarrow.parquet as pq
from datatrove.data import Document
from pydantic import Field, model_validator

from ..reader import Dataset
from ..recipe import digest_of
from ..record import add_check
from ..sources.dataset import shard_inputs
from ..stage import Context, Input, Item, Merged, Slice, Source
from .cluster import Duplicate, clusters
from .minhash import MinHash

CLUSTERS_FILE = "clusters.parquet"
_KEPT = pa.schema([("number", pa.int64()), ("kept", pa.int64()), ("how", pa.string()), ("share", pa.float64()),
                   ("root", pa.string())])  # fmt: skip


class Dedup(Source):
    """The samples of one or several data sets, each content once.

    Attributes:
        job: an earlier job of the recipe, or several, across which duplicates are sought.
        out: URL of another output instead; `job` is then a job of that output (default: its last).
        exact: samples with the same text and media are duplicates.
        minhash: parameters of the search for near-duplicates (see `MinHash`); null leaves it out.
        keep: `one` of each cluster, its longest; or `all`, with the cluster in a check and one split for all.
        processes: how many search; default: one for each processor, if there is enough to do.
    """

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"processes", "out"})

    job: str | list[str] | None = None
    out: str | None = None
    exact: bool = True
    minhash: MinHash | None = MinHash()
    keep: Literal["one", "all"] = "one"
    processes: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if not self.job and self.out is None:
            raise ValueError("give job (earlier jobs of this recipe) or out (another output)")
        if not self.exact and self.minhash is None:
            raise ValueError("exact is off and minhash is null: nothing is sought")
        return self

    @property
    def jobs(self) -> tuple[str, ...]:
        return tuple(self._names()) if self.out is None else ()

    def _names(self) -> list[str]:
        return [self.job] if isinstance(self.job, str) else list(self.job or [])

    def _open(self, context: Context) -> list[Dataset]:
        url = context.output if self.out is None else context.beside(self.out)
        names: list[str] | list[None] = self._names() or [None]
        return [Dataset.open(url, job=name) for name in names]

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        datasets = self._open(context)
        found = {one.number: one for one in self._clusters(datasets, context)}
        ids = [one for dataset in datasets for one in dataset.samples["id"].to_pylist()]
        size, first = unit_items or 2000, 0
        for at, dataset in enumerate(datasets):
            inputs = shard_inputs(dataset, str(dataset.info["job"]))
            shards = dataset.samples["shard"].to_pylist()
            for start in range(0, len(dataset), size):
                stop = min(start + size, len(dataset))
                fates = {
                    str(number): _fate(found[first + number], ids)
                    for number in range(start, stop)
                    if first + number in found
                }
                where = {"dataset": at, "start": start, "stop": stop, "clusters": fates}
                yield Slice(where, stop - start, tuple(inputs[one] for one in dict.fromkeys(shards[start:stop])))
            first += len(dataset)

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        dataset = self._open(context)[where["dataset"]]
        ids = dataset.samples["id"][where["start"] : where["stop"]].to_pylist()
        for at, sample in enumerate(ids, start=where["start"]):
            fate = where["clusters"].get(str(at))
            root = f"cluster:{fate['root']}" if fate else None
            yield Item(sample, sample, lambda at=at, fate=fate: self._load(dataset, at, fate), root)  # type: ignore[misc]

    def files(self, context: Context, slices: Sequence[dict[str, Any]]) -> Iterable[tuple[str, bytes]]:
        """`clusters.parquet`: every sample that has duplicates, what is kept of its cluster, and how alike they are."""
        rows = []
        datasets = self._open(context)
        for where in slices:
            ids = datasets[where["dataset"]].samples["id"]
            rows += [{"id": ids[int(at)].as_py(), **fate} for at, fate in where["clusters"].items()]
        schema = pa.schema([("id", pa.string()), ("kept", pa.string()), ("how", pa.string()), ("share", pa.float64()),
                            ("root", pa.string())])  # fmt: skip
        yield CLUSTERS_FILE, _parquet(pa.Table.from_pylist(rows, schema=schema))

    def _load(self, dataset: Dataset, at: int, fate: dict[str, Any] | None) -> Document:
        if fate is None:
            return dataset[at]
        kept = fate["how"] == "kept"
        if not kept and self.keep == "one":
            raise Merged(fate["how"], f"kept {fate['kept']}, {fate['share']:.2f} alike")
        record = dataset[at]
        # Duplicates of it may have come into the world under another source: the cluster decides the split.
        record.metadata["split"] = None
        add_check(record, "unique", kept, fate["share"], "" if kept else f"{fate['how']} duplicate of {fate['kept']}")
        return record

    def _clusters(self, datasets: list[Dataset], context: Context) -> list[Duplicate]:
        """The duplicates, from the job's folder if they have been sought before."""
        about = {"version": self.version, **self.model_dump(mode="json", include={"exact", "minhash"})}
        key = digest_of([about, [one.shards["sha256"].to_pylist() for one in datasets]])[:24]
        path = f"dedup/{key}.parquet"
        if context.kept is not None and context.kept.exists(path):
            table = pq.read_table(io.BytesIO(context.kept.read(path)))
            return [Duplicate(**row) for row in table.to_pylist()]
        scratch = context.kept.scratch() if context.kept is not None else Path(context.scratch)
        found = clusters(datasets, self.minhash, self.exact, scratch, self.processes, context.say)
        if context.kept is not None:
            context.kept.put_bytes(path, _parquet(pa.Table.from_pylist([asdict(one) for one in found], schema=_KEPT)))
        return found


def _fate(one: Duplicate, ids: list[str]) -> dict[str, Any]:
    return {"kept": ids[one.kept], "how": one.how, "share": one.share, "root": one.root}


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()
