"""Sums over programs of what each gave to the gradients of weights: one launch, in an order that never changes.

A program sums a few columns over all rows. It adds them in STEPS lanes, and those at the end, so that as many loads are
on their way as there are rows: what has to be read is small, and its latency all that counts.

Letters: G programs that gave, C columns, D channels, W columns of a program.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..jit import kernel
from ..launch import cdiv

_WIDTH, _STEPS = 16, 256


@triton.jit
def column_sums(partials_ptr, G, column_W, C: tl.constexpr, STEPS: tl.constexpr):
    """[W] of partials [G, C]."""
    lane_S = tl.arange(0, STEPS)
    total_SW = tl.zeros([STEPS, column_W.shape[0]], tl.float32)
    for begin in range(0, G, STEPS):
        inside_SW = (begin + lane_S < G)[:, None] & (column_W < C)[None, :]
        place_SW = (begin + lane_S).to(tl.int64)[:, None] * C + column_W[None, :]
        total_SW += tl.load(partials_ptr + place_SW, mask=inside_SW, other=0.0)
    return tl.sum(total_SW, 0)


@kernel(do_not_specialize=["G"])
def weights_kernel(
    partials_ptr, dweights, G, COUNT: tl.constexpr, C: tl.constexpr, W: tl.constexpr, STEPS: tl.constexpr
):
    """Partials [COUNT, G, C] to so many weights of C numbers."""
    column_W = tl.program_id(0) * W + tl.arange(0, W)
    for number in tl.static_range(COUNT):
        if tl.program_id(1) == number:
            total_W = column_sums(partials_ptr + G.to(tl.int64) * (number * C), G, column_W, C, STEPS)
            into = dweights[number]
            tl.store(into + column_W, total_W.to(into.dtype.element_ty), mask=column_W < C)


@kernel(do_not_specialize=["G"])
def mix_weights_kernel(
    partials_ptr, query_ptr, norm_weight_ptr, dquery_ptr, dnorm_weight_ptr, dout_weight_ptr, G,
    D: tl.constexpr, W: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Partials [2, G, D] of w̃ = query ⊙ norm weight and of the weight of the norm behind; None where there is none."""
    channel_W = tl.program_id(0) * W + tl.arange(0, W)
    inside_W = channel_W < D
    if query_ptr is not None:
        dfolded_W = column_sums(partials_ptr, G, channel_W, D, STEPS)
        query_W = tl.load(query_ptr + channel_W, mask=inside_W, other=0.0).to(tl.float32)
        norm_weight_W = tl.load(norm_weight_ptr + channel_W, mask=inside_W, other=0.0).to(tl.float32)
        dquery_W, dnorm_weight_W = dfolded_W * norm_weight_W, dfolded_W * query_W
        tl.store(dquery_ptr + channel_W, dquery_W.to(dquery_ptr.dtype.element_ty), mask=inside_W)
        tl.store(dnorm_weight_ptr + channel_W, dnorm_weight_W.to(dnorm_weight_ptr.dtype.element_ty), mask=inside_W)
    if dout_weight_ptr is not None:
        dout_W = column_sums(partials_ptr + G.to(tl.int64) * D, G, channel_W, D, STEPS)
        tl.store(dout_weight_ptr + channel_W, dout_W.to(dout_weight_ptr.dtype.element_ty), mask=inside_W)


def weight_gradients(partials: Tensor, weights: Sequence[Tensor]) -> list[Tensor]:
    """In the weights' dtypes, of fp32 partials [number of weights, G, numbers of a weight]."""
    count, G, C = partials.shape
    found = [torch.empty_like(weight) for weight in weights]
    weights_kernel[(cdiv(C, _WIDTH), count)](partials, tuple(found), G, count, C, _WIDTH, _STEPS, num_warps=4)
    return found


def mix_weight_gradients(
    partials: Tensor, query: Tensor | None, norm_weight: Tensor | None, out_weight: Tensor | None
) -> list[Tensor]:
    """Those of the weights that are there, of fp32 partials [2, G, D]."""
    _, G, D = partials.shape
    found = [None if one is None else torch.empty_like(one) for one in (query, norm_weight, out_weight)]
    if query is not None or out_weight is not None:
        mix_weights_kernel[(cdiv(D, _WIDTH),)](partials, query, norm_weight, *found, G, D, _WIDTH, _STEPS, num_warps=4)
    return [one for one in found if one is not None]
