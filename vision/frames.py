"""Messages over a pipe between a render pool and its worker process.

One frame is a fixed prefix, a JSON header and raw bytes:

    magic (4) | header length (u32) | payload length (u64) | CRC-32 of header and payload (u32) | header | payload

Whatever is not a whole frame with the right checksum is a `FrameError`: nothing on the pipe is ever guessed at.
"""

from __future__ import annotations

import os
import select
import struct
import time
import zlib
from collections.abc import Callable
from typing import Any

import orjson

_PREFIX = struct.Struct("<4sIQI")
_MAGIC = b"K3F1"
_MAX_HEADER = 64 << 20
_MAX_PAYLOAD = 512 << 20


class FrameError(Exception):
    """The other side sent something that is not a frame."""


class Closed(Exception):
    """The other side closed the pipe: its process has ended."""


class Late(Exception):
    """The deadline passed before a whole frame arrived."""


def pack(header: dict[str, Any], payload: bytes = b"") -> bytes:
    """The bytes of one frame."""
    text = orjson.dumps(header)
    return _PREFIX.pack(_MAGIC, len(text), len(payload), zlib.crc32(payload, zlib.crc32(text))) + text + payload


def write(fd: int, header: dict[str, Any], payload: bytes = b"") -> None:
    """Write one frame, blocking."""
    write_all(fd, pack(header, payload))


def write_all(fd: int, data: bytes) -> None:
    """Write bytes that are a frame already, blocking."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_until(fd: int, data: bytes, deadline: float, tick: Callable[[], None] = lambda: None) -> None:
    """Write `data` to a non-blocking pipe before the monotonic time `deadline`, calling `tick` ten times a second.

    Raises:
        Late: the reader did not take it in time.
        Closed: the reader is gone.
    """
    view = memoryview(data)
    while view:
        _wait(fd, select.POLLOUT, deadline, tick)
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            continue
        except BrokenPipeError as error:
            raise Closed from error


def read(
    fd: int, deadline: float | None = None, tick: Callable[[], None] = lambda: None
) -> tuple[dict[str, Any], bytes]:
    """Read one frame; with a `deadline` (monotonic seconds) the wait is bounded and `tick` runs ten times a second.

    Raises:
        Closed: the pipe ended, also in the middle of a frame.
        Late: no whole frame before the deadline.
        FrameError: these bytes are no frame.
    """
    magic, header_size, payload_size, checksum = _PREFIX.unpack(_read_exact(fd, _PREFIX.size, deadline, tick))
    if magic != _MAGIC or header_size > _MAX_HEADER or payload_size > _MAX_PAYLOAD:
        raise FrameError("not a frame")
    body = _read_exact(fd, header_size + payload_size, deadline, tick)
    if zlib.crc32(body) != checksum:
        raise FrameError("checksum mismatch")
    header = orjson.loads(body[:header_size])
    if not isinstance(header, dict):
        raise FrameError("header is not an object")
    return header, body[header_size:]


def _read_exact(fd: int, size: int, deadline: float | None, tick: Callable[[], None]) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        if deadline is not None:
            _wait(fd, select.POLLIN, deadline, tick)
        try:
            chunk = os.read(fd, min(size - len(parts), 1 << 20))
        except BlockingIOError:
            continue
        if not chunk:
            raise Closed
        parts += chunk
    return bytes(parts)


def _wait(fd: int, event: int, deadline: float, tick: Callable[[], None]) -> None:
    poller = select.poll()
    poller.register(fd, event)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Late
        if poller.poll(min(left, 0.1) * 1000):
            return
        tick()
