"""A model's layers compiled, piece by piece: what lies between the operators that no compiler sees into.

    compile_blocks(model)            # before or after sharding; then train as before

A piece is a method whose shapes do not depend on where groups end: the mix over depth with its norm, the operands of
an attention and its output, a feed-forward, and the loss of a slice of logits. Each is one graph without a break
(`fullgraph`), shared by all layers of its kind and made anew only for another shape (`dynamic=False`). Between them,
as they are, run KDA's scan and attention over groups, whose shapes change with every batch: they are kernels of their
own anyway, which a compiler could fuse nothing into.

Pieces run inside what FSDP gathers and inside what is computed again in the backward, so neither knows of them. Where
no gradient is wanted (evaluation, generation, whose shapes vary) the same methods run uncompiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .feed_forward import FeedForward
from .kda.layer import KimiDeltaAttention
from .loss import OfChunk, of_chunk, slice_tokens
from .mla import GatedMLA
from .moe import LatentMoE
from .transformer import K3Model, Layer

PIECES: dict[type[nn.Module], tuple[str, ...]] = {
    Layer: ("mixed",),
    KimiDeltaAttention: ("operands", "output"),
    GatedMLA: ("operands", "output"),
    LatentMoE: ("mixture",),
    FeedForward: ("forward",),
}
"""Methods that are compiled, by the class of their module."""

_SHAPES = 64
"""Graphs that a piece may have: one for each number of sources of a mix, and for each shape of a stage's batches."""


class Piece:
    """A method of a module: compiled where gradients are wanted, and as it is elsewhere."""

    def __init__(self, module: nn.Module, plain: Callable[..., Any], compiled: Callable[..., Any]) -> None:
        self.module, self.plain, self.compiled = module, plain, compiled

    def __call__(self, *inputs: Any) -> Any:
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            return self.compiled(self.module, *inputs)
        return self.plain(self.module, *inputs)


class OfChunks:
    """The loss of a slice compiled for `rows` tokens; a slice that has fewer is filled up."""

    def __init__(self, compiled: OfChunk, rows: int) -> None:
        self.compiled = compiled
        self.rows = rows

    def __call__(
        self, logits_CV: Tensor, words_C1: Tensor, weights_C1: Tensor, z: float, dtype: torch.dtype | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        C = len(logits_CV)
        # Rows of zeros are of the first word, and weigh nothing.
        logits_CV, words_C1, weights_C1 = (
            F.pad(x, (0, 0, 0, max(0, self.rows - C))) for x in (logits_CV, words_C1, weights_C1)
        )
        losses_C, sums_2, dlogits_CV = self.compiled(logits_CV, words_C1, weights_C1, z, dtype)
        return losses_C[:C], sums_2, None if dlogits_CV is None else dlogits_CV[:C]


def compile_blocks(model: K3Model, backend: str | Callable[..., Any] = "inductor") -> None:
    """Puts pieces in the place of methods. Nothing is compiled before it runs; what cannot be is an error then."""
    torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, _SHAPES)
    options: dict[str, Any] = {"fullgraph": True, "dynamic": False, "backend": backend}
    made = {
        (kind, name): torch.compile(getattr(kind, name), **options) for kind, names in PIECES.items() for name in names
    }
    inside = {id(module.shared) for module in model.modules() if isinstance(module, LatentMoE)}
    for module in model.modules():
        kind = next((one for one in PIECES if isinstance(module, one)), None)
        if kind is None or id(module) in inside:
            continue
        for name in PIECES[kind]:
            setattr(module, name, Piece(module, getattr(kind, name), made[kind, name]))
    if model.of_chunk is None or isinstance(model.of_chunk, OfChunks):  # else it is a kernel
        rows = slice_tokens(model.config.vocab_size, model.embedding.weight.device)
        model.of_chunk = OfChunks(torch.compile(of_chunk, **options), rows)
