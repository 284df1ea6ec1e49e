"""The samples of an earlier job: one by one for further stages, or regrouped into large shards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ..errors import UserError
from ..reader import Dataset
from ..recipe import Bytes
from ..stage import Context, Input, Item, Slice, Source


class _Samples(Source):
    """A source that reads a complete data set.

    Attributes:
        job: an earlier job of the recipe.
    """

    internal: ClassVar[bool] = True

    job: str

    def open_dataset(self, context: Context) -> Dataset:
        return Dataset.open(context.output, job=self.job)

    def inputs(self, dataset: Dataset) -> dict[str, Input]:
        """The data set's shards by name."""
        return {
            row["shard"]: Input(f"{self.job}/{row['path']}", row["bytes"], "", row["sha256"])
            for row in dataset.shards.to_pylist()
        }

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        dataset = self.open_dataset(context)
        for at in range(where["start"], where["stop"]):
            sample = dataset.samples["id"][at].as_py()
            yield Item(sample, sample, lambda at=at: dataset[at])  # type: ignore[misc]


class DatasetSource(_Samples):
    """The samples of an earlier job, each an item whose outputs name it as their parent."""

    version: ClassVar[int] = 1

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        dataset = self.open_dataset(context)
        inputs = self.inputs(dataset)
        shards = dataset.samples["shard"].to_pylist()
        size = unit_items or 1000
        for start in range(0, len(shards), size):
            stop = min(start + size, len(shards))
            used = tuple(inputs[path] for path in dict.fromkeys(shards[start:stop]))
            yield Slice({"start": start, "stop": stop}, stop - start, used)


class Compact(_Samples):
    """The samples of an earlier job as they are, in few large shards. What is published keeps its id and its bytes.

    Attributes:
        max_bytes: bound on a shard's size. Default: the recipe's `shards.max_bytes`.
    """

    version: ClassVar[int] = 1
    passthrough: ClassVar[bool] = True

    max_bytes: Bytes | None = None

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        if unit_items is not None:
            raise UserError("compact lays out its units by max_bytes; leave units.items out")
        dataset = self.open_dataset(context)
        inputs = self.inputs(dataset)
        limit = self.max_bytes or context.shard_bytes
        columns = dataset.samples.select(["shard", "size", "split", "licence"]).to_pylist()
        signatures = {row["shard"]: row["signature"] for row in dataset.shards.to_pylist()}
        groups: dict[tuple[str, ...], list[int]] = {}
        for at, row in enumerate(columns):
            key = (row["split"], row["licence"], signatures[row["shard"]])
            groups.setdefault(key, []).append(at)
        for group in sorted(groups):
            for part in _pack(groups[group], columns, limit):
                used = tuple(inputs[path] for path in dict.fromkeys(columns[at]["shard"] for at in part))
                yield Slice({"samples": part}, len(part), used)

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        dataset = self.open_dataset(context)
        for at in where["samples"]:
            sample = dataset.samples["id"][at].as_py()
            yield Item(sample, sample, lambda at=at: dataset[at])  # type: ignore[misc]


def _pack(members: list[int], columns: list[dict[str, Any]], limit: int) -> Iterator[list[int]]:
    """Consecutive runs whose sizes add up to at most `limit`; a larger sample stands alone."""
    part: list[int] = []
    total = 0
    for at in members:
        size = columns[at]["size"]
        if part and total + size > limit:
            yield part
            part, total = [], 0
        part.append(at)
        total += size
    if part:
        yield part
