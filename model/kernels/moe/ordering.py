"""The rows of routed tokens in order of expert, by a stable counting sort, and the tiles that grouped products take.

Row m of M = N·K is entry `rows[m]` = n·K + j of `experts`: expert after expert, and of one expert in order of tokens.

    tally     chunk c of CHUNK entries: how many are of each expert or one before it          ends_CE
    before    for every expert: its entries in earlier chunks, less its first place in the chunk once that is sorted
    tiles     of the sums over chunks: where experts end, and their tiles
    place     chunk c again, sorted by (expert, place): entry i of those is row  first row of its expert + before + i

All counts are integers and every result has one writer: there is nothing that could come out differently. Four
launches, none of which waits for what a GPU has found. A number of tiles that is enough follows from shapes: every
expert that has rows adds at most one that is not full.

Bytes: 8 M for entries read twice, 8 M for results, 12 M E / CHUNK for tables.

Letters: N tokens, K experts of a token, M rows, E experts, C chunks, G tiles.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton.language as tl
from torch import Tensor

from ...custom_op import custom_op
from ..checks import on_gpu
from ..jit import kernel
from ..launch import cdiv, next_power_of_2
from .routing import MOST_EXPERTS

CHUNK = 1024
SLICE = 8  # experts that a program of `before` has
STEP = 256  # chunks that it has at a time
SLOTS = 64  # tiles that a program of `tiles` writes at a time
OPTIONS = {"num_warps": 4}
TILES_OPTIONS = {"num_warps": 1}


class Order(NamedTuple):
    rows_M: Tensor
    """int32: the flat index n·K + j of each row."""
    places_NK: Tensor
    """int32: the row of each entry, the inverse."""
    ends_E: Tensor
    """int32: where the rows of each expert end."""
    tiles_G2: Tensor
    """int32: expert and first row of each tile, by expert and row; expert -1 behind the last."""


def order(experts_NK: Tensor, experts: int, block: int) -> Order:
    """Sorts the entries of `experts_NK` (int32, all in [0, experts)); tiles have at most `block` rows of one expert.

    There are cdiv(M, block) + min(experts, M) slots for tiles. An expert without rows has no tile. Raises ValueError
    for other dtypes, for no entries or too many for int32, for more than 1,024 experts, and without a GPU.
    """
    if experts_NK.ndim != 2 or experts_NK.dtype != torch.int32:
        raise ValueError(f"experts must be int32 [N, K], not {experts_NK.dtype} {list(experts_NK.shape)}")
    M = experts_NK.numel()
    if not 0 < M < 2**31 - CHUNK:
        raise ValueError(f"there are {M} entries, but rows are counted in int32 from one on")
    if not 1 <= experts <= MOST_EXPERTS or block < 1:
        raise ValueError(f"tiles of {block} rows of {experts} experts: from 1 row, and 1 to {MOST_EXPERTS} experts")
    return Order(*_order(experts_NK.contiguous(), experts, block))


def settings(E: int) -> dict[str, int]:
    """Constants of all kernels."""
    size = max(32, next_power_of_2(E))
    return {"E": E, "SIZE": size, "CHUNK": CHUNK, "SLICE": SLICE, "STEP": STEP, "SLOTS": SLOTS}


@kernel(do_not_specialize=["M"])
def tally_kernel(experts_ptr, ends_ptr, M, E: tl.constexpr, SIZE: tl.constexpr, CHUNK: tl.constexpr):
    """One chunk: the entries of each expert and those before it, which is where it would end if the chunk were all."""
    chunk = tl.program_id(0).to(tl.int64)
    entry = chunk * CHUNK + tl.arange(0, CHUNK)
    expert = tl.load(experts_ptr + entry, mask=entry < M, other=0)
    found_E = tl.histogram(expert, SIZE, mask=entry < M)
    expert_E = tl.arange(0, SIZE)
    tl.store(ends_ptr + chunk * E + expert_E, tl.cumsum(found_E, 0), mask=expert_E < E)


@kernel(do_not_specialize=["C"])
def before_kernel(
    ends_ptr, before_ptr, totals_ptr,
    C,
    E: tl.constexpr, SLICE: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """A few experts, all chunks, STEP at a time."""
    expert = tl.program_id(0) * SLICE + tl.arange(0, SLICE)
    so_far = tl.zeros([SLICE], tl.int32)
    for first in range(0, C, STEP):
        chunk = first + tl.arange(0, STEP)
        real = (chunk < C)[:, None] & (expert < E)[None, :]
        place = chunk.to(tl.int64)[:, None] * E + expert[None, :]
        end = tl.load(ends_ptr + place, mask=real, other=0)
        start = tl.load(ends_ptr + place - 1, mask=real & (expert > 0)[None, :], other=0)
        found = end - start
        earlier = so_far[None, :] + tl.cumsum(found, 0) - found
        tl.store(before_ptr + place, earlier - start, mask=real)
        so_far += tl.sum(found, 0)
    tl.store(totals_ptr + expert, so_far, mask=expert < E)


@kernel(do_not_specialize=["G", "block"])
def tiles_kernel(
    totals_ptr, ends_ptr, tiles_ptr,
    G, block,
    E: tl.constexpr, SIZE: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """One expert: where it ends, its tiles, and its share of the slots behind the last tile."""
    mine = tl.program_id(0)
    expert_E = tl.arange(0, SIZE)
    rows_E = tl.load(totals_ptr + expert_E, mask=expert_E < E, other=0)
    tiles_E = (rows_E + block - 1) // block
    end = tl.sum(tl.where(expert_E <= mine, rows_E, 0), 0)
    tl.store(ends_ptr + mine, end)
    rows = tl.sum(tl.where(expert_E == mine, rows_E, 0), 0)
    tiles = (rows + block - 1) // block
    slot = tl.sum(tl.where(expert_E < mine, tiles_E, 0), 0)
    for first in range(0, tiles, SLOTS):
        tile = first + tl.arange(0, SLOTS)
        pair_ptr = tiles_ptr + 2 * (slot + tile)
        tl.store(pair_ptr, tl.zeros_like(tile) + mine, mask=tile < tiles)
        tl.store(pair_ptr + 1, end - rows + tile * block, mask=tile < tiles)
    behind = tl.sum(tiles_E, 0) + mine * SLOTS
    for first in range(behind, G, E * SLOTS):
        empty = first + tl.arange(0, SLOTS)
        tl.store(tiles_ptr + 2 * empty, tl.full([SLOTS], -1, tl.int32), mask=empty < G)
        tl.store(tiles_ptr + 2 * empty + 1, tl.zeros_like(empty), mask=empty < G)


@kernel(do_not_specialize=["M"])
def place_kernel(
    experts_ptr, before_ptr, totals_ptr, ends_ptr, rows_ptr, places_ptr,
    M,
    E: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """One chunk: its rows. Entries beyond M are sorted behind all others."""
    chunk = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, CHUNK)
    real = chunk * CHUNK + at < M
    expert = tl.load(experts_ptr + chunk * CHUNK + at, mask=real, other=E)
    key = tl.sort(expert * CHUNK + at)
    expert = key // CHUNK
    entry = chunk * CHUNK + key % CHUNK
    real = expert < E
    first = tl.load(ends_ptr + expert, mask=real, other=0) - tl.load(totals_ptr + expert, mask=real, other=0)
    row = first + tl.load(before_ptr + chunk * E + expert, mask=real, other=0) + at
    tl.store(rows_ptr + row, entry.to(tl.int32), mask=real)
    tl.store(places_ptr + entry, row, mask=real)


@custom_op("k3data::moe_order")
def _order(experts_NK: Tensor, experts: int, block: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    on_gpu(experts_NK)
    rows, places, ends, tiles = _empty(experts_NK, experts, block)
    M, E, G = len(rows), experts, len(tiles)
    C, constants = cdiv(M, CHUNK), settings(E)
    size, slots = constants["SIZE"], constants["SLOTS"]
    local_ends, before = experts_NK.new_empty(2, C, E).unbind(0)
    totals = experts_NK.new_empty(E)
    tally_kernel[(C,)](experts_NK, local_ends, M, E, size, CHUNK, **OPTIONS)
    before_kernel[(cdiv(E, SLICE),)](local_ends, before, totals, C, E, SLICE, STEP, **OPTIONS)
    tiles_kernel[(E,)](totals, ends, tiles, G, block, E, size, slots, **TILES_OPTIONS)
    place_kernel[(C,)](experts_NK, before, totals, ends, rows, places, M, E, CHUNK, **OPTIONS)
    return rows, places, ends, tiles


def _empty(experts_NK: Tensor, experts: int, block: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    M = experts_NK.numel()
    tiles = cdiv(M, block) + torch.sym_min(experts, M)
    return (
        experts_NK.new_empty(M), torch.empty_like(experts_NK), experts_NK.new_empty(experts),
        experts_NK.new_empty(tiles, 2),
    )  # fmt: skip


@_order.register_fake
def _(experts_NK: Tensor, experts: int, block: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return _empty(experts_NK, experts, block)
