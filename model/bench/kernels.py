"""The GPU kernels against their definitions, then against the clock, our PyTorch operators and public kernels.

No head size is timed unless it has been found right: results and gradients against fp64 on the same rounded operands,
at every gate. Times are medians of CUDA events, after a warm-up; `forward_backward` is both passes, with all gradients,
as `loss.backward()` runs them, and `one_thread` the same with autograd in the thread of the forward, as the trainer has
it: what is short waits for the other thread. fla, where it is installed, tunes for minutes at its first call for a
number of heads, so it runs at 16, and at those that FLA_HEADS names: FLA_HEADS=16,32,8,4 k3data bench kernels.
Experts, mixes, convolutions, gates and the loss are those of `layers`, beside PyTorch's operators, eager and compiled.
Figures go to stderr as they come, one JSON object a line: a run that is cut off has not lost them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ...pipelines.errors import UserError
from ..kda.chunked import kda_chunked
from ..kda.gate import bounded_log_decay
from . import layers
from .oracles import GATES, relative_rms
from .study import median_ms, say

NAME = "kernels"
SUMMARY = "KDA and parts of a layer on a GPU: errors against fp64, times and memory beside PyTorch and fla"

TENSORS = ("o", "state", "dq", "dk", "dv", "dz", "dbeta", "dA_log", "ddt_bias", "dinitial_state")
LIMITS = dict(zip(TENSORS, (0.005, 0.005, 0.008, 0.008, 0.008, 0.02, 0.02, 0.1, 0.1, 0.008), strict=True))
"""FLA's tolerances; but A_log and dt_bias are sums over all tokens in which most cancels at random gradients."""

SHAPES = {
    f"{batch}x{length}_h{heads}_d{channels}": (batch, length, heads, channels)
    for batch, length, heads, channels in (
        (16, 4096, 16, 128), (1, 65536, 16, 128), (1, 262144, 16, 128), (2, 2048, 16, 128), (16, 4096, 32, 128),
        (1, 262144, 4, 128), (1, 262144, 8, 128), (1, 16384, 4, 128), (2, 8192, 8, 64),
    )
}  # fmt: skip

_PEERS = {"torch": "pytorch", "compiled": "pytorch_compiled"}


@dataclass
class Found:
    """Figures of the kernels, and those of their peers under the same keys."""

    figures: dict[str, float] = field(default_factory=dict)
    peers: dict[str, dict[str, float]] = field(default_factory=lambda: {"pytorch": {}})

    def add(self, new: dict[str, float], peer: str | None = None) -> None:
        say(new if peer is None else {peer: new})
        (self.figures if peer is None else self.peers.setdefault(peer, {})).update(new)


def run(quick: bool) -> dict[str, Any]:
    if not torch.cuda.is_available():
        raise UserError("benchmark kernels needs a GPU, and there is none")
    from ..kernels.kda import kda

    found = Found()
    started = time.perf_counter()
    operands = operands_of(1, 64, 2, 128, 128, "initial", device="cuda")
    results_and_gradients(kda, operands)
    torch.cuda.synchronize()
    found.add({"first_call_seconds": round(time.perf_counter() - started, 2)})
    right = _right(found, kda, (128,) if quick else (128, 64, 32))
    if 128 not in right:
        raise AssertionError(
            f"at head size 128, over the limit: { {n: found.figures[f'd128_rms_{n}'] for n in LIMITS} }"
        )
    fla = _fla()
    if fla is not None:
        found.add({f"d128_h16_rms_{name}": error for name, error in errors(fla, 128, heads=16).items()}, "fla")
        found.add({f"d128_h16_rms_{name}": error for name, error in errors(kda, 128, heads=16).items()})
    shapes = {key: shape for key, shape in SHAPES.items() if shape[-1] in right}
    _shapes(found, kda, fla, dict(list(shapes.items())[: 1 if quick else None]))
    _parts(found, ["norm"] if quick else [])
    return {"figures": found.figures, "peers": found.peers}


def _right(found: Found, kda: Callable[..., Any], head_dims: tuple[int, ...]) -> set[int]:
    """Head sizes at which no tensor is over its limit."""
    right = set()
    for head_dim in head_dims:
        rms = errors(kda, head_dim)
        wrong = [name for name, limit in LIMITS.items() if not rms[name] <= limit]
        figures = {f"d{head_dim}_rms_{name}": error for name, error in rms.items()}
        found.add(figures | {f"d{head_dim}_tensors_over_the_limit": len(wrong)})
        if not wrong:
            right.add(head_dim)
    return right


def _shapes(
    found: Found, kda: Callable[..., Any], fla: Callable[..., Any] | None, shapes: dict[str, tuple[int, int, int, int]]
) -> None:  # fmt: skip
    fla_heads = set(map(int, os.environ.get("FLA_HEADS", "16").split(",")))
    for key, shape in shapes.items():
        found.add(measure(key, kda, shape))
        if shape[0] * shape[1] <= 65536 and shape[2] <= 16:  # more would not fit
            found.add(measure(key, composed, shape, repeats=3), "pytorch")
        if fla is not None and shape[2] in fla_heads and shape[3] == 128:
            found.add(measure(key, fla, shape), "fla")


def _parts(found: Found, names: list[str]) -> None:
    """`layers` has printed them, each as it came."""
    for part, figures in layers.main(names)["parts"].items():
        if "failed" in figures:
            raise AssertionError(f"{part}: {figures['failed']}")
        found.figures[f"{part}_tensors_over_the_limit"] = len(figures.get("over", []))
        for kind in ("forward_ms", "forward_backward_ms", "kept_mib"):
            for way, value in figures.get(kind, {}).items():
                into = found.figures if way == "kernels" else found.peers.setdefault(_PEERS[way], {})
                into[f"{part}_{kind}"] = value


def operands_of(
    batch: int, length: int, heads: int, key_dim: int, value_dim: int, gate: str, *,
    sequences: int | None = None, seed: int = 0, device: str = "cpu", dtype: torch.dtype = torch.bfloat16,
) -> list[Tensor]:  # fmt: skip
    """q, k, v, z, β logits in `dtype`, A_log, dt_bias and initial states in fp32, with the gates of `oracles`."""
    rng = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng)

    q, k, z = (draw(batch, length, heads, key_dim) for _ in range(3))
    v = draw(batch, length, heads, value_dim)
    z = {"saturated": 40 + z, "near_zero": z - 15, "mixed": 8 * z, "initial": z - 4}[gate]
    activations = [x.to(dtype) for x in (q, k, v, z, draw(batch, length, heads))]
    initial = draw(batch if sequences is None else sequences, heads, key_dim, value_dim)
    others = [0.1 * draw(heads), 0.1 * draw(heads * key_dim), initial]
    return [x.to(device) for x in (*activations, *others)]


def composed(
    q: Tensor, k: Tensor, v: Tensor, z: Tensor, beta_logit: Tensor, A_log: Tensor, dt_bias: Tensor, *,
    lower_bound: float = -5.0, scale: float | None = None,
    initial_state_NHKV: Tensor | None = None, cu_seqlens: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """What the kernels compute, from the PyTorch operators: the definition when it is given fp64."""

    def unit(x: Tensor) -> Tensor:
        wide = x if x.dtype == torch.float64 else x.float()
        return (wide * torch.rsqrt(wide.square().sum(-1, keepdim=True) + 1e-6)).to(x.dtype)

    beta = torch.sigmoid(beta_logit if beta_logit.dtype == torch.float64 else beta_logit.float())
    return kda_chunked(
        unit(q), unit(k), v, bounded_log_decay(z, A_log, dt_bias, lower_bound), beta,
        scale=scale, initial_state_NHKV=initial_state_NHKV, cu_seqlens=cu_seqlens,
    )  # fmt: skip


def results_and_gradients(function: Callable[..., Any], operands: list[Tensor], **options: Any) -> list[Tensor]:
    """What `TENSORS` names, for a loss that weighs every output and every state at random."""
    leaves = [x.detach().clone().requires_grad_() for x in operands]
    o, state = function(*leaves[:7], initial_state_NHKV=leaves[7], **options)
    rng = torch.Generator().manual_seed(1)
    # Of 8 bits, so that they are the same in every dtype.
    do, dstate = (torch.randn(x.shape, generator=rng).bfloat16().to(x.dtype).to(x.device) for x in (o, state))
    return [x.detach() for x in (o, state, *torch.autograd.grad([o, state], leaves, [do, dstate]))]


def results_by_place(
    function: Callable[..., Any], operands: list[Tensor], skip: int = 0, **options: Any
) -> list[Tensor]:  # fmt: skip
    """The same for weights that depend on a token's place among all, of which `skip` come before these."""
    leaves = [x.detach().clone().requires_grad_() for x in operands]
    o, state = function(*leaves[:7], initial_state_NHKV=leaves[7], **options)
    weights = torch.sin(torch.arange(skip, skip + o.shape[1], device=o.device, dtype=torch.float32))
    do = (weights[None, :, None, None] * torch.ones_like(o, dtype=torch.float32)).to(o.dtype)
    return [x.detach() for x in (o, state, *torch.autograd.grad([o, state], leaves, [do, torch.ones_like(state)]))]


def errors(
    function: Callable[..., Any], head_dim: int, length: int = 1000, device: str = "cuda", heads: int = 2
) -> dict[str, float]:  # fmt: skip
    """RMS(difference) / RMS(definition) of each tensor, the worst of all gates and both scales."""
    worst = dict.fromkeys(TENSORS, 0.0)
    for gate, scale in ((gate, scale) for gate in GATES for scale in (None, 1.0)):
        operands = operands_of(1, length, heads, head_dim, head_dim, gate, device=device)
        expected = results_and_gradients(composed, [x.double() for x in operands], scale=scale)
        found = results_and_gradients(function, operands, scale=scale)
        for name, a, b in zip(TENSORS, found, expected, strict=True):
            if not torch.isfinite(a).all():
                worst[name] = float("inf")
            elif (a.double() - b).abs().max() > 1e-6:  # FLA's rule: what is nowhere 1e-6 off is right
                worst[name] = max(worst[name], relative_rms(a, b))
    return worst


def measure(
    key: str, function: Callable[..., Any], shape: tuple[int, int, int, int], repeats: int = 30
) -> dict[str, float]:
    B, T, H, D = shape
    rng = torch.Generator(device="cuda").manual_seed(0)

    def draw(*size: int) -> Tensor:
        return torch.randn(*size, generator=rng, device="cuda", dtype=torch.bfloat16)

    leaves = [draw(B, T, H, D), draw(B, T, H, D), draw(B, T, H, D), draw(B, T, H, D) - 4, draw(B, T, H)]
    leaves = [x.requires_grad_() for x in (*leaves, 0.1 * draw(H).float(), 0.1 * draw(H * D).float())]
    do = draw(B, T, H, D)

    def both() -> None:
        torch.autograd.grad(function(*leaves)[0], leaves, do)

    def one_thread() -> None:
        with torch.autograd.set_multithreading_enabled(False):
            both()

    def inference() -> None:
        with torch.no_grad():
            function(*leaves)

    torch.cuda.reset_peak_memory_stats()
    both()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() / 2**30
    return {
        f"{key}_forward_ms": median_ms(lambda: function(*leaves), repeats),
        f"{key}_inference_ms": median_ms(inference, repeats),
        f"{key}_forward_backward_ms": median_ms(both, repeats),
        f"{key}_one_thread_ms": median_ms(one_thread, repeats),
        f"{key}_peak_gib": round(peak, 3),
    }


def _fla() -> Callable[..., Any] | None:
    try:
        from fla.ops.kda import chunk_kda
    except ImportError:
        return None

    def call(
        q: Tensor, k: Tensor, v: Tensor, z: Tensor, beta: Tensor, A_log: Tensor, dt_bias: Tensor, *,
        scale: float | None = None, initial_state_NHKV: Tensor | None = None,
    ) -> Any:  # fmt: skip
        return chunk_kda(
            q, k, v, z, beta, scale=scale, initial_state=initial_state_NHKV,
            output_final_state=initial_state_NHKV is not None, A_log=A_log, dt_bias=dt_bias, safe_gate=True,
            lower_bound=-5.0, use_gate_in_kernel=True, use_qk_l2norm_in_kernel=True, use_beta_sigmoid_in_kernel=True,
        )  # fmt: skip

    return call
