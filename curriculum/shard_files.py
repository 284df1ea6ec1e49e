"""The shards of one packed stage, read by number: where the index says a sequence lies, and whether it is what was
written.

Needs numpy, pyarrow and fsspec alone, since it runs on machines that train.
"""

from __future__ import annotations

import hashlib
import io
import json
import mmap
from collections import OrderedDict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..pipelines.errors import BrokenRecord, K3DataError, UserError
from ..pipelines.store import Store
from ..pipelines.tokens import MEDIA, SPANS, TOKENS, check_digest

_OPEN_SHARDS = 256  # each memory map keeps a file descriptor
_INTEGERS = ("_shard", "_offset", "_size")


class DataError(K3DataError):
    """A shard is missing, or is not what was written. The message names shard and sample."""


class _Damaged(Exception):
    """What is wrong; another read might find it mended."""


class ShardFiles:
    """The sequences of one split of a packed stage.

    Attributes:
        check: compare checksums.
        mapped: the shards lie on a local disk.
        info: the content of `dataset.json`.
        about: the content of `curriculum.json`.
        ids: sample ids of the split's sequences, in the order of the index.
        digest: 62-bit number that stands for the split's content: equal digests, equal sequences in equal order.
    """

    def __init__(self, store: Store, split: str, check: bool):
        self.store = store
        self.check = check
        self.mapped = store.local("") is not None
        self.info = _json(store, "dataset.json")
        self.about = _json(store, "curriculum.json")
        shards = _table(store, "index/shards.parquet", ["shard", "path", "bytes", "sha256", "split", "samples"])
        samples = _table(store, "index/samples.parquet", ["id", "shard", "members", "split"])
        these = pc.equal(samples["split"], split)
        samples = samples.filter(these).combine_chunks()
        if not len(samples):
            raise UserError(f"{store.url} has no sequences of split {split!r}")
        self.ids = samples["id"]
        self._names = shards["shard"].to_pylist()
        self._paths = shards["path"].to_pylist()
        self._bytes = shards["bytes"].to_pylist()
        self._shard = _integers(pc.index_in(samples["shard"], value_set=shards["shard"].combine_chunks()))
        members = samples["members"].combine_chunks()
        members = pa.concat_arrays(members.chunks) if isinstance(members, pa.ChunkedArray) else members
        flat = members.flatten()
        if len(flat) != 3 * len(samples):
            raise UserError(f"{store.url} holds no packed sequences: its samples have not the members of token samples")
        self._offset = _integers(flat.field("offset"))
        self._size = _integers(flat.field("size"))
        rows = zip(self._names, shards["sha256"].to_pylist(), shards["split"].to_pylist(), strict=True)
        content = "\n".join(sha256 for _, sha256, one in rows if one == split)
        self.digest = int.from_bytes(hashlib.sha256(content.encode()).digest()[:8], "big") >> 2
        self._maps: OrderedDict[int, memoryview] = OrderedDict()

    def __len__(self) -> int:
        return len(self._shard)

    def __getstate__(self) -> dict[str, Any]:
        # Maps stay behind when the reader travels to a worker process; they are made anew there.
        plain = {name: np.array(self.__dict__[name]) for name in _INTEGERS}
        return {**self.__dict__, **plain, "_maps": OrderedDict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, **{name: state[name].data for name in _INTEGERS})

    def members(self, number: int, *checked: str) -> dict[str, memoryview]:
        """A sequence's members by suffix. What does not hold its size, or of the `checked` members its checksum, is
        fetched once more.

        Raises:
            DataError: it is still not what was written; the message names shard and sample.
        """
        try:
            return self._read(number, checked)
        except (_Damaged, BrokenRecord):
            self._maps.pop(self._shard[number], None)
        try:
            return self._read(number, checked)
        except (_Damaged, BrokenRecord) as error:
            what = error.detail if isinstance(error, BrokenRecord) else str(error)
            shard, sample = self._names[self._shard[number]], self.ids[number].as_py()
            raise DataError(
                f"{self.store.url}: shard {shard}, sample {sample}: {what}, also when fetched again; "
                "`k3data verify` says what else is wrong"
            ) from None

    def _read(self, number: int, checked: tuple[str, ...]) -> dict[str, memoryview]:
        shard = self._shard[number]
        first = 3 * number
        a, b, c = self._offset[first], self._offset[first + 1], self._offset[first + 2]
        size = self._size
        view = self._maps.get(shard)
        start = 0
        if view is None:
            view, start = self._open(shard, a, c + size[first + 2])
        members = {
            TOKENS: view[a - start : a - start + size[first]],
            SPANS: view[b - start : b - start + size[first + 1]],
            MEDIA: view[c - start : c - start + size[first + 2]],
        }
        if self.check and checked:
            check_digest(members, *checked)
        return members

    def _open(self, shard: int, start: int, stop: int) -> tuple[memoryview, int]:
        """The whole shard as a memory map, or the bytes `start:stop` of an object; and where the view begins."""
        path, wanted = self._paths[shard], self._bytes[shard]
        local = self.store.local(path)
        try:
            if local is None:
                data = self.store.read(path, start, stop)
                if len(data) != stop - start:
                    raise _Damaged(f"{len(data)} of {stop - start} bytes at byte {start}")
                return memoryview(data), start
            with local.open("rb") as file:
                view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except FileNotFoundError:
            raise _Damaged("the shard is missing") from None
        except ValueError:  # an empty file cannot be mapped
            raise _Damaged(f"the shard has 0 bytes, the index says {wanted}") from None
        if len(view) != wanted:
            raise _Damaged(f"the shard has {len(view)} bytes, the index says {wanted}")
        self._maps[shard] = view
        if len(self._maps) > _OPEN_SHARDS:
            self._maps.popitem(last=False)  # unmapped when the last slice that somebody holds is gone
        return view, 0


def _json(store: Store, path: str) -> dict[str, Any]:
    try:
        return json.loads(store.read(path))
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{store.url} is no complete packed stage: it has no {path}") from None
    except ValueError as error:
        raise UserError(f"{store.url}/{path} is damaged: {error}") from None


def _table(store: Store, path: str, columns: list[str]) -> pa.Table:
    try:
        local = store.local(path)
        return pq.read_table(local if local is not None else io.BytesIO(store.read(path)), columns=columns)
    except FileNotFoundError:
        raise DataError(f"{store.url}/{path} is missing") from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{store.url}/{path} is damaged: {str(error).splitlines()[0]}") from None


def _integers(column: Any) -> memoryview:
    """A column as a memoryview, whose items are plain integers and quick to reach."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False), dtype=np.int64).data
