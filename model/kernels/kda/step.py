"""One token of Kimi Delta Attention for every sequence of a batch, the state in place: what decoding runs.

    S ← Diag(e^g) S;     S ← S + k (β (v − Sᵀk))ᵀ;     o = scale · Sᵀq         with q and k of unit length

All in fp32: there is nothing to multiply that a tensor core would take. A program has SLICE value channels of one head
and all key channels, so that both sums over keys stay in it.

Bytes for a sequence and head, K = V = 128: 65,536 of state read and written, and about 1.3K of the token. FLOPs: 7 K V.

Letters: N sequences, H heads, K key channels, V value channels, S = V channels of a slice.
"""

from __future__ import annotations

import torch
import triton.language as tl
from torch import Tensor

from ...custom_op import custom_op
from ..checks import on_gpu
from ..functions import LOG2E, sigmoid
from ..jit import kernel
from .checks import check
from .launch import launches


@kernel(do_not_specialize=["H", "scale", "lower_bound"])
def step_kernel(
    q_ptr, k_ptr, v_ptr, z_ptr, beta_ptr, A_log_ptr, dt_bias_ptr, state_ptr, o_ptr,
    H, scale, lower_bound,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr,
):  # fmt: skip
    SLICES: tl.constexpr = V // SLICE
    program = tl.program_id(0)
    row = (program // SLICES).to(tl.int64)
    head = (program // SLICES) % H
    channel_K = tl.arange(0, K)
    slice_S = (program % SLICES) * SLICE + tl.arange(0, SLICE)
    place_KS = row * (K * V) + channel_K[:, None] * V + slice_S[None, :]
    state_KS = tl.load(state_ptr + place_KS)
    q_K = tl.load(q_ptr + row * K + channel_K).to(tl.float32)
    k_K = tl.load(k_ptr + row * K + channel_K).to(tl.float32)
    z_K = tl.load(z_ptr + row * K + channel_K).to(tl.float32)
    bias_K = tl.load(dt_bias_ptr + head * K + channel_K).to(tl.float32)
    v_S = tl.load(v_ptr + row * V + slice_S).to(tl.float32)
    beta = sigmoid(tl.load(beta_ptr + row).to(tl.float32))
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))
    q_K *= scale * tl.rsqrt(tl.sum(q_K * q_K, 0) + 1e-6)
    k_K *= tl.rsqrt(tl.sum(k_K * k_K, 0) + 1e-6)
    decay_K = tl.exp2((lower_bound * LOG2E) * sigmoid(slope * (z_K + bias_K)))
    state_KS *= decay_K[:, None]
    written_S = beta * (v_S - tl.sum(state_KS * k_K[:, None], 0))
    state_KS += k_K[:, None] * written_S[None, :]
    tl.store(state_ptr + place_KS, state_KS)
    o_S = tl.sum(state_KS * q_K[:, None], 0)
    tl.store(o_ptr + row * V + slice_S, o_S.to(o_ptr.dtype.element_ty))


def kda_step(
    q_BHK: Tensor, k_BHK: Tensor, v_BHV: Tensor, z_BHK: Tensor, beta_logit_BH: Tensor,
    A_log_H: Tensor, dt_bias_P: Tensor, state_BHKV: Tensor, *,
    lower_bound: float = -5.0, scale: float | None = None,
) -> Tensor:  # fmt: skip
    """o_BHV in v's dtype; `state_BHKV`, fp32 and contiguous, becomes the state after the token.

    Operands as those of `kda`, without the tokens. Not differentiable: where a gradient is wanted, `kda` takes one
    token as well. Raises ValueError as `kda` does, for a state that is not contiguous fp32, and where a gradient is
    wanted.
    """
    activations = {"q": q_BHK, "k": k_BHK, "v": v_BHV, "z": z_BHK, "beta_logit": beta_logit_BH}
    operands = {name: x.unsqueeze(1) for name, x in activations.items()}
    others = {"A_log": A_log_H, "dt_bias": dt_bias_P, "initial_state": state_BHKV}
    check({**operands, **others}, lower_bound)
    if state_BHKV.dtype != torch.float32 or not state_BHKV.is_contiguous():
        raise ValueError(f"the state is changed in place, so it must be contiguous fp32, not {state_BHKV.dtype}")
    if len(state_BHKV) != len(q_BHK):
        raise ValueError(f"the state is of {len(state_BHKV)} sequences, but the input has {len(q_BHK)}")
    if torch.is_grad_enabled() and any(x.requires_grad for x in (*activations.values(), *others.values())):
        raise ValueError("kda_step has no gradients: run it under no_grad, or one token through kda")
    scale = q_BHK.shape[-1] ** -0.5 if scale is None else float(scale)
    tensors = [x.contiguous() for x in (*activations.values(), A_log_H, dt_bias_P)]
    return _step(*tensors, state_BHKV, lower_bound, scale)


@custom_op("k3data::kda_step", mutates_args=("state",))
def _step(
    q: Tensor, k: Tensor, v: Tensor, z: Tensor, beta: Tensor, A_log: Tensor, dt_bias: Tensor, state: Tensor,
    lower_bound: float, scale: float,
) -> Tensor:  # fmt: skip
    on_gpu(q)
    N, H, K, V = state.shape
    o = torch.empty_like(v)
    launch = launches(K, V).step
    step_kernel[(N * H * (V // launch.slice),)](
        q, k, v, z, beta, A_log, dt_bias, state, o,
        H, scale, lower_bound, K, V, launch.slice, **launch.options(),
    )  # fmt: skip
    return o


@_step.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *_others: object) -> Tensor:
    return torch.empty_like(v)
