"""Where the chunks of sequences lie, and where long sequences are cut: small tables that the kernels read.

Made once for a batch and given to every layer, they cost the layers no wait for the GPU and no work.

A sequence is one segment up to a first cut, and behind it is cut every 2,048 tokens, from 64K on every 4,096: with 16
heads one of 64K tokens has 29 segments, which are 464 programs. Where, is up to the place in the sequence and to the
number of heads that the model has, and not to the batch: so a sequence has the same cuts and the same results alone, in
a pack, and as the beginning of a longer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import torch
from torch import Tensor

from ...kda.inputs import sequence_bounds

CHUNK = 64
FEW_HEADS = 8


@dataclass(frozen=True)
class Cuts:
    first: int
    """Tokens before the first cut."""
    segment: int = 2048
    """Tokens between two cuts, and half as many as between those behind `far`, where a sequence has segments enough:
    what they pass on is passed on by one after the other."""
    far: int = 65536

    def segments(self, length: int) -> int:
        """How many a sequence has."""
        near, rest = min(length, self.far) - self.first, length - self.far
        return 1 + max(0, -(-near // self.segment)) + max(0, -(-rest // (2 * self.segment)))

    def edges(self, length: int) -> list[int]:
        """Where they begin, and where the last one ends."""
        near = range(self.first, min(length, self.far), self.segment)
        return [0, *near, *range(self.far, length, 2 * self.segment), length]


@lru_cache
def cuts_of(heads: int) -> Cuts:
    """For as many heads. Few of them keep a GPU busy with one sequence only if it is cut early."""
    return Cuts(first=2048 if heads <= FEW_HEADS else 8192)


@dataclass(frozen=True)
class ChunkTable:
    tokens: int
    rows_M2: Tensor
    """[M, 2] int32: the first token of each chunk, and the end of its sequence."""
    walks_Z8: Tensor
    """[Z, 8] int32, of each segment: its first token, the end of its sequence, its first chunk, the number of its
    chunks, its sequence, how many segments of that come before and after it, and its own number. The longest is first:
    programs begin in this order, and short ones then fill what long ones leave idle."""
    cuts_N2: Tensor
    """[N, 2] int32: the first segment of each sequence, and how many it has."""

    @property
    def sequences(self) -> int:
        return len(self.cuts_N2)

    @staticmethod
    def of(bounds: Tensor | list[int], tokens: int, heads: int, device: torch.device | str) -> ChunkTable:
        """From `cu_seqlens`, or from the N + 1 bounds that `model.attention.Groups` holds; `heads` says where to cut.

        A tensor on the GPU costs one wait for it; on the CPU, and as a list, none. Raises ValueError when the bounds
        are not one row of integers that starts at 0, never falls and ends at `tokens`.
        """
        bounds = torch.as_tensor(bounds)
        return _table(sequence_bounds(1, tokens, bounds), cuts_of(heads), device)


@lru_cache(maxsize=16)
def batch_table(batch: int, length: int, cuts: Cuts, device: torch.device) -> ChunkTable:
    """For the rows of a batch: remembered for the layers of a model."""
    with torch.inference_mode(False):
        return _table([length * row for row in range(batch + 1)], cuts, device)


def _table(bounds: list[int], cuts: Cuts, device: torch.device | str) -> ChunkTable:
    rows: list[tuple[int, ...]] = []
    walks: list[tuple[int, ...]] = []
    segments_of: list[tuple[int, ...]] = []
    for sequence, (start, end) in enumerate(pairwise(bounds)):
        edges = [start + edge for edge in cuts.edges(end - start)]
        segments = len(edges) - 1
        segments_of.append((len(walks), segments))
        for before, (begin, stop) in enumerate(pairwise(edges)):
            chunks = -(-(stop - begin) // CHUNK)
            chunk = len(rows) + (begin - start) // CHUNK
            walks.append((begin, end, chunk, chunks, sequence, before, segments - 1 - before, len(walks)))
        rows += [(first, end) for first in range(start, end, CHUNK)]
    walks.sort(key=lambda walk: -walk[3])
    tables = [_to_device(table, width, device) for table, width in ((rows, 2), (walks, 8), (segments_of, 2))]
    return ChunkTable(bounds[-1], *tables)


def _to_device(table: list[tuple[int, ...]], width: int, device: torch.device | str) -> Tensor:
    on_host = torch.tensor(table, dtype=torch.int32).view(-1, width)
    if torch.device(device).type == "cuda":
        on_host = on_host.pin_memory()
    return on_host.to(device, non_blocking=True)
