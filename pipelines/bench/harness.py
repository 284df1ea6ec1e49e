"""Find benchmarks, run one, and say on which machine and with which versions.

A benchmark is a module in a `bench` package of k3data with three names: `NAME`, `SUMMARY` (one line) and
`run(quick) -> {"figures": {key: number}, "peers": {name: {key: number}}}`. It checks that the work was right before it
times it and never asserts a time.
"""

from __future__ import annotations

import ast
import importlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from ..errors import UserError

_PACKAGE = __name__.split(".", 1)[0]


@dataclass(frozen=True)
class Benchmark:
    """One benchmark, as its source states it."""

    name: str
    summary: str
    module: str


def discover() -> dict[str, Benchmark]:
    """All benchmarks by name. Their sources are read, not imported: one may need what this machine lacks."""
    found = {}
    for source in sorted(Path(__file__).parents[2].glob("*/bench/*.py")):
        stated: dict[str, str] = {}
        for node in ast.parse(source.read_bytes()).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                stated.update(
                    {target.id: str(node.value.value) for target in node.targets if isinstance(target, ast.Name)}
                )
        if "NAME" in stated:
            module = f"{_PACKAGE}.{source.parts[-3]}.bench.{source.stem}"
            found[stated["NAME"]] = Benchmark(stated["NAME"], stated["SUMMARY"], module)
    return dict(sorted(found.items()))


def run(name: str, quick: bool) -> dict[str, Any]:
    """Run one benchmark; `quick` ends within 50 s on two cores.

    Raises:
        UserError: there is no benchmark of that name, or something that it needs is not installed.
    """
    benchmarks = discover()
    if name not in benchmarks:
        raise UserError(f"no benchmark {name!r}; there are: {', '.join(benchmarks)}")
    try:
        module = importlib.import_module(benchmarks[name].module)
    except ModuleNotFoundError as error:
        raise UserError(f"benchmark {name} needs {error.name}, which is not installed") from None
    started = time.perf_counter()
    result = module.run(quick)
    return {
        "bench": name,
        "machine": machine(),
        "versions": versions(),
        "figures": result["figures"],
        "peers": result["peers"],
        "seconds": round(time.perf_counter() - started, 2),
    }


def interleaved(cases: Mapping[str, Callable[[], float]], repeats: int = 5) -> dict[str, float]:
    """Run each case in turn, `repeats` times over, and give the median of what each returns.

    Taking turns lets whatever else the machine is doing fall on all of them alike. One round before the first warms up
    what is loaded once (imports, caches, memory that the kernel has not handed out yet).
    """
    for case in cases.values():
        case()
    results: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats):
        for name, case in cases.items():
            results[name].append(case())
    return {name: statistics.median(found) for name, found in results.items()}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "gpu": _gpu(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Versions of the distributions that have been imported so far."""
    owners = metadata.packages_distributions()
    loaded = {name.split(".", 1)[0] for name in list(sys.modules)}
    names = {distribution for module in loaded for distribution in owners.get(module, [])}
    return {name: metadata.version(name) for name in sorted(names, key=str.lower)}


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _gpu() -> str | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    command = [program, "--query-gpu=name", "--format=csv,noheader"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return "; ".join(found.stdout.split("\n")).strip("; ") or None


def text(result: dict[str, Any]) -> str:
    """A benchmark's result for a person."""
    machine = result["machine"]
    lines = [f"{result['bench']} ({result['seconds']:.0f} s on {machine['cpu']}, {machine['cores']} cores)"]
    lines += [f"  {key:<36} {_figure(value)}" for key, value in result["figures"].items()]
    for peer, figures in result["peers"].items():
        lines.append(f"  peer {peer}")
        lines += [f"    {key:<34} {_figure(value)}" for key, value in figures.items()]
    return "\n".join(lines)


def _figure(value: Any) -> str:
    if not isinstance(value, int | float):
        return str(value)
    return f"{value:,.3g}" if isinstance(value, float) and abs(value) < 100 else f"{value:,.0f}"
