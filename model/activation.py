"""SiTU-GLU, K3's gated activation: both branches of SwiGLU pass through a scaled tanh, so that nothing can explode.

    f(g, u) = β_gate·tanh(g/β_gate)·σ(g) · β_up·tanh(u/β_up)

The sigmoid takes the gate before the tanh. |f| ≤ β_gate·β_up, and f → SwiGLU as both β → ∞. (K3 report, Eq. 12.)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .kda.inputs import rounded
from .operators import HasKernels


def situ_glu(gate: Tensor, up: Tensor, beta_gate: float = 4.0, beta_up: float = 25.0) -> Tensor:
    """f(gate, up) elementwise, in fp32 (fp64 stays fp64), as gate's dtype; backward keeps gate and up alone."""
    return _SiTUGLU.apply(gate, up, beta_gate, beta_up)  # type: ignore[no-untyped-call]


class SiTUGLU(HasKernels):
    """`situ_glu` with its two constants."""

    def __init__(self, beta_gate: float = 4.0, beta_up: float = 25.0) -> None:
        super().__init__()
        self.beta_gate = beta_gate
        self.beta_up = beta_up

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        if self.kernels == "triton":
            from .kernels import fused

            return fused.situ_glu(gate, up, self.beta_gate, self.beta_up)
        return situ_glu(gate, up, self.beta_gate, self.beta_up)

    def extra_repr(self) -> str:
        return f"beta_gate={self.beta_gate}, beta_up={self.beta_up}"


class _SiTUGLU(torch.autograd.Function):
    """By hand, because autograd would keep six fp32 copies of the widest tensors of the model."""

    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor, beta_gate: float, beta_up: float) -> Tensor:
        ctx.save_for_backward(gate, up)
        ctx.betas = beta_gate, beta_up
        g, u = _wide(gate), _wide(up)
        f = beta_gate * torch.tanh(g / beta_gate) * torch.sigmoid(g) * (beta_up * torch.tanh(u / beta_up))
        return rounded(f, gate.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        gate, up = ctx.saved_tensors
        beta_gate, beta_up = ctx.betas
        g, u, df = _wide(gate), _wide(up), _wide(gradients[0])
        tanh_g, tanh_u, sigmoid = torch.tanh(g / beta_gate), torch.tanh(u / beta_up), torch.sigmoid(g)
        dg = df * beta_up * tanh_u * sigmoid * (1 - tanh_g.square() + beta_gate * tanh_g * (1 - sigmoid))
        du = df * beta_gate * tanh_g * sigmoid * (1 - tanh_u.square())
        return dg.to(gate.dtype), du.to(up.dtype), None, None


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype == torch.float64 else x.float()
