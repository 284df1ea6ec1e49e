"""How each kernel is launched, by the channels of a row. Nothing is tuned at run time, and no length is part of a key.

All of them are bound by bandwidth, so what counts is how many bytes are on their way: a thread asks for 16 bytes of
each tensor at once (8 numbers of bf16), and as many threads as registers allow do so. What is here has run in the
interpreter and been compiled for an H200 (`registers.py`), and has yet to run there.
"""

from __future__ import annotations

from dataclasses import dataclass

import triton

PROGRAMS = 792
"""Of a backward kernel: six for each multiprocessor of an H200, where two, three or six run at a time. Each sums
what its rows give to the gradients of weights; a constant, so that the order of these sums is the same everywhere."""


@dataclass(frozen=True)
class Launch:
    width: int
    """Columns of a block: channels, up to a power of two."""

    rows: int
    num_warps: int
    held: bool = True
    """Whether a program keeps all its sources in registers, or reads them again, from the cache, for each use."""

    registers: int | None = None
    """Most registers of a thread: fewer make room for more programs on a multiprocessor."""

    def options(self) -> dict[str, int | None]:
        return {"num_warps": self.num_warps, "num_stages": 1, "maxnreg": self.registers}


def mix_launch(channels: int, sources: int, backward: bool) -> Launch:
    """A thread has eight numbers of a row of each source, up to 2,048 channels; more rows where sources are few.

    Backward, three programs run on a multiprocessor; from five sources on they do not fit into its registers, and are
    read again from the first cache.
    """
    width = max(16, triton.next_power_of_2(channels))
    if width > 2048:
        return Launch(width, rows=1, num_warps=16, held=False)
    rows, num_warps = max(1, 1024 // width), max(4, width // 256)
    if backward:
        return Launch(width, rows, num_warps, held=sources <= 4, registers=168 if num_warps == 4 else None)
    return Launch(width, 2 * rows if sources <= 2 else rows, num_warps)


def head_launch(channels: int, backward: bool) -> Launch:
    """Sixteen numbers of each tensor a thread, or eight: of heads of 64 or 128 channels a program has 8 to 32."""
    width = max(16, triton.next_power_of_2(channels))
    return Launch(width, max(1, (1024 if backward else 2048) // width), max(4, width // 512))


def conv_launch(channels: int) -> Launch:
    """A tile of tokens by channels, eight channels a thread; shifted rows come from the cache."""
    width = min(256, max(16, triton.next_power_of_2(channels)))
    return Launch(width, 4096 // width, 4)


def conv_backward_launch(channels: int) -> Launch:
    """Four channels a thread, as it holds 14 rows of them; `rows` are the tokens of a segment, a multiple of four."""
    width = min(256, max(32, triton.next_power_of_2(channels)))
    return Launch(width, 64, max(1, width // 128), registers=128)


def conv_programs(columns: int) -> int:
    """Programs that walk over segments in one of `columns` blocks of channels: eight for each multiprocessor."""
    return max(1, 1056 // columns)
