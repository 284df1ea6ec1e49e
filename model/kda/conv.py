"""Depthwise causal convolution over the last few tokens of a sequence, then SiLU.

    y_t = SiLU(Σ_s weight_s ⊙ x_{t−s}),   s = 0 … W−1

Written as W shifted products. A shift brings in rows of the sequence before: those few rows are replaced by the inputs
that came before the sequence, its tail, which are zeros unless given. (In training nothing comes before, and zeros are
put where a token's place is less than the shift.)

Letters: B batch, T tokens, N sequences, P channels, W width of the kernel, and L = W − 1.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .inputs import compute_dtype, sequence_bounds


class ShortConvolution(nn.Module):
    """`weight` is [P, 1, W] like that of a depthwise `Conv1d`, the last element for the newest token; no bias."""

    def __init__(self, channels: int, kernel: int = 4) -> None:
        super().__init__()
        self.kernel = kernel
        self.weight = nn.Parameter(torch.empty(channels, 1, kernel))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform within ±1/√W, as `Conv1d` does it."""
        nn.init.uniform_(self.weight, -(self.kernel**-0.5), self.kernel**-0.5)

    def forward(
        self, x_BTP: Tensor, cu_seqlens: Tensor | None = None, tail_NLP: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Returns y [B, T, P] in x's dtype and the new tail [N, L, P]: each sequence's last L inputs, oldest first.

        Computed in fp32 (fp64 for fp64). Raises ValueError for a tail of another shape, and as `sequence_bounds` says.
        """
        B, T, P = x_BTP.shape
        bounds = tuple(sequence_bounds(B, T, cu_seqlens))
        N, L = len(bounds) - 1, self.kernel - 1
        if tail_NLP is not None and tail_NLP.shape != (N, L, P):
            raise ValueError(f"the convolution's tail is {list(tail_NLP.shape)}, but must be {[N, L, P]}")
        wide = compute_dtype(x_BTP)
        x_TP = x_BTP.flatten(0, 1)
        tail_NLP = x_TP.new_zeros(N, L, P) if tail_NLP is None else tail_NLP.to(x_TP.dtype)
        weight_WP = self.weight.squeeze(1).to(wide).T
        y_TP = x_TP.to(wide) * weight_WP[L]
        for shift in range(1, self.kernel):
            # Up to the end, so that it is as long as x even where x is shorter than the shift.
            shifted_TP = F.pad(x_TP, (0, 0, shift, 0))[: len(x_TP)]
            edge = _edge(bounds, shift, L, x_TP.device)
            shifted_TP = shifted_TP.index_copy(0, edge.token, tail_NLP[edge.sequence, edge.place])
            y_TP = torch.addcmul(y_TP, shifted_TP.to(wide), weight_WP[L - shift])
        return F.silu(y_TP).to(x_BTP.dtype).view(B, T, P), _last_inputs(x_TP, tail_NLP, bounds)

    def packed(self, x_BTP: Tensor, places_BT: Tensor) -> Tensor:
        """The same y, to the bit, where nothing comes before the sequences and no tail is wanted: for training.

        `places_BT` are the tokens' numbers in their sequences. No shape here depends on where sequences end.
        """
        L = self.kernel - 1
        wide = compute_dtype(x_BTP)
        x_TP, places_T1 = x_BTP.flatten(0, 1), places_BT.flatten()[:, None]
        weight_WP = self.weight.squeeze(1).to(wide).T
        y_TP = x_TP.to(wide) * weight_WP[L]
        for shift in range(1, self.kernel):
            shifted_TP = F.pad(x_TP, (0, 0, shift, 0))[: len(x_TP)]
            shifted_TP = shifted_TP.masked_fill(places_T1 < shift, 0)
            y_TP = torch.addcmul(y_TP, shifted_TP.to(wide), weight_WP[L - shift])
        return F.silu(y_TP).to(x_BTP.dtype).view_as(x_BTP)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, kernel={self.kernel}"


class _Edge(NamedTuple):
    """The tokens that a shift takes from before their sequence, and where in the tails their values are."""

    token: Tensor
    sequence: Tensor
    place: Tensor


@lru_cache(maxsize=64)
def _edge(bounds: tuple[int, ...], shift: int, tail: int, device: torch.device) -> _Edge:
    """Remembered, because every convolution of a model cuts the same batch."""
    rows = [
        (start + local, sequence, tail + local - shift)
        for sequence, (start, end) in enumerate(pairwise(bounds))
        for local in range(min(shift, end - start))
    ]
    with torch.inference_mode(False):  # what is remembered must serve training, too
        return _Edge(*torch.tensor(rows, dtype=torch.int64, device=device).view(-1, 3).T)


def _last_inputs(x_TP: Tensor, tail_NLP: Tensor, bounds: tuple[int, ...]) -> Tensor:
    """[N, L, P]: from the sequence where it is long enough, else also from its old tail."""
    N, L, P = tail_NLP.shape
    both = torch.cat([tail_NLP.flatten(0, 1), x_TP])
    return both[_last_rows(bounds, L, x_TP.device)].view(N, L, P)


@lru_cache(maxsize=64)
def _last_rows(bounds: tuple[int, ...], L: int, device: torch.device) -> Tensor:
    """[N·L] where each sequence's last inputs lie in the tails, one after the other, and the tokens behind them."""
    N = len(bounds) - 1
    rows: list[int] = []
    for sequence, (start, end) in enumerate(pairwise(bounds)):
        candidates = [*range(L * sequence, L * (sequence + 1)), *range(N * L + max(start, end - L), N * L + end)]
        rows += candidates[len(candidates) - L :]
    with torch.inference_mode(False):
        return torch.tensor(rows, dtype=torch.int64, device=device)
