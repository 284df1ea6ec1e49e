"""One token of Kimi Delta Attention for every sequence of a batch: what decoding runs.

Letters: B sequences, H heads, K key channels, V value channels.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .inputs import check_operands, compute_dtype


def kda_step(
    q_BHK: Tensor, k_BHK: Tensor, v_BHV: Tensor, log_decay_BHK: Tensor, beta_BH: Tensor, state_BHKV: Tensor, *,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns o_BHV in v's dtype and the new states, [B, H, K, V] in fp32 (fp64 for fp64); `state_BHKV` is not changed.

    `scale` is K^-1/2 unless given. Raises ValueError as `check_operands` says.
    """
    q_B1HK, k_B1HK, v_B1HV, log_decay_B1HK, beta_B1H = (
        x.unsqueeze(1) for x in (q_BHK, k_BHK, v_BHV, log_decay_BHK, beta_BH)
    )
    check_operands(q_B1HK, k_B1HK, v_B1HV, log_decay_B1HK, beta_B1H, state_BHKV)
    wide = compute_dtype(q_BHK)
    q, k, v = q_BHK.to(wide), k_BHK.to(wide), v_BHV.to(wide)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    decayed_BHKV = log_decay_BHK.to(wide).exp()[..., None] * state_BHKV.to(wide)
    recalled_BHV = (k[..., None, :] @ decayed_BHKV).squeeze(-2)
    written_BHV = beta_BH.to(wide)[..., None] * (v - recalled_BHV)
    state = torch.addcmul(decayed_BHKV, k[..., None], written_BHV[..., None, :])
    o_BHV = scale * (q[..., None, :] @ state).squeeze(-2)
    return o_BHV.to(v_BHV.dtype), state
