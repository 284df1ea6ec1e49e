"""Single flight: of all who want the answer to one key at once, one asks and the others wait for what it got.

Within a process, threads that come later wait for the first one's result. Between processes of a machine the asker
holds a lock on one byte of a common file, whose place is the key's: any number of keys without a file each, and the
kernel releases it when the holder dies, however it dies. (A process forked from the holder keeps it too.) Machines that
share an object store are not kept apart; there the first stored answer wins.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from .types import Reply


class Flights:
    """The calls in the air of one process, and its locks against the other processes.

    Args:
        lock_file: a file on a local disk that all processes which share the replies open; it stays empty.
    """

    def __init__(self, lock_file: Path):
        self._guard = threading.Lock()
        self._waiting: dict[str, Future[Reply]] = {}
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def fly(self, key: str, ask: Callable[[], Reply]) -> tuple[Reply, bool]:
        """The result of `ask`, which one thread of one process calls at a time for a key; whatever it raises is raised
        for all who wait in this process.

        Returns:
            The reply, and whether this thread was the one that asked.
        """
        with self._guard:
            flight = self._waiting.get(key)
            mine = flight is None
            if flight is None:
                flight = self._waiting[key] = Future()
        if not mine:
            return flight.result(), False
        try:
            with self._locked(key):
                reply = ask()
        except BaseException as error:
            flight.set_exception(error)
            raise
        else:
            flight.set_result(reply)
            return reply, True
        finally:
            with self._guard:
                del self._waiting[key]

    def close(self) -> None:
        os.close(self._descriptor)

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        # Locks of an open file description: those of a process would all go when any descriptor of the file is closed.
        place = int(key[:15], 16)
        fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLKW, _range(fcntl.F_WRLCK, place))
        try:
            yield
        finally:
            fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLK, _range(fcntl.F_UNLCK, place))


def _range(kind: int, place: int) -> bytes:
    """`struct flock` for one byte, on 64-bit Linux."""
    return struct.pack("@hhqqi4x", kind, os.SEEK_SET, place, 1, 0)
