"""The child process of a render pool: locks itself in, opens one renderer, answers requests until the pipe closes.

Run as `python -m k3data.vision.worker SETTINGS`. Requests come on stdin, replies go to what was stdout; anything a
library prints goes to stderr instead. A success names every picture's hash; the parent checks them.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from . import frames, isolation
from .types import Failure, Render, Renderer, RenderSpec

_Outcome = TypeVar("_Outcome")

RENDERERS = {"svg": ("svg", "SvgRenderer"), "web": ("web", "WebRenderer"), "cad": ("cad", "CadRenderer")}
"""Kind → (module of this package, class)."""

_BASE_ADDRESS_SPACE = 2 << 30
"""Libraries map about this much without using it; the memory limit comes on top."""


def main() -> None:
    settings = json.loads(sys.argv[1])
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    _lock_in(settings)
    try:
        renderer = make_renderer(settings["kind"], settings)
        renderer.open()
        problem = renderer.selftest()
    except Exception as error:
        frames.write(replies, {"error": f"{type(error).__name__}: {error}"})
        return
    if problem:
        frames.write(replies, {"error": f"the {settings['kind']} renderer draws wrongly on this machine: {problem}"})
        return
    limit_memory(settings["memory_mib"])
    frames.write(replies, {"ready": True, "version": renderer.version})
    _serve(renderer, requests, replies, settings["timeout_s"])


def make_renderer(kind: str, settings: dict[str, Any]) -> Renderer:
    """The renderer of a kind. Its module is imported only here, in the process that draws."""
    module, name = RENDERERS[kind]
    return getattr(importlib.import_module(f".{module}", __package__), name)(**settings.get("options", {}))


def limit_memory(memory_mib: int) -> None:
    """Bound this process's address space; a browser, which maps terabytes, is measured by the parent instead."""
    bound = _BASE_ADDRESS_SPACE + (memory_mib << 20)
    resource.setrlimit(resource.RLIMIT_AS, (bound, resource.RLIM_INFINITY))


def _lock_in(settings: dict[str, Any]) -> None:
    isolation.die_with_parent(settings["parent"])
    isolation.limit_resources()
    if settings["namespaces"]:
        isolation.enter_namespaces()
    if settings["landlock"]:
        isolation.restrict_files(isolation.readable_trees(), isolation.writable_trees(Path(settings["folder"])))


def _serve(renderer: Renderer, requests: int, replies: int, timeout_s: float) -> None:
    while True:
        try:
            header, payload = frames.read(requests)
        except frames.Closed:
            renderer.close()
            return
        outcome = _answer(renderer, replies, header, payload.decode("utf-8", "surrogatepass"), timeout_s)
        answer, pictures = encode(outcome)
        frames.write(replies, {"id": header["id"], "worn": renderer.worn, **answer}, pictures)


def _answer(
    renderer: Renderer, replies: int, header: dict[str, Any], program: str, timeout_s: float
) -> Render | Failure:
    """Lint and draw one program. What has to be started for it stops its clock, here and in the parent."""
    spec = RenderSpec(**header["spec"])
    fault = _limited(lambda: renderer.lint(program, spec), timeout_s)
    if fault is not None:
        return fault
    start = renderer.starter()
    if start is not None:
        frames.write(replies, {"id": header["id"], "clock": "stopped"})
        start()
        frames.write(replies, {"id": header["id"], "clock": "running"})
    return _limited(lambda: renderer.render(program, spec), timeout_s)


def _limited(step: Callable[[], _Outcome], timeout_s: float) -> _Outcome | Failure:
    """Run one step under a limit of CPU time, whose end is the end of this process (SIGPROF)."""
    signal.setitimer(signal.ITIMER_PROF, timeout_s)
    try:
        return step()
    except MemoryError:
        return Failure("memory", "render", "ran out of memory")
    except Exception as error:
        return Failure("exception", "render", f"{type(error).__name__}: {error}"[:500])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def encode(outcome: Render | Failure) -> tuple[dict[str, Any], bytes]:
    """A reply's header and payload."""
    if isinstance(outcome, Failure):
        return {"failure": dataclasses.asdict(outcome)}, b""
    header = {
        "images": [
            {"name": one.name, "width": one.width, "height": one.height, "bytes": len(one.png), "sha256": one.sha256}
            for one in outcome.images
        ],
        "layout": [dataclasses.asdict(one) for one in outcome.layout],
        "program": outcome.program.encode("utf-8", "surrogatepass").hex(),
        "renderer": outcome.renderer,
        "log": outcome.log,
    }
    return header, b"".join(one.png for one in outcome.images)


if __name__ == "__main__":
    main()
