"""KDA's kernels launched in other ways, beside each other: right or not, how long each kernel takes, how much memory.

    python -m k3data.model.bench.kda_variants [--seconds N]    prints one JSON; about two minutes on an H200

First every way is compiled, by as many processes as there are cores for, since a compiler's time is most of it. Then,
in this order: errors against fp64, what must hold bit for bit, times and memory of whole passes and of each kernel,
other launches of one kernel after the other, other cuts of one long sequence, other budgets. What raises is written
down as its message, and the rest goes on; nothing is started after N seconds, `SECONDS` unless given. Each finding goes
to stderr as it comes.

Without a GPU the same is rehearsed at tiny sizes, and times are zero.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor

from ...pipelines.errors import UserError
from ..kernels.kda import chunks, kda, kda_step, launch, passes, step, workspace
from ..kernels.kda.chunks import ChunkTable
from ..kernels.kda.launch import Launch
from .kernels import LIMITS, TENSORS, composed, errors, operands_of, results_and_gradients, results_by_place
from .kernels import measure as measure_passes
from .oracles import relative_rms
from .study import DEVICE, GPU, Study, command_line, compile_by_processes, kernel_ms, patched

NAME = "kda-variants"
SUMMARY = "KDA's kernels launched in other ways, and other cuts and budgets, beside each other"

SECONDS = 170.0
HEAD = 128 if GPU else 32
LONG = 65536 if GPU else 200
SHAPES = {
    "16x4096_h16_d128": (16, 4096, 16, 128), "1x65536_h16_d128": (1, 65536, 16, 128),
    "1x262144_h4_d128": (1, 262144, 4, 128), "64x1024_h16_d64": (64, 1024, 16, 64),
    "2x2048_h16_d128": (2, 2048, 16, 128),
} if GPU else {"1x70_h2_d32": (1, 70, 2, 32)}  # fmt: skip

VARIANTS: dict[str, dict[str, Any]] = {
    "inner": {
        "4w_s64_ahead": {}, "4w_s64": {"ahead": False}, "8w_s128_ahead": {"num_warps": 8, "slice": 128},
        "4w_s64_ahead_two_parts": {"parts": 2},
    },
    "gate": {
        "4w_r128_b32_p4": {},
        "4w_r168_b64_p3_ahead": {"registers": 168, "block": 64, "num_stages": 3, "ahead": True},
        "4w_r168_b32_p5_ahead": {"registers": 168, "num_stages": 5, "ahead": True},
        "4w_r128_b64_p2": {"block": 64, "num_stages": 2},
    },
    "prepare": {"4w": {}, "4w_r168": {"registers": 168}, "8w": {"num_warps": 8}},
    "rows": {"4w_r168": {}, "4w": {"registers": None}, "4w_r128": {"registers": 128}},
    "pairs": {"4w": {}, "4w_r80": {"registers": 80}, "8w": {"num_warps": 8}},
    "scan": {"8w_s128_p3_ahead": {}, "8w_s128_p3": {"ahead": False}, "8w_s128_p2_ahead": {"num_stages": 2},
             "4w_s64_p1": {"num_warps": 4, "slice": 64, "num_stages": 1}},
    "reverse": {"8w_s128_p2": {}, "8w_s128_p2_ahead": {"ahead": True}, "8w_s128_p1": {"num_stages": 1},
                "4w_s64_p2": {"num_warps": 4, "slice": 64, "num_stages": 2}},
    "carry": {"8w_s128_p3_ahead": {}, "8w_s128_p3": {"ahead": False}, "8w_s128_p2_ahead": {"num_stages": 2},
              "4w_s64_p2": {"num_warps": 4, "slice": 64, "num_stages": 2}},
    "carry_back": {"8w_s128_p2": {}, "8w_s128_p2_ahead": {"ahead": True},
                   "4w_s64_p2": {"num_warps": 4, "slice": 64, "num_stages": 2}},
    "pass_on": {"8w_s16_p3": {}, "8w_s16_p1": {"num_stages": 1}, "4w_s16_p3": {"num_warps": 4},
                "8w_s16_p3_tf32": {"precision": "tf32"}},
    "step": {"4w_s32": {}, "4w_s16": {"slice": 16}, "4w_s64": {"slice": 64}, "8w_s128": {"num_warps": 8, "slice": 128}},
}  # fmt: skip
"""For heads of 128 channels, by kernel; the first of each is what the table has."""

OF_SEGMENTS = ("carry", "carry_back", "pass_on")


@contextmanager
def launched(kernel: str, **changes: Any) -> Iterator[None]:
    """`kernel` launched with other options, at the size of the variants alone."""

    def changed(key_dim: int, value_dim: int) -> launch.Launches:
        table = launch.launches(key_dim, value_dim)
        if (key_dim, value_dim) != (HEAD, HEAD):
            return table
        one: Launch = getattr(table, kernel)
        options = changes if GPU else {k: v for k, v in changes.items() if k != "slice"}
        return replace(table, **{kernel: replace(one, **options)})

    with patched(passes, launches=changed), patched(step, launches=changed):
        yield


def near_cuts() -> Any:
    return cut_at(128, 64)


def cut_at(first: int, segment: int = 2048, far: int = 2**30) -> Any:
    """The same cuts for any number of heads."""
    return patched(chunks, cuts_of=lambda heads: chunks.Cuts(first, segment, far))


def run(quick: bool) -> dict[str, Any]:
    if not GPU:
        raise UserError("benchmark kda-variants needs a GPU, and there is none")
    found = study(60.0 if quick else SECONDS)
    return {"figures": {name: value for name, value in found.items() if isinstance(value, float | int)}, "peers": {}}


def study(seconds: float) -> dict[str, Any]:
    findings = Study(seconds)
    note = findings.note
    if GPU:
        note("compile", partial(compile_by_processes, f"{__package__}.kda_variants", min(80.0, seconds / 2)))
    for head_dim in (128, 64, 32) if GPU else (32,):
        note(f"errors.d{head_dim}", partial(_errors, head_dim))
    note("errors.segments", _errors_of_segments)
    note("bitwise", _bitwise)
    for key, shape in SHAPES.items():
        note(f"passes.{key}", partial(passes_of, key, shape))
    for kernel, variants in VARIANTS.items():
        for name, changes in variants.items():
            note(f"{kernel}.{name}", partial(_variant, kernel, changes))
    for heads in (16, 4) if GPU else (1,):
        for first, segment in ((8192, 2048), (2048, 2048), (4096, 4096), (8192, 8192), (2**30, 2048)):
            note(f"cuts.h{heads}.{first}_{segment}", partial(_cuts, heads, first, segment))
    for mib in (1024, 512, 2**20):
        note(f"budget.{mib}_mib", partial(_budget, mib))
    return findings.done()


def warm(number: int, processes: int) -> None:
    """The table first, at every head size, with and without what changes a kernel; then this process's variants."""
    every = [(kernel, changes) for kernel, variants in VARIANTS.items() for changes in list(variants.values())[1:]]
    heads = (128, 64, 32)
    for head_dim in heads[number % 3 :] + heads[: number % 3]:
        _plain(head_dim, initial=number % 2 == 0)
        _plain(head_dim, initial=number % 2 == 1)
        with near_cuts():
            _plain(head_dim, initial=True)
            _plain(head_dim, initial=False)
        # The stride of rows is a constant of two kernels.
        for count in {128: (16, 4, 2), 64: (16,), 32: ()}[head_dim]:
            _plain(head_dim, initial=False, heads=count)
    for kernel, changes in every[number::processes]:
        try:
            with launched(kernel, **changes), near_cuts():
                if kernel in ("prepare", "gate"):
                    _plain(128, initial=False)
                _step_once() if kernel == "step" else _plain(128, initial=False, heads=16)
        except Exception as error:
            print(kernel, changes, error, file=sys.stderr)


def _plain(head_dim: int, initial: bool, length: int = 260, heads: int = 1) -> list[Tensor]:
    leaves = operands_of(1, length, heads, head_dim, head_dim, "initial", device=DEVICE)
    leaves = [x.requires_grad_() for x in leaves]
    o, state = kda(*leaves[:7], initial_state_NHKV=leaves[7] if initial else None)
    with torch.no_grad():
        kda(*leaves[:7], initial_state_NHKV=leaves[7] if initial else None)
    return list(torch.autograd.grad(o.float().sum() + state.sum(), leaves[: 8 if initial else 7]))


def _errors(head_dim: int) -> dict[str, Any]:
    found = errors(kda, head_dim, 1000 if GPU else 40, device=DEVICE)
    return found | {"over": sum(not found[name] <= limit for name, limit in LIMITS.items())}


def _errors_of_segments() -> dict[str, Any]:
    """Near cuts against fp64, and at the real ones what segments change beside one walk."""
    with near_cuts():
        found = errors(kda, HEAD, 500 if GPU else 200, device=DEVICE)
    given = operands_of(1, 3 * LONG // 8, 1, HEAD, HEAD, "initial", device=DEVICE)
    cut = results_and_gradients(kda, given)
    with cut_at(2**30):
        whole = results_and_gradients(kda, given)
    found |= {f"beside_one_walk_{n}": relative_rms(a, b) for n, a, b in zip(TENSORS, cut, whole, strict=True)}
    return found


def _bitwise() -> dict[str, Any]:
    """1 where it holds."""
    bounds = [0, 40, 40, 240, 390]
    given = operands_of(1, 390, 2, HEAD, HEAD, "mixed", sequences=4, device=DEVICE)
    found: dict[str, Any] = {}
    for name, first in (("walk", 2**30), ("segments", 128)):
        with cut_at(first, 64):
            table = ChunkTable.of(bounds, 390, 2, DEVICE)
            packed = results_by_place(kda, given, cu_seqlens=table)
            again = results_by_place(kda, given, cu_seqlens=table)
            found[f"{name}.repeats"] = int(all(map(torch.equal, packed, again)))
            parts = [*(x[:, 40:240] for x in given[:5]), *given[5:7], given[7][2:3]]
            alone = results_by_place(kda, parts, skip=40)
            inside = [packed[0][:, 40:240], packed[1][2:3], *(x[:, 40:240] for x in packed[2:7]), packed[9][2:3]]
            pairs = zip(inside, [*alone[:7], alone[9]], strict=True)
            found[f"{name}.packed_is_separate"] = int(all(torch.equal(a, b) for a, b in pairs))
            whole, _ = kda(*given[:7])
            short, _ = kda(*(x[:, :250] for x in given[:5]), *given[5:7])
            found[f"{name}.prefix"] = int(torch.equal(whole[:, :250], short))
            groups = [(0, 1, [(0, 1)]), (1, 1, [(1, 1)])]
            with patched(passes, head_groups=lambda *_, groups=groups: groups):
                grouped = results_by_place(kda, given, cu_seqlens=table)
            found[f"{name}.groups"] = int(all(map(torch.equal, packed, grouped)))
    return found


def passes_of(key: str, shape: tuple[int, int, int, int]) -> dict[str, Any]:
    if not GPU:
        return _kernels(*shape)
    _leaves.cache_clear()
    found = measure_passes(key, kda, shape, repeats=20)
    return {name.removeprefix(f"{key}_"): value for name, value in found.items()} | _kernels(*shape)


def _kernels(B: int, T: int, H: int, D: int) -> dict[str, Any]:
    """Milliseconds of each kernel in both passes, all its launches together."""
    leaves, do = _leaves(B, T, H, D)
    return kernel_ms(lambda: torch.autograd.grad(kda(*leaves)[0], leaves, do))


@lru_cache(maxsize=2)
def _leaves(B: int, T: int, H: int, D: int) -> tuple[list[Tensor], Tensor]:
    def draw(*size: int) -> Tensor:
        return torch.randn(*size, device=DEVICE, dtype=torch.bfloat16)

    leaves = [draw(B, T, H, D), draw(B, T, H, D), draw(B, T, H, D), draw(B, T, H, D) - 4, draw(B, T, H)]
    leaves = [x.requires_grad_() for x in (*leaves, 0.1 * draw(H).float(), 0.1 * draw(H * D).float())]
    return leaves, draw(B, T, H, D)


def _variant(kernel: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Its milliseconds, at 16 × 4096 tokens or one long sequence; and by how many limits it is wrong."""
    with launched(kernel, **changes):
        if kernel == "step":
            return _step_once()
        with near_cuts() if kernel in OF_SEGMENTS else patched(chunks):
            given = operands_of(1, 300 if GPU else 140, 1, HEAD, HEAD, "mixed", device=DEVICE)
            results = results_and_gradients(kda, given)
        expected = results_and_gradients(composed, [x.double() for x in given])
        pairs = zip(LIMITS.items(), results, expected, strict=True)
        over = sum(not relative_rms(a, b) <= 2 * limit for (_, limit), a, b in pairs)
        shape = (1, LONG, 16, HEAD) if kernel in OF_SEGMENTS else (16, 4096, 16, HEAD)
        times = _kernels(*(shape if GPU else (1, 70, 1, HEAD)))
        return {"over": over} | {key: ms for key, ms in times.items() if key.startswith(kernel) or not GPU}


def _step_once() -> dict[str, Any]:
    """64 sequences of 16 heads: 0.134 GB of states, read and written."""
    given = operands_of(64, 1, 16 if GPU else 1, HEAD, HEAD, "initial", device=DEVICE)
    tensors = [*(x[:, 0].contiguous() for x in given[:5]), *given[5:]]
    with torch.no_grad():
        return kernel_ms(lambda: kda_step(*tensors))


def _cuts(heads: int, first: int, segment: int) -> dict[str, Any]:
    with cut_at(first, segment):
        return _kernels(1, LONG, heads, HEAD)


def _budget(mib: int) -> dict[str, Any]:
    with patched(workspace, BUDGET=mib * 2**20):
        if not GPU:
            return _kernels(1, 70, 2, HEAD)
        _leaves.cache_clear()
        return passes_of("16x4096", (16, 4096, 16, HEAD))


if __name__ == "__main__":
    command_line(study, SECONDS, warm)
