"""Quantile balancing: the router's bias that makes every expert equally busy, without a loss or a learning rate.

Over the m tokens of one optimiser step, with n experts of which k are taken, scores s and the bias b (K3 report,
Eq. 14, App. C and D):

    α_i = the (k+1)-th largest of s_i + b,  r_ij = α_i − s_ij
    b̂_j = the k/n-quantile of r_ij over i;  b ← b̂ − mean(b̂), in use from the next step on

An expert with bias b̂_j would have been among the best of just m·k/n tokens, had only its own bias changed. The exact
quantile needs all r at once; the histogram needs B counts an expert, adds up over microbatches and ranks, and is off by
at most the width of a bin. Both are here: the one is the oracle of the other.

Letters: T tokens, E experts, B bins, L layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn


class QuantileBalancer(nn.Module):
    """`bias` [E] fp32, which no gradient reaches, and the counts of the step so far, which are not saved with it."""

    bias: Tensor
    histogram_EB: Tensor
    load_E: Tensor

    def __init__(self, experts: int, top_k: int, bins: int = 1000) -> None:
        super().__init__()
        self.top_k = top_k
        self.register_buffer("bias", torch.zeros(experts, dtype=torch.float32))
        self.register_buffer("histogram_EB", torch.zeros(experts, bins, dtype=torch.int64), persistent=False)
        self.register_buffer("load_E", torch.zeros(experts, dtype=torch.int64), persistent=False)

    @torch.no_grad()
    def observe(self, scores_TE: Tensor, thresholds_T: Tensor, routes_TK: Tensor, real_T: Tensor | None = None) -> None:
        """Counts tokens: their scores s, their α, and the experts that they went to. `real_T` is false for padding.

        Does nothing outside training, nor where activation checkpointing runs a forward again inside the backward: a
        token counts once. (Compiled code cannot ask where it runs; there `real_T` must be false for all tokens then.)
        Never waits for a GPU.
        """
        if not self.training or (not torch.compiler.is_compiling() and inside_backward()):
            return
        E, B = self.histogram_EB.shape
        low, width = _bins(self.bias, B)
        r_TE = thresholds_T[:, None].float() - scores_TE.float()
        bins_TE = ((r_TE - low) / width).long().clamp(0, B - 1)
        cells_TE = bins_TE + B * torch.arange(E, device=bins_TE.device)
        real_T = torch.ones_like(thresholds_T, dtype=torch.bool) if real_T is None else real_T
        counts_T1 = real_T.long()[:, None]
        self.histogram_EB.view(-1).scatter_add_(0, cells_TE.flatten(), counts_T1.expand_as(cells_TE).flatten())
        self.load_E.scatter_add_(0, routes_TK.flatten(), counts_T1.expand_as(routes_TK).flatten())

    @torch.no_grad()
    def update(self) -> Tensor:
        """New bias from the counts, which start again at zero; without a counted token it stays as it is.

        Returns the excess of the busiest expert, max load / mean load − 1, of the tokens counted (a scalar; 0 without).
        """
        return balance([self])[0]

    def forget(self) -> None:
        """Drops the counts, as of a step that is not taken."""
        self.histogram_EB.zero_()
        self.load_E.zero_()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> QuantileBalancer:
        """Moves like any module, but keeps the bias in fp32 when a model is cast: bf16 would undo its balance."""
        bias = self.bias
        super()._apply(fn, recurse)
        if self.bias.dtype != torch.float32:
            self.bias = self.bias.float() if bias.is_meta else bias.to(self.bias.device)
        return self

    def extra_repr(self) -> str:
        E, B = self.histogram_EB.shape
        return f"experts={E}, top_k={self.top_k}, bins={B}"


@torch.no_grad()
def balance(balancers: Sequence[QuantileBalancer], all_reduce: Callable[[Tensor], None] | None = None) -> Tensor:
    """Updates all layers, which are of one size, after an optimiser step, and returns the load excess of each.

    `all_reduce` adds an int64 tensor up over the data-parallel ranks, in place; it is called once, for all layers. All
    layers together take as many operations as one.
    """
    if not balancers:
        return torch.zeros(0)
    L, (E, B) = len(balancers), balancers[0].histogram_EB.shape
    counts = torch.cat([count.flatten() for one in balancers for count in (one.histogram_EB, one.load_E)])
    if all_reduce is not None:
        all_reduce(counts)
    histogram_LEB, load_LE = (part.unflatten(1, (E, -1)) for part in counts.view(L, -1).split([E * B, E], dim=1))
    old_LE = torch.stack([one.bias for one in balancers])
    new_LE = _new_bias(histogram_LEB, old_LE, balancers[0].top_k)
    excess_L = load_excess(load_LE.squeeze(2))
    for one, new_E in zip(balancers, new_LE, strict=True):
        one.bias.copy_(new_E)
        one.forget()
    return excess_L


def _new_bias(histogram_LEB: Tensor, old_LE: Tensor, top_k: int) -> Tensor:
    _, E, B = histogram_LEB.shape
    tokens_L11 = histogram_LEB[:, :1].sum(2, keepdim=True)  # each token has one count an expert
    q_L11 = tokens_L11.double() * top_k / E
    below_LEB = histogram_LEB.cumsum(2)
    bin_LE1 = (below_LEB < q_L11.ceil()).sum(2, keepdim=True).clamp(max=B - 1)
    count_LE1 = histogram_LEB.gather(2, bin_LE1)
    before_LE1 = below_LEB.gather(2, bin_LE1) - count_LE1
    inside_LE1 = ((q_L11 - before_LE1) / count_LE1.clamp(min=1)).clamp(0, 1)
    low_L1, width_L1 = _bins(old_LE, B)
    quantile_LE = low_L1.double() + (bin_LE1 + inside_LE1).squeeze(2) * width_L1.double()
    new_LE = (quantile_LE - quantile_LE.mean(1, keepdim=True)).to(old_LE.dtype)
    return torch.where(tokens_L11.squeeze(2) > 0, new_LE, old_LE)


def _bins(bias_XE: Tensor, bins: int) -> tuple[Tensor, Tensor]:
    """Lowest edge and width of each row. α lies between the least bias and 1 plus the greatest, s between 0 and 1."""
    low_X1 = bias_XE.amin(-1, keepdim=True) - 1
    return low_X1, (bias_XE.amax(-1, keepdim=True) + 1 - low_X1) / bins


def exact_bias(scores_TE: Tensor, thresholds_T: Tensor, top_k: int) -> Tensor:
    """The oracle: the new bias of a step whose tokens are all here, from the (⌊T·k/E⌋ + 1)-th smallest r."""
    T, E = scores_TE.shape
    r_TE = thresholds_T[:, None] - scores_TE
    quantile_E = r_TE.kthvalue(T * top_k // E + 1, dim=0).values
    return quantile_E - quantile_E.mean()


def load_excess(load_XE: Tensor) -> Tensor:
    """How much more than its share the busiest expert of each row has: max load / mean load − 1, and 0 without load."""
    mean_X = load_XE.double().mean(-1)
    return torch.where(mean_X > 0, load_XE.amax(-1) / mean_X.clamp(min=1e-30) - 1, mean_X)


def inside_backward() -> bool:
    """Whether autograd is running a backward on this thread, as it does when it computes activations again."""
    return torch._C._current_graph_task_id() != -1
