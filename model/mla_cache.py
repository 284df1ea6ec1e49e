"""What a layer of latent attention remembers of its sequences: for each token one latent and one shared key.

Letters: N sequences, S slots for tokens, C numbers of a token (kv_lora_rank + qk_rope_dim; 576 for K3), B batch,
T tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from .config import MLAConfig

_SMALLEST = 64
"""Slots of the first buffer that holds anything."""


@dataclass
class MLACache:
    """Made empty, and brought up to date by the layer's forward. It grows by doubling."""

    latent_NSC: Tensor
    """The normalised latent c, then the shared key k_r; slots from a sequence's length on hold nothing."""
    lengths: list[int]
    """Tokens of each sequence."""

    @staticmethod
    def empty(
        config: MLAConfig, sequences: int, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
    ) -> MLACache:
        """For sequences that have not begun. `dtype` is that of the activations."""
        return MLACache(torch.zeros(sequences, 0, config.cache_dim, dtype=dtype, device=device), [0] * sequences)

    def append(self, latent_BTC: Tensor, bounds: list[int]) -> list[int]:
        """Adds the tokens of every sequence, and returns the lengths before.

        `bounds` [N+1] tells which of the B·T tokens belong to which sequence.
        """
        before = list(self.lengths)
        self.lengths = [old + end - start for old, (start, end) in zip(before, pairwise(bounds), strict=True)]
        self._reserve(max(self.lengths))
        tokens = latent_BTC.detach().flatten(0, 1)
        for row, (old, (start, end)) in enumerate(zip(before, pairwise(bounds), strict=True)):
            self.latent_NSC[row, old : old + end - start] = tokens[start:end]
        return before

    def clone(self) -> MLACache:
        """A copy that shares nothing: a snapshot."""
        return MLACache(self.latent_NSC.clone(), list(self.lengths))

    def _reserve(self, slots: int) -> None:
        N, S, C = self.latent_NSC.shape
        if slots > S:
            grown = self.latent_NSC.new_zeros(N, max(slots, 2 * S, _SMALLEST), C)
            grown[:, :S] = self.latent_NSC
            self.latent_NSC = grown
