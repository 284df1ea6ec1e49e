"""A gated feed-forward with SiTU-GLU: the dense one of the first layer, and the shared experts of all others.

Letters: D model width, I inner width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .activation import SiTUGLU


class FeedForward(nn.Module):
    """y = W_down f(W_gate x, W_up x). Experts side by side are one of these, as f is elementwise in the inner width."""

    def __init__(self, dim: int, inner: int, beta_gate: float = 4.0, beta_up: float = 25.0, std: float = 0.02) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, inner, bias=False)
        self.up_proj = nn.Linear(dim, inner, bias=False)
        self.activation = SiTUGLU(beta_gate, beta_up)
        self.down_proj = nn.Linear(inner, dim, bias=False)
        self.reset_parameters(std)

    @torch.no_grad()
    def reset_parameters(self, std: float) -> None:
        """Matrices normal with `std`."""
        for linear in (self.gate_proj, self.up_proj, self.down_proj):
            nn.init.normal_(linear.weight, std=std)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.activation(self.gate_proj(x), self.up_proj(x)))
