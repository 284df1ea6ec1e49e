"""Attention over groups at the sizes of models: right or not, how long beside FlexAttention, other launches.

    python -m k3data.model.bench.attention_variants [--seconds N]    prints one JSON; at most 150 s on an H200

First errors against fp64 (RMS / RMS), of the kernels and of `model.attention`, which takes FlexAttention; whether bits
come again: in a second run, alone as packed, behind a million tokens, whatever follows. Then milliseconds of both in
one run, at 32,768 tokens in documents of 1,500, of 8,192 and in one. TFLOP/s of a kernel count the products that it
makes, those of `forward` and `backward` what an attention needs: 2 K + 2 V and 6 K + 4 V a pair of tokens and a head.
At last other launches, each held against the results of the table's (`over` counts tensors that are not within 0.01 of
them). What raises is written down as its message, and the rest goes on; nothing is started after N seconds, `SECONDS`
unless given. Each finding goes to stderr as it comes.

Without a GPU the same is rehearsed at tiny sizes, and times are zero.

Letters: N tokens, H heads, K channels of queries and keys, V channels of values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..attention import Groups
from ..attention import attention as by_operators
from ..kernels.attention import TileTable, attention, op
from ..kernels.attention.launch import launches
from .oracles import relative_rms
from .study import DEVICE, GPU, Study, command_line, compile_by_processes, kernel_ms, median_ms, patched, relaunched

SECONDS = 150.0
DTYPE = torch.bfloat16 if GPU else torch.float32
TOKENS = 32768 if GPU else 150
LIMIT = 0.01
NAMES = ("o", "dq", "dk", "dv")


class Shape(NamedTuple):
    heads: int
    keys: int
    values: int
    document: int
    """Tokens of each group."""

    causal: bool = True


SHAPES = {
    "small_1500": Shape(6, 192, 128, 1500), "small_8192": Shape(6, 192, 128, 8192),
    "small_32768": Shape(6, 192, 128, 32768), "nano_1500": Shape(4, 96, 64, 1500),
    "vision_1024": Shape(12, 64, 64, 1024, causal=False),
} if GPU else {"small_70": Shape(1, 192, 128, 70), "vision_70": Shape(1, 64, 64, 70, causal=False)}  # fmt: skip
FAR, FAR_TOKENS = (Shape(16, 192, 128, 1500), 2**20) if GPU else (Shape(2, 64, 64, 70), 150)
CHECKED = [name for name, shape in SHAPES.items() if shape.document <= 1500]
"""Those whose groups fp64 can hold the scores of."""

BESIDE = [name for name in SHAPES if name.startswith("small")]
"""Timed beside FlexAttention, which compiles for tens of seconds at other widths."""

TUNED = BESIDE[:2]
CUT = "nano_1500" if GPU else "small_70"

VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "forward": {
        "b128x32": {"columns": 32},
        "b64x64_4w_s2": {"rows": 64, "num_warps": 4, "num_stages": 2},
        "b128x128_s2": {"columns": 128, "num_stages": 2},
        "s2": {"num_stages": 2},
        "s4": {"num_stages": 4},
    },
    "keys": {
        "b64x32_4w": {"rows": 64, "columns": 32, "num_warps": 4},
        "b64x32_4w_s2": {"rows": 64, "columns": 32, "num_warps": 4, "num_stages": 2},
        "b128x64": {"columns": 64},
        "b128x32_s4": {"columns": 32, "num_stages": 4},
        "b128x32_s2": {"columns": 32, "num_stages": 2},
    },
    "queries": {
        "b64x32_4w": {"rows": 64, "columns": 32, "num_warps": 4},
        "b128x32": {"columns": 32},
        "b64x64_4w_s2": {"rows": 64, "num_warps": 4, "num_stages": 2},
        "s2": {"num_stages": 2},
    },
}
"""By kernel, what is changed in the table's launch."""

KERNELS = {"forward": "attention_kernel", "keys": "keys_kernel", "queries": "queries_kernel"}


class Given(NamedTuple):
    shape: Shape
    bounds: list[int]
    leaves: list[Tensor]
    """q, k and v."""

    do: Tensor

    def both(self, run: Callable[..., Tensor]) -> list[Tensor]:
        """o and the gradients."""
        o = run(*self.leaves)
        return [o.detach(), *torch.autograd.grad(o, self.leaves, self.do.to(o))]

    def kernels(self, wide: bool = True) -> Callable[..., Tensor]:
        return partial(attention, tiles=TileTable.of(self.bounds, DEVICE), causal=self.shape.causal, fp32_output=wide)

    def operators(self, wide: bool) -> Callable[..., Tensor]:
        """`model.attention` of the same groups."""
        groups = Groups(1, self.bounds[-1], torch.tensor(self.bounds))
        return partial(by_operators, groups=groups, causal=self.shape.causal, fp32_output=wide)

    def part(self, start: int, end: int, bounds: list[int]) -> Given:
        leaves = [x.detach()[:, start:end].requires_grad_() for x in self.leaves]
        return Given(self.shape, bounds, leaves, self.do[:, start:end])


def operands_of(shape: Shape, N: int, seed: int = 0) -> Given:
    rng = torch.Generator(DEVICE).manual_seed(seed)
    widths = (shape.keys, shape.keys, shape.values, shape.values)
    q, k, v, do = (torch.randn(1, N, shape.heads, D, generator=rng, device=DEVICE).to(DTYPE) for D in widths)
    bounds = [*range(0, N, min(shape.document, N)), N]
    return Given(shape, bounds, [x.requires_grad_() for x in (q, k, v)], do)


def study(seconds: float) -> dict[str, Any]:
    findings = Study(seconds)
    note = findings.note
    if GPU:
        note("compile", partial(compile_by_processes, f"{__package__}.attention_variants", min(60.0, seconds / 2)))
    for name in CHECKED:
        note(f"errors.{name}", partial(_errors, name))
    note("bitwise", partial(_bitwise, next(iter(SHAPES.values()))))
    note("far", _far)
    for name in SHAPES:
        note(f"kernels.{name}", partial(_kernels, name))
    for name in BESIDE:
        for wide in (True, False):
            note(f"operators.{name}.{'fp32' if wide else 'bf16'}", partial(_operators, name, wide))
    for name in TUNED:
        for kernel, way, changes in ways(SHAPES[name]):
            note(f"{name}.{kernel}.{way}", partial(_variant, name, kernel, launched(kernel, changes)))
    note(f"{CUT}.cut_64_32", partial(_variant, CUT, "keys", patched(op, parts=_cut)))
    return findings.done()


def ways(shape: Shape) -> list[tuple[str, str, dict[str, Any]]]:
    """Kernels and what is changed in their launches, where it is a change."""
    table = launches(shape.keys, shape.values)
    every = [(kernel, way, changes) for kernel, them in VARIANTS.items() for way, changes in them.items()]
    return [one for one in every if replace(getattr(table, one[0]), **one[2]) != getattr(table, one[0])]


def launched(kernel: str, changes: dict[str, Any]) -> Any:
    return relaunched(op, launches, kernel, changes)


def _cut(keys: int) -> tuple[int, int]:
    """96 channels in parts that have none to spare."""
    return (64, 32) if keys == 96 else (128, 64)


def warm(number: int, processes: int) -> None:
    jobs: list[tuple[Shape, str, dict[str, Any]]] = [(shape, "forward", {}) for shape in SHAPES.values()]
    jobs += [(SHAPES[TUNED[0]], kernel, changes) for kernel, _, changes in ways(SHAPES[TUNED[0]])]
    for shape, kernel, changes in jobs[number::processes]:
        try:
            with launched(kernel, changes):
                given = operands_of(shape, 300)
                given.both(given.kernels())
        except Exception as error:
            print(shape, kernel, changes, error, file=sys.stderr)


def _errors(name: str) -> dict[str, Any]:
    given, results = _given(name)
    wide = given._replace(leaves=[x.detach().double().requires_grad_() for x in given.leaves])
    expected = wide.both(wide.operators(False))

    def errors(results: list[Tensor]) -> dict[str, float]:
        return {one: relative_rms(*pair) for one, *pair in zip(NAMES, results, expected, strict=True)}

    found: dict[str, Any] = {"kernels": errors(results), "bf16_output": errors(given.both(given.kernels(False)))}
    if name in BESIDE:
        found["operators"] = errors(given.both(given.operators(True)))
    limits = {one: 0.005 if one == "o" else 0.008 for one in NAMES}
    return found | {"over": sum(not error <= limits[one] for one, error in found["kernels"].items())}


def _bitwise(shape: Shape) -> dict[str, Any]:
    given = operands_of(shape._replace(document=500 if GPU else 70), 1700 if GPU else 150)
    whole, again = (given.both(given.kernels()) for _ in range(2))

    def same(others: list[Tensor], start: int, of: list[Tensor]) -> bool:
        return all(torch.equal(x, y[:, start : start + x.shape[1]]) for x, y in zip(others, of, strict=True))

    alone = []
    for start, end in pairwise(given.bounds):
        part = given.part(start, end, [0, end - start])
        alone.append(same(part.both(part.kernels()), start, whole))
    length = given.bounds[1] * 5 // 7
    do = given.do.clone()
    do[:, length:] = 0
    cut, part = given._replace(do=do), given.part(0, length, [0, length])
    before = same(part.both(part.kernels()), 0, cut.both(cut.kernels()))
    return {"again": same(again, 0, whole), "alone": all(alone), "beginning": before}


def _far() -> dict[str, Any]:
    """The last group among so many tokens that 32 bits do not count their numbers (3.2 G, and 60 GB), and alone."""
    given = operands_of(FAR, FAR_TOKENS)
    whole, (start, end) = given.both(given.kernels()), given.bounds[-2:]
    part = given.part(start, end, [0, end - start])
    pairs = zip(part.both(part.kernels()), whole, strict=True)
    return {"alone": all(torch.equal(one, other[:, start:]) for one, other in pairs)}


@lru_cache(maxsize=1)
def _given(name: str) -> tuple[Given, list[Tensor]]:
    """The operands of a shape, and what the table's launches make of them."""
    given = operands_of(SHAPES[name], TOKENS)
    return given, given.both(given.kernels())


def _pairs(given: Given) -> int:
    """Of tokens, in all heads."""
    lengths = [end - start for start, end in pairwise(given.bounds)]
    return given.shape.heads * sum(n * (n + 1) // 2 if given.shape.causal else n * n for n in lengths)


def _rate(given: Given, times: dict[str, float]) -> dict[str, Any]:
    """TFLOP/s beside milliseconds."""
    K, V = given.shape.keys, given.shape.values
    work = {
        "attention_kernel_ms": 2 * K + 2 * V, "forward_ms": 2 * K + 2 * V, "keys_kernel_ms": 4 * K + 4 * V,
        "queries_kernel_ms": 4 * K + 2 * V, "backward_ms": 6 * K + 4 * V,
    }  # fmt: skip
    rates = {
        key.replace("_ms", "_tflop_s"): round(work[key] * _pairs(given) / ms / 1e9, 1)
        for key, ms in times.items()
        if ms and key in work
    }
    return times | rates


def _timed(given: Given, run: Callable[..., Tensor], repeats: int) -> dict[str, float]:
    """The backward pass is what both take longer: compiled ones do not go back twice."""
    if not GPU:
        given.both(run)
        return {"forward_ms": 0.0, "backward_ms": 0.0}
    forward = median_ms(lambda: run(*given.leaves), repeats)
    both = median_ms(lambda: given.both(run), repeats)
    return {"forward_ms": forward, "backward_ms": round(both - forward, 4)}


def _kernels(name: str) -> dict[str, Any]:
    given, _ = _given(name)
    run = given.kernels()
    return _rate(given, kernel_ms(lambda: given.both(run)) | _timed(given, run, 20))


def _operators(name: str, wide: bool) -> dict[str, Any]:
    given, _ = _given(name)
    return _rate(given, _timed(given, given.operators(wide), 8))


def _variant(name: str, kernel: str, launched: Any) -> dict[str, Any]:
    """Milliseconds of the kernel that is launched otherwise, and how many tensors it gets wrong."""
    given, expected = _given(name)
    with launched:
        run = given.kernels()
        over = sum(not relative_rms(*pair) <= LIMIT for pair in zip(given.both(run), expected, strict=True))
        times = kernel_ms(lambda: given.both(run))
    own = {key: ms for key, ms in times.items() if not GPU or key == f"{KERNELS[kernel]}_ms"}
    return {"over": over, **_rate(given, own)}


if __name__ == "__main__":
    command_line(study, SECONDS, warm)
