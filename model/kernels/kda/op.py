"""`kda`: checks, and the kernels as custom operators that autograd and torch.compile know.

Letters: B batch, T tokens, N sequences, M chunks, Z segments, H heads, K key channels, V value channels, P = H·K.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...custom_op import custom_op
from ..checks import on_gpu
from .checks import HEAD_SIZES, check
from .chunks import CHUNK, ChunkTable
from .passes import Sizes, run_backward, run_forward

__all__ = ["HEAD_SIZES", "kda"]


def kda(
    q_BTHK: Tensor, k_BTHK: Tensor, v_BTHV: Tensor, z_BTHK: Tensor, beta_logit_BTH: Tensor,
    A_log_H: Tensor, dt_bias_P: Tensor, *,
    lower_bound: float = -5.0, scale: float | None = None,
    initial_state_NHKV: Tensor | None = None, cu_seqlens: Tensor | ChunkTable | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """o_BTHV in bf16 and the states after each sequence, [N, H, K, V] in fp32.

    q, k and v in bf16 are what the short convolutions give: q and k are brought to unit length here. z, in bf16 or
    fp32, and `beta_logit` are what their projections give: the log decay is lower_bound · σ(e^A_log · (z + dt_bias)),
    and β is σ(beta_logit). `scale` is K^-1/2 unless given. Differentiable, once, in every tensor.

    Packed sequences are one row, B = 1, with `cu_seqlens`; a `ChunkTable` of them, made once for a batch, costs no
    wait for the GPU. Operands that are not contiguous are copied.

    Raises ValueError for head sizes other than 32, 64 and 128 of keys and values alike, for dtypes, shapes and devices
    that do not fit, for a lower bound outside [-5.9, 0), for wrong `cu_seqlens`, and without a GPU (unless
    TRITON_INTERPRET=1).
    """
    operands = {
        "q": q_BTHK, "k": k_BTHK, "v": v_BTHV, "z": z_BTHK, "beta_logit": beta_logit_BTH,
        "A_log": A_log_H, "dt_bias": dt_bias_P, "initial_state": initial_state_NHKV,
    }  # fmt: skip
    check(operands, lower_bound)
    B, T, H, K = q_BTHK.shape
    table = cu_seqlens
    if table is not None:
        if B != 1:
            raise ValueError(f"cu_seqlens belongs to packed input of one row, but the batch has {B}")
        if not isinstance(table, ChunkTable):
            table = ChunkTable.of(table, T, H, q_BTHK.device)
        if table.tokens != T:
            raise ValueError(f"the chunk table is of {table.tokens} tokens, but the input has {T}")
    N = B if table is None else table.sequences
    if initial_state_NHKV is not None and len(initial_state_NHKV) != N:
        raise ValueError(f"initial_state is of {len(initial_state_NHKV)} sequences, but the input has {N}")
    tensors = [None if x is None else x.contiguous() for x in operands.values()]
    training = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in operands.values())
    tables = (None, None, None) if table is None else (table.rows_M2, table.walks_Z8, table.cuts_N2)
    o_BTHV, state_NHKV, *_ = _forward(
        *tensors, *tables, lower_bound, K**-0.5 if scale is None else float(scale), training
    )
    return o_BTHV, state_NHKV


@custom_op("k3data::kda_forward")
def _forward(
    q: Tensor, k: Tensor, v: Tensor, z: Tensor, beta: Tensor, A_log: Tensor, dt_bias: Tensor,
    initial: Tensor | None, rows: Tensor | None, walks: Tensor | None, cuts: Tensor | None,
    lower_bound: float, scale: float, training: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """o, the final states, and for the backward pass the states that enter chunks, W, A, X, the lengths of q and k with
    the diagonal of X, and what segments do to a state (else empty)."""
    on_gpu(q)
    return run_forward(q, k, v, z, beta, A_log, dt_bias, initial, rows, walks, cuts, lower_bound, scale, training)


@_forward.register_fake
def _(q, k, v, z, beta, A_log, dt_bias, initial, rows, walks, cuts, lower_bound, scale, training):  # type: ignore[no-untyped-def]
    sizes = Sizes(q, v, rows, walks, cuts)
    o = torch.empty_like(v)
    final = q.new_empty(sizes.N, sizes.H, sizes.K, sizes.V, dtype=torch.float32)
    entering = q.new_empty((sizes.M, sizes.H, sizes.V, sizes.K) if training else 0)
    written = q.new_empty((sizes.M, sizes.H, sizes.V, CHUNK) if training else 0)
    a, x = (q.new_empty((sizes.M, sizes.H, CHUNK, CHUNK) if training else 0) for _ in range(2))
    lengths = q.new_empty((sizes.M, sizes.H, 3, CHUNK) if training else 0, dtype=torch.float32)
    across = q.new_empty((sizes.Z, sizes.H, sizes.K, sizes.K) if training and sizes.cut else 0, dtype=torch.float32)
    return o, final, entering, written, a, x, lengths, across


@custom_op("k3data::kda_backward")
def _backward(
    do: Tensor, dfinal: Tensor | None,
    q: Tensor, k: Tensor, v: Tensor, z: Tensor, beta: Tensor, A_log: Tensor, dt_bias: Tensor,
    initial: Tensor | None, rows: Tensor | None, walks: Tensor | None, cuts: Tensor | None,
    o: Tensor, entering: Tensor, written: Tensor, a: Tensor, x: Tensor, lengths: Tensor, across: Tensor,
    lower_bound: float, scale: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k, v, z, beta, A_log, dt_bias and of the initial states (else empty)."""
    return run_backward(
        do, dfinal, q, k, v, z, beta, A_log, dt_bias, initial, rows, walks, cuts,
        o, entering, written, a, x, lengths, across, lower_bound, scale,
    )  # fmt: skip


@_backward.register_fake
def _(do: Tensor, dfinal: Tensor | None, q: Tensor, *others: Any) -> tuple[Tensor, ...]:
    *operands, initial = (q, *others[:7])
    dinitial = q.new_empty(0 if initial is None else initial.shape, dtype=torch.float32)
    return (*(torch.empty_like(tensor) for tensor in operands), dinitial)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *tensors, lower_bound, scale, _ = inputs
    o, _, *saved = output
    ctx.save_for_backward(*tensors, o, *saved)
    ctx.set_materialize_grads(False)
    ctx.lower_bound, ctx.scale = lower_bound, scale


def _gradients(ctx: Any, do: Tensor | None, dfinal: Tensor | None, *_unused: None) -> tuple[Tensor | None, ...]:
    saved = ctx.saved_tensors  # once: activations that are made again are made at each look
    initial, o = saved[7], saved[11]
    do = torch.zeros_like(o) if do is None else do.contiguous()
    dfinal = None if dfinal is None else dfinal.contiguous()
    found = _backward(do, dfinal, *saved, ctx.lower_bound, ctx.scale)
    dinitial = None if initial is None else found[7].to(initial.dtype)
    return *found[:7], dinitial, None, None, None, None, None, None


_forward.register_autograd(_gradients, setup_context=_save)
