"""Rewrites that were read and labelled, stored so that no passage of anybody else's text is stored with them.

A row names its source by package, file and characters, with the beginning of the source's SHA-256. Its text is a list
of pieces: two numbers are characters of the source, taken from the installed package when the benchmark runs; a string
stands as it is. Wherever four or more words in a row are the source's own, they are such a span. Where a package has
changed since, a row has neither source nor text and is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import orjson

from ...pipelines.errors import UserError
from .verify_texts import document

Pieces = tuple[tuple[int, int] | str, ...]
_IN_A_ROW = 4  # words of the source from which on they are a span
_WORD = re.compile(r"\w+")


class Labelled(NamedTuple):
    """A rewrite as it was read: its source's characters, the style asked for, the server's reason for stopping."""

    package: str
    file: str
    span: tuple[int, int]
    sha256: str
    style: str
    finish: str
    pieces: Pieces
    label: str
    note: str


def labelled(path: Path) -> list[Labelled]:
    """All rewrites of a file, in the order in which they were read."""
    found = []
    for line in path.read_bytes().splitlines():
        row = orjson.loads(line)
        pieces = tuple(one if isinstance(one, str) else (one[0], one[1]) for one in row["pieces"])
        found.append(Labelled(**{**row, "span": tuple(row["span"]), "pieces": pieces}))
    return found


def with_texts(path: Path) -> Iterator[tuple[Labelled, str, str] | None]:
    """Each row with its source and its text; None where the source is no longer what was read."""
    find = cache(_prose)
    for row in labelled(path):
        source = find(row.package, row.file)[slice(*row.span)]
        same = hashlib.sha256(source.encode()).hexdigest().startswith(row.sha256)
        yield (row, source, joined(row.pieces, source)) if same else None


def pieces(text: str, source: str) -> Pieces:
    """The text as spans of its source, wherever four or more words in a row are the source's, and strings."""
    mine = [one.span() for one in _WORD.finditer(text)]
    places: dict[str, list[int]] = {}
    theirs = [one.span() for one in _WORD.finditer(source)]
    for number, (start, end) in enumerate(theirs):
        places.setdefault(source[start:end], []).append(number)
    found: list[tuple[int, int] | str] = []
    at = done = 0
    while at < len(mine):
        low, high = mine[at]
        runs = [(_run(text, mine, at, source, theirs, there), there) for there in places.get(text[low:high], ())]
        length, there = max(runs, key=lambda run: run[0], default=(0, 0))
        if length < _IN_A_ROW:
            at += 1
            continue
        if done < low:
            found.append(text[done:low])
        found.append((theirs[there][0], theirs[there + length - 1][1]))
        done = mine[at + length - 1][1]
        at += length
    return (*found, text[done:]) if done < len(text) else tuple(found)


def joined(pieces: Sequence[tuple[int, int] | str], source: str) -> str:
    """The text that pieces stand for."""
    return "".join(one if isinstance(one, str) else source[slice(*one)] for one in pieces)


def _run(
    text: str, mine: list[tuple[int, int]], at: int, source: str, theirs: list[tuple[int, int]], there: int
) -> int:
    """How many words in a row are the same, with all that stands between them."""
    start, begin = mine[at][0], theirs[there][0]
    length = 0
    while at + length < len(mine) and there + length < len(theirs):
        if text[start : mine[at + length][1]] != source[begin : theirs[there + length][1]]:
            break
        length += 1
    return length


def _prose(package: str, file: str) -> str:
    try:
        return document(package, file).text
    except UserError:
        return ""
