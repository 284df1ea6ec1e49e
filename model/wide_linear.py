"""A product whose result is not rounded: x Wᵀ in fp32 of operands in bf16, for logits that decide.

Products of bf16 numbers are exact in fp32, so a GPU's tensor cores, which add up in fp32, give what a product of fp32
copies would: without the copies, which take four bytes a number, live until the backward pass, and run without tensor
cores there. Going back, the gradient has 24 bits: it is cut into two bf16 parts, which leaves 2^-17 of it.

Letters: D inputs, E outputs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .custom_op import custom_op
from .kda.inputs import compute_dtype


def wide_linear(x: Tensor, weight_ED: Tensor) -> Tensor:
    """[…, E] of x […, D] in fp32 (fp64 for fp64), autocast or not. Differentiable, once, in both."""
    if x.dtype == weight_ED.dtype == torch.bfloat16:
        return _linear(x, weight_ED)
    wide = compute_dtype(x)
    with torch.autocast(x.device.type, enabled=False):
        return F.linear(x.to(wide), weight_ED.to(wide))


def wide_product(a: Tensor, b: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """a b of bf16 matrices, with sums in fp32, by tensor cores where there are some."""
    if not a.is_cuda:
        return (a.float() @ b.float()).to(dtype)
    return a @ b if dtype == a.dtype else torch.mm(a, b, out_dtype=dtype)


def gradients_of_parts(parts_NP: Tensor, x_ND: Tensor, weight_ED: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of x and of the weight, for a gradient of x Wᵀ in two parts side by side, P = 2 E; all in bf16."""
    dx_ND = wide_product(parts_NP, torch.cat([weight_ED, weight_ED]), torch.bfloat16)
    dweight_2ED = wide_product(parts_NP.T, x_ND).view(2, *weight_ED.shape)
    return dx_ND, dweight_2ED.sum(0).to(weight_ED.dtype)


@custom_op("k3data::wide_linear")
def _linear(x: Tensor, weight: Tensor) -> Tensor:
    return wide_product(x.flatten(0, -2), weight.T).view(*x.shape[:-1], len(weight))


@_linear.register_fake
def _(x: Tensor, weight: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:-1], len(weight), dtype=torch.float32)


@custom_op("k3data::wide_linear_backward")
def _linear_backward(dy: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    dy_NE, x_ND = dy.flatten(0, -2), x.flatten(0, -2)
    high_NE = dy_NE.to(torch.bfloat16)
    parts_NP = torch.cat([high_NE, (dy_NE - high_NE).to(torch.bfloat16)], dim=1)
    dx_ND, dweight_ED = gradients_of_parts(parts_NP, x_ND, weight)
    return dx_ND.view(x.shape), dweight_ED


@_linear_backward.register_fake
def _(dy: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device), torch.empty_like(weight)


def _save(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _gradients(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
    return _linear_backward(dy.contiguous(), *ctx.saved_tensors)


_linear.register_autograd(_gradients, setup_context=_save)
