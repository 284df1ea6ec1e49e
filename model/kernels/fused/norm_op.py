"""`rms_norm`: the kernels of a mix with one source, as operators of their own: lists of tensors take longer to launch.

Letters: N rows, D channels.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...custom_op import custom_op
from ..checks import on_gpu
from ..launch import cdiv
from .checks import check_dtypes, check_weights, check_width
from .launch import mix_launch
from .mix_kernels import mix_backward_kernel, mix_kernel
from .sums import mix_weight_gradients


def rms_norm(x: Tensor, weight_D: Tensor, eps: float) -> Tensor:
    """x / √(mean x² + eps) · weight over the last dimension, in x's dtype, computed in fp32.

    Both in bf16 or fp32 each. Differentiable, once, in both. Operands that are not contiguous are copied. Raises
    ValueError for dtypes, shapes and devices that do not fit, more than 8,192 channels, and without a GPU (unless
    TRITON_INTERPRET=1).
    """
    check_dtypes({"x": x, "weight": weight_D})
    check_width(x.shape[-1])
    check_weights({"weight": weight_D}, x.shape[-1])
    return _forward(x.contiguous(), weight_D.contiguous(), eps)


@custom_op("k3data::rms_norm")
def _forward(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    on_gpu(x)
    y, D = torch.empty_like(x), x.shape[-1]
    launch = mix_launch(D, 1, False)
    if N := x.numel() // D:
        mix_kernel[(cdiv(N, launch.rows),)](
            (x,), None, None, None, weight, None, y, None, N, 0.0, eps,
            1, D, launch.width, launch.rows, launch.held, **launch.options(),
        )  # fmt: skip
    return y


@_forward.register_fake
def _(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return torch.empty_like(x)


@custom_op("k3data::rms_norm_backward")
def _backward(dy: Tensor, x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    on_gpu(x)
    dx, D = torch.empty_like(x), x.shape[-1]
    N, launch = x.numel() // D, mix_launch(D, 1, True)
    programs = max(1, min(launch.programs, cdiv(N, launch.rows)))
    partials = x.new_empty(2, programs, D, dtype=torch.float32)
    mix_backward_kernel[(programs,)](
        (x,), (None,), (dx,), None, None, weight, None, dy, partials, programs, N, eps,
        1, D, launch.width, launch.rows, launch.held, **launch.options(),
    )  # fmt: skip
    return dx, mix_weight_gradients(partials, None, None, weight)[0]


@_backward.register_fake
def _(dy: Tensor, x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), torch.empty_like(weight)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, weight, ctx.eps = inputs
    ctx.save_for_backward(x, weight)


def _gradients(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None]:
    return *_backward(dy.contiguous(), *ctx.saved_tensors, ctx.eps), None


_forward.register_autograd(_gradients, setup_context=_save)
