"""A worker process: takes units one after another and runs them through datatrove's executor, in this process.

Locally the supervisor starts it (`python -m k3data.pipelines.worker FD`) and hands out units over a socket, one JSON
object a line. `UnitStep` itself only needs an iterable of units, so the same step serves executors that give each rank
its share of the plan.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from datatrove.executor.local import LocalPipelineExecutor
from datatrove.pipeline.base import PipelineStep

from . import recipe as recipes
from .errors import K3DataError
from .flight import Flight
from .ledger import UnitRecord
from .plan import Plan, Unit
from .store import open_store
from .unit import UnitRun

_PR_SET_PDEATHSIG = 1


class UnitStep(PipelineStep):
    """The one step of our datatrove pipelines: runs the units it is given, whatever executor hosts it.

    Args:
        run: does one unit.
        units: the units of this rank.
    """

    name = "k3data units"
    type = "k3data"

    def __init__(self, run: Any, units: Iterable[Unit]):
        super().__init__()
        self._run = run
        self._units = units

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        for unit in self._units:
            with self.track_time("unit"):
                self._run(unit)
        yield from ()


class InProcessExecutor(LocalPipelineExecutor):
    """datatrove's local executor for exactly one rank, run here.

    Its own `run` starts a manager process even for one worker, which would outlive us when we are killed.
    """

    def run(self) -> Any:
        return self._run_for_rank(self.local_rank_offset, local_rank=1)  # local rank 0 would log to stderr


class Line:
    """The socket to the supervisor: one JSON object a line, both ways."""

    def __init__(self, descriptor: int):
        self._socket = socket.socket(fileno=descriptor)
        self._file = self._socket.makefile("rb")

    def send(self, **message: Any) -> None:
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        line = self._file.readline()
        return json.loads(line) if line else None


def main() -> None:
    """Entry point: the argument is the number of the inherited socket."""
    # If the supervisor dies, however it dies, we end too: nobody would hand out work or see our death.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the supervisor's to handle
    line = Line(int(sys.argv[1]))
    start = line.receive()
    if start is None:
        return
    logging.basicConfig(level=start["log_level"], format="%(asctime)s %(name)s %(message)s", stream=sys.stderr)
    try:
        _work(line, start)
    except K3DataError as error:
        line.send(fatal=str(error), exit_code=error.exit_code)
        sys.exit(1)


def _work(line: Line, start: dict[str, Any]) -> None:
    recipe = recipes.parse(start["recipe"], start["file"], Path(start["base"]))
    job = recipe.job(start["job"])
    output = open_store(start["output"])
    store = output.sub(job.name)
    plan = Plan.load(store)
    if plan is None:
        raise K3DataError(f"{store.url} has no plan")
    flight = Flight(Path(start["flight"]))
    only: dict[str, str] = {}

    def units() -> Iterator[Unit]:
        while True:
            line.send(want="unit")
            message = line.receive()
            if message is None or message.get("stop"):
                return
            only.clear()
            only.update({"item": message["only"]} if message.get("only") else {})
            yield plan.units[message["position"]]

    def run(unit: Unit) -> None:
        def progress(done: int) -> None:
            line.send(items=done)

        record = UnitRun(recipe, job, plan, unit, store, start["output"], flight, progress, only.get("item")).run()
        line.send(done=unit.position, trial=record is None, **(_summary(record) if record else {}))

    with tempfile.TemporaryDirectory(prefix="k3data-logs-") as logs:
        executor = InProcessExecutor(
            [UnitStep(run, units())],
            tasks=start["world_size"],
            workers=1,
            logging_dir=logs,
            local_tasks=1,
            local_rank_offset=start["rank"],
            skip_completed=False,
        )
        executor.run()
    line.send(ended=True)


def _summary(record: UnitRecord) -> dict[str, Any]:
    stored = sum(shard.bytes for shard in record.shards)
    return {"samples": record.samples, "outcomes": record.outcomes, "items": record.items, "bytes": stored}


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
