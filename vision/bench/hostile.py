"""Renders the hostile set and counts what must not happen: untyped ends, false pictures, lost controls, requests out.

A real listener on the loopback device stands for the network: inputs point at it, and it must hear nothing.
"""

from __future__ import annotations

import io
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import psutil
from PIL import Image as Picture

from ..hostile import HostileInput, hostile_inputs, recipes
from ..isolation import probe
from ..pool import RenderPool
from ..types import Failure, FailureKind, Render, RenderSpec

NAME = "hostile"
SUMMARY = "broken and malicious inputs: typed outcomes, true pictures, no request, bounded time and memory"

SPECS = {
    "svg": RenderSpec(256, 256, trusted=False),
    "web": RenderSpec(800, 1000, trusted=False),
    "cad": RenderSpec(160, 160),
}
_TOLERANCE = 6


def run(quick: bool) -> dict[str, Any]:
    """Figures over 2,000 inputs, or over 250 with short limits."""
    count, timeout_s = (250, 1.5) if quick else (2000, 5.0)
    tally = Tally()
    with listener() as (beacon, connections):
        pools = {kind: RenderPool(kind, timeout_s=timeout_s, memory_mib=1024) for kind in SPECS}
        try:
            for one in hostile_inputs(count, beacon=beacon):
                tally.add(one, pools[one.kind], timeout_s)
        finally:
            for pool in pools.values():
                pool.close()
        tally.figures["requests_out"] = connections()
    return {"figures": tally.finished(), "peers": {}, "isolation": str(probe()), "surprises": tally.surprises}


class Tally:
    """What became of the inputs."""

    def __init__(self) -> None:
        self.figures: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.surprises: list[str] = []
        self._overrun = 0.0
        self._peak = 0.0
        self._start = os.getpid()

    def add(self, one: HostileInput, pool: RenderPool, timeout_s: float) -> None:
        """Render one input and judge the outcome."""
        data = one.data
        if pool.pid is None:
            pool.version  # noqa: B018  (starts the worker, which is not the input's time)
        began = time.monotonic()
        attempts = pool.attempts
        outcome = pool.render(data, SPECS[one.kind])
        budget = timeout_s * max(1, pool.attempts - attempts)
        self._overrun = max(self._overrun, time.monotonic() - began - budget)
        self._peak = max(self._peak, pool.memory_now_mib() + psutil.Process().memory_info().rss / (1 << 20))
        self.figures["inputs"] += 1
        code = outcome.kind if isinstance(outcome, Failure) else "rendered"
        self.outcomes[code] += 1
        problem = judge(one, outcome)
        if problem:
            self.figures[problem] += 1
            detail = outcome.detail if isinstance(outcome, Failure) else "rendered"
            self.surprises.append(f"{one.name}: {problem}: {code}: {detail}")

    def finished(self) -> dict[str, float]:
        found: dict[str, float] = {
            key: self.figures[key] for key in ("inputs", "untyped", "unexpected", "blank_or_stale", "controls_lost")
        }
        return {
            **found,
            "classes": len(recipes()),
            "parent_deaths": int(os.getpid() != self._start),
            "requests_out": self.figures["requests_out"],
            "overrun_s_max": round(max(0.0, self._overrun), 3),
            "peak_rss_mib": round(self._peak, 1),
            **{f"outcome_{name}": number for name, number in sorted(self.outcomes.items())},
        }


def judge(one: HostileInput, outcome: Render | Failure) -> str:
    """The figure that this outcome counts against, or ""."""
    if isinstance(outcome, Failure):
        if outcome.kind not in get_args(FailureKind):
            return "untyped"
        if one.control:
            return "controls_lost"
        return "" if one.expect != "render" and outcome.kind in one.codes else "unexpected"
    if not true_picture(one, outcome):
        return "blank_or_stale"
    return "unexpected" if one.expect == "reject" else ""


def true_picture(one: HostileInput, render: Render) -> bool:
    """Whether the picture has content and shows the input's own colours where they must be."""
    picture = Picture.open(io.BytesIO(render.images[0].png)).convert("RGB")
    if all(low == high for low, high in picture.getextrema()):  # type: ignore[misc]
        return False
    for pixel in one.pixels:
        x, y = (pixel.x, pixel.y) if pixel.in_pixels else (pixel.x * picture.width, pixel.y * picture.height)
        shown = picture.getpixel((int(x), int(y)))
        if max(abs(a - b) for a, b in zip(shown, pixel.colour, strict=True)) > _TOLERANCE:  # type: ignore[arg-type]
            return False
    return True


@contextmanager
def listener() -> Iterator[tuple[str, Any]]:
    """A listener on the loopback device: its URL, and a function that counts who connected."""
    heard = 0
    server = socket.create_server(("127.0.0.1", 0))
    closing = threading.Event()

    def accept() -> None:
        nonlocal heard
        while not closing.is_set():
            try:
                connection, _ = server.accept()
            except OSError:
                return
            heard += 1
            connection.close()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/", lambda: heard
    finally:
        closing.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(timeout=2)
