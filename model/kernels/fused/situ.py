"""SiTU-GLU, forward and backward: f = β_g tanh(g/β_g) σ(g) · β_u tanh(u/β_u), the gate g and the other branch u.

    dg = df β_u tanh(u/β_u) σ(g) (1 − tanh²(g/β_g) + β_g tanh(g/β_g) (1 − σ(g)))
    du = df β_g tanh(g/β_g) σ(g) (1 − tanh²(u/β_u))

With e = exp(−2|x|), tanh |x| = (1 − e)/(1 + e) and 1 − tanh² x = 4e/(1 + e)²; near zero, where 1 − e loses its digits,
the first four terms of the series. The three denominators are inverted at once, as the square of a reciprocal root of
their product: four special functions a number instead of six or nine. About 45 instructions a number forward and 70
backward are as long as its bytes take, so a libm's tanh would not be.

Bytes a number in bf16: 4 read and 2 written forward, 6 read and 4 written backward. Kept are g and u alone.

Letters: N rows of D channels, E numbers of a program's block, which may begin and end within rows.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ...custom_op import custom_op
from ..checks import on_gpu
from ..functions import LOG2E
from ..jit import kernel
from ..launch import cdiv
from .checks import check_alike, check_dtypes

BLOCK, WARPS = 2048, 4


@triton.jit
def block_of(N, D: tl.constexpr, BLOCK: tl.constexpr):
    """The numbers of a program, and which of them exist; D tells the compiler that they end at a multiple of it."""
    place_E = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    return place_E, place_E < N.to(tl.int64) * D


@triton.jit
def tanh_parts(x_E):
    """(1 + e) tanh x and e = exp(−2|x|)."""
    e_E = tl.exp2((-2.0 * LOG2E) * tl.abs(x_E))
    square_E = x_E * x_E
    series_E = x_E * (1.0 + square_E * (-1.0 / 3.0 + square_E * (2.0 / 15.0 - square_E * (17.0 / 315.0))))
    far_E = tl.where(x_E < 0.0, e_E - 1.0, 1.0 - e_E)
    return tl.where(square_E < 0.01, series_E * (1.0 + e_E), far_E), e_E


@kernel(do_not_specialize=["N", "beta_gate", "beta_up"])
def situ_kernel(gate_ptr, up_ptr, y_ptr, N, beta_gate, beta_up, D: tl.constexpr, BLOCK: tl.constexpr):
    place_E, inside_E = block_of(N, D, BLOCK)
    g_E = tl.load(gate_ptr + place_E, mask=inside_E, other=0.0).to(tl.float32)
    u_E = tl.load(up_ptr + place_E, mask=inside_E, other=0.0).to(tl.float32)
    over_g_E, e_E = tanh_parts(g_E * (1.0 / beta_gate))
    over_u_E, f_E = tanh_parts(u_E * (1.0 / beta_up))
    s_E = tl.exp2(-LOG2E * tl.abs(g_E))
    root_E = tl.rsqrt((1.0 + e_E) * (1.0 + f_E) * (1.0 + s_E))
    y_E = (beta_gate * beta_up) * over_g_E * over_u_E * tl.where(g_E < 0.0, s_E, 1.0) * (root_E * root_E)
    tl.store(y_ptr + place_E, y_E.to(y_ptr.dtype.element_ty), mask=inside_E)


@kernel(do_not_specialize=["N", "beta_gate", "beta_up"])
def situ_backward_kernel(
    dy_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, N, beta_gate, beta_up, D: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    place_E, inside_E = block_of(N, D, BLOCK)
    dy_E = tl.load(dy_ptr + place_E, mask=inside_E, other=0.0).to(tl.float32)
    g_E = tl.load(gate_ptr + place_E, mask=inside_E, other=0.0).to(tl.float32)
    u_E = tl.load(up_ptr + place_E, mask=inside_E, other=0.0).to(tl.float32)
    over_g_E, e_E = tanh_parts(g_E * (1.0 / beta_gate))
    over_u_E, f_E = tanh_parts(u_E * (1.0 / beta_up))
    s_E = tl.exp2(-LOG2E * tl.abs(g_E))
    root_E = tl.rsqrt((1.0 + e_E) * (1.0 + f_E) * (1.0 + s_E))
    inverse_E = root_E * root_E
    inverse_e_E = inverse_E * ((1.0 + f_E) * (1.0 + s_E))
    inverse_f_E = inverse_E * ((1.0 + e_E) * (1.0 + s_E))
    inverse_s_E = inverse_E * ((1.0 + e_E) * (1.0 + f_E))
    tanh_g_E, tanh_u_E = beta_gate * over_g_E * inverse_e_E, beta_up * over_u_E * inverse_f_E
    slope_g_E, slope_u_E = 4.0 * e_E * inverse_e_E * inverse_e_E, 4.0 * f_E * inverse_f_E * inverse_f_E
    small_E = s_E * inverse_s_E
    dy_E *= tl.where(g_E < 0.0, small_E, inverse_s_E)
    dgate_E = dy_E * tanh_u_E * (slope_g_E + tanh_g_E * tl.where(g_E < 0.0, inverse_s_E, small_E))
    dup_E = dy_E * tanh_g_E * slope_u_E
    tl.store(dgate_ptr + place_E, dgate_E.to(dgate_ptr.dtype.element_ty), mask=inside_E)
    tl.store(dup_ptr + place_E, dup_E.to(dup_ptr.dtype.element_ty), mask=inside_E)


def situ_glu(gate: Tensor, up: Tensor, beta_gate: float = 4.0, beta_up: float = 25.0) -> Tensor:
    """f(gate, up) elementwise, as gate's dtype, computed in fp32; as `activation.situ_glu`.

    Both of one shape and dtype, bf16 or fp32; operands that are not contiguous are copied. Differentiable, once.
    Raises ValueError for dtypes, shapes and devices that do not fit, for a β that is not positive, and without a GPU
    (unless TRITON_INTERPRET=1).
    """
    check_dtypes({"gate": gate, "up": up})
    check_alike({"gate": gate, "up": up})
    if not (beta_gate > 0 and beta_up > 0):
        raise ValueError(f"both β must be positive, not {beta_gate} and {beta_up}")
    return _forward(gate.contiguous(), up.contiguous(), float(beta_gate), float(beta_up))


@custom_op("k3data::situ_glu")
def _forward(gate: Tensor, up: Tensor, beta_gate: float, beta_up: float) -> Tensor:
    on_gpu(gate)
    y, D = torch.empty_like(gate), gate.shape[-1]
    if count := gate.numel():
        situ_kernel[(cdiv(count, BLOCK),)](gate, up, y, count // D, beta_gate, beta_up, D, BLOCK, num_warps=WARPS)
    return y


@_forward.register_fake
def _(gate: Tensor, up: Tensor, beta_gate: float, beta_up: float) -> Tensor:
    return torch.empty_like(gate)


@custom_op("k3data::situ_glu_backward")
def _backward(dy: Tensor, gate: Tensor, up: Tensor, beta_gate: float, beta_up: float) -> tuple[Tensor, Tensor]:
    on_gpu(gate)
    dgate, dup, D = torch.empty_like(gate), torch.empty_like(up), gate.shape[-1]
    if count := gate.numel():
        situ_backward_kernel[(cdiv(count, BLOCK),)](
            dy, gate, up, dgate, dup, count // D, beta_gate, beta_up, D, BLOCK, num_warps=WARPS
        )
    return dgate, dup


@_backward.register_fake
def _(dy: Tensor, gate: Tensor, up: Tensor, beta_gate: float, beta_up: float) -> tuple[Tensor, Tensor]:
    return torch.empty_like(gate), torch.empty_like(up)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    gate, up, *ctx.betas = inputs
    ctx.save_for_backward(gate, up)


def _gradients(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
    return *_backward(dy.contiguous(), *ctx.saved_tensors, *ctx.betas), None, None


_forward.register_autograd(_gradients, setup_context=_save)
