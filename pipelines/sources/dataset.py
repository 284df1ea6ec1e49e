"""The samples of an earlier job or of another output: one by one for further stages, or regrouped into large shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

from pydantic import model_validator

from ..errors import UserError
from ..reader import Dataset
from ..recipe import Bytes
from ..stage import Context, Input, Item, Slice, Source


def shard_inputs(dataset: Dataset, place: str) -> dict[str, Input]:
    """The data set's shards as inputs of a plan, by name; `place` is what the plan calls the data set."""
    rows = dataset.shards.to_pylist()
    return {row["shard"]: Input(f"{place}/{row['path']}", row["bytes"], "", row["sha256"]) for row in rows}


def stored_items(dataset: Dataset, numbers: Iterable[int]) -> Iterator[Item]:
    """The data set's samples by number, each an item known by its id."""
    for at in numbers:
        sample = dataset.samples["id"][at].as_py()
        yield Item(sample, sample, lambda at=at: dataset[at])  # type: ignore[misc]


class _Samples(Source):
    """A source that reads a complete data set: one of an earlier job, or of another output.

    Attributes:
        job: an earlier job of the recipe or, with `out`, a job of that output (default: its last).
        out: URL of another output; a relative one is taken from the folder that holds this run's output.
    """

    job: str | None = None
    out: str | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.job is None and self.out is None:
            raise ValueError("give job (an earlier job of this recipe) or out (another output)")
        return self

    @property
    def jobs(self) -> tuple[str, ...]:
        return (self.job,) if self.out is None and self.job else ()

    def open_dataset(self, context: Context) -> Dataset:
        return Dataset.open(context.output if self.out is None else context.beside(self.out), job=self.job)

    def inputs(self, dataset: Dataset) -> dict[str, Input]:
        """The data set's shards by name."""
        return shard_inputs(dataset, str(dataset.info.get("name") if self.job is None else self.job))

    def semantic(self) -> dict[str, Any]:
        # Where an output lies is not what is in it: the digests of its shards are.
        return self.model_dump(mode="json", exclude={*self.operational, "out"})

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        return stored_items(self.open_dataset(context), range(where["start"], where["stop"]))


class DatasetSource(_Samples):
    """The samples of a data set, each an item whose outputs name it as their parent."""

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
    """The samples of a data set as they are, in few large shards. What is published keeps its id and its bytes.

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
        return stored_items(self.open_dataset(context), where["samples"])


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
