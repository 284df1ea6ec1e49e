"""Each line of a JSON Lines file one item. A large file is cut into byte ranges, so that it is many units."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from typing import Any, ClassVar

import orjson
from datatrove.data import Document

from ..stage import Context, Input, InvalidInput, Item, Slice
from .files import InputChanged
from .folder import Folder, open_folder
from .rows import Rows

_BLOCK = 4 << 20


class Jsonl(Rows):
    """Each line becomes one item; parameters as in `Rows`. Files ending in `.gz` are one unit each."""

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"glob", "root"})

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        folder = open_folder(self.root, self.package, context)
        for file in folder.matching(self.globs()):
            if file.uri.endswith(".gz"):
                yield Slice({"gzip": True}, None, (file,))
                continue
            for start, stop, lines, sha256 in _ranges(folder, file, unit_items or 1000):
                # One input a range: lines appended to a file later leave the units before them as they are.
                part = Input(f"{file.uri}@{start}-{stop}", stop - start, file.stamp, sha256)
                yield Slice({"start": start, "stop": stop}, lines, (part,))

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        folder = open_folder(self.root, self.package, context)
        (part,) = inputs
        uri = part.uri if where.get("gzip") else part.uri.rsplit("@", 1)[0]
        data = folder.store.read(folder.path(uri), where.get("start", 0), where.get("stop"))
        if hashlib.sha256(data).hexdigest() != part.sha256:
            raise InputChanged(f"{uri} has changed since the plan was frozen")
        if where.get("gzip"):
            data = gzip.decompress(data)
        offset = where.get("start", 0)
        for line in data.splitlines(keepends=True):
            if line.strip():
                key = f"{uri}@{offset}"
                identity = f"{hashlib.sha256(line).hexdigest()}@{offset}"
                yield Item(key, identity, lambda line=line, key=key: self._load(line, uri, key, folder))  # type: ignore[misc]
            offset += len(line)

    def _load(self, line: bytes, uri: str, key: str, folder: Folder) -> Document:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InvalidInput("parse", str(error)) from None
        return self.record(row, line, uri, key, folder)


def _ranges(folder: Folder, file: Input, lines_per_range: int) -> Iterator[tuple[int, int, int, str]]:
    """(start, stop, lines that are not blank, sha256) of consecutive byte ranges that end at line ends."""
    start, lines, digest, tail, position = 0, 0, hashlib.sha256(), b"", 0
    while position < file.size or tail:
        block = folder.store.read(folder.path(file.uri), position, min(position + _BLOCK, file.size))
        position += len(block)
        pieces = (tail + block).splitlines(keepends=True)
        tail = pieces.pop() if position < file.size and pieces else b""
        offset = position - len(tail) - sum(map(len, pieces))
        for line in pieces:
            digest.update(line)
            offset += len(line)
            lines += bool(line.strip())
            if lines == lines_per_range:
                yield start, offset, lines, digest.hexdigest()
                start, lines, digest = offset, 0, hashlib.sha256()
        if position >= file.size and not tail:
            break
    if lines:
        yield start, file.size, lines, digest.hexdigest()
