"""Forks one child per CAD source from a process that has everything imported and has never used it.

Importing CadQuery takes seconds, forking takes a millisecond. The order matters: once a process has run a modelling
operation its thread pool exists, and a fork of it hangs; so this process only imports, forks, waits and relays.

The child raises the last wall (no sockets, no exec, no new process), runs the source under limits of CPU time and
memory, and writes one frame. This process adds how the child ended; a child that is late is killed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import select
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from . import frames, isolation
from .types import Failure

_MAX_REPLY = 128 << 20


def main() -> None:
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    isolation.die_with_parent(int(sys.argv[1]))
    seccomp = isolation.seccomp_works()
    _preload()
    gc.collect()
    gc.freeze()
    frames.write(replies, {"ready": True})
    while True:
        try:
            header, payload = frames.read(requests)
        except frames.Closed:
            return
        reply = _run(payload.decode(), header["timeout_s"], header["memory_mib"], seccomp, (requests, replies))
        frames.write_all(replies, reply)


def _preload() -> None:
    """Import what the children will need. Imports only."""
    import cadquery  # noqa: F401
    import OCP.BRepAdaptor
    import OCP.GCPnts
    import OCP.HLRBRep  # noqa: F401
    from vtkmodules.util import numpy_support  # noqa: F401

    from . import cad_part  # noqa: F401


def _run(program: str, timeout_s: float, memory_mib: int, seccomp: bool, inherited: tuple[int, ...]) -> bytes:
    """Fork, wait, and return the frame to relay."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        for descriptor in inherited:
            os.close(descriptor)
        _child(program, timeout_s, memory_mib, seccomp, sink)
    os.close(sink)
    reply, late = _collect(source, time.monotonic() + timeout_s)
    os.close(source)
    if late or len(reply) > _MAX_REPLY:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 0 and reply and not late:
        return bytes(reply)
    return frames.pack({"failure": vars(_ending(code, late, used.ru_maxrss / 1024, memory_mib, timeout_s))})


def _collect(source: int, deadline: float) -> tuple[bytearray, bool]:
    """All that the child writes before it ends or the deadline passes."""
    reply = bytearray()
    poller = select.poll()
    poller.register(source, select.POLLIN)
    while len(reply) <= _MAX_REPLY:
        left = deadline - time.monotonic()
        if left <= 0 or not poller.poll(left * 1000):
            return reply, True
        chunk = os.read(source, 1 << 20)
        if not chunk:
            return reply, False
        reply += chunk
    return reply, False


def _ending(code: int, late: bool, resident_mib: float, memory_mib: int, timeout_s: float) -> Failure:
    """What a child that sent no result died of."""
    if late or code in (-signal.SIGPROF, -signal.SIGXCPU):
        return Failure("timeout", "render", f"ran longer than {timeout_s:g} s")
    if resident_mib > 0.85 * memory_mib:
        return Failure("memory", "render", f"held {resident_mib:.0f} MiB of {memory_mib}")
    if code < 0:
        return Failure("signal", "render", signal.Signals(-code).name)
    return Failure("no_result", "render", f"the program's process ended with code {code}")


def _child(program: str, timeout_s: float, memory_mib: int, seccomp: bool, sink: int) -> None:
    """Never returns: runs the source and leaves with `_exit`, so that nothing of the parent's is flushed twice."""
    code = 1
    try:
        gc.disable()
        _limit(timeout_s, memory_mib)
        if seccomp:
            isolation.deny_system_calls()
        header, arrays = _answer(program)
        frames.write(sink, header, arrays)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _limit(timeout_s: float, memory_mib: int) -> None:
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (memory_mib << 20),) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(timeout_s) + 1, int(timeout_s) + 2))
    signal.setitimer(signal.ITIMER_PROF, timeout_s)


def _answer(program: str) -> tuple[dict[str, Any], bytes]:
    from . import cad_part

    try:
        return cad_part.describe(*cad_part.build(program))
    except cad_part.Refused as refused:
        failure = refused.failure
    except MemoryError:
        failure = Failure("memory", "render", "ran out of memory")
    except Exception as error:
        failure = Failure("invalid_geometry", "render", f"{type(error).__name__}: {error}"[:300])
    return {"failure": vars(failure)}, b""


if __name__ == "__main__":
    main()
