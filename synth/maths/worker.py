"""The checks in a process of their own, with limits on time and memory that are real: what overruns them is killed.

Python cannot be stopped in the middle of a large power, and a signal handler does not run inside one; the end of a
process always works. One process serves many checks and is replaced after a kill. A check that is killed is undecided,
with the reason, and the other chains of the same text are still judged.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from ..verify.result import Check
from . import answers, chains
from .answers import Judgement, Pair
from .chains import Step

_PR_SET_PDEATHSIG = 1
_MAX_KILLS = 3  # of one text; what is left of it is then undecided
_START_SECONDS = 60.0


class Overrun(Exception):
    """The worker process was killed, or has died."""


class Worker:
    """Judges answers and chains in a child process; use it as a context manager, or `close` it.

    Args:
        seconds: the most that one pair of answers, or one chain, may take.
        memory: bytes of address space of the process, which starts with about 60 MB.
    """

    def __init__(self, seconds: float = 2.0, memory: int = 1 << 30) -> None:
        self.seconds, self.memory = seconds, memory
        self.kills = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def judge(self, pair: Pair) -> Judgement:
        """As `answers.judge`; undecided where it was killed."""
        try:
            self._send({"pair": [pair.gold, pair.answer, pair.ordered]})
            return Judgement(*self._receive()["answer"])
        except Overrun as error:
            return Judgement("undecided", "ans_undecided", str(error))

    def check_answer(self, pair: Pair) -> Check:
        """As `answers.check`."""
        return answers.as_check(pair, self.judge(pair))

    def steps(self, text: str) -> list[Step]:
        """As `chains.steps`; the steps of a chain that was killed are undecided."""
        skip: dict[int, str] = {}
        for _ in range(_MAX_KILLS):
            number = 0
            try:
                self._send({"text": text, "skip": {str(at): reason for at, reason in skip.items()}})
                while "steps" not in (message := self._receive()):
                    number = message["chain"]
                return [Step(*one) for one in message["steps"]]
            except Overrun as error:
                skip[number] = str(error)
        return [Step(0, len(text), "undecided", f"{_MAX_KILLS} of its chains were killed; the last: {skip[max(skip)]}")]

    def check_chains(self, text: str) -> list[Check]:
        """As `chains.checks`."""
        return chains.summary(self.steps(text))

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):  # a request that the process never read
                        pipe.close()
            self._process, self._buffer = None, b""

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- the process -----------------------------------------------------------------------------------------------

    def _send(self, request: dict[str, Any]) -> None:
        if self._process is None:
            self._start()
        line = json.dumps(request).encode() + b"\n"
        try:
            assert self._process is not None and self._process.stdin is not None
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._dead("the worker had died") from error

    def _start(self) -> None:
        command = [sys.executable, "-m", "k3data.synth.maths.worker", str(self.memory)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        self._buffer = b""
        if self._line(_START_SECONDS) != b"ready":
            raise self._dead("the worker did not start")

    def _receive(self) -> dict[str, Any]:
        return json.loads(self._line(self.seconds))

    def _line(self, seconds: float) -> bytes:
        """The next line. Raises Overrun, and ends the process, where none comes in time."""
        assert self._process is not None and self._process.stdout is not None
        until = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = until - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise self._dead(f"killed after {seconds:g} s")
                part = os.read(self._process.stdout.fileno(), 1 << 16)
                if not part:
                    raise self._dead("the worker died")
                self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _dead(self, reason: str) -> Overrun:
        self.kills += 1
        self.close()
        return Overrun(reason)


def _answer(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the child sends back: one message, after one for each chain that is begun."""
    if "pair" in request:
        gold, answer, ordered = request["pair"]
        try:
            yield {"answer": answers.judge(Pair(gold, answer, ordered))}
        except Exception as error:
            # Whatever goes wrong inside sympy decides nothing about the answer; the reason is handed on.
            yield {"answer": Judgement("undecided", "ans_undecided", _told(error))}
        return
    skip = {int(at): reason for at, reason in request["skip"].items()}
    found: list[Step] = []
    for number, judge in enumerate(chains.pending(request["text"])):
        yield {"chain": number}  # the parent counts the time of this chain from here
        try:
            found += judge(skip.get(number))
        except Exception as error:
            found += judge(_told(error))  # as above: undecided, with the reason
    yield {"steps": found}


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


def _main() -> None:
    """The child: reads requests, a JSON object a line, until its input ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The first formula makes sympy import and build much, which is not to count as the time of a check.
    answers.judge(Pair("x^2 - 1", "(x-1)(x+1)"))
    answers.judge(Pair("1 \\le x", "x^2 > \\sin 2"))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        for message in _answer(json.loads(line)):
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    _main()
