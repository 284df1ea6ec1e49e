"""Root-mean-square normalisation.

K3's released layer rounds to the input's dtype between normalising and multiplying by the weight; this one, like every
fused kernel, does both in fp32 and rounds once. In bf16 the two differ by one rounding.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .config import ConfigError
from .operators import HasKernels


class RMSNorm(HasKernels):
    """x / √(mean x² + eps) · weight over the last dimension, in fp32 (fp64 stays fp64); the result has x's dtype."""

    def __init__(self, dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def check_kernels(self) -> None:
        from .kernels.fused.checks import WIDEST

        if self.weight.numel() > WIDEST:
            raise ConfigError(f"kernels: triton norms at most {WIDEST} channels, not {self.weight.numel()}")

    def forward(self, x: Tensor) -> Tensor:
        if self.kernels == "triton":
            from .kernels import fused

            return fused.rms_norm(x, self.weight, self.eps)
        return rms_norm(x, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.weight.numel()}, eps={self.eps}"


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """The same as a function; `weight` has as many elements as x's last dimension."""
    wide = x if x.dtype == torch.float64 else x.float()
    normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (normed * weight.to(wide.dtype)).to(x.dtype)
