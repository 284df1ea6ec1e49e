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

from .config import ConfigError, ModelConfig
from .experts import Experts
from .feed_forward import FeedForward
from .norm import RMSNorm
from .operators import HasKernels
from .quantile_balancing import inside_backward
from .router import Router


class LatentMoE(HasKernels):
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

    def check_kernels(self) -> None:
        from .kernels.moe.routing import MOST_CHOSEN, MOST_EXPERTS

        (E, inner, latent), K = self.experts.gate_EIL.shape, self.router.top_k
        if E > MOST_EXPERTS or K > MOST_CHOSEN:
            most = f"at most {MOST_CHOSEN} of {MOST_EXPERTS}"
            raise ConfigError(f"kernels: triton has none for {K} of {E} experts, only for {most}")
        if inner % 8 or latent % 8:
            raise ConfigError(f"kernels: triton wants multiples of 8, but latent is {latent} and inner {inner}")

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
        routed_ND = self.up_proj(self.routed(x_BTD.flatten(0, -2), counted_N))
        return self.shared(x_BTD) + routed_ND.view_as(x_BTD)

    def routed(self, x_ND: Tensor, counted_N: Tensor | None) -> Tensor:
        """RMSNorm(u) of the routed experts, [N, L], in x's dtype."""
        if self.kernels == "triton":
            return self._by_kernels(x_ND, counted_N)
        routes = self.router(x_ND, counted_N)
        u_NL = self.experts(self.down_proj(x_ND), routes)
        return self.norm(u_NL).to(x_ND.dtype)

    def _by_kernels(self, x_ND: Tensor, counted_N: Tensor | None) -> Tensor:
        from .kernels import moe

        balancer, stacked, betas = self.router.balancer, self.experts, self.experts.activation
        routing = moe.route(x_ND, self.router.weight, balancer.bias, self.router.top_k)
        if counted_N is not None:
            moe.count(
                balancer.histogram_EB, balancer.load_E, routing.logits_NE, balancer.bias, routing.thresholds_N,
                routing.experts_NK, counted_N,
            )  # fmt: skip
        return moe.experts(
            self.down_proj(x_ND), stacked.gate_EIL, stacked.up_EIL, stacked.down_ELI, routing.weights_NK,
            self.norm.weight, moe.order(routing.experts_NK, len(stacked.gate_EIL), moe.ROWS),
            beta_gate=betas.beta_gate, beta_up=betas.beta_up, eps=self.norm.eps,
        )  # fmt: skip
