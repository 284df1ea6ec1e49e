"""What a layer of Kimi Delta Attention remembers of its sequences: a state of fixed size, however long they are.

Letters: N sequences, H heads, K key channels, V value channels, P = H·K channels of all heads, L inputs of a tail.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..config import KDAConfig


@dataclass
class KDACache:
    """Made empty, and brought up to date by the layer's forward."""

    state_NHKV: Tensor
    """fp32."""
    tails: tuple[Tensor, Tensor, Tensor]
    """The last inputs of the convolutions of q, k and v, each [N, L, P]."""

    @staticmethod
    def empty(
        config: KDAConfig, sequences: int, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
    ) -> KDACache:
        """For sequences that have not begun. `dtype` is that of the activations; fp64 makes the state fp64 too."""
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        state = torch.zeros(sequences, config.heads, config.head_dim, config.head_dim, dtype=wide, device=device)
        tail = torch.zeros(sequences, config.conv_kernel - 1, config.width, dtype=dtype, device=device)
        return KDACache(state, (tail, tail.clone(), tail.clone()))

    def clone(self) -> KDACache:
        """A copy that shares nothing: a snapshot."""
        q_tail, k_tail, v_tail = self.tails
        return KDACache(self.state_NHKV.clone(), (q_tail.clone(), k_tail.clone(), v_tail.clone()))

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.state_NHKV, *self.tails
