"""Each row of a Parquet file one item, cut into row ranges, so that a large file is many units."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import Any, ClassVar

import orjson
import pyarrow.parquet as pq

from ..stage import Context, Input, Item, Slice
from .files import InputChanged
from .folder import Folder, open_folder
from .rows import Rows


class Parquet(Rows):
    """Each row becomes one item; parameters as in `Rows`."""

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"glob", "root"})

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        folder = open_folder(self.root, self.package, context)
        size = unit_items or 1000
        for file in folder.matching(self.globs()):
            rows = _open(folder, file).metadata.num_rows
            for start in range(0, rows, size):
                stop = min(start + size, rows)
                yield Slice({"start": start, "stop": stop}, stop - start, (file,))

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        folder = open_folder(self.root, self.package, context)
        (file,) = inputs
        if folder.digest(folder.path(file.uri), file.size) != file.sha256:
            raise InputChanged(f"{file.uri} has changed since the plan was frozen")
        for number, row in _rows(_open(folder, file), where["start"], where["stop"]):
            content = orjson.dumps(row, default=str)
            key = f"{file.uri}@{number}"
            identity = f"{hashlib.sha256(content).hexdigest()}@{number}"
            yield Item(
                key,
                identity,
                lambda row=row, content=content, key=key: self.record(row, content, file.uri, key, folder),  # type: ignore[misc]
            )


def _open(folder: Folder, file: Input) -> pq.ParquetFile:
    path = folder.path(file.uri)
    return pq.ParquetFile(folder.store.local(path) or io.BytesIO(folder.store.read(path)))


def _rows(file: pq.ParquetFile, start: int, stop: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """(row number, row) for a range of rows; reads only the row groups that hold them."""
    first = 0
    for group in range(file.num_row_groups):
        last = first + file.metadata.row_group(group).num_rows
        if first < stop and last > start:
            part = file.read_row_group(group).slice(max(start - first, 0), min(stop, last) - max(start, first))
            yield from enumerate(part.to_pylist(), start=max(start, first))
        first = last
