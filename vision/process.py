"""One render worker seen from its parent: start, exchange frames, measure, kill.

The worker leads a session of its own, starts in an empty folder with a scrubbed environment, and dies with its parent.
A browser that it started lives in a further process group, so killing means the whole tree, children first found.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from ..pipelines.errors import UserError
from . import frames, isolation

START_LIMIT_S = 90.0
_PASSED_ON = ("PATH", "K3DATA_CHROMIUM", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "LD_LIBRARY_PATH")
_PREFIX = "k3data-render-"


class StartError(UserError):
    """The worker did not come up: something that rendering needs is missing or broken on this machine."""


class Worker:
    """A running child process that renders one kind.

    Args:
        settings: what `vision.worker` reads from its command line.
    """

    def __init__(self, settings: dict[str, Any]):
        _sweep()
        self.folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self.jobs = 0
        self._owner = os.getpid()
        self._log = (self.folder / "stderr").open("w+b")
        (self.folder / "empty").mkdir()
        found = isolation.probe()
        arguments = {
            **settings,
            "parent": os.getpid(),
            "folder": str(self.folder / "empty"),
            "namespaces": found.namespaces,
            "landlock": found.landlock,
        }
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", f"{__package__}.worker", json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=self.folder / "empty",
            env=_environment(self.folder / "empty"),
            start_new_session=True,
        )
        assert self._child.stdin and self._child.stdout
        self._in, self._out = self._child.stdin.fileno(), self._child.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self.hello = self._greet()
        self.idle_mib = self.memory_mib()

    @property
    def pid(self) -> int:
        return self._child.pid

    def is_ours(self) -> bool:
        """Whether this very process started it: after a fork the pipes exist twice, and only one side may use them."""
        return self._owner == os.getpid()

    def _greet(self) -> dict[str, Any]:
        try:
            hello, _ = frames.read(self._out, time.monotonic() + START_LIMIT_S)
        except (frames.Closed, frames.Late, frames.FrameError) as error:
            tail = self.log_tail()
            self.kill()
            reason = "did not start in time" if isinstance(error, frames.Late) else "ended while starting"
            raise StartError(f"render worker {reason}{': ' + tail if tail else ''}") from error
        if "error" in hello:
            self.kill()
            raise StartError(hello["error"])
        return hello

    def ask(
        self, header: dict[str, Any], payload: bytes, budget_s: float, memory_mib: int
    ) -> tuple[dict[str, Any], bytes]:
        """Send one request and read one reply, within `budget_s` of what the worker calls the program's own time.

        Raises:
            frames.Late, frames.Closed, frames.FrameError: no reply.
            MemoryError: the worker's processes together hold `memory_mib` more than they should.
        """
        self.jobs += 1

        def watch() -> None:
            # Twice what they held when idle: what a forked child shares with its parent counts again.
            if self.memory_mib() > 2 * self.idle_mib + memory_mib:
                raise MemoryError

        deadline = time.monotonic() + budget_s
        frames.write_until(self._in, frames.pack(header, payload), deadline, watch)
        while True:
            reply = frames.read(self._out, deadline, watch)
            clock = reply[0].get("clock")
            if clock is None:
                return reply
            deadline = time.monotonic() + (START_LIMIT_S if clock == "stopped" else budget_s)

    def memory_mib(self) -> float:
        """Memory that the worker and its descendants hold, what they share counted once."""
        private = shared = 0
        for one in self._tree():
            with contextlib.suppress(psutil.Error):
                info = one.memory_info()
                private += info.rss - info.shared
                shared = max(shared, info.shared)
        return (private + shared) / (1 << 20)

    def _tree(self) -> list[psutil.Process]:
        try:
            root = psutil.Process(self.pid)
            return [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def ended(self) -> int | None:
        """Wait for a process that closed its pipe; its exit code, negative for a signal."""
        try:
            return self._child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return None

    def log_tail(self) -> str:
        """The last line that the worker wrote to stderr."""
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 2000))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def close(self) -> None:
        """Let the worker end by itself, then make sure."""
        if self._child.stdin:
            self._child.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=2)
        self.kill()

    def kill(self) -> None:
        """End every process of the worker, now."""
        tree = self._tree()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        for one in tree:
            with contextlib.suppress(psutil.Error):
                one.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout, self._log):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        shutil.rmtree(self.folder, ignore_errors=True)


def _environment(home: Path) -> dict[str, str]:
    """What a worker may know: where programs and packages are, and its own empty folder as home."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    place = {name: str(home) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")}
    return {
        **kept,
        **place,
        "PYTHONPATH": os.pathsep.join(str(Path(one).absolute()) for one in sys.path if one),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "OMP_NUM_THREADS": "1",
        "LP_NUM_THREADS": "1",
        "VTK_SMP_BACKEND_IN_USE": "Sequential",
    }


def _sweep() -> None:
    """Remove folders left by pools whose process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).split("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)
