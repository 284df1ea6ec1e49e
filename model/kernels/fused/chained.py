"""`chained_mix`: a mix that hands its sources on, so that their gradients are summed inside the backward kernels.

A block is a source of every later mix. Where each mix takes the block itself, autograd adds up what they give: for each
of S sources two tensors read and one written, in a launch of its own, beside the two that the kernel needs. Here a mix
gives the blocks back, the next one takes those, and so the gradient that a block has so far arrives at the kernel,
which adds its own in fp32 and rounds once. Units of [B, T, D] moved by the backward pass of a mix of nine sources: 28
instead of 44, and one launch instead of nine.

    for layer in layers:
        partial, x, blocks = chained_mix(query, norm_weight, eps, out_weight, out_eps, partial, added, *blocks)

It cannot be a custom operator, whose outputs must not be its inputs; it is a function around those of `mix`.

Letters: B batch, T tokens, D model width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .mix_op import check, forward_op, gradients_of, mix


def chained_mix(
    query_D: Tensor, norm_weight_D: Tensor, eps: float, out_weight_D: Tensor | None, out_eps: float,
    partial_BTD: Tensor, added_BTD: Tensor | None, *blocks: Tensor,
) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:  # fmt: skip
    """The running sum, the norm of the mix, and the blocks for whoever reads them next: the same memory.

    In all else as `mix`, the errors that it raises included.
    """
    if not torch.is_grad_enabled():
        return *mix(query_D, norm_weight_D, eps, out_weight_D, out_eps, partial_BTD, added_BTD, *blocks), blocks
    check(query_D, norm_weight_D, out_weight_D, partial_BTD, added_BTD, blocks)
    partial, x, *onward = _Chained.apply(  # type: ignore[no-untyped-call]
        eps, out_eps, query_D, norm_weight_D, out_weight_D, partial_BTD, added_BTD, *blocks
    )
    return partial, x, tuple(onward)


class _Chained(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, eps: float, out_eps: float, query: Tensor, norm_weight: Tensor, out_weight: Tensor | None,
        partial: Tensor, added: Tensor | None, *blocks: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        training = any(ctx.needs_input_grad)
        total, x, stats = forward_op(query, norm_weight, eps, out_weight, out_eps, partial, added, blocks, training)
        weights = (query, norm_weight, out_weight) if blocks else (None, None, out_weight)
        ctx.save_for_backward(*blocks, total, *weights, stats)
        ctx.set_materialize_grads(False)
        ctx.out_eps, ctx.has_added = out_eps, added is not None
        return total, x, *blocks

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        dtotal, dx, *dblocks = gradients
        *sources, query, norm_weight, out_weight, stats = ctx.saved_tensors
        *found, dpartial, dquery, dnorm_weight, dout_weight = gradients_of(
            dx, [*dblocks, dtotal], sources, query, norm_weight, out_weight, stats, ctx.out_eps
        )
        dadded = dpartial if ctx.has_added else None
        return None, None, dquery, dnorm_weight, dout_weight, dpartial, dadded, *found
