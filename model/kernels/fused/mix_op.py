"""`mix`: checks, and the kernels as custom operators that autograd and torch.compile know.

Letters: B batch, T tokens, N = B·T, S sources, D model width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...custom_op import custom_op
from ..checks import on_gpu
from ..launch import cdiv
from .checks import check_alike, check_dtypes, check_weights, check_width
from .launch import mix_launch
from .mix_kernels import mix_backward_kernel, mix_kernel
from .sums import mix_weight_gradients

MOST_SOURCES = 16


def mix(
    query_D: Tensor, norm_weight_D: Tensor, eps: float, out_weight_D: Tensor | None, out_eps: float,
    partial_BTD: Tensor, added_BTD: Tensor | None, *blocks: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The running sum with what was added last, and the norm of the mix over depth of it and the blocks.

    As `Layer.mixed` does it: the sum is rounded to its dtype before it is a source; without `added` it is `partial`
    itself; without blocks there is no mix and the query gets no gradient; without `out_weight` there is no norm. All
    of [B, T, D] in bf16 or fp32, weights in either; computed in fp32. Differentiable, once, in every tensor. Operands
    that are not contiguous are copied.

    Raises ValueError for dtypes, shapes and devices that do not fit, more than 15 blocks, more than 8,192 channels,
    and without a GPU (unless TRITON_INTERPRET=1).
    """
    check(query_D, norm_weight_D, out_weight_D, partial_BTD, added_BTD, blocks)
    given = (query_D, norm_weight_D, out_weight_D, partial_BTD, added_BTD, *blocks)
    training = torch.is_grad_enabled() and any(one is not None and one.requires_grad for one in given)
    total, x, _ = forward_op(
        query_D, norm_weight_D, eps, out_weight_D, out_eps, partial_BTD, added_BTD, blocks, training
    )
    return total, x


def check(
    query_D: Tensor, norm_weight_D: Tensor, out_weight_D: Tensor | None,
    partial_BTD: Tensor, added_BTD: Tensor | None, blocks: Sequence[Tensor],
) -> None:  # fmt: skip
    """Raises as `mix` says."""
    if len(blocks) >= MOST_SOURCES:
        raise ValueError(f"the kernels mix at most {MOST_SOURCES} sources, not {len(blocks) + 1}")
    weights = {"query": query_D, "norm_weight": norm_weight_D, "out_weight": out_weight_D}
    sources = {f"block {number}": block for number, block in enumerate(blocks)}
    activations = {"partial": partial_BTD, "added": added_BTD, **sources}
    check_dtypes({**activations, **weights})
    check_alike(activations)
    check_width(partial_BTD.shape[-1])
    check_weights(weights, partial_BTD.shape[-1])


def forward_op(
    query: Tensor | None, norm_weight: Tensor | None, eps: float, out_weight: Tensor | None, out_eps: float,
    partial: Tensor, added: Tensor | None, blocks: Sequence[Tensor], training: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The running sum, x, and what the backward pass needs of the mix; everything was checked before."""
    if not blocks:
        query = norm_weight = None
    weights = [None if one is None else one.contiguous() for one in (query, norm_weight, out_weight)]
    streams = [*(block.contiguous() for block in blocks), partial.contiguous()]
    added = None if added is None else added.contiguous()
    total, x, stats = _forward(streams[:-1], streams[-1], added, *weights, eps, out_eps, training)
    return partial if added is None else total, x, stats


@custom_op("k3data::mix_forward")
def _forward(
    blocks: list[Tensor], partial: Tensor, added: Tensor | None,
    query: Tensor | None, norm_weight: Tensor | None, out_weight: Tensor | None,
    eps: float, out_eps: float, training: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The running sum (empty without `added`), x, and scores and scales [2, S, N] for backward (or empty)."""
    on_gpu(partial)
    D, S = partial.shape[-1], len(blocks) + 1
    N = partial.numel() // D
    total, x, stats = _outputs(blocks, partial, added, training)
    launch = mix_launch(D, S, False)
    if N:
        mix_kernel[(cdiv(N, launch.rows),)](
            (*blocks, partial), added, query, norm_weight, out_weight, None if added is None else total, x,
            stats if stats.numel() else None, N, eps, out_eps,
            S, D, launch.width, launch.rows, launch.held, **launch.options(),
        )  # fmt: skip
    return total, x, stats


@_forward.register_fake
def _(blocks, partial, added, query, norm_weight, out_weight, eps, out_eps, training):  # type: ignore[no-untyped-def]
    return _outputs(blocks, partial, added, training)


def _outputs(
    blocks: Sequence[Tensor], partial: Tensor, added: Tensor | None, training: bool
) -> tuple[Tensor, Tensor, Tensor]:
    total = partial.new_empty(0) if added is None else torch.empty_like(partial)
    kept = (2, len(blocks) + 1, partial.numel() // partial.shape[-1]) if blocks and training else (0,)
    return total, torch.empty_like(partial), partial.new_empty(kept, dtype=torch.float32)


@custom_op("k3data::mix_backward")
def _backward(
    dx: Tensor, arriving: list[Tensor | None], sources: list[Tensor],
    query: Tensor | None, norm_weight: Tensor | None, out_weight: Tensor | None, stats: Tensor, out_eps: float,
) -> list[Tensor]:  # fmt: skip
    """Gradients of the sources, with those that arrive at them by another way; then, where they are there, of the
    query, its norm weight and the weight of the norm behind."""
    on_gpu(dx)
    D, S = dx.shape[-1], len(sources)
    N = dx.numel() // D
    launch = mix_launch(D, S, True)
    dsources = [torch.empty_like(one) for one in sources]
    programs = max(1, min(launch.programs, cdiv(N, launch.rows)))
    partials = dx.new_empty(2, programs, D, dtype=torch.float32)
    mix_backward_kernel[(programs,)](
        tuple(sources), tuple(arriving), tuple(dsources), query, norm_weight, out_weight,
        stats if S > 1 else None, dx, partials, programs, N, out_eps,
        S, D, launch.width, launch.rows, launch.held, **launch.options(),
    )  # fmt: skip
    return [*dsources, *mix_weight_gradients(partials, query, norm_weight, out_weight)]


@_backward.register_fake
def _(dx, arriving, sources, query, norm_weight, out_weight, stats, out_eps):  # type: ignore[no-untyped-def]
    weights = [one for one in (query, norm_weight, out_weight) if one is not None]
    return [torch.empty_like(one) for one in (*sources, *weights)]


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    blocks, partial, added, query, norm_weight, out_weight, _, out_eps, _ = inputs
    total, _, stats = output
    ctx.save_for_backward(*blocks, partial if added is None else total, query, norm_weight, out_weight, stats)
    ctx.set_materialize_grads(False)
    ctx.out_eps, ctx.has_added = out_eps, added is not None


def _gradients(ctx: Any, dtotal: Tensor | None, dx: Tensor | None, _unused: None) -> tuple[Any, ...]:
    *sources, query, norm_weight, out_weight, stats = ctx.saved_tensors
    dtotal = dtotal if ctx.has_added else None
    *dblocks, dpartial, dquery, dnorm_weight, dout_weight = gradients_of(
        dx, [*[None] * (len(sources) - 1), dtotal], sources, query, norm_weight, out_weight, stats, ctx.out_eps
    )
    dadded = dpartial if ctx.has_added else None
    return dblocks, dpartial, dadded, dquery, dnorm_weight, dout_weight, None, None, None


def gradients_of(
    dx: Tensor | None, arriving: Sequence[Tensor | None], sources: list[Tensor],
    query: Tensor | None, norm_weight: Tensor | None, out_weight: Tensor | None, stats: Tensor, out_eps: float,
) -> list[Tensor | None]:  # fmt: skip
    """Of each source, then of the three weights, None where there is none."""
    dx = torch.zeros_like(sources[0]) if dx is None else dx.contiguous()
    arriving = [None if one is None else one.contiguous() for one in arriving]
    found = _backward(dx, arriving, sources, query, norm_weight, out_weight, stats, out_eps)
    of_weights = iter(found[len(sources) :])
    return [
        *found[: len(sources)],
        *(None if w is None else next(of_weights) for w in (query, norm_weight, out_weight)),
    ]


_forward.register_autograd(_gradients, setup_context=_save)
