"""What studies of kernels on a GPU share: many short measurements in one call, of which no one may cost the others.

study = Study(200)
study.note("errors.d128", lambda: {"o": 0.004, "dq": 0.003})
print(json.dumps(study.done()))

What is found goes to stderr as it comes, one JSON object a line: a study that is cut off has not lost it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"


def say(found: dict[str, Any]) -> None:
    """As one line of JSON, at once."""
    print(json.dumps(found), file=sys.stderr, flush=True)


class Study:
    """`found` is flat: a name to a number, or to the message of what was raised. Nothing is begun after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.started = time.perf_counter()
        self.found: dict[str, Any] = {}

    def note(self, name: str, work: Callable[[], dict[str, Any]]) -> None:
        begun = time.perf_counter()
        if begun - self.started > self.seconds:
            self._add({name: "no time"})
            return
        try:
            new = {f"{name}.{key}": value for key, value in work().items()}
        except Exception as error:
            new = {name: f"{type(error).__name__}: {str(error)[-300:]}"}
        self._add(new | {f"{name}.seconds": round(time.perf_counter() - begun, 2)})

    def _add(self, new: dict[str, Any]) -> None:
        self.found.update(new)
        say(new)

    def done(self) -> dict[str, Any]:
        return self.found | {"seconds": round(time.perf_counter() - self.started, 1)}


def command_line(
    study: Callable[[float], dict[str, Any]], seconds: float, warm: Callable[[int, int], None] | None = None,
    arguments: Sequence[str] | None = None,
) -> None:  # fmt: skip
    """Prints what the study finds, as one JSON; with `--warm n of`, for `compile_by_processes`, compiles a part of it.

    `seconds` are those of the study unless `--seconds N` says others.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=seconds, metavar="N", help="nothing is begun after these")
    if warm is not None:
        parser.add_argument("--warm", type=int, nargs=2, metavar=("n", "of"), help="compile every of-th way, from n on")
    given = parser.parse_args(arguments)
    if warm is not None and given.warm is not None:
        warm(*given.warm)
    else:
        print(json.dumps(study(given.seconds)))


def compile_by_processes(module: str, patience: float) -> dict[str, int]:
    """`python -m module --warm n of` in as many processes as there are cores for, which share Triton's cache of
    compiled kernels: each is to run every of-th way on a few tokens."""
    processes = max(1, min(14, (os.cpu_count() or 2) - 2))
    command = [sys.executable, "-m", module, "--warm"]
    jobs = [subprocess.Popen([*command, str(n), str(processes)], stdout=sys.stderr) for n in range(processes)]
    deadline = time.perf_counter() + patience
    while any(job.poll() is None for job in jobs) and time.perf_counter() < deadline:
        time.sleep(0.2)
    late = [job for job in jobs if job.poll() is None]
    for job in late:
        job.kill()
        job.wait()
    return {"failed": sum(job.returncode != 0 for job in jobs) - len(late), "late": len(late), "processes": processes}


@contextmanager
def patched(module: Any, **changes: Any) -> Iterator[None]:
    before = {name: getattr(module, name) for name in changes}
    for name, value in changes.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def relaunched(module: Any, launches: Callable[..., Any], kernel: str, changes: dict[str, Any]) -> Any:
    """Within it the kernels that `module` launches by its table, `launches`, are launched with other options, at every
    size: those of `kernel` are changed."""

    def changed(*sizes: int) -> Any:
        table = launches(*sizes)
        return replace(table, **{kernel: replace(getattr(table, kernel), **changes)})

    return patched(module, launches=changed)


def events_ms(work: Callable[[], Any], repeats: int, warm_up: int = 1) -> list[float]:
    """Of each run, by CUDA events."""
    for _ in range(warm_up):
        work()
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for start, end in pairs:
        start.record()
        work()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in pairs]


def median_ms(work: Callable[[], Any], repeats: int) -> float:
    return round(statistics.median(events_ms(work, repeats, min(5, repeats))), 4)


def kernel_ms(work: Callable[[], Any], repeats: int = 4) -> dict[str, float]:
    """Of each Triton kernel, all its launches in one run together; without a GPU it runs once, and there are none."""
    work()
    if not GPU:
        return {"ms": 0.0}
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(repeats):
            work()
        torch.cuda.synchronize()
    events = [event for event in profile.key_averages() if event.key.endswith("_kernel")]
    return {f"{event.key}_ms": round(event.self_device_time_total / repeats / 1000, 4) for event in events}
