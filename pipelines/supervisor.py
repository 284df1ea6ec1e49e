"""Runs a job's units in worker processes, and outlives them: a worker may crash, hang, or eat all memory.

Each worker says what it wants over its own socket; its death closes the socket and is noticed at once. What it was
doing is read from its flight file. An item that was in the air at two deaths is tried alone in a fresh worker; if that
dies too the item is rejected as `worker_died`, an outcome that is stored and replayed. Nobody's word is believed: what
is done is what the ledger says.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import psutil

from .errors import K3DataError
from .flight import Flight
from .outcomes import Outcomes
from .plan import Plan, Unit
from .recipe import Job, Recipe
from .stage import Context, Failed, Stage
from .store import Store, disk_errors

log = logging.getLogger(__name__)

DEATHS_BEFORE_TRIAL = 2
DEATHS_AT_MOST = 6
UNIT_DEATHS_AT_MOST = 3
_POLL_S = 0.5


@dataclass
class Task:
    """A unit to do, or one item of it to try alone."""

    unit: Unit
    item: str | None = None


@dataclass
class _Worker:
    rank: int
    process: subprocess.Popen
    line: socket.socket
    flight: Path
    log: Path
    buffer: bytes = b""
    task: Task | None = None
    items: int = 0
    fatal: dict[str, Any] | None = None
    cause: str = ""
    ended: bool = False


@dataclass
class Progress:
    """What the screen shows of a job; counts are of items."""

    job: str
    units: int
    units_done: int = 0
    items: int | None = None
    items_done: int = 0
    in_work: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    samples: int = 0
    bytes: int = 0
    deaths: int = 0
    notes: dict[str, str] = field(default_factory=dict)
    """What stages tell of themselves, by name."""


class Attempts:
    """How often each item of a unit was in the air when its worker died; durable, one file a unit."""

    def __init__(self, store: Store):
        self._store = store
        self._known: dict[str, dict[str, list[str]]] = {}

    def add(self, unit: str, item: str, cause: str) -> int:
        """Note one more death. Returns how many there are."""
        deaths = self._of(unit).setdefault(item, [])
        deaths.append(cause)
        self._store.put_bytes(self._path(unit), orjson.dumps(self._of(unit)))
        return len(deaths)

    def _of(self, unit: str) -> dict[str, list[str]]:
        if unit not in self._known:
            path = self._path(unit)
            self._known[unit] = orjson.loads(self._store.read(path)) if self._store.exists(path) else {}
        return self._known[unit]

    @staticmethod
    def _path(unit: str) -> str:
        return f"attempts/{unit}.json"


class Supervisor:
    """Runs units of one job until none is left, or raises.

    Args:
        recipe, job, plan: what to do.
        store: the job's folder in the output; `output` is the URL of the whole output.
        file: the recipe's name in messages.
        workers: number of worker processes.
        show: called whenever the progress has changed.
    """

    def __init__(
        self,
        recipe: Recipe,
        job: Job,
        plan: Plan,
        store: Store,
        output: str,
        file: str,
        workers: int,
        show: Callable[[Progress], None],
    ):
        self.recipe, self.job, self.plan, self.store = recipe, job, plan, store
        self.workers, self.show = workers, show
        self.scratch = store.scratch()
        self.start = {
            "recipe": recipe.text,
            "file": file,
            "base": str(recipe.base),
            "job": job.name,
            "output": output,
            "world_size": workers,
            "log_level": log.getEffectiveLevel(),
        }
        self.attempts = Attempts(store)
        self.unit_deaths: Counter[str] = Counter()
        self.pending: deque[Task] = deque()
        self.running: list[_Worker] = []
        self.selector = selectors.DefaultSelector()
        self.progress = Progress(job.name, len(plan.units), items=plan.items)
        self.stopping: str | None = None
        self._next_poll = 0.0
        context = Context(recipe.seed, recipe.name, job.name, "", self.scratch, output, recipe.base)
        self._status = {step.name: partial(step.build.status, context) for step in job.stages
                        if isinstance(step.build, Stage)}  # fmt: skip

    def run(self, units: list[Unit], before: Progress) -> Progress:
        """Do the units. `before` is the progress that earlier runs have made.

        Raises:
            K3DataError: a worker met a failure that another attempt would meet again (disk full, input changed), or
                one unit keeps killing its workers outside any item.
        """
        self.progress = before
        self._learn_from_flights()
        self.pending.extend(Task(unit) for unit in units)
        self.show(self.progress)
        try:
            for rank in range(min(self.workers, len(self.pending))):
                self._spawn(rank)
            while self.running:
                for key, _ in self.selector.select(timeout=_POLL_S):
                    self._hear(key.data)
                if self.stopping:
                    raise K3DataError(self.stopping)
                if time.monotonic() >= self._next_poll:
                    self._watch()
        finally:
            for worker in list(self.running):
                self._end(worker)
        self._listen()
        return self.progress

    def stop(self, reason: str) -> None:
        """End the run soon; may be called from another thread."""
        self.stopping = reason

    def _learn_from_flights(self) -> None:
        """Items that were in the air when an earlier run was killed as a whole count as having been there."""
        for path in sorted(self.scratch.glob(f"{self.job.name}-*.flight")):
            last = Flight.read(path)
            if last:
                self.attempts.add(last["unit"], last["item"], "the whole run was killed")
            path.unlink()

    def _spawn(self, rank: int) -> None:
        ours, theirs = socket.socketpair()
        logs = self.scratch / "logs"
        path = logs / f"{self.job.name}-{rank}.log"
        with disk_errors(f"writing {logs}"):
            logs.mkdir(exist_ok=True)
        with path.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")},
            )
        theirs.close()
        flight = self.scratch / f"{self.job.name}-{rank}.flight"
        worker = _Worker(rank, process, ours, flight, path)
        self.running.append(worker)
        self.selector.register(ours, selectors.EVENT_READ, worker)
        self._send(worker, **self.start, rank=rank, flight=str(flight))

    def _send(self, worker: _Worker, **message: Any) -> None:
        try:
            worker.line.sendall(json.dumps(message).encode() + b"\n")
        except OSError:  # it has just died; the closed socket tells us next
            pass

    def _hear(self, worker: _Worker) -> None:
        try:
            data = worker.line.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._died(worker)
            return
        *lines, worker.buffer = (worker.buffer + data).split(b"\n")
        for line in lines:
            self._message(worker, json.loads(line))

    def _message(self, worker: _Worker, message: dict[str, Any]) -> None:
        if "items" in message and "done" not in message:
            self.progress.in_work += message["items"] - worker.items
            worker.items = message["items"]
            self.show(self.progress)
        elif message.get("want"):
            self._hand_out(worker)
        elif "done" in message:
            self._finished(worker, message)
        elif "fatal" in message:
            worker.fatal = message
        elif message.get("ended"):
            worker.ended = True

    def _hand_out(self, worker: _Worker) -> None:
        if not self.pending:
            self._send(worker, stop=True)
            return
        worker.task = self.pending.popleft()
        worker.items = 0
        self._send(worker, position=worker.task.unit.position, only=worker.task.item)

    def _finished(self, worker: _Worker, message: dict[str, Any]) -> None:
        self._land(worker)
        if message["trial"]:
            return  # it lives alone; its unit waits right behind it
        self.progress.units_done += 1
        self.progress.items_done += message["items"]
        self.progress.outcomes.update(message["outcomes"])
        self.progress.samples += message["samples"]
        self.progress.bytes += message["bytes"]
        self.show(self.progress)

    def _land(self, worker: _Worker) -> None:
        self.progress.in_work -= worker.items
        worker.items = 0
        worker.task = None

    def _died(self, worker: _Worker) -> None:
        task = worker.task
        last = Flight.read(worker.flight)
        worker.flight.unlink(missing_ok=True)  # the next worker of this rank starts with a clean one
        self._land(worker)
        self._await_exit(worker)
        self._end(worker)
        if worker.ended and task is None:
            return
        if worker.fatal:
            error = K3DataError(worker.fatal["fatal"])
            error.exit_code = worker.fatal["exit_code"]
            raise error
        self.progress.deaths += 1
        cause = worker.cause or _cause(worker.process.returncode)
        if task is None:
            raise K3DataError(f"a worker of job {self.job.name!r} could not start ({cause}): {_last_line(worker.log)}")
        item = task.item or (last["item"] if last and last["unit"] == task.unit.id else None)
        log.warning("worker %d died (%s) at unit %s, item %s", worker.rank, cause, task.unit.id, item or "none")
        if item is None:
            self._unit_death(worker, task.unit, cause)
        else:
            self._item_death(task, item, cause)
        self._spawn(worker.rank)

    def _unit_death(self, worker: _Worker, unit: Unit, cause: str) -> None:
        self.unit_deaths[unit.id] += 1
        if self.unit_deaths[unit.id] >= UNIT_DEATHS_AT_MOST:
            raise K3DataError(
                f"unit {unit.id} of job {self.job.name!r} ended its worker {UNIT_DEATHS_AT_MOST} times "
                f"outside any item ({cause}): {_last_line(worker.log)}"
            )
        self.pending.appendleft(Task(unit))

    def _item_death(self, task: Task, item: str, cause: str) -> None:
        unit = task.unit
        deaths = self.attempts.add(unit.id, item, cause)
        if task.item is None:
            self.pending.appendleft(task)
        if task.item is not None or deaths >= DEATHS_AT_MOST:
            why = Failed("worker_died", cause, fickle=True)
            Outcomes(self.store, unit.id).settle("worker", item, why)
        elif deaths >= DEATHS_BEFORE_TRIAL:
            self.pending.appendleft(Task(unit, item))

    def _watch(self) -> None:
        """Kill workers over their memory or time. Seldom, since it reads /proc."""
        self._next_poll = time.monotonic() + 1.0
        self._listen()
        limit, backstop = self.recipe.executor.memory, self.recipe.executor.item_timeout_s
        for worker in list(self.running):
            if limit and (used := _memory(worker.process.pid)) > limit:
                worker.cause = f"used {used / 1e6:.0f} MB, executor.memory allows {limit / 1e6:.0f} MB"
            else:
                last = Flight.read(worker.flight)
                if last and time.time() - last["since"] > backstop:
                    worker.cause = f"one item took over {backstop:.0f} s (executor.item_timeout_s)"
            if worker.cause:
                _kill(worker.process)

    def _listen(self) -> None:
        """Hear what the stages tell of themselves."""
        notes = {name: note for name, status in self._status.items() if (note := status())}
        if notes != self.progress.notes:
            self.progress.notes = notes
            self.show(self.progress)

    @staticmethod
    def _await_exit(worker: _Worker) -> None:
        """Its socket is closed: it is about to be gone, and how it went must be its own doing, not our kill."""
        try:
            worker.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            pass

    def _end(self, worker: _Worker) -> None:
        """Make sure of its end, with everything it started."""
        if worker not in self.running:
            return
        self.running.remove(worker)
        self.selector.unregister(worker.line)
        worker.line.close()
        _kill(worker.process)
        worker.process.wait()


def _kill(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _memory(pid: int) -> int:
    """Bytes that a process and its descendants hold, shared pages counted in proportion."""
    total = 0
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return 0
    for process in family:
        try:
            total += process.memory_full_info().pss
        except psutil.Error:  # ended meanwhile
            continue
    return total


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    return f"exited with code {code}"


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it left no message"
