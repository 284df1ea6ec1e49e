"""`conv_silu`: checks, and the kernels as custom operators that autograd and torch.compile know.

Letters: B batch, T tokens, P channels, N = B·T.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...custom_op import custom_op
from ..checks import on_gpu
from ..launch import cdiv
from .checks import check_alike, check_dtypes
from .conv_kernels import conv_backward_kernel, conv_kernel
from .launch import conv_backward_launch, conv_launch, conv_programs
from .sums import weight_gradients

TAPS = 4


def conv_silu(x_BTP: Tensor, weight_P1W: Tensor, places_BT: Tensor) -> Tensor:
    """y_BTP in x's dtype, as `ShortConvolution.packed`: a causal convolution within each document, then SiLU, in fp32.

    `places_BT` (int32 or int64) are the tokens' numbers in their documents; where they are less than a shift, zeros
    are put. x and the weight in bf16 or fp32 each. Differentiable, once, in both. Operands that are not contiguous
    are copied. Raises ValueError for dtypes, shapes and devices that do not fit, kernels of another width than 4, and
    without a GPU (unless TRITON_INTERPRET=1).
    """
    return conv_silu_each([x_BTP], [weight_P1W], places_BT)[0]


def conv_silu_each(inputs: Sequence[Tensor], weights: Sequence[Tensor], places_BT: Tensor) -> list[Tensor]:
    """The same of several x of one shape and dtype, each with a weight of its own, in one launch: q, k and v."""
    if not inputs or len(inputs) != len(weights):
        raise ValueError(f"there are {len(inputs)} inputs and {len(weights)} weights")
    named = {f"x {number}": x for number, x in enumerate(inputs)}
    kernels = {f"weight {number}": weight for number, weight in enumerate(weights)}
    check_dtypes({**named, **kernels})
    check_alike(named)
    check_alike(kernels)
    if inputs[0].ndim != 3:
        raise ValueError(f"x must be [B, T, P], not {list(inputs[0].shape)}")
    B, T, P = inputs[0].shape
    if tuple(weights[0].shape) != (P, 1, TAPS):
        raise ValueError(f"the weight is {list(weights[0].shape)}, but must be {[P, 1, TAPS]} to go with x")
    if tuple(places_BT.shape) != (B, T):
        raise ValueError(f"places are {list(places_BT.shape)}, but must be {[B, T]} to go with x")
    if places_BT.dtype not in (torch.int32, torch.int64) or places_BT.device != inputs[0].device:
        raise ValueError(f"places must be integers on {inputs[0].device}, not {places_BT.dtype} on {places_BT.device}")
    contiguous = [[one.contiguous() for one in group] for group in (inputs, weights)]
    return _forward(*contiguous, places_BT.contiguous())


@custom_op("k3data::conv_silu")
def _forward(inputs: list[Tensor], weights: list[Tensor], places: Tensor) -> list[Tensor]:
    on_gpu(places)
    outputs, N, P = [torch.empty_like(x) for x in inputs], places.numel(), inputs[0].shape[-1]
    launch = conv_launch(P)
    if N and P:
        conv_kernel[(cdiv(N, launch.rows), cdiv(P, launch.width), len(inputs))](
            tuple(inputs), tuple(weights), places, tuple(outputs), N,
            len(inputs), P, launch.width, launch.rows, **launch.options(),
        )  # fmt: skip
    return outputs


@_forward.register_fake
def _(inputs: list[Tensor], weights: list[Tensor], places: Tensor) -> list[Tensor]:
    return [torch.empty_like(x) for x in inputs]


@custom_op("k3data::conv_silu_backward")
def _backward(doutputs: list[Tensor], inputs: list[Tensor], weights: list[Tensor], places: Tensor) -> list[Tensor]:
    """Gradients of the inputs, then of the weights."""
    on_gpu(places)
    dinputs, N, P = [torch.empty_like(x) for x in inputs], places.numel(), inputs[0].shape[-1]
    if not (N and P):
        return [*dinputs, *(torch.zeros_like(weight) for weight in weights)]
    launch, streams = conv_backward_launch(P), len(inputs)
    blocks = cdiv(P, launch.width)
    programs = min(conv_programs(blocks * streams), cdiv(N, launch.rows))
    partials = inputs[0].new_empty(streams, programs, P, TAPS, dtype=torch.float32)
    conv_backward_kernel[(programs, blocks, streams)](
        tuple(inputs), tuple(weights), places, tuple(doutputs), tuple(dinputs), partials, N, programs,
        streams, P, launch.width, launch.rows, **launch.options(),
    )  # fmt: skip
    return [*dinputs, *weight_gradients(partials.flatten(2), weights)]


@_backward.register_fake
def _(doutputs: list[Tensor], inputs: list[Tensor], weights: list[Tensor], places: Tensor) -> list[Tensor]:
    return [torch.empty_like(one) for one in (*inputs, *weights)]


def _save(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    xs, weights, places = inputs
    ctx.save_for_backward(*xs, *weights, places)


def _gradients(ctx: Any, doutputs: Sequence[Tensor | None]) -> tuple[list[Tensor], list[Tensor], None]:
    *tensors, places = ctx.saved_tensors
    streams = len(tensors) // 2
    xs, weights = tensors[:streams], tensors[streams:]
    arrived = [torch.zeros_like(x) if dy is None else dy.contiguous() for x, dy in zip(xs, doutputs, strict=True)]
    found = _backward(arrived, xs, weights, places)
    return found[:streams], found[streams:], None


_forward.register_autograd(_gradients, setup_context=_save)
