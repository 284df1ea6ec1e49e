"""Tar files in webdataset's convention: a fast, byte-reproducible writer and a strict reader of headers.

A sample is a run of adjacent members `<key>.<suffix>`. The writer makes plain POSIX ustar with nothing in it that could
differ between two machines (time 0, owner 0, mode 0644, no names), and hashes while it writes. Apart from the name, the
size and the checksum every header is the same, so each is one template with three fields put in. A name over 100 bytes,
the most ustar holds, is announced by a POSIX pax header.

`scan` walks a tar member by member and believes nothing: most tar readers end silently when a file is cut at a member's
end, or merge samples whose members are not adjacent. This one says what is wrong and at which byte.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, NamedTuple

BLOCK = 512
END = bytes(2 * BLOCK)
MAX_MEMBER = 8**11 - 1
"""The largest size that ustar's eleven octal digits hold: 8 GiB less one byte."""

_FLUSH = 1 << 20
_PADDING = [bytes(-size % BLOCK) for size in range(BLOCK)]
_KEY = re.compile(r"[a-z0-9_-]{1,96}")
_SUFFIX = re.compile(r"[a-z0-9]+(\.[a-z0-9]+)*")

_NAME_FIELD = 100
_SIZE_FIELD = slice(124, 136)
_SUM_FIELD = slice(148, 156)
_AFTER_NAME = b"\0".join([b"0000644", b"0000000", b"0000000", b""])  # mode, user, group
_MTIME = b"00000000000\0"
_AFTER_SUM = b"0" + bytes(100) + b"ustar\x0000" + bytes(BLOCK - 265)
_AFTER_SUM_PAX = b"x" + _AFTER_SUM[1:]


_Read = Callable[[int, int], bytes]


class TarError(ValueError):
    """A tar file that breaks its promises; the message names the byte."""


class MemberLocation(NamedTuple):
    """Where a member's content lies in the tar."""

    suffix: str
    offset: int
    size: int


class SampleLocation(NamedTuple):
    """Where a sample lies: from the first byte of its first header to the last padding byte of its last member."""

    offset: int
    size: int
    members: list[MemberLocation]


class Member(NamedTuple):
    """One member as `scan` found it; `header` and `offset` are where its header and its content begin."""

    key: str
    suffix: str
    header: int
    offset: int
    size: int


class TarWriter:
    """Writes samples to a new tar file. Use as a context manager or call `close()`, which ends the archive."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self.bytes = 0
        self.samples = 0
        self._file = self.path.open("xb", buffering=0)
        self._hash = hashlib.sha256()
        self._hasher = ThreadPoolExecutor(1, "tar-sha256")
        self._hashing: Future[None] | None = None
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def add(self, key: str, members: Iterable[tuple[str, bytes]]) -> SampleLocation:
        """Append one sample.

        Args:
            key: `[a-z0-9_-]{1,96}`, unique in the file (which is the caller's care).
            members: (suffix, content) in order; suffixes are `[a-z0-9]` words joined by dots.

        Raises:
            ValueError: a key or suffix that other tar readers would split differently, or a member of 8 GiB or more.
        """
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} is not a sample key: 1 to 96 characters out of a-z 0-9 _ -")
        start = at = self.bytes
        pending = self._pending
        locations = []
        for suffix, content in members:
            size = len(content)
            head = _header(key, suffix, size)
            padding = _PADDING[size % BLOCK]
            pending += (head, content, padding)
            at += len(head)
            locations.append(MemberLocation(suffix, at, size))
            at += size + len(padding)
        self.bytes = at
        self.samples += 1
        self._pending_bytes += at - start
        if self._pending_bytes >= _FLUSH:
            self._flush()
        return SampleLocation(start, at - start, locations)

    def close(self) -> tuple[int, str]:
        """End the archive and return its size and SHA-256. Publishing it is what makes it durable."""
        if not self._file.closed:
            self._pending.append(END)
            self.bytes += len(END)
            self._flush()
            self._hasher.shutdown()
            self._file.close()
        return self.bytes, self._hash.hexdigest()

    def discard(self) -> None:
        """Close without ending the archive and delete the file."""
        self._pending.clear()
        self._hasher.shutdown()
        self._file.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> TarWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        # What failed half-way must never look like a finished shard.
        if kind is None:
            self.close()
        else:
            self.discard()

    def _flush(self) -> None:
        data = memoryview(b"".join(self._pending))
        self._pending.clear()
        self._pending_bytes = 0
        # Hashing costs more than all the rest and runs without the interpreter's lock: let it run beside the rest.
        if self._hashing:
            self._hashing.result()
        self._hashing = self._hasher.submit(self._hash.update, data)
        while data:
            data = data[self._file.write(data) :]


def scan(source: bytes | bytearray | memoryview | BinaryIO) -> Iterator[Member]:
    """Walk a tar file that holds samples, from its first byte to its last.

    Args:
        source: the bytes (also an `mmap` in a memoryview) or a seekable binary file, of which only headers are read.

    Raises:
        TarError: truncated, a damaged header, no end-of-archive blocks, bytes after them, a member that is not a plain
            file named `<key>.<suffix>`, a member given twice, or members of one sample that are not adjacent.
    """
    read, total = _reader(source)
    at = padding = 0
    long_name: str | None = None
    finished: set[str] = set()
    current, suffixes = "", set[str]()
    while True:
        # The padding of the member before is read together with the next header, and must be zero like all we skip.
        block = read(at, padding + BLOCK)
        if len(block) < padding:
            raise TarError(f"truncated at byte {total}: the padding of a member ends at byte {at + padding}")
        if any(block[:padding]):
            raise TarError(f"bytes that belong to no member at byte {at}")
        at, block = at + padding, block[padding:]
        if not block:
            raise TarError(f"truncated at byte {at}: no end-of-archive blocks")
        if len(block) < BLOCK:
            raise TarError(f"truncated at byte {total}: inside the header at byte {at}")
        if not any(block):
            return _check_end(read, at, total)
        kind, name, size = _parse_header(block, at)
        content, padding = at + BLOCK, -size % BLOCK
        if content + size > total:
            raise TarError(f"truncated at byte {total}: {name} at byte {at} should reach byte {content + size}")
        if kind == b"x":
            long_name = _pax_path(read(content, size), at)
        elif kind in (b"0", b"\0"):
            key, dot, suffix = (long_name or name).partition(".")
            header = at - 2 * BLOCK if long_name else at
            long_name = None
            if not (dot and _KEY.fullmatch(key) and _SUFFIX.fullmatch(suffix)):
                raise TarError(f"{name!r} at byte {at} is not named <key>.<suffix>")
            if key != current:
                if key in finished:
                    raise TarError(f"members of sample {key} are not adjacent: found again at byte {at}")
                finished.add(key)
                current, suffixes = key, set()
            if suffix in suffixes:
                raise TarError(f"{key}.{suffix} is there twice: again at byte {at}")
            suffixes.add(suffix)
            yield Member(key, suffix, header, content, size)
        else:
            raise TarError(f"{name!r} at byte {at} is not a plain file (type {kind!r})")
        at = content + size


def _header(key: str, suffix: str, size: int) -> bytes:
    name = f"{key}.{suffix}".encode("ascii", "replace")
    if not _SUFFIX.fullmatch(suffix):
        raise ValueError(f"{suffix!r} is not a member suffix: words of a-z 0-9 joined by dots")
    if size > MAX_MEMBER:
        raise ValueError(f"{key}.{suffix} has {size} bytes; a tar member holds at most {MAX_MEMBER}")
    if len(name) <= _NAME_FIELD:
        return _sealed(name, size, _AFTER_SUM)
    record = b" path=" + name + b"\n"
    length = len(record) + 3  # a pax record states its own length, which is three digits for every name we allow
    content = b"%d" % length + record
    pax = _sealed(b"pax-header", length, _AFTER_SUM_PAX) + content + _PADDING[length % BLOCK]
    return pax + _sealed(name[:_NAME_FIELD], size, _AFTER_SUM)


def _sealed(name: bytes, size: int, tail: bytes) -> bytes:
    size_field = b"%011o\0" % size
    # The sum of all bytes with the checksum field taken as eight spaces; all but name and size is constant.
    total = _CONSTANT_SUM[tail[:1]] + sum(name) + sum(size_field)
    return b"%b%b%b%b%06o\0 %b" % (name.ljust(_NAME_FIELD, b"\0"), _AFTER_NAME, size_field, _MTIME, total, tail)


_CONSTANT_SUM = {tail[:1]: sum(_AFTER_NAME) + sum(_MTIME) + 8 * 32 + sum(tail) for tail in (_AFTER_SUM, _AFTER_SUM_PAX)}


def _reader(source: bytes | bytearray | memoryview | BinaryIO) -> tuple[_Read, int]:
    if isinstance(source, bytes | bytearray | memoryview):
        view = memoryview(source)
        return (lambda at, size: bytes(view[at : at + size])), len(view)
    total = source.seek(0, os.SEEK_END)

    def read(at: int, size: int) -> bytes:
        source.seek(at)
        return source.read(size)

    return read, total


def _parse_header(block: bytes, at: int) -> tuple[bytes, str, int]:
    stated, size = block[_SUM_FIELD].strip(b" \0"), block[_SIZE_FIELD].strip(b" \0")
    actual = sum(block) - sum(block[_SUM_FIELD]) + 8 * 32
    if not re.fullmatch(rb"[0-7]+", stated) or int(stated, 8) != actual:
        raise TarError(f"bad header checksum at byte {at}")
    if not re.fullmatch(rb"[0-7]+", size):
        raise TarError(f"the header at byte {at} states no plain size")
    return block[156:157], block[:_NAME_FIELD].rstrip(b"\0").decode("utf-8", "replace"), int(size, 8)


def _pax_path(content: bytes, at: int) -> str:
    found = re.fullmatch(rb"(\d+) path=([^\n]*)\n", content)
    if not found or int(found[1]) != len(content):
        raise TarError(f"the pax header at byte {at} holds something else than a path")
    return found[2].decode("utf-8", "replace")


def _check_end(read: _Read, at: int, total: int) -> None:
    rest = read(at, total - at)
    if len(rest) < len(END):
        raise TarError(f"truncated at byte {total}: one of the two end-of-archive blocks is missing")
    if any(rest):
        raise TarError(f"bytes after the end of the archive at byte {at}")
