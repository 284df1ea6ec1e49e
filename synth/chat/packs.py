"""Many stored replies in one file: what `Calls.pack` and `Calls.export` write and what a replay reads.

A pack is JSON Lines, one object a line, sorted by key. It is read through an index in memory of 16 bytes a reply (the
first 64 bits of the key, and where its line begins), which is made by going through the file once and can be kept; the
lines themselves are mapped, not loaded.
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

    Args:
        path: the file.
        index: where its index is kept, if it is; made if it does not exist.

    Raises:
        DamagedReply: a line is not that of a stored reply, or the end is cut off; the message names the file.
    """

    def __init__(self, path: Path, index: Path | None = None):
        self.path = path
        self._prefixes, self._starts, size = _index(path, index)
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != size:
                raise DamagedReply(f"{path} is damaged: it had {size} bytes when its index was made")
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else None

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


def _index(path: Path, kept: Path | None) -> tuple[np.ndarray, np.ndarray, int]:
    """Prefixes of keys in order, where their lines begin, and the size of the file."""
    if kept is not None and kept.exists():
        table = np.load(kept)
    else:
        table = _lines(path)
        if kept is not None:
            temporary = kept.with_name(f"{kept.stem}.{os.getpid()}.tmp.npy")
            np.save(temporary, table)
            durable.fsync_file(temporary)
            durable.rename(temporary, kept)
    return table[0, :-1], table[1, :-1], int(table[1, -1])


def _lines(path: Path) -> np.ndarray:
    """A row of the first bits of each line's key, in order, and one of where the lines begin. The last column is no
    line but the end of the file."""
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
    table = np.array([[*prefixes, 2**64 - 1], [*starts, start]], np.uint64)
    return table[:, np.argsort(table[0], kind="stable")]
