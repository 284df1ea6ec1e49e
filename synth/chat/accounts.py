"""The account of one process: a journal of what it reserved and settled, each line with the totals so far.

A process appends to its own journal only and holds a lock on it as long as it lives. So the state of a run is the last
complete line of each journal, which another process reads in microseconds, and a journal that can be locked belongs to
a dead process. A line that a kill cut off was never followed by the call it announced, or is settled again from the
stored reply.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import orjson

SUFFIX = ".account"
_LAST_BYTES = 4096
"""More than any two lines."""


@dataclass(slots=True)
class Totals:
    """What one process, or a run, has done so far.

    Attributes:
        calls: answers that were asked for and came, each once.
        cached: answers that were there already.
        refused: requests that were not answered.
        lost: calls in the air when their process died, whose answers are not stored: they may have been paid.
        wasted: attempts that were cut off after they had given tokens, and asked again.
        prompt_tokens, completion_tokens: of `calls` and of the wasted attempts.
        accepted_tokens: as the stage reports them.
        usd: settled, by tokens; lost calls and wasted attempts included.
        in_air, reserved_usd: calls that were begun and not settled, and their highest cost.
    """

    calls: int = 0
    cached: int = 0
    refused: int = 0
    lost: int = 0
    wasted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    accepted_tokens: int = 0
    usd: float = 0.0
    in_air: int = 0
    reserved_usd: float = 0.0

    def add(self, other: Totals) -> None:
        for name in _NAMES:
            setattr(self, name, getattr(self, name) + getattr(other, name))


_NAMES = tuple(field.name for field in fields(Totals))


@dataclass(frozen=True)
class State:
    """The last line of a journal: totals, and the time it covers (epoch seconds), for what is paid by the hour."""

    totals: Totals
    began: float
    latest: float
    usd_per_hour: float


class Journal:
    """One account, open for appending.

    Args:
        path: its file.
        create: make it, as one's own; otherwise it has to exist.

    Raises:
        BlockingIOError: it exists and its process is alive.
    """

    def __init__(self, path: Path, *, create: bool):
        self.path = path
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if create else 0)
        self._descriptor = os.open(path, flags, 0o644)
        try:
            # One's own may be looked at by another process for a moment.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | (0 if create else fcntl.LOCK_NB))
        except BlockingIOError:
            self.close()
            raise

    def append(self, op: str, key: str, usd: float, state: State) -> None:
        """One line. It is not synced: it has to survive the process, and a reply carries its own cost beyond that."""
        line = orjson.dumps({"op": op, "key": key, "usd": usd, **asdict(state)}) + b"\n"
        written = os.write(self._descriptor, line)
        if written < len(line):  # the disk is full; the next line must not begin within this one
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def mend(self) -> State | None:
        """Cut off what a kill has left of a last line; returns the journal's state."""
        size = os.fstat(self._descriptor).st_size
        start = max(0, size - _LAST_BYTES)
        tail = os.pread(self._descriptor, _LAST_BYTES, start)
        os.ftruncate(self._descriptor, start + tail.rfind(b"\n") + 1)
        return last_state(self.path)

    def lines(self) -> list[dict[str, Any]]:
        """All lines of a mended journal."""
        return [orjson.loads(line) for line in self.path.read_bytes().splitlines()]

    def close(self) -> None:
        os.close(self._descriptor)


def journals(folder: Path) -> list[Path]:
    """The accounts of a run; none if it has not begun."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
    except FileNotFoundError:
        return []


def last_state(path: Path) -> State | None:
    """A journal's last complete line; None if it has none yet."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - _LAST_BYTES))
        lines = file.read().rpartition(b"\n")[0].rpartition(b"\n")[2]
    return state_of(orjson.loads(lines)) if lines else None


def state_of(line: dict[str, Any]) -> State:
    return State(Totals(**line["totals"]), line["began"], line["latest"], line["usd_per_hour"])


def rented_usd(states: Iterable[State]) -> float:
    """What machines paid by the hour cost: from a process's first call to its last line; where processes worked side by
    side the time counts once."""
    spans: dict[float, list[tuple[float, float]]] = defaultdict(list)
    for state in states:
        spans[state.usd_per_hour].append((state.began, state.latest))
    usd = 0.0
    for rate, times in spans.items():
        reached = 0.0
        for began, latest in sorted(times):
            usd += rate / 3600 * max(0.0, latest - max(began, reached))
            reached = max(reached, latest)
    return usd
