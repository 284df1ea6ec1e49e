"""Renders in a process that can be killed: one bad program costs one sample, never the run and never the truth.

A picture counts only if the worker said so in a whole, checksummed frame that answers this very request and names the
picture's hash. Everything else (a crash, a hang, too much memory, junk on the pipe) is a typed `Failure`.

Limits, first to last: CPU time in the worker, then its address space, then the wall clock and the memory of all its
processes, which the parent watches and ends by killing the whole tree.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import os
import signal
import struct
from types import TracebackType
from typing import Any

from ..pipelines.text import Undecodable, decode
from . import frames, isolation
from .process import StartError, Worker
from .types import Element, Failure, Image, Render, RenderSpec

__all__ = ["RenderPool", "StartError"]

MAX_PROGRAM_BYTES = 16 << 20
_GRACE_S = 0.3
"""Wall clock granted after the CPU budget, so that the worker's own limits speak first."""

_EXECUTES = {"svg": False, "web": False, "cad": True}
"""Whether rendering a kind runs what the program says (pages and drawings are shown with scripts off)."""

_RECYCLE_AFTER = {"svg": 2000, "web": 2000, "cad": 2000}


class RenderPool:
    """One worker process for one kind, started at the first render and replaced when it is lost or old.

    Args:
        kind: `svg`, `web` or `cad`.
        timeout_s: CPU seconds for one program, and the wall clock too, which ends it at most a second later.
        memory_mib: for one program.
        recycle_after: renders after which a fresh process takes over.
        trusted: the pool draws only programs that we generated. If false, `spec.trusted` decides per program, and
            a kind whose programs are executed needs full isolation.
        options: further arguments of the renderer's class.

    Raises:
        StartError: from `render`, when the machine lacks what the kind needs (a browser, a library).
        isolation.IsolationError: from `render`, when the program may not run on this machine.
    """

    def __init__(
        self,
        kind: str,
        *,
        timeout_s: float = 20.0,
        memory_mib: int = 2048,
        recycle_after: int | None = None,
        trusted: bool = False,
        options: dict[str, Any] | None = None,
    ):
        if kind not in _EXECUTES:
            raise ValueError(f"no renderer for {kind!r}")
        self.kind = kind
        self.timeout_s = timeout_s
        self.memory_mib = memory_mib
        self.recycle_after = recycle_after or _RECYCLE_AFTER[kind]
        self.trusted = trusted
        self.restarts = 0
        self.attempts = 0
        self._options = options or {}
        self._worker: Worker | None = None
        self._ids = itertools.count(1)

    def __enter__(self) -> RenderPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the current worker."""
        return self._worker.pid if self._worker else None

    @property
    def version(self) -> str:
        """What draws, with its version; starts the worker if need be."""
        return self._ready().hello["version"]

    def memory_now_mib(self) -> float:
        """What the worker's processes hold at this moment."""
        return self._worker.memory_mib() if self._worker else 0.0

    def close(self) -> None:
        """End the worker. The pool may be used again and then starts a new one."""
        worker, self._worker = self._worker, None
        if worker and worker.is_ours():
            worker.close()

    def render(self, program: str | bytes, spec: RenderSpec) -> Render | Failure:
        """Draw `program`, or say why not.

        A program that is lost to a signal or to silence, or that fails in a process which it or another may have
        harmed, is tried once more, in a fresh one.
        """
        if not (self.trusted or spec.trusted) and _EXECUTES[self.kind]:
            isolation.require(isolation.Level.CONFINED)
        payload = self._payload(program)
        if isinstance(payload, Failure):
            return payload
        outcome, harmed = self._attempt(payload, spec)
        if harmed or (isinstance(outcome, Failure) and outcome.kind in ("signal", "no_result")):
            outcome, _ = self._attempt(payload, spec)
        return outcome

    def _payload(self, program: str | bytes) -> bytes | Failure:
        if len(program) > MAX_PROGRAM_BYTES:
            return Failure("too_large", "pool", f"{len(program)} bytes, at most {MAX_PROGRAM_BYTES}")
        try:
            text = decode(program, self.kind) if isinstance(program, bytes) else program
        except Undecodable as error:
            return Failure("encoding", "pool", str(error))
        return text.encode("utf-8", "surrogatepass")

    def _ready(self) -> Worker:
        if self._worker and (self._worker.jobs >= self.recycle_after or not self._worker.is_ours()):
            self.close()
        if self._worker is None:
            self._worker = Worker(
                {
                    "kind": self.kind,
                    "timeout_s": self.timeout_s,
                    "memory_mib": self.memory_mib,
                    "options": {**self._defaults(), **self._options},
                }
            )
            self.restarts += 1
        return self._worker

    def _defaults(self) -> dict[str, Any]:
        """Arguments of the renderer's class that follow from the pool and the machine."""
        if self.kind == "cad":
            # A source runs in a child of the worker's, which needs the limits too.
            return {"timeout_s": self.timeout_s, "memory_mib": self.memory_mib}
        # Where our own walls stand the browser cannot raise its own, nor can it for root.
        return {"sandbox": os.geteuid() != 0 and isolation.probe().level is isolation.Level.PROCESS}

    def _attempt(self, payload: bytes, spec: RenderSpec) -> tuple[Render | Failure, bool]:
        """One try: the outcome, and whether it may be the fault of what this process drew before."""
        worker = self._ready()
        self.attempts += 1
        request = next(self._ids)
        budget_s = self.timeout_s + _GRACE_S
        try:
            header, pictures = worker.ask(
                {"id": request, "spec": dataclasses.asdict(spec)}, payload, budget_s, self.memory_mib
            )
            outcome, used = self._checked(header, pictures, request), worker.jobs > 1
            if header["worn"]:
                self._discard()
            return outcome, header["worn"] and used
        except frames.Late:
            self._discard()
            return Failure("timeout", "pool", f"no result within {self.timeout_s:g} s"), False
        except MemoryError:
            self._discard()
            return Failure("memory", "pool", f"more than {self.memory_mib} MiB"), False
        except frames.Closed:
            return self._post_mortem(worker), False
        except (frames.FrameError, ValueError, KeyError, TypeError) as error:
            self._discard()
            return Failure("no_result", "pool", f"unusable reply: {type(error).__name__}: {error}"), False

    def _post_mortem(self, worker: Worker) -> Failure:
        """What a worker that closed its pipe died of."""
        code, tail = worker.ended(), worker.log_tail()
        self._discard()
        if code in (-signal.SIGPROF, -signal.SIGXCPU):
            return Failure("timeout", "render", f"used {self.timeout_s:g} s of CPU time")
        if code is not None and code < 0:
            return Failure("signal", "render", f"{signal.Signals(-code).name} {tail}".strip())
        return Failure("no_result", "render", f"the worker ended with code {code} {tail}".strip())

    def _discard(self) -> None:
        worker, self._worker = self._worker, None
        if worker and worker.is_ours():
            worker.kill()

    @staticmethod
    def _checked(header: dict[str, Any], pictures: bytes, request: int) -> Render | Failure:
        if header["id"] != request:
            raise ValueError(f"the reply answers request {header['id']}, not {request}")
        if "failure" in header:
            return Failure(**header["failure"])
        images, offset = [], 0
        for one in header["images"]:
            png = pictures[offset : offset + one["bytes"]]
            offset += one["bytes"]
            if hashlib.sha256(png).hexdigest() != one["sha256"]:
                raise ValueError("a picture does not match its hash")
            if png[:8] != b"\x89PNG\r\n\x1a\n" or struct.unpack(">II", png[16:24]) != (one["width"], one["height"]):
                raise ValueError("a picture is not the PNG it is said to be")
            images.append(Image(one["name"], png, one["width"], one["height"]))
        if not images or offset != len(pictures):
            raise ValueError("pictures are missing or left over")
        layout = [Element(**{**one, "box": tuple(float(side) for side in one["box"])}) for one in header["layout"]]
        program = bytes.fromhex(header["program"]).decode("utf-8", "surrogatepass")
        return Render(tuple(images), tuple(layout), program, header["renderer"], header["log"])
