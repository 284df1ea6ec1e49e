"""From a data set to its clusters of duplicates, in three phases: signatures, pairs, clusters.

Signatures are made a range of samples at a time, by several processes when there is much to do, and stand in files of
the scratch folder that are mapped, not loaded; pairs are found one band at a time; clusters are joined in a fixed order
whose representative is always the smaller number. So the result is the same whatever the processes, and what is held in
memory is a few numbers a sample.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import orjson

from ..errors import UserError
from ..reader import Dataset
from .minhash import MinHash

_DIGESTS = np.dtype([("content", "V16"), ("source", "V16"), ("words", "?")])
"""Of a sample: the content (text and media), the source it comes from, and whether it has words."""
_RANGE = 4096  # samples a signature file
_PARALLEL_FROM = 50_000_000  # characters; below, processes cost more than they bring
_NEAR_BYTES, _EXACT_BYTES, _MEMORY_BYTES = 4, 32, 56


@dataclass(frozen=True)
class Duplicate:
    """A sample that is in a cluster.

    Attributes:
        number: its place in the data sets, laid end to end.
        kept: the place of the cluster's sample that is kept; its own, if it is that one.
        how: `kept`, `exact` or `near`.
        share: of signature places that agree with the kept one's; 1 if exact.
        root: what stands for the cluster wherever its samples lie: the smallest digest of their sources.
    """

    number: int
    kept: int
    how: str
    share: float
    root: str


def estimate(samples: int, near: MinHash | None) -> str:
    """One line on what clustering so many samples takes."""
    disk = samples * (_EXACT_BYTES + (near.width * _NEAR_BYTES if near else 0))
    memory = samples * _MEMORY_BYTES
    return f"deduplicating {samples:,} samples: about {_size(disk)} of scratch space and {_size(memory)} of memory"


def clusters(
    datasets: Sequence[Dataset],
    near: MinHash | None,
    exact: bool,
    scratch: Path,
    processes: int | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> list[Duplicate]:
    """Every sample that is in a cluster of two or more, by number.

    Args:
        datasets: complete data sets; numbers run through them in this order.
        near: parameters of the near-duplicate search, or None for none.
        exact: join samples whose text and media are the same.
        scratch: folder for signature files.
        processes: how many make signatures; default: as many as there are processors, if there is enough to do.
        say: told what is about to happen.
    """
    total = sum(map(len, datasets))
    if not total:
        return []
    say(estimate(total, near))
    lengths = np.concatenate([one.samples["text_chars"].to_numpy() for one in datasets])
    if processes is None:
        processes = len(os.sched_getaffinity(0)) if lengths.sum() >= _PARALLEL_FROM else 1
    folder = Path(tempfile.mkdtemp(prefix="dedup-", dir=scratch))
    try:
        digests, signatures = _signatures(datasets, near, folder, processes)
        parent = np.arange(total)
        if exact:
            _join(parent, _same(digests))
        exactly = _roots(parent).copy()
        if near is not None:
            _join(parent, near.pairs(signatures, np.flatnonzero(digests["words"])))
        return _described(_roots(parent), exactly, lengths, digests, near, signatures)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _described(
    roots: np.ndarray,
    exactly: np.ndarray,
    lengths: np.ndarray,
    digests: np.ndarray,
    near: MinHash | None,
    signatures: np.ndarray,
) -> list[Duplicate]:
    """The members of clusters; the longest text of each is kept, the first of equally long ones."""
    order = np.lexsort((np.arange(len(roots)), -lengths, roots))
    ordered = roots[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    found = []
    for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
        if stop - start < 2:
            continue
        members = [int(at) for at in order[start:stop]]
        kept = members[0]
        root = min(bytes(digests[at]["source"]) for at in members).hex()
        for at in members:
            same = exactly[at] == exactly[kept]
            share = 1.0 if same or near is None else float((signatures[at] == signatures[kept]).mean())
            how = "kept" if at == kept else "exact" if same else "near"
            found.append(Duplicate(at, kept, how, round(share, 3), root))
    return sorted(found, key=lambda one: one.number)


def _signatures(
    datasets: Sequence[Dataset], near: MinHash | None, folder: Path, processes: int
) -> tuple[np.ndarray, np.ndarray]:
    """The digests (`_DIGESTS`) and signatures (uint32 `[samples, width]`, mapped from a file) of all samples."""
    total = sum(map(len, datasets))
    digests = np.zeros(total, dtype=_DIGESTS)
    path = folder / "signatures"
    width = near.width if near else 0
    if total * width:
        with path.open("wb") as file:
            file.truncate(total * width * _NEAR_BYTES)
    tasks, first = [], 0
    for dataset in datasets:
        for start in range(0, len(dataset), _RANGE):
            tasks.append((dataset, start, min(start + _RANGE, len(dataset)), near, path, first + start))
        first += len(dataset)
    if processes > 1 and len(tasks) > 1:
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            results = list(pool.map(_range, *zip(*tasks, strict=True)))
    else:
        results = [_range(*task) for task in tasks]
    for task, found in zip(tasks, results, strict=True):
        digests[task[-1] : task[-1] + len(found)] = found
    mapped = np.memmap(path, np.uint32, "r", shape=(total, width)) if total * width else np.zeros((total, 0), np.uint32)
    return digests, mapped


def _range(dataset: Dataset, start: int, stop: int, near: MinHash | None, path: Path, first: int) -> np.ndarray:
    """Digests of a range of samples; their signatures go into the file, from place `first` on."""
    digests = np.zeros(stop - start, dtype=_DIGESTS)
    width = near.width if near else 0
    signatures = np.zeros((stop - start, width), dtype=np.uint32)
    for at, members in enumerate(dataset.iter_raw(start, stop)):
        if "json" not in members:
            raise UserError(f"{dataset.store.url} holds samples of token ids; deduplicate before tokenising")
        sample = orjson.loads(members["json"])
        content = hashlib.sha256(sample["text"].encode("utf-8", "surrogatepass"))
        for part in sample["media"]:
            content.update(part["sha256"].encode())
        source = sample["source"]["sha256"] or hashlib.sha256(sample["id"].encode()).hexdigest()
        found = near.signature(sample["text"]) if near else None
        digests[at] = (content.digest()[:16], bytes.fromhex(source)[:16], found is not None)
        if found is not None:
            signatures[at] = found
    if width:
        with path.open("r+b") as file:
            file.seek(first * width * _NEAR_BYTES)
            file.write(signatures.tobytes())
    return digests


def _same(digests: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of samples with the same content."""
    keys = np.frombuffer(digests["content"].tobytes(), dtype=np.uint64).reshape(-1, 2)
    order = np.lexsort((np.arange(len(keys)), keys[:, 1], keys[:, 0]))
    ordered = keys[order]
    same = (ordered[1:] == ordered[:-1]).all(axis=1)
    return [(int(order[at]), int(order[at + 1])) for at in np.flatnonzero(same)]


def _join(parent: np.ndarray, pairs: Iterable[tuple[int, int]]) -> None:
    """Union: the smaller number becomes the root, so that the order of the pairs does not matter."""
    for one, other in pairs:
        one, other = _find(parent, one), _find(parent, other)
        if one != other:
            parent[max(one, other)] = min(one, other)


def _find(parent: np.ndarray, at: int) -> int:
    root = at
    while parent[root] != root:
        root = int(parent[root])
    while parent[at] != root:
        parent[at], at = root, int(parent[at])
    return root


def _roots(parent: np.ndarray) -> np.ndarray:
    """The root of each number; every parent is smaller, so that pointers double until nothing moves."""
    while True:
        further = parent[parent]
        if (further == parent).all():
            return parent
        parent = further


def _size(count: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count / 1e3:.0f} kB"
