"""Parts of a layer by the kernels, against PyTorch's operators, eager and compiled, and their definition in fp64.

    python -m k3data.model.bench.layers [part …]       prints one JSON; about three minutes on an H200

A part is a method of a module whose `kernels` are "triton" or "torch": the same weights, the same inputs, the same
gradients at its outputs. Errors come first (RMS / RMS of every output and gradient, beside those of PyTorch's operators
in bf16); a part that is further off than twice theirs is not timed. Then the three are timed in turns, in one process:
medians of CUDA events of forward, and of forward and backward; and the bytes that a forward keeps for its backward.
What raises is written down as its message, and the rest goes on; nothing is begun after `SECONDS`. Each part's figures
go to stderr as they come.

Without a GPU the same is rehearsed at tiny sizes, in fp32, and there are no times.
"""

from __future__ import annotations

import copy
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..attention import Groups
from ..compiled import OfChunks
from ..config import ModelConfig, preset
from ..feed_forward import FeedForward
from ..kda.layer import KimiDeltaAttention
from ..loss import OfChunk, Targets, cross_entropy, of_chunk, slice_tokens
from ..mla import GatedMLA
from ..moe import LatentMoE
from ..norm import RMSNorm
from ..operators import HasKernels, use_kernels
from ..transformer import Layer
from .oracles import relative_rms
from .study import events_ms, say

SECONDS = 200.0
_GPU = torch.cuda.is_available()
_DEVICE = torch.device("cuda" if _GPU else "cpu")
_DTYPE = torch.bfloat16 if _GPU else torch.float32
_TOKENS = 32768 if _GPU else 48
_ROUNDS = 5
"""Of each way in turn, ten runs a round."""
_ROUNDING = 2**-9 if _GPU else 1e-4
"""An error that is no matter whatever the operators' is: theirs of attention take fp32 copies, in tf32."""


@dataclass
class Part:
    module: nn.Module
    run: Callable[..., Tensor | tuple[Tensor, ...]]
    """Of the module and the inputs; gradients are those of the inputs and of the module's parameters that take part."""
    inputs: list[Tensor]
    compiled: Callable[..., Tensor | tuple[Tensor, ...]] | None = None
    """In place of `run` compiled as a whole."""


def main(names: list[str]) -> dict[str, Any]:
    deadline = time.perf_counter() + SECONDS
    found: dict[str, Any] = {}
    for name in names or list(PARTS):
        if time.perf_counter() > deadline:
            found[name] = {"skipped": "no time is left"}
            continue
        torch.manual_seed(0)
        try:
            found[name] = figures_of(PARTS[name]())
        except (RuntimeError, ValueError, AssertionError) as error:
            found[name] = {"failed": " ".join(f"{type(error).__name__}: {error}".split())[:600]}
        say({name: found[name]})
    return {"torch": torch.__version__, "device": torch.cuda.get_device_name() if _GPU else "CPU", "parts": found}


def figures_of(part: Part) -> dict[str, Any]:
    part.module.to(_DEVICE)
    part.inputs = [x.to(_DEVICE) for x in part.inputs]
    definition = _results(part, "torch", torch.float64)
    theirs = _errors(_results(part, "torch", _DTYPE), definition)
    ours = _errors(_results(part, "triton", _DTYPE), definition)
    del definition
    names = _names(part)
    figures: dict[str, Any] = {
        "errors": dict(zip(names, ours, strict=True)),
        "theirs": dict(zip(names, theirs, strict=True)),
    }
    over = [n for n, our, their in zip(names, ours, theirs, strict=True) if not our <= max(2 * their, _ROUNDING)]
    if over:
        return figures | {"over": over}
    ways = {"kernels": _way(part, "triton"), "torch": _way(part, "torch")}
    figures["kept_mib"] = {name: _kept_mib(way) for name, way in ways.items()}
    if _GPU:
        try:
            ways["compiled"] = _way(part, "torch", compiled=True)
            figures["kept_mib"]["compiled"] = _kept_mib(ways["compiled"])
        except Exception as error:  # of a compiler's many, none may cost the others' times
            figures["compiled_failed"] = " ".join(f"{type(error).__name__}: {error}".split())[:400]
        figures |= _times(ways)
    return figures


def _module(part: Part, kernels: str, dtype: torch.dtype) -> nn.Module:
    module = copy.deepcopy(part.module).to(dtype).train()
    use_kernels(module, "triton" if kernels == "triton" else "torch")
    return module


def _leaves(part: Part, dtype: torch.dtype) -> list[Tensor]:
    """Rounded to what a GPU computes in, whatever they are held in."""
    return [
        x.to(_DTYPE).to(dtype).requires_grad_() if x.is_floating_point() else x for x in part.inputs
    ]  # fmt: skip


def _outputs(
    part: Part, module: nn.Module, leaves: list[Tensor], run: Callable[..., Any] | None = None
) -> list[Tensor]:
    found = (run or part.run)(module, *leaves)
    return [found] if isinstance(found, Tensor) else list(found)


def _at_outputs(outputs: list[Tensor]) -> list[Tensor]:
    rng = torch.Generator(_DEVICE).manual_seed(1)
    draw = [torch.randn(x.shape, generator=rng, device=_DEVICE, dtype=torch.float32) for x in outputs]
    return [x.bfloat16().to(y.dtype) for x, y in zip(draw, outputs, strict=True)]


def _results(part: Part, kernels: str, dtype: torch.dtype) -> list[Tensor]:
    module, leaves = _module(part, kernels, _DTYPE).to(dtype), _leaves(part, dtype)
    outputs = _outputs(part, module, leaves)
    wanted = [x for x in leaves if x.requires_grad] + list(module.parameters())
    gradients = torch.autograd.grad(outputs, wanted, _at_outputs(outputs), allow_unused=True)
    return [x.detach() for x in (*outputs, *(g for g in gradients if g is not None))]


def _names(part: Part) -> list[str]:
    """Of what `_results` gives, by a run on the side."""
    module, leaves = _module(part, "torch", _DTYPE), _leaves(part, _DTYPE)
    outputs = _outputs(part, module, leaves)
    named = [(f"d input {n}", x) for n, x in enumerate(leaves) if x.requires_grad]
    named += [(f"d {name}", x) for name, x in module.named_parameters()]
    gradients = torch.autograd.grad(outputs, [x for _, x in named], _at_outputs(outputs), allow_unused=True)
    taking_part = [name for (name, _), gradient in zip(named, gradients, strict=True) if gradient is not None]
    return [*(f"output {n}" for n in range(len(outputs))), *taking_part]


def _errors(found: list[Tensor], expected: list[Tensor]) -> list[float]:
    return [
        relative_rms(a, b) if torch.isfinite(a).all() else float("inf") for a, b in zip(found, expected, strict=True)
    ]


@dataclass
class _Way:
    forward: Callable[[], list[Tensor]]
    wanted: list[Tensor]

    def both(self, at_outputs: list[Tensor]) -> None:
        torch.autograd.grad(self.forward(), self.wanted, at_outputs, allow_unused=True)


def _way(part: Part, kernels: str, compiled: bool = False) -> _Way:
    module, leaves = _module(part, kernels, _DTYPE), _leaves(part, _DTYPE)
    run = part.run
    if compiled:
        run = part.compiled or torch.compile(part.run, fullgraph=True, dynamic=False)
    way = _Way(
        lambda: _outputs(part, module, leaves, run),
        [x for x in leaves if x.requires_grad] + list(module.parameters()),
    )
    way.both(_at_outputs(way.forward()))  # compiles
    return way


def _kept_mib(way: _Way) -> float:
    """What autograd holds, each storage once, without inputs and parameters."""
    own = {x.untyped_storage().data_ptr() for x in way.wanted}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        outputs = way.forward()
    total = sum(kept.values()) / 2**20
    del outputs
    return round(total, 3)


def _times(ways: dict[str, _Way]) -> dict[str, Any]:
    """Milliseconds; the gradients at the outputs are drawn outside of what is timed."""
    found: dict[str, dict[str, float]] = {"forward_ms": {}, "forward_backward_ms": {}}
    forward: dict[str, list[float]] = {name: [] for name in ways}
    both: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(_ROUNDS):
        for name, way in ways.items():
            given = _at_outputs(way.forward())
            forward[name] += events_ms(way.forward, 10)
            both[name] += events_ms(partial(way.both, given), 10)
    for name in ways:
        found["forward_ms"][name] = round(statistics.median(forward[name]), 4)
        found["forward_backward_ms"][name] = round(statistics.median(both[name]), 4)
    for name in ways.keys() - {"kernels"}:
        found[f"faster_than_{name}"] = {
            key: round(times[name] / times["kernels"], 2) for key, times in list(found.items())[:2]
        }
    return found


# ------------------------------------------------------------------------------------------------- the parts


def _config(size: str) -> ModelConfig:
    if not _GPU:
        return preset("smoke")
    if size != "latent":
        return preset(size)
    base = preset("base")
    return replace(base, moe=replace(base.moe, experts=256, top_k=8, latent=384, inner=256))


def _experts(size: str) -> Part:
    """Router, counts, the product into the latent, the experts and the norm behind them."""
    config = _config(size)
    module = LatentMoE(config)
    counted = torch.ones(_TOKENS, dtype=torch.bool)
    return Part(module, lambda module, x, counted: module.routed(x, counted), [_rows(config.d_model), counted])


def _mix(size: str) -> Part:
    """Of the last layer: all blocks that a model has, the running sum, and what was added to it."""
    config = _config(size)
    module = Layer(replace(config, mla_layers=()), 1)
    nn.init.normal_(module.ffn_mix.query, std=0.02)
    blocks = -(-config.layers // config.attn_res_block)

    def run(module: Layer, *sources: Tensor) -> tuple[Tensor, ...]:
        if module.kernels == "triton":
            from ..kernels import fused

            mix, norm = module.ffn_mix, module.ffn_norm
            return fused.mix(mix.query, mix.norm_weight, mix.eps, norm.weight, norm.eps, *sources)
        return module.mixed(module.ffn_mix, module.ffn_norm, *sources)

    return Part(module, run, [_rows(config.d_model)[None] for _ in range(blocks + 2)])


def _gated(of: type[KimiDeltaAttention] | type[GatedMLA]) -> Part:
    config = _config("base")
    heads, channels = (
        (config.kda.heads, config.kda.head_dim) if of is KimiDeltaAttention else (config.mla.heads, config.mla.v_dim)
    )
    inputs = [_rows(heads * channels).view(1, _TOKENS, heads, channels), _rows(heads * channels)[None]]
    return Part(of(config), lambda module, o, gate: module.gated(o, gate), inputs)


def _attention(document: int) -> Part:
    """MLA's, over packed documents; FlexAttention is compiled by itself."""
    config, tokens = _config("small"), _TOKENS
    mla = config.mla
    groups = Groups(1, tokens, torch.tensor([*range(0, tokens, min(document, tokens)), tokens]))
    inputs = [_rows(mla.heads * x).view(1, tokens, mla.heads, x) for x in (mla.qk_dim, mla.qk_dim, mla.v_dim)]

    def run(module: GatedMLA, *operands: Tensor) -> Tensor:
        return module.core(operands, groups)

    return Part(GatedMLA(config), run, inputs, run)


def _convolutions() -> Part:
    config = _config("base")
    places = (torch.arange(_TOKENS) % 1500)[None]
    module = KimiDeltaAttention(config)
    inputs = [_rows(config.kda.width)[None] for _ in range(3)]
    return Part(module, lambda module, q, k, v, places: tuple(module.convolved(places, q, k, v)), [*inputs, places])


def _activation() -> Part:
    inner = _config("base").moe.shared_inner
    module = FeedForward(8, 8).activation
    return Part(module, lambda module, gate, up: module(gate, up), [3 * _rows(inner), 3 * _rows(inner)])


def _norm() -> Part:
    return Part(RMSNorm(_config("base").d_model), lambda module, x: module(x), [_rows(_config("base").d_model)])


class _Head(HasKernels):
    """The products with a head and the loss of its logits."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(config.vocab_size, config.d_model))
        words = torch.randint(0, config.vocab_size, (_TOKENS,))
        self.targets = Targets.of(words, torch.ones(_TOKENS), config.vocab_size).to(_DEVICE)

    def forward(self, hidden_TD: Tensor, function: OfChunk | None = None) -> Tensor:
        if self.kernels == "triton":
            from ..kernels import cross_entropy as kernel

            function = kernel.of_chunk
        return cross_entropy(hidden_TD, self.weight, self.targets, of_chunk=function).total / _TOKENS


def _loss(size: str) -> Part:
    config = _config(size)
    compiled = OfChunks(
        torch.compile(of_chunk, fullgraph=True, dynamic=False), slice_tokens(config.vocab_size, _DEVICE)
    )
    return Part(
        _Head(config), lambda module, hidden: module(hidden), [_rows(config.d_model)],
        lambda module, hidden: module(hidden, compiled),
    )  # fmt: skip


def _rows(channels: int) -> Tensor:
    return torch.randn(_TOKENS, channels)


PARTS: dict[str, Callable[[], Part]] = {
    "experts_small": lambda: _experts("small"),
    "experts_base": lambda: _experts("base"),
    "experts_latent": lambda: _experts("latent"),
    "mix_small": lambda: _mix("small"),
    "mix_base": lambda: _mix("base"),
    "attention_1500": lambda: _attention(1500),
    "attention_8192": lambda: _attention(8192),
    "convolutions": _convolutions,
    "gated_kda": lambda: _gated(KimiDeltaAttention),
    "gated_mla": lambda: _gated(GatedMLA),
    "loss_small": lambda: _loss("small"),
    "loss_base": lambda: _loss("base"),
    "activation": _activation,
    "norm": _norm,
}

if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
