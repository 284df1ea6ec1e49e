"""Writing and reading shards against webdataset, on samples of 15 kB (12 kB of picture, 3 kB of JSON).

Ours writes with SHA-256, webdataset's `ShardWriter` without, once as it comes and once with `mtime=0` (its default
adds a kilobyte of time stamp to every member). Reading hands every member over as bytes on both sides, from files in
the page cache; `read_zero_copy` leaves them in the memory map, `read_random` asks by number in random order.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from .. import index
from .. import record as records
from ..reader import DATASET_FILE, Dataset
from ..shards import ShardSet
from ..tar import TarWriter
from .harness import interleaved

NAME = "shards"
SUMMARY = "write and read tar shards, against webdataset.ShardWriter and WebDataset"

_PICTURE, _JSON = 12_000, 3_000


def run(quick: bool) -> dict[str, Any]:
    count = 4_000 if quick else 12_000
    with tempfile.TemporaryDirectory(prefix="k3data-bench-") as name:
        folder = Path(name)
        dataset = _publish(folder, count)
        urls = [str(folder / path.as_py()) for path in dataset.shards["path"]]
        samples = [(id.as_py(), _bytes(raw)) for id, raw in zip(dataset.samples["id"], dataset.iter_raw(), strict=True)]
        if list(_webdataset(urls)) != samples:
            raise AssertionError("webdataset does not read the bytes that we wrote")
        seconds = interleaved(
            {**_write_cases(folder, samples), **_read_cases(dataset, urls)}, repeats=5 if quick else 9
        )
    rate = {case: round(count / one, 1) for case, one in seconds.items()}
    figures = {f"{case}_per_s": rate[case] for case in _OURS}
    ratios = {f"{case}_ratio_vs_{name}": round(rate[f"{case}_samples"] / rate[peer], 2) for case, name, peer in _RATIOS}
    return {
        "figures": {"samples": count, **figures, **ratios},
        "peers": {peer: {"samples_per_s": rate[peer]} for peer in dict.fromkeys(peer for _, _, peer in _RATIOS)},
    }


_OURS = [
    "write_samples",
    "read_samples",
    "read_json_samples",
    "read_zero_copy_samples",
    "read_random_samples",
    "read_records",
]
_RATIOS = [
    ("write", "shardwriter", "ShardWriter"),
    ("write", "shardwriter_mtime0", "ShardWriter mtime=0"),
    ("read", "webdataset", "WebDataset"),
    ("read_json", "webdataset", "WebDataset and orjson"),
    ("read_random", "webdataset", "WebDataset"),
]


def _write_cases(folder: Path, samples: list[tuple[str, dict[str, bytes]]]) -> dict[str, Callable[[], float]]:
    import webdataset

    def ours(path: Path) -> None:
        with TarWriter(path) as writer:
            for key, members in samples:
                writer.add(key, members.items())

    def shard_writer(path: Path, **options: Any) -> None:
        with webdataset.ShardWriter(f"{path}-%d", verbose=0, **options) as writer:
            for key, members in samples:
                writer.write({"__key__": key, **members})

    writers: dict[str, Callable[[Path], None]] = {
        "write_samples": ours,
        "ShardWriter": shard_writer,
        "ShardWriter mtime=0": partial(shard_writer, mtime=0),
    }
    return {name: partial(_timed_write, folder, len(samples), write) for name, write in writers.items()}


def _read_cases(dataset: Dataset, urls: list[str]) -> dict[str, Callable[[], float]]:
    order = random.Random(0).sample(range(len(dataset)), len(dataset))
    return {
        "read_samples": lambda: _timed(map(_bytes, dataset.iter_raw())),
        "WebDataset": lambda: _timed(_webdataset(urls)),
        "read_json_samples": lambda: _timed(orjson.loads(found["json"]) for found in dataset.iter_raw()),
        "WebDataset and orjson": lambda: _timed(orjson.loads(found["json"]) for _, found in _webdataset(urls)),
        "read_zero_copy_samples": lambda: _timed(dataset.iter_raw()),
        "read_random_samples": lambda: _timed(_bytes(dataset.raw(number)) for number in order),
        "read_records": lambda: _timed(dataset),
    }


def _bytes(members: dict[str, memoryview]) -> dict[str, bytes]:
    return {suffix: bytes(content) for suffix, content in members.items()}


def _publish(folder: Path, count: int) -> Dataset:
    """A data set of records with one picture each; the picture's bytes are random, since nothing decodes them."""
    rng, licence = random.Random(1), records.licence("MIT")
    writing = ShardSet(folder, "bench")
    for number in range(count):
        text = f"{number:08d} " + "x" * (_JSON - 900)
        record = records.new_record(
            text,
            kind="svg",
            domain="vision",
            uri="bench",
            item=str(number),
            content=text,
            licence=licence,
        )
        record.id = f"{number:032x}"
        record.metadata["split"] = "train"
        record.media.append(records.image(rng.randbytes(_PICTURE), mime="image/png", width=64, height=64))
        writing.add(record)
    (shard,) = writing.finish()
    for sub in (index.SHARD_FOLDER, "index"):
        (folder / sub).mkdir()
    shard.path.rename(folder / index.SHARD_FOLDER / shard.name)
    index.write_unit_index(shard.rows, folder / "rows.parquet")
    table = index.read_unit_index((folder / "rows.parquet").read_bytes())
    index.merge([table], [index.shard_row(shard)], folder / "index")
    (folder / DATASET_FILE).write_bytes(orjson.dumps({"name": "bench", "complete": True}))
    return Dataset.open(str(folder))


def _webdataset(urls: list[str]) -> Iterator[tuple[str, dict[str, bytes]]]:
    import webdataset

    for found in webdataset.WebDataset(urls, shardshuffle=False):
        yield found["__key__"], {suffix: value for suffix, value in found.items() if not suffix.startswith("__")}


def _timed_write(folder: Path, count: int, write: Callable[[Path], None]) -> float:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        # On a virtual machine the first touch of a page of memory can cost more than all of the writing. Let every
        # writer find the page cache's pages at hand.
        junk = Path(name, "junk")
        with junk.open("wb") as file:
            for _ in range(count // 50):
                file.write(bytes(1 << 20))
        junk.unlink()
        started = time.perf_counter()
        write(Path(name, "x.tar"))
        return time.perf_counter() - started


def _timed(items: Iterable[object]) -> float:
    started = time.perf_counter()
    for _ in items:
        pass
    return time.perf_counter() - started
