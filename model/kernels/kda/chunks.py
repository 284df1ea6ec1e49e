"""Where the chunks of packed sequences lie: two small tables that the kernels read.

Made once for a batch and given to every layer, they cost the layers no wait for the GPU and no work.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from ...kda.inputs import sequence_bounds

CHUNK = 64


@dataclass(frozen=True)
class ChunkTable:
    tokens: int
    rows_M2: Tensor
    """[M, 2] int32: the first token of each chunk, and the end of its sequence."""
    sequences_N3: Tensor
    """[N, 3] int32: the first token of each sequence, its end, and its first chunk."""

    @property
    def sequences(self) -> int:
        return len(self.sequences_N3)

    @staticmethod
    def of(bounds: Tensor | list[int], tokens: int, device: torch.device | str) -> ChunkTable:
        """From `cu_seqlens`, or from the N + 1 bounds that `model.attention.Groups` holds.

        A tensor on the GPU costs one wait for it; on the CPU, and as a list, none. Raises ValueError when the bounds
        are not one row of integers that starts at 0, never falls and ends at `tokens`.
        """
        bounds = torch.as_tensor(bounds)
        edges = sequence_bounds(1, tokens, bounds)
        rows: list[tuple[int, ...]] = []
        sequences: list[tuple[int, ...]] = []
        for start, end in pairwise(edges):
            sequences.append((start, end, len(rows)))
            rows += [(first, end) for first in range(start, end, CHUNK)]
        return ChunkTable(tokens, *(_to_device(table, width, device) for table, width in ((rows, 2), (sequences, 3))))


def _to_device(table: list[tuple[int, ...]], width: int, device: torch.device | str) -> Tensor:
    on_host = torch.tensor(table, dtype=torch.int32).view(-1, width)
    if torch.device(device).type == "cuda":
        on_host = on_host.pin_memory()
    return on_host.to(device, non_blocking=True)
