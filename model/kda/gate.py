"""The forget gate: log decays that are bounded below, and their initial bias.

    g = lower_bound · σ(e^A · (z + bias)),     α = e^g ∈ (e^lower_bound, 1)             (K3 report, Eq. 5)

The bias is inside, so e^A scales it too. Letters: H heads, K key channels.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .inputs import compute_dtype


def bounded_log_decay(z: Tensor, A_log: Tensor, dt_bias: Tensor, lower_bound: float = -5.0) -> Tensor:
    """z [..., H, K], A_log [H] and dt_bias [H·K] to log decays [..., H, K] in fp32 (fp64 for fp64).

    Raises ValueError when the sizes do not go together.
    """
    H, K = z.shape[-2:]
    if A_log.shape != (H,) or dt_bias.shape != (H * K,):
        shapes = f"A_log is {list(A_log.shape)} and dt_bias {list(dt_bias.shape)}"
        raise ValueError(f"{shapes}, but {H} heads of {K} channels take [{H}] and [{H * K}]")
    wide = compute_dtype(z)
    biased = z.to(wide) + dt_bias.to(wide).view(H, K)
    return lower_bound * torch.sigmoid(A_log.to(wide).exp()[:, None] * biased)


def initial_dt_bias(channels: int) -> Tensor:
    """[channels]: softplus⁻¹ of steps drawn log-uniformly from [1e-3, 1e-1], as in Mamba-2 and Gated DeltaNet.

    With A = 0 and z = 0, α = e^{−5(1 − e^−dt)} lies in [0.621, 0.995].
    """
    dt = torch.exp(torch.empty(channels).uniform_(math.log(1e-3), math.log(1e-1))).clamp_min(1e-4)
    return dt + torch.log(-torch.expm1(-dt))
