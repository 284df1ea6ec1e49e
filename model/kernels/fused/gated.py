"""The gate of an attention's output, behind a norm per head (KDA) or without one (MLA): y = σ(gate) ⊙ RMSNorm(o).

Backward, with n = o r w, r = (mean o² + ε)^-1/2 and dn = σ dy:

    dgate = dy n σ (1 − σ);     do = r (w dn − o r² mean(w dn o));     dw = Σ dn o r

and do = dn without a norm. Kept are o and the gate alone, which the operators before and behind keep anyway. Bytes a
number in bf16: 4 read and 2 written forward, 6 read and 4 written backward. A program has whole heads. o may lie as an
attention left it, heads before tokens: rows are looked up by its strides, where a copy would be read, written and kept.

Letters: B batch, T tokens, H heads, K channels of a head, P = H·K; N = B·T·H rows, D = K, R rows of a program's block.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from ...custom_op import custom_op
from ..checks import on_gpu
from ..functions import sigmoid
from ..jit import kernel
from ..launch import cdiv
from .checks import check_dtypes, check_weights, check_width
from .launch import head_launch
from .rows import load_weight, row_block, two_sums
from .sums import weight_gradients


@triton.jit
def places_of_heads(block, T, H, stride_b, stride_t, stride_h, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    """Where the rows of a block lie; strides are in units of 16, which tells the compiler that they are aligned."""
    row_R = block * ROWS + tl.arange(0, ROWS)
    token_R = row_R // H
    start_R = (token_R // T).to(tl.int64) * (stride_b.to(tl.int64) * 16)
    start_R += (token_R % T).to(tl.int64) * (stride_t.to(tl.int64) * 16)
    start_R += (row_R % H).to(tl.int64) * (stride_h.to(tl.int64) * 16)
    return start_R[:, None] + tl.arange(0, WIDTH)[None, :]


@kernel(do_not_specialize=["T", "H", "stride_b", "stride_t", "stride_h", "N", "eps"])
def gated_kernel(
    o_ptr, gate_ptr, weight_ptr, y_ptr, T, H, stride_b, stride_t, stride_h, N, eps,
    STRIDED: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Without `weight` no norm."""
    block = tl.program_id(0)
    _, place_RD, inside_RD = row_block(block, N, D, WIDTH, ROWS)
    o_place_RD = place_RD
    if STRIDED:
        o_place_RD = places_of_heads(block, T, H, stride_b, stride_t, stride_h, WIDTH, ROWS)
    n_RD = tl.load(o_ptr + o_place_RD, mask=inside_RD, other=0.0).to(tl.float32)
    gate_RD = tl.load(gate_ptr + place_RD, mask=inside_RD, other=0.0).to(tl.float32)
    if weight_ptr is not None:
        scale_R = tl.rsqrt(tl.sum(n_RD * n_RD, 1) * (1.0 / D) + eps)
        n_RD = n_RD * scale_R[:, None] * load_weight(weight_ptr, D, WIDTH)[None, :]
    tl.store(y_ptr + place_RD, (sigmoid(gate_RD) * n_RD).to(y_ptr.dtype.element_ty), mask=inside_RD)


@kernel(do_not_specialize=["T", "H", "stride_b", "stride_t", "stride_h", "programs", "N", "eps"])
def gated_backward_kernel(
    dy_ptr, o_ptr, gate_ptr, weight_ptr, do_ptr, dgate_ptr, partials_ptr,
    T, H, stride_b, stride_t, stride_h, programs, N, eps,
    STRIDED: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """`partials` is [programs, D]: dw of the rows of each program."""
    program = tl.program_id(0)
    if weight_ptr is not None:
        weight_D = load_weight(weight_ptr, D, WIDTH)
        dweight_RD = tl.zeros([ROWS, WIDTH], tl.float32)
    for block in range(program, tl.cdiv(N, ROWS), programs):
        _, place_RD, inside_RD = row_block(block, N, D, WIDTH, ROWS)
        dy_RD = tl.load(dy_ptr + place_RD, mask=inside_RD, other=0.0).to(tl.float32)
        o_place_RD = place_RD
        if STRIDED:
            o_place_RD = places_of_heads(block, T, H, stride_b, stride_t, stride_h, WIDTH, ROWS)
        o_RD = tl.load(o_ptr + o_place_RD, mask=inside_RD, other=0.0).to(tl.float32)
        sigmoid_RD = sigmoid(tl.load(gate_ptr + place_RD, mask=inside_RD, other=0.0).to(tl.float32))
        do_RD = sigmoid_RD * dy_RD
        n_RD = o_RD
        if weight_ptr is not None:
            pulled_RD = do_RD * weight_D[None, :]
            square_R, product_R = two_sums(o_RD * o_RD, pulled_RD * o_RD)
            scale_R = tl.rsqrt(square_R * (1.0 / D) + eps)
            unit_RD = o_RD * scale_R[:, None]
            n_RD = unit_RD * weight_D[None, :]
            dweight_RD += do_RD * unit_RD
            back_R = scale_R * scale_R * product_R * (1.0 / D)
            do_RD = scale_R[:, None] * (pulled_RD - back_R[:, None] * o_RD)
        dgate_RD = dy_RD * n_RD * sigmoid_RD * (1.0 - sigmoid_RD)
        tl.store(do_ptr + place_RD, do_RD.to(do_ptr.dtype.element_ty), mask=inside_RD)
        tl.store(dgate_ptr + place_RD, dgate_RD.to(dgate_ptr.dtype.element_ty), mask=inside_RD)
    if weight_ptr is not None:
        channel_D = tl.arange(0, WIDTH)
        tl.store(partials_ptr + program * D + channel_D, tl.sum(dweight_RD, 0), mask=channel_D < D)


def gated_norm(o_BTHK: Tensor, norm_weight_K: Tensor | None, eps: float, gate_BTP: Tensor) -> Tensor:
    """y_BTP in the gate's dtype, as `KimiDeltaAttention.output` and `GatedMLA.output` (no norm weight) make it.

    o and the gate's logits in bf16 or fp32 each; computed in fp32. Differentiable, once, in every tensor. Operands
    that are not contiguous are copied, except o where its strides are multiples of 16. Raises ValueError for dtypes,
    shapes and devices that do not fit, more than 8,192 channels of a head, and without a GPU (unless
    TRITON_INTERPRET=1).
    """
    check_dtypes({"o": o_BTHK, "gate": gate_BTP, "norm_weight": norm_weight_K})
    if tuple(gate_BTP.shape) != (*o_BTHK.shape[:-2], o_BTHK.shape[-2] * o_BTHK.shape[-1]):
        raise ValueError(f"the gate is {list(gate_BTP.shape)}, which does not go with o, {list(o_BTHK.shape)}")
    check_width(o_BTHK.shape[-1])
    check_weights({"norm_weight": norm_weight_K}, o_BTHK.shape[-1])
    weight_K = None if norm_weight_K is None else norm_weight_K.contiguous()
    if o_BTHK.ndim != 4:
        raise ValueError(f"o must be [B, T, H, channels], not {list(o_BTHK.shape)}")
    if o_BTHK.stride(-1) != 1 or any(stride % 16 for stride in o_BTHK.stride()[:-1]):
        o_BTHK = o_BTHK.contiguous()
    return _forward(o_BTHK, gate_BTP.contiguous(), weight_K, eps)


def _layout(o: Tensor) -> list[int]:
    """T, H and the strides of b, t and h, as the kernels take them."""
    return [*o.shape[1:3], *(stride // 16 for stride in o.stride()[:3])]


@custom_op("k3data::gated_norm")
def _forward(o: Tensor, gate: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    on_gpu(o)
    y, K = torch.empty_like(gate), o.shape[-1]
    launch = head_launch(K, backward=False)
    if N := o.numel() // K:
        gated_kernel[(cdiv(N, launch.rows),)](
            o,
            gate,
            weight,
            y,
            *_layout(o),
            N,
            eps,
            not o.is_contiguous(),
            K,
            launch.width,
            launch.rows,
            **launch.options(),
        )
    return y


@_forward.register_fake
def _(o: Tensor, gate: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    return torch.empty_like(gate)


@custom_op("k3data::gated_norm_backward")
def _backward(
    dy: Tensor, o: Tensor, gate: Tensor, weight: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of o, of the gate and of the weight (else empty)."""
    on_gpu(o)
    do, dgate, K = o.new_empty(o.shape), torch.empty_like(gate), o.shape[-1]
    launch, N = head_launch(K, backward=True), o.numel() // K
    programs = max(1, min(launch.programs, cdiv(N, launch.rows)))
    partials = None if weight is None else o.new_empty(1, programs, K, dtype=torch.float32)
    gated_backward_kernel[(programs,)](
        dy, o, gate, weight, do, dgate, partials, *_layout(o), programs, N, eps,
        not o.is_contiguous(), K, launch.width, launch.rows, **launch.options(),
    )  # fmt: skip
    if weight is None or partials is None:
        return do, dgate, o.new_empty(0)
    return do, dgate, weight_gradients(partials, [weight])[0]


@_backward.register_fake
def _(dy: Tensor, o: Tensor, gate: Tensor, weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    return o.new_empty(o.shape), torch.empty_like(gate), o.new_empty(0) if weight is None else torch.empty_like(weight)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    o, gate, weight, ctx.eps = inputs
    ctx.save_for_backward(o, gate, weight)


def _gradients(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
    o, gate, weight = ctx.saved_tensors
    do, dgate, dweight = _backward(dy.contiguous(), o, gate, weight, ctx.eps)
    return do, dgate, None if weight is None else dweight, None


_forward.register_autograd(_gradients, setup_context=_save)
