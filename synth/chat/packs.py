"""Many stored replies in one file: what `Calls.pack` and `Calls.export` write and what a replay reads.

A pack is JSON Lines, one object a line, sorted by key. It is read through an index in memory of 16 bytes a reply (the
first 64 bits of the key, and where its line begins), which is made by going through the file once; the lines themselves
are mapped, not loaded.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...pipelines import durable
from ...pipelines.store import disk_errors
from .stored import KEY_AT, DamagedReply, loads

PREFIX_DIGITS = 16


class Pack:
    """One pack on the local disk.

    Raises:
        DamagedReply: a line is not that of a stored reply, or the last one is cut; the message names file and line.
    """

    def __init__(self, path: Path):
        self.path = path
        prefixes, starts = _lines(path)
        order = np.argsort(prefixes, kind="stable")
        self._prefixes = prefixes[order]
        self._starts = starts[order]
        with path.open("rb") as file:
            empty = os.fstat(file.fileno()).st_size == 0
            self._data = None if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._starts)

    def get(self, key: str) -> dict[str, Any] | None:
        """The object of a key, or None."""
        line = self.line(key)
        return None if line is None else loads(line, key, str(self.path))

    def line(self, key: str) -> bytes | None:
        """The line of a key without its end, or None."""
        wanted = np.uint64(int(key[:PREFIX_DIGITS], 16))
        at = int(self._prefixes.searchsorted(wanted))
        while self._data and at < len(self._starts) and self._prefixes[at] == wanted:
            start = int(self._starts[at])
            if self._data[start + KEY_AT : start + KEY_AT + 64] == key.encode():
                return self._data[start : self._data.find(b"\n", start)]
            at += 1
        return None

    def keys(self) -> Iterator[str]:
        """In the order of the file."""
        for start in np.sort(self._starts).tolist():
            assert self._data is not None
            yield self._data[start + KEY_AT : start + KEY_AT + 64].decode()

    def objects(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(where it stands, object) for all, in the order of the file."""
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                place = f"{self.path}:{number}"
                yield place, loads(line, None, place)

    def close(self) -> None:
        if self._data:
            self._data.close()


def write_pack(path: Path, lines: Iterator[bytes]) -> str:
    """Write a pack under a temporary name and publish it whole. Returns the SHA-256 of its content."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    digest = hashlib.sha256()
    with disk_errors(f"writing {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                for line in lines:
                    file.write(line + b"\n")
                    digest.update(line + b"\n")
            durable.fsync_file(temporary)
            durable.rename(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        durable.fsync_folder(path.parent)
    return digest.hexdigest()


def _lines(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The first bits of each line's key, and where the line begins."""
    prefixes, starts, start = [], [], 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                if not line.endswith(b"}\n"):
                    raise ValueError
                prefixes.append(int(line[KEY_AT : KEY_AT + PREFIX_DIGITS], 16))
            except ValueError:
                raise DamagedReply(f"{path}:{number} is damaged: not a line of a pack") from None
            starts.append(start)
            start += len(line)
    return np.array(prefixes, np.uint64), np.array(starts, np.int64)
