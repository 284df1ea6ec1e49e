"""Draws many untrusted programs at once, each once, and says in a line what this machine cannot draw."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .isolation import IsolationError
from .pool import RenderPool, StartError
from .types import Failure, Render, RenderSpec


@dataclass(frozen=True)
class Drawing:
    """A program, and the bounds of its picture in pixels."""

    kind: str
    program: str
    width: int
    height: int


def draw_all(
    wanted: Sequence[Drawing], workers: int = 1, timeout_s: float = 20.0
) -> tuple[dict[Drawing, Render | Failure | None], list[str]]:
    """What came of each drawing, None where its kind cannot be drawn here; and a line for each such kind.

    Args:
        workers: processes that draw one kind at a time.
        timeout_s: CPU seconds for one program.
    """
    drawn: dict[Drawing, Render | Failure | None] = {}
    notes = []
    by_kind = defaultdict(list)
    for one in wanted:
        by_kind[one.kind].append(one)
    for kind, several in sorted(by_kind.items()):
        threads = max(1, min(workers, len(several)))
        queue = _Queue(several)
        with ThreadPoolExecutor(threads) as executor:
            shares = [executor.submit(_draw, kind, queue, timeout_s) for _ in range(threads)]
            try:
                for share in shares:
                    drawn.update(share.result())
            except BaseException as error:  # an interrupt must not wait for all that is left
                queue.stopped = type(error).__name__
                raise
        if queue.stopped:
            drawn.update(dict.fromkeys(several))
            notes.append(f"{kind} cannot be drawn on this machine: {queue.stopped}")
    return drawn, notes


class _Queue:
    """Drawings that threads take from, until one of them finds that nothing can be drawn."""

    def __init__(self, drawings: Sequence[Drawing]) -> None:
        self._left = iter(drawings)
        self._lock = threading.Lock()
        self.stopped = ""

    def __iter__(self) -> Iterator[Drawing]:
        while not self.stopped:
            with self._lock:
                one = next(self._left, None)
            if one is None:
                return
            yield one


def _draw(kind: str, queue: _Queue, timeout_s: float) -> dict[Drawing, Render | Failure]:
    """One thread's share. Its pool lives within the thread: a worker dies with the thread that started it."""
    found: dict[Drawing, Render | Failure] = {}
    try:
        with RenderPool(kind, timeout_s=timeout_s, trusted=False) as pool:
            for one in queue:
                found[one] = pool.render(one.program, RenderSpec(one.width, one.height, trusted=False))
    except (StartError, IsolationError) as error:
        queue.stopped = " ".join(str(error).split())[:300]
    return found
