"""How the sequences of a batch are cut into chunks, and in which order the chunks lie.

Every sequence is cut from its first token, and its last chunk is filled up with rows of zeros: no chunk straddles two
sequences. Chunks lie step by step: first the first chunk of every sequence, then the second of every sequence that
has one, and so on, longer sequences first. So the states of one step of the scan are the first `active` ones, and its
chunks are contiguous: the scan needs no gather.

Letters: T tokens of all sequences, N sequences, M chunks of all sequences, C rows of a chunk, H heads, X channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from .inputs import to_device


@dataclass(frozen=True)
class ChunkPlan:
    chunk_size: int
    steps: tuple[slice, ...]
    """For each step of the scan, its chunks."""
    row_of_token: Tensor
    """[T] int64: a token's row among the M·C rows of all chunks."""
    order: Tensor
    """[N] int64: the sequences from the one with most chunks to the one with fewest."""
    rank: Tensor
    """[N] int64: the place of each sequence in that order."""

    @property
    def chunks(self) -> int:
        return self.steps[-1].stop

    def to_chunks(self, x_THX: Tensor, dtype: torch.dtype) -> Tensor:
        """[M, H, C, X] contiguous, with zeros in the rows that are no token's."""
        _, H, X = x_THX.shape
        rows = x_THX.new_zeros(self.chunks * self.chunk_size, H, X, dtype=dtype)
        rows[self.row_of_token] = x_THX.to(dtype)
        return rows.view(self.chunks, self.chunk_size, H, X).transpose(1, 2).contiguous()

    def to_tokens(self, x_MHCX: Tensor, dtype: torch.dtype) -> Tensor:
        """The inverse: [T, H, X]."""
        return x_MHCX.transpose(1, 2).flatten(0, 1)[self.row_of_token].to(dtype)


@lru_cache(maxsize=16)
def plan_chunks(bounds: tuple[int, ...], chunk_size: int, device: torch.device) -> ChunkPlan:
    """Remembered, because every layer of a model cuts the same batch."""
    lengths = np.diff(bounds)
    counts = -(-lengths // chunk_size)
    order = np.argsort(-counts, kind="stable")
    rank = np.argsort(order)
    active = (counts[:, None] > np.arange(counts.max())).sum(0)
    first = np.concatenate([[0], np.cumsum(active)])
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(bounds[-1]) - np.asarray(bounds)[sequence]
    chunk = first[place // chunk_size] + rank[sequence]
    return ChunkPlan(
        chunk_size=chunk_size,
        steps=tuple(slice(int(start), int(end)) for start, end in pairwise(first)),
        row_of_token=to_device(torch.from_numpy(chunk * chunk_size + place % chunk_size), device),
        order=to_device(torch.from_numpy(order), device),
        rank=to_device(torch.from_numpy(rank), device),
    )
