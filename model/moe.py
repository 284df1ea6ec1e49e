"""K3's stable latent mixture of experts (K3 report, Eq. 11).

    z = W_down x;  u = Σ_{j ∈ top k} p_j E_j(z);  y = shared(x) + W_up RMSNorm(u)

Router and shared experts read x at full width, the routed experts the latent z. The norm stands before the
up-projection: it makes the routed branch independent of how large the experts' outputs are. The two shared experts
are one feed-forward of twice the inner width.

Letters: B batch, T tokens, D model width, N = B·T, L latent width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .config import ModelConfig
from .experts import Experts
from .feed_forward import FeedForward
from .norm import RMSNorm
from .quantile_balancing import inside_backward
from .router import Router


class LatentMoE(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        moe, betas = config.moe, (config.situ_beta_gate, config.situ_beta_up)
        self.router = Router(config.d_model, moe)
        self.down_proj = nn.Linear(config.d_model, moe.latent, bias=False)
        self.experts = Experts(moe, *betas)
        self.norm = RMSNorm(moe.latent, config.norm_eps)
        self.up_proj = nn.Linear(moe.latent, config.d_model, bias=False)
        self.shared = FeedForward(config.d_model, moe.shared_inner, *betas)
        self.reset_parameters(config.init_std)

    @torch.no_grad()
    def reset_parameters(self, std: float) -> None:
        """Matrices normal with `std`, the norm's weight 1, the router's bias 0."""
        for part in (self.router, self.experts, self.shared):
            part.reset_parameters(std)
        for linear in (self.down_proj, self.up_proj):
            nn.init.normal_(linear.weight, std=std)
        self.norm.weight.fill_(1)

    def forward(self, x_BTD: Tensor, real_BT: Tensor | None = None) -> Tensor:
        """y_BTD. `real_BT` (bool) is false for padding, which balancing must not count; without it all tokens are real.

        In training the router's counts grow; `quantile_balancing.balance` turns them into a new bias once a step.
        Raises ValueError when `real_BT` is not [B, T].
        """
        if real_BT is not None and (real_BT.shape != x_BTD.shape[:-1] or real_BT.dtype != torch.bool):
            raise ValueError(
                f"the mask of real tokens must be bool {list(x_BTD.shape[:-1])}, "
                f"not {real_BT.dtype} {list(real_BT.shape)}"
            )
        counted_N = None
        if self.training:
            N = x_BTD.shape[:-1].numel()
            if inside_backward():  # computed again: a token counts once
                counted_N = torch.zeros(N, dtype=torch.bool, device=x_BTD.device)
            elif real_BT is None:
                counted_N = torch.ones(N, dtype=torch.bool, device=x_BTD.device)
            else:
                counted_N = real_BT.flatten()
        return self.mixture(x_BTD, counted_N)

    def mixture(self, x_BTD: Tensor, counted_N: Tensor | None) -> Tensor:
        """y_BTD; `counted_N` is true for the tokens that balancing counts."""
        x_ND = x_BTD.flatten(0, -2)
        routes = self.router(x_ND, counted_N)
        u_NL = self.experts(self.down_proj(x_ND), routes)
        routed_ND = self.up_proj(self.norm(u_NL).to(x_ND.dtype))
        return self.shared(x_BTD) + routed_ND.view_as(x_BTD)
