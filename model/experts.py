"""Many small gated feed-forwards, of which each token takes a few: sorted by expert, multiplied, put back in order.

Each token has K rows, one for each of its experts. The rows are sorted by expert, so that those of an expert lie
together; one product an expert (or one grouped product for all, on a GPU in bf16) does the work; the K results of a
token are weighed and added in fp32. Nothing is dropped and no expert has a capacity; one without rows costs nothing.

Letters: N tokens, K experts of a token, M = N·K rows, E experts, L latent width, I inner width, O outputs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .activation import SiTUGLU
from .config import MoEConfig
from .custom_op import custom_op
from .router import Routes


class Experts(nn.Module):
    """u = Σ_j p_j · W_down,j f(W_gate,j z, W_up,j z); the matrices of all experts are stacked, expert first."""

    def __init__(self, config: MoEConfig, beta_gate: float = 4.0, beta_up: float = 25.0) -> None:
        super().__init__()
        E, L, inner = config.experts, config.latent, config.inner
        self.gate_EIL = nn.Parameter(torch.empty(E, inner, L))
        self.up_EIL = nn.Parameter(torch.empty(E, inner, L))
        self.down_ELI = nn.Parameter(torch.empty(E, L, inner))
        self.activation = SiTUGLU(beta_gate, beta_up)

    @torch.no_grad()
    def reset_parameters(self, std: float) -> None:
        """Matrices normal with `std`."""
        for stacked in self.parameters():
            nn.init.normal_(stacked, std=std)

    def forward(self, z_NL: Tensor, routes: Routes) -> Tensor:
        """u_NL in the dtype of the weights of the routes: fp32, or fp64."""
        E = len(self.gate_EIL)
        order_M = routes.experts_NK.flatten().argsort(stable=True)
        place_NK = torch.empty_like(order_M)
        place_NK[order_M] = torch.arange(len(order_M), device=order_M.device)
        place_NK = place_NK.view_as(routes.experts_NK)
        counts_E = torch.zeros(E, dtype=torch.int64, device=order_M.device)
        counts_E.scatter_add_(0, routes.experts_NK.flatten(), torch.ones_like(order_M))
        rows_ML = _Dispatch.apply(z_NL, order_M, place_NK)  # type: ignore[no-untyped-call]
        product = _grouped if z_NL.is_cuda and z_NL.dtype == torch.bfloat16 else _one_by_one
        split = counts_E.cumsum(0).int()
        inner_MI = self.activation(product(rows_ML, self.gate_EIL, split), product(rows_ML, self.up_EIL, split))
        results_ML = product(inner_MI, self.down_ELI, split)
        return _combine(results_ML, routes.weights_NK, place_NK)


class _Dispatch(torch.autograd.Function):
    """Row m is token order[m] // K. By hand, because the gradient of plain indexing adds in an order that varies."""

    @staticmethod
    def forward(ctx: Any, z_NL: Tensor, order_M: Tensor, place_NK: Tensor) -> Tensor:
        ctx.save_for_backward(place_NK)
        return z_NL[order_M // place_NK.shape[1]]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (place_NK,) = ctx.saved_tensors
        d_ML = gradients[0]
        wide = torch.promote_types(d_ML.dtype, torch.float32)
        return d_ML[place_NK].sum(1, dtype=wide).to(d_ML.dtype), None, None


def _combine(results_ML: Tensor, weights_NK: Tensor, place_NK: Tensor) -> Tensor:
    """Σ_j p_j y_j. Every row is taken once, so the gradient of the indexing has one addend everywhere."""
    results_NKL = results_ML[place_NK].to(weights_NK.dtype)
    return torch.bmm(weights_NK[:, None], results_NKL).squeeze(1)


@custom_op("k3data::expert_products")
def _one_by_one(x_MI: Tensor, weight_EOI: Tensor, ends_E: Tensor) -> Tensor:
    """Rows of expert e times weight[e]ᵀ, one product an expert. An operator of its own, as it asks where groups end."""
    parts = x_MI.split(_lengths(ends_E))
    return torch.cat([rows @ weight.T for rows, weight in zip(parts, weight_EOI, strict=True) if len(rows)])


@custom_op("k3data::expert_products_backward")
def _one_by_one_backward(dy_MO: Tensor, x_MI: Tensor, weight_EOI: Tensor, ends_E: Tensor) -> tuple[Tensor, Tensor]:
    lengths = _lengths(ends_E)
    dys, xs = dy_MO.split(lengths), x_MI.split(lengths)
    dx_MI = torch.cat([dy @ weight for dy, weight in zip(dys, weight_EOI, strict=True) if len(dy)])
    return dx_MI, torch.stack([dy.T @ x for dy, x in zip(dys, xs, strict=True)])


def _lengths(ends_E: Tensor) -> list[int]:
    ends: list[int] = ends_E.tolist()
    return [end - start for start, end in pairwise([0, *ends])]


@_one_by_one.register_fake
def _(x_MI: Tensor, weight_EOI: Tensor, ends_E: Tensor) -> Tensor:
    return x_MI.new_empty(len(x_MI), weight_EOI.shape[1])


@_one_by_one_backward.register_fake
def _(dy_MO: Tensor, x_MI: Tensor, weight_EOI: Tensor, ends_E: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x_MI), torch.empty_like(weight_EOI)


def _save(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _gradients(ctx: Any, dy_MO: Tensor) -> tuple[Tensor, Tensor, None]:
    return (*_one_by_one_backward(dy_MO, *ctx.saved_tensors), None)


_one_by_one.register_autograd(_gradients, setup_context=_save)


def _grouped(x_MI: Tensor, weight_EOI: Tensor, ends_E: Tensor) -> Tensor:
    """The same by one kernel, which adds up in fp32 and needs no word from the GPU on how long the groups are."""
    return F.grouped_mm(x_MI, weight_EOI.mT, offs=ends_E)
