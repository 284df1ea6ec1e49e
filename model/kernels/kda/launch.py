"""How each kernel is launched, by head size. Fixed: nothing is tuned at run time, and no length is part of any key.

A row stays here only if results and gradients are right with it on an H200 (`k3data bench kernels` checks first).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..launch import Options


@dataclass(frozen=True)
class Launch(Options):
    num_warps: int
    num_stages: int = 1
    slice: int = 0
    """Channels worked on at a time: of values for the two walks over chunks, of keys for the others."""

    registers: int | None = None

    block: int = 32
    """Of `gate_kernel`: value channels of states worked on at a time, `num_stages` of them on their way."""

    ahead: bool = False
    """Of the walks: the decay is loaded before the products that come before its own, whose operands alone Triton loads
    steps ahead. Of `inner_kernel`: so is the state. Of `gate_kernel`: what it adds last is loaded before there is room
    for it to wait."""

    parts: int = 3
    """Of `inner_kernel`: how many numbers of 8 bits stand for a decay. Two leave an error of 2^-16 of each decay."""

    precision: str = "tf32x3"
    """Of products of fp32, in `pass_on_kernel` alone."""


@dataclass(frozen=True)
class Launches:
    prepare: Launch
    scan: Launch
    rows: Launch
    reverse: Launch
    pairs: Launch
    inner: Launch
    gate: Launch
    carry: Launch
    carry_back: Launch
    pass_on: Launch
    step: Launch


@lru_cache
def launches(key_dim: int, value_dim: int) -> Launches:
    keys, values = min(key_dim, 64), min(value_dim, 64)
    steps = 2 if keys == values == 64 else 1
    if (key_dim, value_dim) == (128, 128):
        return Launches(
            prepare=Launch(num_warps=4, slice=64),
            scan=Launch(num_warps=8, num_stages=3, slice=128, ahead=True),
            rows=Launch(num_warps=4, slice=64, registers=168),
            reverse=Launch(num_warps=8, num_stages=2, slice=128),
            pairs=Launch(num_warps=4),
            inner=Launch(num_warps=4, slice=64, ahead=True),
            gate=Launch(num_warps=4, slice=64, registers=128, num_stages=4),
            carry=Launch(num_warps=8, num_stages=3, slice=128, ahead=True),
            carry_back=Launch(num_warps=8, num_stages=2, slice=128),
            pass_on=Launch(num_warps=8, num_stages=3, slice=16),
            step=Launch(num_warps=4, slice=32),
        )
    return Launches(
        prepare=Launch(num_warps=4, slice=keys),
        scan=Launch(num_warps=4, num_stages=steps, slice=values, ahead=True),
        rows=Launch(num_warps=4, slice=keys),
        reverse=Launch(num_warps=4, num_stages=2, slice=values, ahead=True),
        pairs=Launch(num_warps=4),
        inner=Launch(num_warps=4, slice=keys, ahead=True),
        gate=Launch(num_warps=4, slice=keys, registers=128, num_stages=4),
        carry=Launch(num_warps=4, num_stages=steps, slice=min(keys, values), ahead=True),
        carry_back=Launch(num_warps=4, num_stages=2, slice=values, ahead=True),
        pass_on=Launch(num_warps=4, num_stages=3, slice=16),
        step=Launch(num_warps=4, slice=32),
    )
