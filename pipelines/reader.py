"""Read what a run has published: by id, by number, in order, or with SQL.

A data set is opened through its index, so any sample is one slice of a memory-mapped file, or one ranged read of an
object. Iterating over an object store reads large blocks in sequence, the next one while you use this one. Only shards
that the index lists are ever looked at, and a shard whose size is not what the index says is refused by name.
"""

from __future__ import annotations

import hashlib
import mmap
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from datatrove.data import Document

from . import record as records
from .errors import K3DataError, UserError
from .index import SAMPLES, SAMPLES_FILE, SHARDS, SHARDS_FILE
from .shards import split_media
from .store import Store, open_store
from .tokens import TOKENS, check_digest

if TYPE_CHECKING:
    import duckdb

RUN_FILE, DATASET_FILE = "k3data.json", "dataset.json"
_BLOCK = 8 << 20
_OPEN_SHARDS = 128  # each memory map keeps a file descriptor


class ShardError(K3DataError):
    """A shard is not what the index says. The message names the shard and, where there is one, the sample."""


class Dataset:
    """One job's published samples, in the order of the index.

    `len(dataset)`, `dataset[3]`, `dataset["<id>"]`, iteration: `Document`s with their media bytes.
    `dataset.raw(3)`, `dataset.iter_raw()`: the members' bytes as stored.
    `dataset.sql("select kind, count(*) from samples group by kind")`: DuckDB over the index.

    Attributes:
        store: where the job's folder lies.
        info: the content of `dataset.json`.
        check: verify the SHA-256 of the index files and of every media part that is read.
    """

    def __init__(self, store: Store, info: dict[str, Any], *, check: bool = False):
        self.store = store
        self.info = info
        self.check = check
        self._maps: OrderedDict[int, memoryview] = OrderedDict()
        self._sized: set[int] = set()
        self._ahead = _Block(-1, 0, memoryview(b""), 0)

    @classmethod
    def open(cls, url: str, job: str | None = None, *, check: bool = False, **storage_options: Any) -> Dataset:
        """Open an output of `k3data run`.

        Args:
            url: the output's root or one job's folder; a path or any fsspec URL.
            job: which job; the last of the recipe that is complete, unless named.
            check: verify hashes while reading.
            **storage_options: passed to fsspec.

        Raises:
            UserError: there is no complete data set at that place.
        """
        store = open_store(url, **storage_options)
        for candidate in _candidates(store, job):
            info = _json(candidate, DATASET_FILE)
            if info and info.get("complete"):
                return cls(candidate, info, check=check)
        what = f"job {job!r} has" if job else "there is"
        raise UserError(f"{url}: {what} no complete data set here (no {DATASET_FILE}); a run writes it last")

    @cached_property
    def samples(self) -> pa.Table:
        """The sample index; columns as in `index.SAMPLES`."""
        return self._table(SAMPLES_FILE, SAMPLES)

    @cached_property
    def shards(self) -> pa.Table:
        """The shard index; columns as in `index.SHARDS`."""
        return self._table(SHARDS_FILE, SHARDS)

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Document]:
        for number, members in enumerate(self.iter_raw()):
            yield self._document(number, members)

    def __getitem__(self, which: int | str) -> Document:
        number = self.number(which) if isinstance(which, str) else range(len(self))[which]
        return self._document(number, self.raw(number))

    def __repr__(self) -> str:
        return f"Dataset({self.store.url!r}, {len(self)} samples)"

    def number(self, id: str) -> int:
        """The position of a sample. Raises KeyError."""
        ids = self.samples["id"]
        at = bisect_left(self._by_id, id, key=lambda number: ids[number].as_py())
        if at < len(self._by_id) and ids[self._by_id[at]].as_py() == id:
            return self._by_id[at]
        raise KeyError(id)

    def raw(self, number: int) -> dict[str, memoryview]:
        """A sample's members by suffix: without copying on a local disk, with one ranged read on an object store.

        Asking for samples one after the other makes larger reads of an object store, which serve the next ones too.
        """
        view = self._mapped(self._places.shard[number])
        if view is not None:
            return self._members(number, view, 0)
        block = self._ahead = self._near(number)
        return self._members(number, block.view, block.start)

    def iter_raw(self, start: int = 0, stop: int | None = None) -> Iterator[dict[str, memoryview]]:
        """The members of the samples `start:stop`, in order."""
        for numbers, view, base in self._blocks(range(len(self))[start:stop]):
            yield from (self._members(number, view, base) for number in numbers)

    def release(self) -> None:
        """Let go of the memory maps: pages that were read through them count as this process's memory until then."""
        self._maps.clear()

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The sample index as a DuckDB relation."""
        return self.sql("from samples")

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Run a query in which `samples` and `shards` are the two indexes."""
        return self.connection.sql(query)

    def __getstate__(self) -> dict[str, Any]:
        # Maps and connections stay behind when a data set travels to another process; they are made anew there.
        return {"store": self.store, "info": self.info, "check": self.check}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["store"], state["info"], check=state["check"])  # type: ignore[misc]

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """DuckDB in memory, with the views `samples` and `shards`."""
        import duckdb

        connection = duckdb.connect()
        connection.register("samples", self.samples)
        connection.register("shards", self.shards)
        return connection

    @cached_property
    def _by_id(self) -> memoryview:
        order = pa.compute.sort_indices(self.samples["id"])
        return _integers(order)

    @cached_property
    def _places(self) -> _Places:
        return _places(self.samples, self.shards)

    def _table(self, name: str, schema: pa.Schema) -> pa.Table:
        path = f"index/{name}"
        try:
            data = self.store.read(path)
            stated = self.info.get("files", {}).get(path)
            if self.check and stated and hashlib.sha256(data).hexdigest() != stated["sha256"]:
                raise ShardError(f"{self.store.url}/{path} differs from its SHA-256 in {DATASET_FILE}")
            return pq.read_table(pa.BufferReader(data), schema=schema).combine_chunks()
        except FileNotFoundError:
            raise ShardError(f"{self.store.url}/{path} is missing") from None
        except pa.ArrowException as error:
            raise ShardError(f"{self.store.url}/{path} is damaged: {str(error).splitlines()[0]}") from None

    def _members(self, number: int, view: memoryview, base: int) -> dict[str, memoryview]:
        places = self._places
        offset, size = places.member_offset, places.member_size
        at = places.first_member[number]
        members = {}
        for suffix in places.suffixes[places.shard[number]]:
            begin = offset[at] - base
            members[suffix] = view[begin : begin + size[at]]
            at += 1
        return members

    def _document(self, number: int, members: dict[str, memoryview]) -> Document:
        id = self.samples["id"][number].as_py()
        where = f"shard {self._places.names[self._places.shard[number]]}, sample {id}"
        if TOKENS in members:
            return self._token_document(id, where, members)
        head, *media = members.values()
        try:
            sample = orjson.loads(head)
        except orjson.JSONDecodeError as error:
            raise ShardError(f"{where}: its JSON is damaged ({error})") from None
        if sample.get("id") != id:
            raise ShardError(f"{where}: the shard holds sample {sample.get('id')} there")
        parts = split_media(sample, media[0])
        if self.check:
            for described, part in zip(sample["media"], parts, strict=True):
                if hashlib.sha256(part).hexdigest() != described["sha256"]:
                    raise ShardError(f"{where}: media part {described['id']} differs from its SHA-256")
        return records.from_sample(sample, parts)

    def _token_document(self, id: str, where: str, members: dict[str, memoryview]) -> Document:
        try:
            found = records.from_token_members(members)
            if self.check:
                check_digest(members)
        except records.BrokenRecord as error:
            raise ShardError(f"{where}: {error}") from None
        if found.id != id:
            raise ShardError(f"{where}: the shard holds sample {found.id} there")
        return found

    def _mapped(self, shard: int) -> memoryview | None:
        """The whole shard as a memory map, None on an object store."""
        view = self._maps.get(shard)
        if view is not None:
            return view
        self._check_size(shard)
        path = self.store.local(self._places.paths[shard])
        if path is None:
            return None
        with path.open("rb") as file:
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        self._maps[shard] = view
        if len(self._maps) > _OPEN_SHARDS:
            self._maps.popitem(last=False)  # unmapped when the last slice that somebody holds is gone
        return view

    def _read(self, shard: int, start: int, stop: int) -> memoryview:
        data = self.store.read(self._places.paths[shard], start, stop)
        if len(data) != stop - start:
            raise ShardError(f"shard {self._places.names[shard]} gave {len(data)} of {stop - start} bytes at {start}")
        return memoryview(data)

    def _near(self, number: int) -> _Block:
        """A block of an object that holds the sample: the last one read, or a new one."""
        places, last = self._places, self._ahead
        shard, start = places.shard[number], places.start[number]
        stop = start + places.size[number]
        if last.shard == shard and last.start <= start and stop <= last.start + len(last.view):
            return last._replace(used=stop)
        until = stop
        if last.shard == shard and last.used == start:  # in sequence: the next samples will be asked for, too
            until = max(stop, min(start + _BLOCK, places.bytes[shard]))
        return _Block(shard, start, self._read(shard, start, until), stop)

    def _check_size(self, shard: int) -> None:
        if shard in self._sized:
            return
        name, wanted = self._places.names[shard], self._places.bytes[shard]
        found = self.store.entry(self._places.paths[shard])
        if found is None:
            raise ShardError(f"shard {name} is missing from {self.store.url}")
        if found.size != wanted:
            state = "truncated" if found.size < wanted else "too long"
            raise ShardError(f"shard {name} is {state}: has {found.size} bytes, the index says {wanted}")
        self._sized.add(shard)

    def _blocks(self, numbers: range) -> Iterator[tuple[range, memoryview, int]]:
        """Runs of samples with the bytes that hold them and the offset of those bytes in the shard."""
        runs = self._runs(numbers)
        if self.store.local("") is not None:
            for shard, run in runs:
                view = self._mapped(shard)
                assert view is not None
                yield run, view, 0
            return
        places = self._places

        def fetch(shard: int, run: range) -> tuple[range, memoryview, int]:
            self._check_size(shard)
            start, last = places.start[run[0]], run[-1]
            return run, self._read(shard, start, places.start[last] + places.size[last]), start

        with ThreadPoolExecutor(1, "k3data-read") as ahead:
            waiting = None
            for shard, run in runs:
                following = ahead.submit(fetch, shard, run)
                if waiting is not None:
                    yield waiting.result()
                waiting = following
            if waiting is not None:
                yield waiting.result()

    def _runs(self, numbers: range) -> Iterator[tuple[int, range]]:
        """Cut a range of samples where the shard changes, and into blocks of bounded size."""
        places = self._places
        first = numbers.start
        while first < numbers.stop:
            shard, start = places.shard[first], places.start[first]
            last = first + 1
            while last < numbers.stop and places.shard[last] == shard and places.start[last] - start < _BLOCK:
                last += 1
            yield shard, range(first, last)
            first = last


class _Block(NamedTuple):
    """Bytes of a shard from `start` on; `used` is where the sample that was last taken from it ends."""

    shard: int
    start: int
    view: memoryview
    used: int


class _Places(NamedTuple):
    """The index as flat arrays of integers (memoryviews, whose items are plain ints and quick to reach)."""

    shard: memoryview
    start: memoryview
    size: memoryview
    first_member: memoryview
    member_offset: memoryview
    member_size: memoryview
    names: list[str]
    paths: list[str]
    bytes: list[int]
    suffixes: list[list[str]]


def _places(samples: pa.Table, shards: pa.Table) -> _Places:
    names = shards["shard"].to_pylist()
    members = _one_chunk(samples["members"])
    content = members.values
    return _Places(
        shard=_integers(pa.compute.index_in(_one_chunk(samples["shard"]), value_set=pa.array(names, pa.string()))),
        start=_integers(_one_chunk(samples["offset"])),
        size=_integers(_one_chunk(samples["size"])),
        first_member=_integers(members.offsets),
        member_offset=_integers(content.field("offset")),
        member_size=_integers(content.field("size")),
        names=names,
        paths=shards["path"].to_pylist(),
        bytes=shards["bytes"].to_pylist(),
        suffixes=[signature.split("+") for signature in shards["signature"].to_pylist()],
    )


def _integers(array: pa.Array) -> memoryview:
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False), dtype=np.int64).data


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def _candidates(store: Store, job: str | None) -> Iterator[Store]:
    if job is not None:
        yield store.sub(job)
        return
    yield store
    run = _json(store, RUN_FILE)
    for name in reversed(run["jobs"] if run else []):
        yield store.sub(name)


def _json(store: Store, path: str) -> dict[str, Any] | None:
    try:
        return orjson.loads(store.read(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except orjson.JSONDecodeError as error:
        raise UserError(f"{store.url}/{path} is damaged: {error}") from None
