"""How each kernel is launched, by the channels of a head. Nothing is tuned at run time, and no length is part of a key.

A program has eight warps and 128 rows, so that what it walks over is read from L2 by as few programs as possible: with
the widest heads a multiprocessor takes one such program. Three stages are two blocks on their way while one is worked
on; with two, Triton 3.6 asks for a block only when the one before it is done with.

Right on an H200; other launches have yet to be timed there (`bench.attention_variants`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..launch import Options, next_power_of_2

WIDEST_KEYS, WIDEST_VALUES = 192, 128
"""Channels of a head that a program can hold."""

DELTA_ROWS = 32


@dataclass(frozen=True)
class Launch(Options):
    rows: int
    """Of a tile: one of `tiles.SIZES`."""

    columns: int
    """Rows that are walked over at a time."""

    num_warps: int
    num_stages: int
    registers: int | None = None


@dataclass(frozen=True)
class Launches:
    forward: Launch
    keys: Launch
    """Gradients of keys and values."""

    queries: Launch
    """Gradients of queries."""


def launches(keys: int, values: int) -> Launches:
    """By channels of queries and keys and channels of values.

    Gradients of keys and values of 192 and 128 channels take 160 of a thread's 255 registers: what is left holds scores
    with 32 queries, not with 64, for which registers would spill and products wait for one another.
    """
    held = sum(parts(keys)) + width(values)
    return Launches(
        forward=Launch(rows=128, columns=64, num_warps=8, num_stages=3),
        keys=Launch(rows=128, columns=64 if held <= 192 else 32, num_warps=8, num_stages=3),
        queries=Launch(rows=128, columns=64, num_warps=8, num_stages=3),
    )


def parts(keys: int) -> tuple[int, int]:
    """Widths of the two parts in which queries and keys are held, the second 0 where one is enough."""
    return (128, 64) if keys > 128 else (max(64, next_power_of_2(keys)), 0)


def width(values: int) -> int:
    """In which values are held."""
    return max(64, next_power_of_2(values))
