"""SiTU-GLU, forward and backward: f = β_g tanh(g/β_g) σ(g) · β_u tanh(u/β_u), the gate g and the other branch u.

    dg = df β_u tanh(u/β_u) σ(g) (1 − tanh²(g/β_g) + β_g tanh(g/β_g) (1 − σ(g)))
    du = df β_g tanh(g/β_g) σ(g) (1 − tanh²(u/β_u))

With e = exp(−2|x|), tanh |x| = (1 − e)/(1 + e) and 1 − tanh² x = 4e/(1 + e)²; near zero, where 1 − e loses its digits,
the first four terms of the series. The three denominators are inverted at once, as the square of a reciprocal root of
their product: four special functions a number instead of six or nine, or these would take longer than the bytes do.

Bytes a number in bf16: 4 read and 2 written forward, 6 read and 4 written backward. Kept are g and u alone.

Letters: E numbers of a program's block.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..kda.tiles import LOG2E
from .checks import check_alike, check_dtypes, on_gpu

BLOCK, WARPS = 2048, 4


@triton.jit
def tanh_of(x_E, e_E, inverse_E):
    """tanh x, where e = exp(−2|x|) and inverse = 1/(1 + e)."""
    square_E = x_E * x_E
    series_E = x_E * (1.0 + square_E * (-1.0 / 3.0 + square_E * (2.0 / 15.0 - square_E * (17.0 / 315.0))))
    far_E = (1.0 - e_E) * inverse_E
    return tl.where(square_E < 0.01, series_E, tl.where(x_E < 0.0, -far_E, far_E))


@triton.jit
def parts(g_E, u_E, inverse_beta_gate, inverse_beta_up):
    """tanh(g/β_g), tanh(u/β_u), σ(g), and 1 minus each, of the tanh squared."""
    x_E, y_E = g_E * inverse_beta_gate, u_E * inverse_beta_up
    e_E, f_E = tl.exp2((-2.0 * LOG2E) * tl.abs(x_E)), tl.exp2((-2.0 * LOG2E) * tl.abs(y_E))
    s_E = tl.exp2(-LOG2E * tl.abs(g_E))
    root_E = tl.rsqrt((1.0 + e_E) * (1.0 + f_E) * (1.0 + s_E))
    inverse_E = root_E * root_E
    inverse_e_E = inverse_E * ((1.0 + f_E) * (1.0 + s_E))
    inverse_f_E = inverse_E * ((1.0 + e_E) * (1.0 + s_E))
    inverse_s_E = inverse_E * ((1.0 + e_E) * (1.0 + f_E))
    tanh_g_E, tanh_u_E = tanh_of(x_E, e_E, inverse_e_E), tanh_of(y_E, f_E, inverse_f_E)
    slope_g_E, slope_u_E = 4.0 * e_E * inverse_e_E * inverse_e_E, 4.0 * f_E * inverse_f_E * inverse_f_E
    small_E = s_E * inverse_s_E
    sigmoid_E, rest_E = tl.where(g_E < 0.0, small_E, inverse_s_E), tl.where(g_E < 0.0, inverse_s_E, small_E)
    return tanh_g_E, tanh_u_E, sigmoid_E, slope_g_E, slope_u_E, rest_E


@triton.jit(do_not_specialize=["count", "beta_gate", "beta_up"])
def situ_kernel(gate_ptr, up_ptr, y_ptr, count, beta_gate, beta_up, BLOCK: tl.constexpr):
    place_E = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside_E = place_E < count
    g_E = tl.load(gate_ptr + place_E, mask=inside_E, other=0.0).to(tl.float32)
    u_E = tl.load(up_ptr + place_E, mask=inside_E, other=0.0).to(tl.float32)
    tanh_g_E, tanh_u_E, sigmoid_E, _, _, _ = parts(g_E, u_E, 1.0 / beta_gate, 1.0 / beta_up)
    y_E = (beta_gate * beta_up) * tanh_g_E * sigmoid_E * tanh_u_E
    tl.store(y_ptr + place_E, y_E.to(y_ptr.dtype.element_ty), mask=inside_E)


@triton.jit(do_not_specialize=["count", "beta_gate", "beta_up"])
def situ_backward_kernel(
    dy_ptr, gate_ptr, up_ptr, dgate_ptr, dup_ptr, count, beta_gate, beta_up, BLOCK: tl.constexpr
):  # fmt: skip
    place_E = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside_E = place_E < count
    dy_E = tl.load(dy_ptr + place_E, mask=inside_E, other=0.0).to(tl.float32)
    g_E = tl.load(gate_ptr + place_E, mask=inside_E, other=0.0).to(tl.float32)
    u_E = tl.load(up_ptr + place_E, mask=inside_E, other=0.0).to(tl.float32)
    tanh_g_E, tanh_u_E, sigmoid_E, slope_g_E, slope_u_E, rest_E = parts(g_E, u_E, 1.0 / beta_gate, 1.0 / beta_up)
    dy_E *= sigmoid_E
    dgate_E = dy_E * (beta_up * tanh_u_E) * (slope_g_E + beta_gate * tanh_g_E * rest_E)
    dup_E = dy_E * (beta_gate * tanh_g_E) * slope_u_E
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


@torch.library.custom_op("k3data::situ_glu", mutates_args=())
def _forward(gate: Tensor, up: Tensor, beta_gate: float, beta_up: float) -> Tensor:
    on_gpu(gate)
    y = torch.empty_like(gate)
    if count := gate.numel():
        situ_kernel[(triton.cdiv(count, BLOCK),)](gate, up, y, count, beta_gate, beta_up, BLOCK, num_warps=WARPS)
    return y


@_forward.register_fake
def _(gate: Tensor, up: Tensor, beta_gate: float, beta_up: float) -> Tensor:
    return torch.empty_like(gate)


@torch.library.custom_op("k3data::situ_glu_backward", mutates_args=())
def _backward(dy: Tensor, gate: Tensor, up: Tensor, beta_gate: float, beta_up: float) -> tuple[Tensor, Tensor]:
    on_gpu(gate)
    dgate, dup = torch.empty_like(gate), torch.empty_like(up)
    if count := gate.numel():
        situ_backward_kernel[(triton.cdiv(count, BLOCK),)](
            dy, gate, up, dgate, dup, count, beta_gate, beta_up, BLOCK, num_warps=WARPS
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
