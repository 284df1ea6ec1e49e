"""Texts for a tokenizer, by domain: from outputs of ours, and from plain and JSON Lines files.

A sample is balanced: every domain gets the same share of bytes, and what a small one leaves goes to the others. It is
a function of the texts alone, since within a domain they are taken in the order of their hashes.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from .errors import UserError
from .reader import DATASET_FILE, RUN_FILE, Dataset

SPLIT = "train"


def read_texts(
    places: Sequence[str], *, job: str | None = None, split: str | None = SPLIT
) -> Iterator[tuple[str, str]]:
    """(domain, text) of every text in these places, empty ones left out.

    Args:
        places: outputs of a run (folders or URLs), text files, and `.jsonl` files with a `text` and perhaps a `domain`
            in each line. What says no domain is of domain `text`.
        job: which job of an output.
        split: only samples of this split of an output; None takes all.

    Raises:
        UserError: a place that is none of these, or a line that is not what it should be, by name.
    """
    for place in places:
        path = Path(place)
        if "://" in place or path.is_dir():
            yield from _of_output(place, job, split)
        elif not path.is_file():
            raise UserError(f"{place}: no such file or output")
        elif path.suffix in (".jsonl", ".ndjson"):
            yield from _of_lines(path)
        else:
            yield from _nonempty("text", _decoded(path))


def balanced(texts: Iterable[tuple[str, str]], most_bytes: int) -> dict[str, list[str]]:
    """At most about `most_bytes` of UTF-8 over all domains, in equal shares as far as domains reach."""
    samples: dict[str, _Lowest] = {}
    for domain, text in texts:
        samples.setdefault(domain, _Lowest(most_bytes)).add(text)
    chosen: dict[str, list[str]] = {}
    left, waiting = most_bytes, sorted(samples, key=lambda domain: (samples[domain].bytes, domain))
    for at, domain in enumerate(waiting):
        chosen[domain], used = samples[domain].first(left // (len(waiting) - at))
        left -= used
    return dict(sorted(chosen.items()))


class _Lowest:
    """The texts with the lowest hashes, as many as fit into so many bytes; the others are forgotten as they come."""

    def __init__(self, most_bytes: int):
        self.most = most_bytes
        self.bytes = 0
        self._heap: list[tuple[int, int, str]] = []  # (-hash, size, text): the highest hash on top

    def add(self, text: str) -> None:
        data = text.encode()
        heapq.heappush(self._heap, (-int.from_bytes(hashlib.sha256(data).digest()), len(data), text))
        self.bytes += len(data)
        while len(self._heap) > 1 and self.bytes - self._heap[0][1] >= self.most:
            self.bytes -= heapq.heappop(self._heap)[1]

    def first(self, most: int) -> tuple[list[str], int]:
        """Texts by hash until `most` bytes are reached, the last one cut; and how many bytes that are."""
        texts, used = [], 0
        for _, size, text in sorted(self._heap, reverse=True):
            if used >= most:
                break
            if used + size > most:
                text = text.encode()[: most - used].decode(errors="ignore")
                size = most - used
            texts.append(text)
            used += size
        return texts, used


def _of_output(place: str, job: str | None, split: str | None) -> Iterator[tuple[str, str]]:
    if "://" not in place and not any((Path(place) / name).exists() for name in (RUN_FILE, DATASET_FILE)):
        raise UserError(f"{place}: not an output of `k3data run`; of a folder of files name the files (`{place}/*`)")
    dataset = Dataset.open(place, job=job)
    rows = zip(dataset.samples["domain"].to_pylist(), dataset.samples["split"].to_pylist(), strict=True)
    for number, (domain, of) in enumerate(rows):
        head = next(iter(dataset.raw(number).values())) if split in (None, of) else None
        sample: dict[str, Any] = orjson.loads(head) if head is not None and head[:1] == b"{" else {}
        yield from _nonempty(domain, sample.get("text", "").replace("\ufffc", ""))


def _of_lines(path: Path) -> Iterator[tuple[str, str]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                value = orjson.loads(line)
                domain, text = value.get("domain") or "text", value["text"]
            except (orjson.JSONDecodeError, AttributeError, KeyError):
                raise UserError(f"{path}:{number}: not a JSON object with a text") from None
            if not isinstance(text, str) or not isinstance(domain, str):
                raise UserError(f"{path}:{number}: its text or domain is no string")
            yield from _nonempty(domain, text)


def _decoded(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None


def _nonempty(domain: str, text: str) -> Iterator[tuple[str, str]]:
    if text:
        yield domain, text
