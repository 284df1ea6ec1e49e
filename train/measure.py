"""Training steps against the clock: compiled or not, PyTorch's operators or the Triton kernels, in one process.

    python -m k3data.train.measure                         # on one GPU, 150 s at most; prints one JSON
    python -m k3data.train.measure --sizes nano --seconds 60
    python -m k3data.train.measure --kernels triton --without LatentMoE GatedMLA     # what a kernel is worth
    python -m k3data.train.measure --sizes smoke --device cpu --kernels torch --backend aot_eager

A step is `Trainer.step` itself, on random documents (no shards needed): forward, backward, clip, guard, Muon and AdamW,
metrics. After a first step, which compiles, and one more, steps are timed for a few seconds; then one is traced by the
profiler, which counts kernels and how long the GPU was busy. What no time is left for says so; what fails says why, and
the others go on. The losses of the first two steps stand beside each other, since speed alone proves nothing.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch._dynamo.utils import counters

from ..model.compiled import compile_blocks
from ..model.config import ConfigError
from ..model.operators import HasKernels
from ..model.transformer import K3Model
from . import parallel
from .config import CheckpointConfig, EvaluationConfig, StageConfig, load_config
from .launches import Launches
from .loop import Trainer
from .parallel import Ranks
from .run_folder import LiveLine, RunFolder
from .synthetic import SyntheticStage

SHAPES = {"nano": (16, 1024, 400), "small": (4, 8192, 1500), "base": (2, 8192, 1500), "smoke": (2, 128, 50)}
"""Windows at once, tokens of a window, tokens of a document; a step is one microbatch."""

_STEPS_SECONDS = 5.0
_LEAST_SECONDS = 8.0
"""A combination is not begun with less."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="k3data.train.measure", description="Time training steps.")
    parser.add_argument("--sizes", nargs="+", default=["nano", "small"], choices=sorted(SHAPES))
    parser.add_argument("--kernels", nargs="+", default=["triton", "torch"], choices=["triton", "torch"])
    parser.add_argument("--compile", nargs="+", default=["none", "blocks"], choices=["none", "blocks"])
    parser.add_argument("--seconds", type=float, default=150.0, help="for everything")
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--pictures", type=int, default=16, help="of a step")
    parser.add_argument("--recompute", action="store_true", help="as small and base train; without it as nano does")
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="MODULE",
        help="modules that keep PyTorch's operators all the same, such as LatentMoE; K3Model for the loss",
    )  # fmt: skip
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    options = parser.parse_args(arguments)
    deadline = time.perf_counter() + options.seconds
    rows = []
    with parallel.started(options.device) as ranks:
        for size, kernels, compile_ in product(options.sizes, options.kernels, options.compile):
            row: dict[str, Any] = {"size": size, "kernels": kernels, "compile": compile_}
            try:
                row |= measure(size, kernels, compile_, options, ranks, deadline)
            except (ConfigError, RuntimeError, ValueError, AssertionError) as error:
                row["failed"] = " ".join(f"{type(error).__name__}: {error}".split())[:600]
            rows.append(row)
            print(json.dumps(row), file=sys.stderr, flush=True)
        print(json.dumps({"torch": torch.__version__, "device": _name(ranks.device), "rows": rows}))
    return 0


def measure(
    size: str, kernels: str, compile_: str, options: argparse.Namespace, ranks: Ranks, deadline: float
) -> dict[str, Any]:
    """One combination's figures; `launches` are of one step."""
    if deadline - time.perf_counter() < _LEAST_SECONDS:
        return {"skipped": "no time is left"}
    _forget(ranks.device)
    graphs = counters["stats"]["unique_graphs"]
    with tempfile.TemporaryDirectory() as folder:
        last: dict[str, Any] = {}
        run = RunFolder(folder, mirror=lambda event, values: last.update(values) if event == "step" else None)
        trainer, stage = _trainer(size, kernels, compile_, options, run, ranks)

        losses: list[float] = []

        def step() -> float:
            microbatches, number = stage.step(), len(losses)
            _wait(ranks.device)
            before = time.perf_counter()
            trainer.step(number, stage, microbatches, number * stage.config.batch_tokens)  # type: ignore[arg-type]
            _wait(ranks.device)
            losses.append(last["loss"])
            return time.perf_counter() - before

        first, second = step(), step()
        until = min(time.perf_counter() + _STEPS_SECONDS, deadline)
        seconds = [step() for _ in range(3)]
        while time.perf_counter() < until:
            seconds.append(step())
        figures: dict[str, Any] = {
            "tokens": stage.config.batch_tokens, "first_step_s": round(first, 2), "second_step_s": round(second, 2),
            "step_ms": round(1e3 * statistics.median(seconds), 2), "steps": len(seconds),
            "tokens_per_s": round(stage.config.batch_tokens / statistics.median(seconds)),
            "mfu": last["mfu"] and last["mfu"] * last["seconds"] / statistics.median(seconds),
            "memory_gib": round(last["memory_gib"], 2), "losses": losses[:3],
            "graphs": int(counters["stats"]["unique_graphs"] - graphs),
        }  # fmt: skip
        figures |= _traced(step) if ranks.device.type == "cuda" else _counted(step, compile_)
        run.close()
    return figures


def _trainer(
    size: str, kernels: str, compile_: str, options: argparse.Namespace, run: RunFolder, ranks: Ranks
) -> tuple[Trainer, SyntheticStage]:
    sequences, window, document = SHAPES[size]
    tokens = sequences * window
    config = replace(
        load_config(size), stages=(StageConfig("random", 10_000 * tokens, tokens, sequences),),
        checkpoint=CheckpointConfig(), evaluation=EvaluationConfig(every=0), recompute=options.recompute,
        precision="bf16" if ranks.device.type == "cuda" else "fp32",
        kernels="triton" if kernels == "triton" else "torch",
        compile="blocks" if compile_ == "blocks" else "none",
    )  # fmt: skip
    pictures = options.pictures if config.model.vision else 0
    stage = SyntheticStage(config.model, config.stages[0], window=window, document=document, pictures=pictures)
    trainer = Trainer(config, [stage], run, LiveLine(False), ranks)  # type: ignore[list-item]
    _keep_operators(trainer.model, options.without)
    if compile_ == "blocks" and options.backend != "inductor":
        compile_blocks(trainer.model, options.backend)
    return trainer, stage


def _keep_operators(model: K3Model, names: list[str]) -> None:
    """Of the modules of these classes. Raises ValueError when a name is of none that has kernels."""
    modules = [module for module in model.modules() if isinstance(module, HasKernels)]
    for name in names:
        named = [module for module in modules if type(module).__name__ == name]
        if not named:
            raise ValueError(f"no module with kernels is named {name}")
        for module in named:
            module.kernels = "torch"
    if "K3Model" in names:
        model.of_chunk = None


def _traced(step: Callable[[], float]) -> dict[str, Any]:
    """Kernels of one step, how long the GPU was busy, and those that took longest: name, launches, milliseconds."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        traced = step()
    count: Counter[str] = Counter()
    busy: Counter[str] = Counter()
    copies = 0
    for event in profile.events() or []:
        if event.device_type != torch.autograd.DeviceType.CUDA or event.name.startswith("ProfilerStep"):
            continue
        if event.name.startswith(("Memcpy", "Memset")):
            copies += 1
            continue
        count[event.name] += 1
        busy[event.name] += event.time_range.elapsed_us()
    top = [[name[:80], count[name], round(time_ / 1e3, 2)] for name, time_ in busy.most_common(8)]
    return {
        "launches": count.total(), "copies": copies, "gpu_busy_ms": round(busy.total() / 1e3, 2),
        "traced_step_ms": round(1e3 * traced, 2), "longest": top,
    }  # fmt: skip


def _counted(step: Callable[[], float], compile_: str) -> dict[str, Any]:
    """On a CPU: operators that would be launches; see `launches`."""
    if compile_ != "none":
        return {"launches": None}
    with Launches() as counted:
        step()
    return {"launches": counted.total}


def _forget(device: torch.device) -> None:
    """What the combination before has left: its model, and the most memory that it used."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


if __name__ == "__main__":
    sys.exit(main())
