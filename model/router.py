"""Which experts a token goes to, and with what weights (K3 report, Eq. 13).

    s = σ(W_r x);  T = the top k of s + b;  p_j = s_j / Σ_T s  for j in T

The bias b chooses and does not weigh: the weights are made of s alone. It is quantile balancing that sets it.

Letters: N tokens, D model width, E experts, K experts of a token.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from .config import MoEConfig
from .quantile_balancing import QuantileBalancer
from .wide_linear import wide_linear


class Routes(NamedTuple):
    experts_NK: Tensor
    """int64; the best first."""
    weights_NK: Tensor
    """fp32 (fp64 for fp64), of sum 1."""


class Router(nn.Module):
    """`weight` [E, D] and the balancer, which holds the bias. Logits are computed in fp32 (fp64 for fp64)."""

    def __init__(self, dim: int, config: MoEConfig) -> None:
        super().__init__()
        self.top_k = config.top_k
        self.weight = nn.Parameter(torch.empty(config.experts, dim))
        self.balancer = QuantileBalancer(config.experts, config.top_k, config.qb_bins)

    @torch.no_grad()
    def reset_parameters(self, std: float) -> None:
        """The matrix normal with `std`, the bias zero."""
        nn.init.normal_(self.weight, std=std)
        self.balancer.bias.zero_()

    def forward(self, x_ND: Tensor, real_N: Tensor | None = None) -> Routes:
        """`real_N` is false for tokens that balancing must not count (padding); they are routed all the same."""
        scores_NE = torch.sigmoid(wide_linear(x_ND, self.weight))
        best = torch.topk(scores_NE.detach() + self.balancer.bias, self.top_k + 1, dim=-1)
        experts_NK, thresholds_N = best.indices[:, : self.top_k], best.values[:, self.top_k]
        self.balancer.observe(scores_NE, thresholds_N, experts_NK, real_N)
        chosen_NK = scores_NE.gather(1, experts_NK)
        return Routes(experts_NK, chosen_NK / (chosen_NK.sum(-1, keepdim=True) + 1e-20))
