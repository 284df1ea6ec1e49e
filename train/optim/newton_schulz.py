"""Newton–Schulz: the nearest orthogonal matrix, roughly, by five products of matrices; many matrices in one batch.

    X ← M / ‖M‖_F;   five times   X ← aX + b(XXᵀ)X + c(XXᵀ)²X                      (Moonlight, arXiv:2502.16982, Eq. 2)

The coefficients lift small singular values fast and leave all between about 0.7 and 1.2, which is enough.

A parameter holds one logical matrix or many below one another (heads, experts). `block_rows` says how many rows each
has, a pattern that repeats down to the last row: (64,) for heads of 64 rows, (64, 32) where a head has two matrices.

Letters: R rows, C columns, N matrices of one shape.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
STEPS = 5
_SMALLEST_NORM = 1e-7
"""A matrix with less than this is scaled as if it had it: what is zero stays zero, and what fades away does so."""

_BATCH_ELEMENTS = 2**27
"""Elements that are stacked at once, so that the temporaries of a large model stay bounded."""


def newton_schulz(x_NRC: Tensor) -> Tensor:
    """All N matrices made orthogonal, in the dtype given; the norms are taken in fp32 at least.

    Works on the smaller side: give matrices with R ≤ C for the least work; the result is right for all.
    """
    a, b, c = COEFFICIENTS
    wide = torch.promote_types(x_NRC.dtype, torch.float32)
    norm_N11 = torch.linalg.vector_norm(x_NRC, dim=(-2, -1), keepdim=True, dtype=wide)
    x_NRC = x_NRC / norm_N11.clamp(min=_SMALLEST_NORM).to(x_NRC.dtype)
    for _ in range(STEPS):
        gram_NRR = torch.bmm(x_NRC, x_NRC.mT)
        polynomial_NRR = torch.baddbmm(gram_NRR, gram_NRR, gram_NRR, beta=b, alpha=c)
        x_NRC = torch.baddbmm(x_NRC, polynomial_NRR, x_NRC, beta=a)
    return x_NRC


def orthogonalise_(
    matrices_RC: Sequence[Tensor], block_rows: Sequence[tuple[int, ...]], dtype: torch.dtype | None = None
) -> None:
    """Makes every block of every matrix orthogonal, in place; blocks of one shape, or of its transpose, go together.

    It is computed in `dtype`, or in that of the matrices.
    """
    by_shape: dict[tuple[int, int], list[Tensor]] = defaultdict(list)
    for matrix_RC, pattern in zip(matrices_RC, block_rows, strict=True):
        for block_NRC in split_blocks(matrix_RC, pattern):
            flat_NRC = block_NRC if block_NRC.shape[1] <= block_NRC.shape[2] else block_NRC.mT
            if flat_NRC.numel():
                by_shape[flat_NRC.shape[1], flat_NRC.shape[2]].append(flat_NRC)
    for blocks in by_shape.values():
        for batch in _batches(blocks):
            x_NRC = torch.cat(batch)
            result_NRC = newton_schulz(x_NRC.to(dtype or x_NRC.dtype))
            torch._foreach_copy_(batch, result_NRC.split([len(one) for one in batch]))


def split_blocks(matrix_RC: Tensor, pattern: tuple[int, ...]) -> Sequence[Tensor]:
    """Views [N, rows, C], one for each entry of the pattern."""
    return matrix_RC.unflatten(0, (-1, sum(pattern))).split(list(pattern), dim=1)


def _batches(blocks: list[Tensor]) -> Iterator[list[Tensor]]:
    batch: list[Tensor] = []
    elements = 0
    for block in blocks:
        if batch and elements + block.numel() > _BATCH_ELEMENTS:
            yield batch
            batch, elements = [], 0
        batch.append(block)
        elements += block.numel()
    yield batch
