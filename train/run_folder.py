"""What a run writes, and where: facts, metrics, checkpoints, samples, predictions, and the model in the end.

    RUN/run.json            what was trained, on what, where
        metrics.jsonl       one object a line: steps, evaluations, checkpoints, starts and ends
        checkpoints/        to go on from (`train.checkpoint`)
        samples/  predictions/    what the model wrote at each evaluation, beside the truth
        model/  tokenizer/  the trained model for `k3data generate` and `load_model`

One process writes to a folder at a time. Of several ranks only the first writes here, but for checkpoints.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

FORMAT = 1


class RunFolderError(RuntimeError):
    """The folder is in use, or is not this run's; one line says which."""


class RunFolder:
    """Attributes:
    path: the folder, which is made.
    """

    def __init__(
        self, path: str | Path, writes: bool = True, mirror: Callable[[str, dict[str, Any]], None] | None = None
    ) -> None:
        """`writes` is false on ranks that only read; `mirror` is given every event, too.

        Raises RunFolderError when another process writes there.
        """
        self.path, self.writes, self._mirror = Path(path), writes, mirror
        self._metrics: TextIO | None = None
        self._lock: TextIO | None = None
        if not writes:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = (self.path / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunFolderError(f"{self.path}: another process trains there") from None
        _mend_last_line(self.path / "metrics.jsonl")
        self._metrics = (self.path / "metrics.jsonl").open("a")

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def facts(self) -> dict[str, Any] | None:
        """The content of run.json, if there is one."""
        try:
            facts: dict[str, Any] = json.loads((self.path / "run.json").read_text())
        except FileNotFoundError:
            return None
        return facts

    def write_facts(self, facts: dict[str, Any]) -> None:
        if self.writes:
            self.write_text("run.json", json.dumps({"format": FORMAT, **facts}, indent=2) + "\n")

    def write_text(self, name: str, text: str) -> None:
        """A file of the folder, whole or not at all."""
        if not self.writes:
            return
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f"{target.name}.partial")
        temporary.write_text(text)
        temporary.replace(target)

    def log(self, event: str, **values: Any) -> None:
        """A line of metrics, on the disk when it returns. What is not finite becomes null."""
        if self._metrics is None:
            return
        if self._mirror is not None:
            self._mirror(event, values)
        self._metrics.write(json.dumps({"event": event, "time": round(time.time(), 3), **_finite(values)}) + "\n")
        self._metrics.flush()

    def close(self) -> None:
        for file in (self._metrics, self._lock):
            if file is not None:
                file.close()
        self._metrics = self._lock = None


class LiveLine:
    """One line that is written over on a terminal; elsewhere a line now and then."""

    def __init__(self, on: bool = True, seconds: float = 15.0) -> None:
        self._on, self._seconds, self._last = on, seconds, -math.inf
        self._terminal = sys.stderr.isatty()

    def show(self, text: str) -> None:
        now = time.monotonic()
        if not self._on or now - self._last < (0.2 if self._terminal else self._seconds):
            return
        self._last = now
        if self._terminal:
            sys.stderr.write("\r\x1b[K" + text)
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def say(self, text: str) -> None:
        """A line of its own, which stays."""
        if self._on:
            sys.stderr.write(("\r\x1b[K" if self._terminal else "") + text + "\n")
            sys.stderr.flush()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return value


def _mend_last_line(path: Path) -> None:
    """A kill can leave half a line, which the next would be glued to."""
    if path.exists() and (content := path.read_bytes()) and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)
