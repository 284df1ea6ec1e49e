"""Parameters whose rows lie on several ranks: where they are cut, and how a matrix comes to one rank and goes back.

FSDP2 cuts parameters along their first dimension, without regard to what a matrix means. Newton–Schulz on a piece of a
matrix is not that of the matrix, so a matrix that a cut goes through is sent to one rank, its owner, as a whole; the
result is cut and sent back. All matrices of all owners travel in one all-to-all each way.

Letters: R rows, C columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor, Replicate, Shard


class RowShards(NamedTuple):
    """Rank r of the group holds the rows from bounds[r] up to bounds[r + 1]."""

    group: dist.ProcessGroup
    rank: int
    bounds: tuple[int, ...]

    @property
    def mine(self) -> slice:
        return self.rows_of(self.rank)

    def rows_of(self, rank: int) -> slice:
        return slice(self.bounds[rank], self.bounds[rank + 1])

    def cuts(self, block_rows: tuple[int, ...]) -> bool:
        """Whether a bound goes through a block, or through a pattern of blocks."""
        return any(bound % sum(block_rows) for bound in self.bounds)


def local(tensor: Tensor) -> Tensor:
    """What this rank holds; it shares memory with the tensor, and no gradient goes through.

    `to_local` would be a step of autograd, which for all parameters takes longer than the work on them.
    """
    return tensor._local_tensor if isinstance(tensor, DTensor) else tensor


def whole(tensor: Tensor) -> Tensor:
    """The tensor on every rank; all ranks must call this."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def rows(tensor: Tensor) -> Tensor:
    """As a matrix [R, C]: of a stack of matrices, all rows one below the other."""
    return tensor.view(-1, tensor.shape[-1])


def row_shards(parameter: Tensor) -> RowShards | None:
    """How the rows of a matrix or a stack of them are spread, or None when this rank has them all.

    Raises ValueError when it is cut along another dimension than the first, or along several axes of a mesh.
    """
    if not isinstance(parameter, DTensor):
        return None
    axes = [axis for axis, placement in enumerate(parameter.placements) if placement != Replicate()]
    if not axes:
        return None
    if len(axes) > 1 or parameter.placements[axes[0]] != Shard(0):
        raise ValueError(
            f"a parameter {list(parameter.shape)} is placed as {list(parameter.placements)}; "
            "the optimiser knows parameters that are cut once, along their first dimension"
        )
    mesh, axis = parameter.device_mesh, axes[0]
    first = parameter.shape[0]
    chunk = -(-first // mesh.size(axis))  # the last ranks have less, or nothing
    inner = parameter.numel() // (first * parameter.shape[-1])
    bounds = tuple(min(rank * chunk, first) * inner for rank in range(mesh.size(axis) + 1))
    shards = RowShards(mesh.get_group(axis), mesh.get_local_rank(axis), bounds)
    held, expected = rows(local(parameter)).shape[0], shards.mine.stop - shards.mine.start
    if held != expected:
        raise ValueError(f"rank {shards.rank} holds {held} rows of a parameter {list(parameter.shape)}, not {expected}")
    return shards


def owners(costs: Sequence[float], ranks: int) -> list[int]:
    """A rank for each job, the same on all ranks: the costliest first, always to whom has least to do."""
    load = [0.0] * ranks
    chosen = [0] * len(costs)
    for job in sorted(range(len(costs)), key=lambda job: (-costs[job], job)):
        chosen[job] = min(range(ranks), key=lambda rank: (load[rank], rank))
        load[chosen[job]] += costs[job]
    return chosen


def at_owners_(
    pieces_RC: Sequence[Tensor], shards: Sequence[RowShards], owner: Sequence[int],
    work_: Callable[[list[int], list[Tensor]], None],
) -> None:  # fmt: skip
    """Brings each matrix to its owner, lets `work_` change those that are here, and brings all pieces back, in place.

    `work_` is given the numbers of the matrices that this rank owns, and the matrices. All shards are of one group,
    and all ranks of it must call this with the same jobs.
    """
    group, me, ranks = shards[0].group, shards[0].rank, len(shards[0].bounds) - 1
    order = sorted(range(len(pieces_RC)), key=lambda job: owner[job])
    here = [job for job in order if owner[job] == me]

    def size(job: int, rank: int) -> int:
        """Numbers of the job's matrix that a rank holds."""
        mine = shards[job].rows_of(rank)
        return (mine.stop - mine.start) * pieces_RC[job].shape[1]

    to_owners = [sum(size(job, me) for job in order if owner[job] == rank) for rank in range(ranks)]
    from_holders = [sum(size(job, rank) for job in here) for rank in range(ranks)]
    sent = torch.cat([pieces_RC[job].reshape(-1) for job in order])
    received = sent.new_empty(sum(from_holders))
    dist.all_to_all_single(received, sent, from_holders, to_owners, group=group)

    parts = received.split([size(job, rank) for rank in range(ranks) for job in here])
    matrices = [
        torch.cat(parts[number :: len(here)]).view(-1, pieces_RC[job].shape[1]) for number, job in enumerate(here)
    ]
    work_(here, matrices)
    for number, (job, matrix) in enumerate(zip(here, matrices, strict=True)):
        for rank in range(ranks):
            parts[rank * len(here) + number].copy_(matrix[shards[job].rows_of(rank)].reshape(-1))

    dist.all_to_all_single(sent, received, to_owners, from_holders, group=group)
    for job, part in zip(order, sent.split([size(job, me) for job in order]), strict=True):
        pieces_RC[job].copy_(part.view_as(pieces_RC[job]))
