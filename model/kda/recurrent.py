"""Kimi Delta Attention token by token: the definition, and the oracle of everything that is faster.

    S ← Diag(e^g) S;   S ← S + β k (v − Sᵀk)ᵀ;   o = scale · Sᵀq         (K3 report, Eq. 1; Kimi Linear, Eq. 1)

Letters: B batch, T tokens, N sequences, H heads, K key channels, V value channels.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from .inputs import check_operands, compute_dtype


def kda_recurrent(
    q_BTHK: Tensor, k_BTHK: Tensor, v_BTHV: Tensor, log_decay_BTHK: Tensor, beta_BTH: Tensor, *,
    scale: float | None = None, initial_state_NHKV: Tensor | None = None, cu_seqlens: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns o_BTHV in v's dtype and the states after each sequence's last token, [N, H, K, V] in fp32.

    fp64 is computed and returned in fp64, all else computed in fp32. `scale` is K^-1/2 unless given. Differentiable in
    every operand. Raises ValueError as `check_operands` says.
    """
    bounds = check_operands(q_BTHK, k_BTHK, v_BTHV, log_decay_BTHK, beta_BTH, initial_state_NHKV, cu_seqlens)
    B, T, H, K = q_BTHK.shape
    V = v_BTHV.shape[-1]
    scale = K**-0.5 if scale is None else scale
    wide = compute_dtype(q_BTHK)
    q, k, v, log_decay, beta = (
        x.flatten(0, 1).to(wide).unbind() for x in (q_BTHK, k_BTHK, v_BTHV, log_decay_BTHK, beta_BTH)
    )  # B·T tensors [H, …] each
    outputs, states = [], []
    for n, (start, end) in enumerate(pairwise(bounds)):
        S_HKV = q[0].new_zeros(H, K, V) if initial_state_NHKV is None else initial_state_NHKV[n].to(wide)
        for t in range(start, end):
            S_HKV = log_decay[t].exp()[..., None] * S_HKV
            recalled_HV = torch.einsum("hkv,hk->hv", S_HKV, k[t])
            S_HKV = S_HKV + torch.einsum("hk,hv->hkv", k[t], beta[t][:, None] * (v[t] - recalled_HV))
            outputs.append(scale * torch.einsum("hkv,hk->hv", S_HKV, q[t]))
        states.append(S_HKV)
    return torch.stack(outputs).view(B, T, H, V).to(v_BTHV.dtype), torch.stack(states)
