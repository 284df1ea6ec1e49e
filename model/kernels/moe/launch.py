"""How each kernel is launched, by latent and inner width. Fixed: nothing is tuned at run time, and neither the number
of tokens nor which experts they go to is part of any key.

Blocks divide a width where they can: 192 is three blocks of 64, and 384 three of 128. 96 is two of 64 or one of 128, a
quarter of which is idle: for three of 32, tensor cores would wait for shared memory.

The choices were measured on an H200 at 256 experts of 384 and 256 channels (`bench.expert_variants`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..launch import Options, next_power_of_2

ROWS = 128
"""Rows of a tile, at most: the block of `order`."""


@dataclass(frozen=True)
class Launch(Options):
    num_warps: int
    num_stages: int = 1
    block: tuple[int, ...] = ()
    """Columns of the result that a program has, and for `inner` how many of them at a time go through the activation;
    of a matrix, its rows and columns; of tokens, how many at a time."""

    depth: int = 0
    """How much is summed over at a time."""

    registers: int | None = None


@dataclass(frozen=True)
class Launches:
    up: Launch
    down: Launch
    inner: Launch
    back: Launch
    gate_and_up: Launch
    """Gradients of W_gate and W_up, rows of both one under the other."""

    down_matrix: Launch
    tokens: Launch
    """What works token by token."""


@lru_cache
def launches(latent: int, inner: int) -> Launches:
    up = block_of(inner, _widest(latent) // 2)
    down, back = block_of(latent, _widest(inner)), block_of(latent, _widest(2 * inner))
    columns = block_of(inner, 128)
    return Launches(
        up=_launch((up,), ROWS * 2 * up, depth_of(latent)),
        down=_product(down, depth_of(inner)),
        inner=_inner(columns, depth_of(latent)),
        back=_product(back, depth_of(inner)),
        gate_and_up=_matrix(2 * inner, latent),
        down_matrix=_matrix(latent, inner),
        tokens=Launch(4, block=(max(1, 2048 // next_power_of_2(latent)),)),
    )


def block_of(width: int, largest: int) -> int:
    """The largest power of two from 64 to `largest` that divides `width`, else the one that covers it, in those bounds:
    Triton 3.6 has made products of 32 columns that read past the end of shared memory."""
    for block in (256, 128, 64):
        if block <= largest and width % block == 0:
            return block
    return max(64, min(largest, next_power_of_2(width)))


def depth_of(width: int) -> int:
    """Of a sum over `width`: 128 bytes, or 64 where those divide it better."""
    return 64 if width % 64 == 0 or width > 512 else 32


def _widest(summed: int) -> int:
    """Of the columns of rows. After a short sum, what follows it counts for more than how often operands are read."""
    return 256 if summed >= 768 else 128


def _matrix(height: int, width: int) -> Launch:
    """Of a gradient: sums over all rows of an expert are long, and 256 × 128 results are faster than 128 × 256."""
    columns = block_of(width, 128)
    rows = block_of(height, 256)
    return _launch((rows, columns), rows * columns, 64)


def _product(columns: int, depth: int) -> Launch:
    """Of rows with a matrix and little else: four warps that multiply more each do 128 columns sooner than eight."""
    return Launch(4, 3, (columns,), depth) if columns == 128 else _launch((columns,), ROWS * columns, depth)


def _inner(columns: int, depth: int) -> Launch:
    """Much goes on beside its products, for which more warps wait at once."""
    block = (columns, min(columns, 32))
    return Launch(16, 3, block, depth, 64) if columns == 128 else _launch(block, ROWS * columns, depth)


def _launch(block: tuple[int, ...], results: int, depth: int) -> Launch:
    """Two programs of eight warps on a multiprocessor where registers are enough for both: one works while the other
    loads or stores. A program with more than 128 × 128 results has it for itself."""
    return Launch(8, 3, block, depth, 128 if results <= 128 * 128 else None)
