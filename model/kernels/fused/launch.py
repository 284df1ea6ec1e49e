"""How each kernel is launched, by the channels of a row. Nothing is tuned at run time, and no length is part of a key.

All of them are bound by bandwidth, so what counts is how many bytes are on their way: a thread asks for 16 bytes of
each tensor at once (8 numbers of bf16), and as many threads as registers allow do so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..launch import Options, next_power_of_2

_PROCESSORS = 132
"""Multiprocessors of an H200. A constant: the order of sums over programs must be the same everywhere."""


@dataclass(frozen=True)
class Launch(Options):
    width: int
    """Columns of a block: channels, up to a power of two."""

    rows: int
    num_warps: int
    programs: int = 0
    """Of a backward kernel, as many as run at a time: each goes over rows, and sums what they give to the gradients of
    weights."""

    held: bool = True
    """Whether a program keeps all its sources in registers, or reads them again, from the cache, for each use."""

    registers: int | None = None


@lru_cache
def mix_launch(channels: int, sources: int, backward: bool) -> Launch:
    """A program has one row, and a thread eight numbers of it of each source, up to 2,048 channels: so up to 256, no
    warp waits for another. Only a norm alone, which has little to load, takes more rows at once.

    Backward, twelve warps run on a multiprocessor; more than five sources do not fit into its registers then, and are
    read again from the first cache.
    """
    width = max(16, next_power_of_2(channels))
    if width > 2048:
        return Launch(width, rows=1, num_warps=16, programs=_PROCESSORS, held=False)
    num_warps = max(1, width // 256)
    if backward:
        programs = _PROCESSORS * (24 if sources == 1 else 12) // num_warps
        return Launch(width, 1, num_warps, programs, held=sources <= 5, registers=168)
    return Launch(width, 1, num_warps) if sources > 1 else Launch(width, max(1, 2048 // width), max(4, num_warps))


@lru_cache
def head_launch(channels: int, backward: bool) -> Launch:
    """Sixteen numbers of each tensor a thread, or eight: of heads of 64 or 128 channels a program has 8 to 32."""
    width = max(16, next_power_of_2(channels))
    num_warps = max(4, width // 512)
    if backward:
        return Launch(width, max(1, 1024 // width), num_warps, programs=_PROCESSORS * 24 // num_warps)
    return Launch(width, max(1, 2048 // width), num_warps)


@lru_cache
def conv_launch(channels: int) -> Launch:
    """A tile of tokens by channels, eight channels a thread; shifted rows come from the cache."""
    width = min(256, max(16, next_power_of_2(channels)))
    return Launch(width, 4096 // width, 4)


@lru_cache
def conv_backward_launch(channels: int) -> Launch:
    """Four channels a thread, as it holds 14 rows of them; `rows` are the tokens of a segment, a multiple of four."""
    width = min(256, max(32, next_power_of_2(channels)))
    return Launch(width, 64, max(1, width // 128), registers=128)


def conv_programs(columns: int) -> int:
    """Programs that walk over segments in one of `columns` blocks of channels: eight for each multiprocessor."""
    return max(1, 8 * _PROCESSORS // columns)
