"""The kernels of the experts at the sizes of models: right or not, how long each takes, and launched in other ways.

    python -m k3data.model.bench.expert_variants [--seconds N]    prints one JSON; at most five minutes on an H200

First every way is compiled, by as many processes as there are cores for. Then: errors against fp64, what must hold bit
for bit, times and memory of whole passes and of each kernel; then size by size the PyTorch operators under
torch.compile, and other launches of one kernel after the other. What raises is written down as its message, and the
rest goes on; nothing is started after N seconds, `SECONDS` unless given. Each finding goes to stderr as it comes.

Without a GPU the same is rehearsed at tiny sizes, and times are zero.

Letters: N tokens, K experts of a token, M = N·K rows, E experts, L latent width, I inner width.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor

from ..config import MoEConfig
from ..experts import Experts
from ..kernels.moe import passes
from ..kernels.moe.launch import ROWS, launches
from ..kernels.moe.op import experts
from ..kernels.moe.ordering import Order, order
from ..norm import RMSNorm
from ..router import Routes
from .oracles import relative_rms
from .study import DEVICE, GPU, Study, command_line, compile_by_processes, kernel_ms, relaunched

SECONDS = 240.0
DTYPE = torch.bfloat16 if GPU else torch.float32
TENSORS = ("y", "dz", "dgate", "dup", "ddown", "dweights", "dnorm_weight")
LIMIT = 0.01
TOKENS = 65536 if GPU else 24


class Shape(NamedTuple):
    experts: int
    top_k: int
    latent: int
    inner: int


SHAPES = {
    "bench": Shape(256, 8, 384, 256), "small": Shape(64, 4, 256, 96), "base": Shape(128, 8, 512, 192),
    "many": Shape(896, 16, 1024, 512), "wide": Shape(128, 8, 768, 2048),
} if GPU else {"tiny": Shape(4, 2, 32, 24)}  # fmt: skip
TIMED = ("bench", "small", "base") if GPU else ("tiny",)
_FREE: dict[str, Any] = {"registers": None}
_PRODUCTS = {
    "4w_b128": {"num_warps": 4, "block": (128,), **_FREE}, "8w_b128_r128": {"block": (128,), "registers": 128},
    "8w_b128_r128_p2": {"block": (128,), "registers": 128, "num_stages": 2}, "8w_b256": {"block": (256,), **_FREE},
    "8w_b64_r80": {"block": (64,), "registers": 80},
    "16w_b256_r128": {"num_warps": 16, "block": (256,), "registers": 128},
}  # fmt: skip
_MATRICES = {
    "8w_128x128_r128": {"block": (128, 128), "registers": 128},
    "4w_128x128": {"num_warps": 4, "block": (128, 128), **_FREE},
    "8w_128x256": {"block": (128, 256), **_FREE}, "8w_256x128": {"block": (256, 128), **_FREE},
    "8w_64x256_r128": {"block": (64, 256), "registers": 128}, "p4": {"num_stages": 4},
    "16w_128x256_r128": {"num_warps": 16, "block": (128, 256), "registers": 128},
    "16w_256x128_r128": {"num_warps": 16, "block": (256, 128), "registers": 128},
    "d32_p4": {"depth": 32, "num_stages": 4},
}  # fmt: skip
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "up": {
        "4w_b64": {"num_warps": 4, "block": (64,), **_FREE}, "8w_b64_r128": {"block": (64,), "registers": 128},
        "8w_b128": {"block": (128,), **_FREE}, "8w_b128_p4": {"block": (128,), "num_stages": 4, **_FREE},
        "8w_b32_r80": {"block": (32,), "registers": 80},
        "16w_b128_r128": {"num_warps": 16, "block": (128,), "registers": 128},
    },
    "down": _PRODUCTS,
    "inner": {
        "8w_b128_s32_r128": {"block": (128, 32), "registers": 128},
        "8w_b128_s16_r128": {"block": (128, 16), "registers": 128},
        "8w_b128_s64": {"block": (128, 64), **_FREE}, "8w_b64_s32_r128": {"block": (64, 32), "registers": 128},
        "16w_b128_s32_r64": {"num_warps": 16, "block": (128, 32), "registers": 64},
        "16w_b256_s32_r128": {"num_warps": 16, "block": (256, 32), "registers": 128},
        "4w_b64_s16_r168": {"num_warps": 4, "block": (64, 16), "registers": 168},
    },
    "back": _PRODUCTS,
    "gate_and_up": _MATRICES,
    "down_matrix": _MATRICES,
    "tokens": {"t2": {"block": (2,)}, "t8": {"block": (8,)}, "8w_t8": {"num_warps": 8, "block": (8,)},
               "2w_t2": {"num_warps": 2, "block": (2,)}},
}  # fmt: skip
"""By kernel, what is changed in the table's launch."""

KERNELS = {"gate_and_up": "matrices", "down_matrix": "matrices"}


class Given(NamedTuple):
    leaves: list[Tensor]
    """z, gate, up, down, p and the norm's weight."""

    experts_NK: Tensor
    dy_NL: Tensor

    def sorted(self) -> Order:
        return order(self.experts_NK, len(self.leaves[1]), ROWS)

    def through(self, made: Order | None = None) -> Tensor:
        """y, with the rows sorted here unless they are."""
        z, gate, up, down, p_NK, norm_weight = self.leaves
        return experts(z, gate, up, down, p_NK, norm_weight, self.sorted() if made is None else made)


def operands_of(shape: Shape, N: int, seed: int = 0) -> Given:
    """Routes are even, as balancing makes them; the tokens of an expert are anywhere."""
    E, K, L, inner = shape
    rng = torch.Generator(DEVICE).manual_seed(seed)

    def draw(*size: int, std: float = 1.0) -> Tensor:
        return std * torch.randn(*size, generator=rng, device=DEVICE)

    matrices = [draw(E, inner, L, std=L**-0.5), draw(E, inner, L, std=L**-0.5), draw(E, L, inner, std=inner**-0.5)]
    p_NK = torch.rand(N, K, generator=rng, device=DEVICE) + 0.1
    leaves = [*(x.to(DTYPE) for x in (draw(N, L), *matrices)), p_NK / p_NK.sum(1, keepdim=True), 1 + draw(L, std=0.1)]
    chosen_NK = torch.rand(N, E, generator=rng, device=DEVICE).topk(K).indices.int()
    return Given([x.requires_grad_() for x in leaves], chosen_NK, draw(N, L).to(DTYPE))


def by_kernels(given: Given) -> list[Tensor]:
    y = given.through()
    return [y.detach(), *torch.autograd.grad(y, given.leaves, given.dy_NL)]


def operators(given: Given, dtype: torch.dtype) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """The module of the model as a function of its leaves, and those: z and matrices in `dtype`, the others no less."""
    wide = torch.promote_types(dtype, torch.float32)
    leaves = [x.detach().to(dtype if n < 4 else wide).requires_grad_() for n, x in enumerate(given.leaves)]
    E, inner, L = leaves[1].shape
    layer = Experts(MoEConfig(experts=E, top_k=given.experts_NK.shape[1], latent=L, inner=inner))
    norm = RMSNorm(L)
    layer.gate_EIL, layer.up_EIL, layer.down_ELI, norm.weight = (torch.nn.Parameter(leaves[n]) for n in (1, 2, 3, 5))
    chosen_NK = given.experts_NK.long()

    def run(z_NL: Tensor, p_NK: Tensor) -> Tensor:
        return norm(layer(z_NL, Routes(chosen_NK, p_NK))).to(z_NL.dtype)

    return run, [leaves[0], layer.gate_EIL, layer.up_EIL, layer.down_ELI, leaves[4], norm.weight]


def by_operators(given: Given) -> list[Tensor]:
    run, leaves = operators(given, torch.float64)
    y = run(leaves[0], leaves[4])
    return [y.detach(), *torch.autograd.grad(y, leaves, given.dy_NL.double())]


def study(seconds: float) -> dict[str, Any]:
    findings = Study(seconds)
    note = findings.note
    if GPU:
        note("compile", partial(compile_by_processes, f"{__package__}.expert_variants", min(90.0, seconds / 2)))
    for name, shape in SHAPES.items():
        note(f"errors.{name}", partial(_errors, shape))
    note("bitwise", partial(_bitwise, next(iter(SHAPES.values()))))
    for name in TIMED:
        note(f"passes.{name}", partial(_passes, SHAPES[name]))
    for name in TIMED:
        note(f"compiled.{name}", partial(_compiled, SHAPES[name]))
        for kernel, ways in VARIANTS.items():
            as_it_is = getattr(launches(*SHAPES[name][2:]), kernel)
            for way, changes in ways.items():
                if replace(as_it_is, **changes) != as_it_is:
                    note(f"{name}.{kernel}.{way}", partial(_variant, SHAPES[name], kernel, changes))
    return findings.done()


def launched(kernel: str, changes: dict[str, Any]) -> Any:
    return relaunched(passes, launches, kernel, changes)


def warm(number: int, processes: int) -> None:
    ways: list[tuple[str, str, dict[str, Any]]] = [(name, "up", {}) for name in SHAPES]
    ways += [(name, kernel, way) for name in TIMED for kernel, them in VARIANTS.items() for way in them.values()]
    for name, kernel, changes in ways[number::processes]:
        try:
            with launched(kernel, changes):
                by_kernels(operands_of(SHAPES[name]._replace(experts=SHAPES[name].top_k + 1), 64))
        except Exception as error:
            print(name, kernel, changes, error, file=sys.stderr)


def _errors(shape: Shape) -> dict[str, Any]:
    given = operands_of(shape._replace(experts=shape.top_k + 3), 600 if GPU else 24)
    pairs = zip(TENSORS, by_kernels(given), by_operators(given), strict=True)
    found: dict[str, Any] = {name: relative_rms(one, right) for name, one, right in pairs}
    return found | {"over": sum(not error <= LIMIT for error in found.values())}


def _bitwise(shape: Shape) -> dict[str, Any]:
    """1 where it holds."""
    given = operands_of(shape._replace(experts=shape.top_k + 3), 600 if GPU else 24)
    whole, again = by_kernels(given), by_kernels(given)
    N = len(given.dy_NL)
    part = slice(N // 3, N - 5)
    leaves = [x.detach()[part].requires_grad_() if n in (0, 4) else x for n, x in enumerate(given.leaves)]
    inside = by_kernels(Given(leaves, given.experts_NK[part], given.dy_NL[part]))
    return {
        "repeats": int(all(map(torch.equal, whole, again))),
        "a_part_is_separate": int(all(torch.equal(whole[n][part], inside[n]) for n in (0, 1, 5))),
    }


@lru_cache(maxsize=1)
def _large(shape: Shape) -> tuple[Given, Order]:
    given = operands_of(shape, TOKENS)
    return given, given.sorted()


def _passes(shape: Shape) -> dict[str, Any]:
    """Times with the order made anew, as the operators make it; FLOPs of nine products a row, 18 L I."""
    given, made = _large(shape)
    found = _times(lambda: given.through(), given.leaves, given.dy_NL)
    flops = 18 * TOKENS * shape.top_k * shape.latent * shape.inner
    if found["forward_backward_ms"]:
        found["tflops"] = round(flops / found["forward_backward_ms"] / 1e9, 1)
    return found | kernel_ms(lambda: torch.autograd.grad(given.through(made), given.leaves, given.dy_NL))


def _compiled(shape: Shape) -> dict[str, Any]:
    given, _ = _large(shape)
    run, leaves = operators(given, DTYPE)
    run = torch.compile(run) if GPU else run
    return _times(lambda: run(leaves[0], leaves[4]), leaves, given.dy_NL)


def _times(forward: Callable[[], Tensor], leaves: list[Tensor], dy: Tensor) -> dict[str, Any]:
    def both() -> None:
        torch.autograd.grad(forward(), leaves, dy)

    def inference() -> None:
        with torch.no_grad():
            forward()

    both()
    if not GPU:
        inference()
        return {"forward_backward_ms": 0.0}
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    both()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - before
    y = forward()
    kept = torch.cuda.memory_allocated() - before
    del y
    found = {
        name: round(triton.testing.do_bench(work, warmup=50, rep=150, return_mode="median"), 4)
        for name, work in (("inference_ms", inference), ("forward_ms", forward), ("forward_backward_ms", both))
    }
    return {**found, "peak_gib": round(peak / 2**30, 3), "kept_gib": round(kept / 2**30, 3)}


def _variant(shape: Shape, kernel: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Its milliseconds in both passes; and how many tensors it gets wrong."""
    if not GPU:
        changes = {key: value for key, value in changes.items() if key != "block"}
    with launched(kernel, changes):
        found = _errors(shape)
        given, made = _large(shape)
        times = kernel_ms(lambda: torch.autograd.grad(given.through(made), given.leaves, given.dy_NL))
    own = ("combine", "norm_back", "scatter_back") if kernel == "tokens" else (KERNELS.get(kernel, kernel),)
    return {"over": found["over"]} | {key: ms for key, ms in times.items() if not GPU or key.startswith(own)}


if __name__ == "__main__":
    command_line(study, SECONDS, warm)
