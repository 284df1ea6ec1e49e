"""Where the chunks of sequences lie, and where long sequences are cut: small tables that the kernels read.

Made once for a batch and given to every layer, they cost the layers no wait for the GPU and no work.

A sequence of up to `FIRST` tokens is one segment. Behind them, a longer one is cut every `SEGMENT` tokens: one of 64K
tokens has 29 segments, and 16 heads of it 464 programs. Neither depends on the batch, so that a sequence has the same
cuts and the same results alone, in a pack, and as the beginning of a longer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import torch
from torch import Tensor

from ...kda.inputs import sequence_bounds

CHUNK = 64
FIRST = 8192
SEGMENT = 2048


@dataclass(frozen=True)
class ChunkTable:
    tokens: int
    rows_M2: Tensor
    """[M, 2] int32: the first token of each chunk, and the end of its sequence."""
    walks_Z7: Tensor
    """[Z, 7] int32, of each segment: its first token, the end of its sequence, its first chunk, the number of its
    chunks, its sequence, and how many segments of that come before and after it."""
    cuts_N2: Tensor
    """[N, 2] int32: the first segment of each sequence, and how many it has."""

    @property
    def sequences(self) -> int:
        return len(self.cuts_N2)

    @staticmethod
    def of(bounds: Tensor | list[int], tokens: int, device: torch.device | str) -> ChunkTable:
        """From `cu_seqlens`, or from the N + 1 bounds that `model.attention.Groups` holds.

        A tensor on the GPU costs one wait for it; on the CPU, and as a list, none. Raises ValueError when the bounds
        are not one row of integers that starts at 0, never falls and ends at `tokens`.
        """
        bounds = torch.as_tensor(bounds)
        return _table(sequence_bounds(1, tokens, bounds), device)


@lru_cache(maxsize=16)
def batch_table(batch: int, length: int, first: int, segment: int, device: torch.device) -> ChunkTable:
    """For the rows of a batch, with the cuts that `first` and `segment` make: remembered for the layers of a model."""
    with torch.inference_mode(False):
        return _table([length * row for row in range(batch + 1)], device)


def segments_of(length: int) -> int:
    """How many segments a sequence has."""
    return 1 + max(0, -(-(length - FIRST) // SEGMENT))


def _table(bounds: list[int], device: torch.device | str) -> ChunkTable:
    rows: list[tuple[int, ...]] = []
    walks: list[tuple[int, ...]] = []
    cuts: list[tuple[int, ...]] = []
    for sequence, (start, end) in enumerate(pairwise(bounds)):
        segments = segments_of(end - start)
        cuts.append((len(walks), segments))
        edges = [start, *(start + FIRST + SEGMENT * n for n in range(segments - 1)), end]
        for before, (begin, stop) in enumerate(pairwise(edges)):
            chunks = -(-(stop - begin) // CHUNK)
            chunk = len(rows) + (begin - start) // CHUNK
            walks.append((begin, end, chunk, chunks, sequence, before, segments - 1 - before))
        rows += [(first, end) for first in range(start, end, CHUNK)]
    tables = [_to_device(table, width, device) for table, width in ((rows, 2), (walks, 7), (cuts, 2))]
    return ChunkTable(bounds[-1], *tables)


def _to_device(table: list[tuple[int, ...]], width: int, device: torch.device | str) -> Tensor:
    on_host = torch.tensor(table, dtype=torch.int32).view(-1, width)
    if torch.device(device).type == "cuda":
        on_host = on_host.pin_memory()
    return on_host.to(device, non_blocking=True)
