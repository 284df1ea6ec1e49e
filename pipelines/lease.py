"""One run at a time on one output: a lease with a heartbeat, made of put-if-absent alone.

The lease of generation n is the file `lease/<n>.json`. Whoever creates the next generation holds it; a holder that
stops refreshing it is dead after `STALE_S`, or at once when it ran on this machine and its process is gone.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import orjson
import psutil

from .errors import StoreError, UserError
from .store import Store

FOLDER = "lease"
BEAT_S = 5.0
STALE_S = 60.0


class Lease:
    """Context manager that holds the output's lease and refreshes it in the background.

    Args:
        store: the output's root.
        lost: called from the heartbeat's thread when another run has taken over or the store stays unreachable.

    Raises:
        UserError: on entry, when another run is alive; the message says which.
    """

    def __init__(self, store: Store, lost: Callable[[str], None]):
        self.store = store
        self.lost = lost
        self.token = uuid.uuid4().hex
        self.generation = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)

    def __enter__(self) -> Lease:
        current = newest(self.store)
        if current:
            refuse_if_live(self.store, current)
        self.generation = (current["generation"] if current else 0) + 1
        if not self.store.put_bytes(self._path(), self._body(), if_absent=True):
            refuse_if_live(self.store, newest(self.store))
            raise UserError(f"{self.store.url}: another run has just started on this output")
        for entry in self.store.list(FOLDER):
            if entry.path != self._path():
                self.store.delete(entry.path)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        try:
            self.store.delete(self._path())
        except StoreError:
            if error is None:
                raise

    def _path(self) -> str:
        return f"{FOLDER}/{self.generation:06d}.json"

    def _body(self) -> bytes:
        started = psutil.Process().create_time()
        holder = {**_here(), "pid": os.getpid(), "started": started, "token": self.token}
        return orjson.dumps({"generation": self.generation, "beat": time.time(), **holder})

    def _beat(self) -> None:
        reached = time.monotonic()
        while not self._stop.wait(BEAT_S):
            try:
                current = newest(self.store)
                if current is None or current["token"] != self.token:
                    self.lost("another run has taken over this output")
                    return
                self.store.put_bytes(self._path(), self._body())
                reached = time.monotonic()
            except StoreError as error:
                if time.monotonic() - reached > STALE_S / 2:
                    self.lost(f"the output could not be reached for {STALE_S / 2:.0f} s ({error})")
                    return


def newest(store: Store) -> dict | None:
    """The lease of the highest generation, or None."""
    paths = [entry.path for entry in store.list(FOLDER)]
    while paths:
        try:
            return orjson.loads(store.read(paths.pop()))
        except FileNotFoundError:  # released since it was listed
            continue
    return None


def refuse_if_live(store: Store, lease: dict | None) -> None:
    """Raise `UserError` when that lease's holder is alive."""
    if lease is None:
        return
    age = time.time() - lease["beat"]
    if {key: lease[key] for key in _here()} == _here():
        alive = _is_running(lease["pid"], lease["started"])
    else:
        alive = age < STALE_S
    if alive:
        raise UserError(
            f"{store.url}: another run is at work here (host {lease['host']}, process {lease['pid']}, "
            f"last sign of life {max(age, 0):.0f} s ago)"
        )


def _here() -> dict[str, str]:
    """Where a process id means something: this host, and this container on it."""
    return {"host": socket.gethostname(), "namespace": str(Path("/proc/self/ns/pid").readlink())}


def _is_running(pid: int, started: float) -> bool:
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - started) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
