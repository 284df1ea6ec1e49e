"""Backward of Kimi Delta Attention: what products of rows give back to the rows and to their decays.

The formulas are in `backward.py` (inner), why both ends of a product are found together in `local.py`. One program
takes the rows of q and of k: decays and keys are made once, and what is handed to the gate is one gradient of k and one
of the decays.

Channels come first here: in products they are the rows, and the rows of a chunk are the columns. What is multiplied
with dA and dP then is a left operand, straight from registers in the layout of an accumulator, and what comes out lies
as it is needed next: only what is stored changes its layout. What is loaded gets that layout by a product with the
identity, and sums over rows are products with ones and zeros (`ones_of_rows`), of numbers cut into parts that are exact
in bf16.

A thread holds two channels of a quarter of the rows of every tile. What belongs to a channel and a tile is four vectors
of channels, and which of them a register takes is known when it is compiled.

FLOPs for a token of a head, K = V = 128: 66K with states, 197K with dA and dP, 82K for the layout of what is loaded and
82K for sums over rows. q and k are read twice, the second time from L2, rather than kept.

Letters: as in `forward.py`.
"""

from functools import lru_cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..functions import LOG2E
from ..jit import kernel
from .tiles import BALANCE, CHUNK, TILE, chunk_rows, level_masks, slice_of_head

SAME, SO_FAR, BACK = tl.constexpr(0), tl.constexpr(64 * 64), tl.constexpr(2 * 64 * 64)


@lru_cache
def ones_of_rows(dtype: torch.dtype, device: torch.device) -> Tensor:
    """Three matrices [C, C]: the identity, ones where j is in the tile of i and not before it, and where j ≤ i."""
    with torch.inference_mode(False):
        row = torch.arange(CHUNK.value, device=device)
        i, j = row[:, None], row
        return torch.stack((i == j, (i <= j) & (i // TILE.value == j // TILE.value), i >= j)).to(dtype)


@triton.jit
def channels_first(x_CK, same_CC):
    """x, [C, K], as [K, C] in fp32. In bf16 by a product, which is exact for finite numbers."""
    if tl.bfloat16 == x_CK.dtype and tl.bfloat16 == same_CC.dtype:
        return tl.dot(tl.trans(x_CK), same_CC)
    return tl.trans(x_CK).to(tl.float32)


@triton.jit
def rounded(x, OPERAND: tl.constexpr, UP: tl.constexpr):
    """x in fp32, as it is in bf16 if operands are: to the nearest, halves away from zero, or else towards zero. What is
    used as an operand and as a number is rounded so, since two numbers then are packed by one instruction."""
    if tl.bfloat16 != OPERAND:
        return x
    bits = x.to(tl.int32, bitcast=True)
    if UP:
        bits += 0x8000
    return (bits & -0x10000).to(tl.float32, bitcast=True)


@triton.jit
def sums(x_KC, takes_CC, PARTS: tl.constexpr):
    """Σ over rows of x, [K, C], where `takes` is one. In bf16, x is cut into parts of 8 bits."""
    OPERAND: tl.constexpr = takes_CC.dtype
    if tl.bfloat16 != OPERAND:
        return tl.dot(x_KC, takes_CC)
    part_KC = rounded(x_KC, OPERAND, False)
    sums_KC = tl.dot(part_KC.to(OPERAND), takes_CC)
    for _ in tl.static_range(2, PARTS):
        x_KC -= part_KC
        part_KC = rounded(x_KC, OPERAND, False)
        sums_KC = tl.dot(part_KC.to(OPERAND), takes_CC, sums_KC)
    return tl.dot((x_KC - part_KC).to(OPERAND), takes_CC, sums_KC)


@triton.jit
def row_of(x_KC, row: tl.constexpr):
    """One row of x, [K]."""
    return tl.sum(tl.where((tl.arange(0, CHUNK) == row)[None, :], x_KC, -0.0), 1)


@triton.jit
def of_tiles(x0, x1, x2, x3):
    """Four [K] as [K, C]."""
    tile = (tl.arange(0, CHUNK) // TILE)[None, :]
    return tl.where(
        tile == 0, x0[:, None], tl.where(tile == 1, x1[:, None], tl.where(tile == 2, x2[:, None], x3[:, None]))
    )


@triton.jit
def local_decays(z_KC, bias_K, slope, lower_bound, so_far_CC, PARTS: tl.constexpr):
    """G inside each tile from its anchor on, plus the balance, [K, C], and the anchors, [K] each."""
    inverse = -1.0 / (lower_bound * LOG2E)
    power_KC = tl.exp2((-LOG2E * slope) * (z_KC + bias_K[:, None]))
    root_KC = tl.rsqrt(inverse + inverse * power_KC)
    log2_decay_KC = -root_KC * root_KC
    g0, g1 = row_of(log2_decay_KC, 0), row_of(log2_decay_KC, TILE)
    g2, g3 = row_of(log2_decay_KC, 2 * TILE), row_of(log2_decay_KC, 3 * TILE)
    so_far_KC = sums(log2_decay_KC, so_far_CC, PARTS)
    earlier1 = row_of(so_far_KC, TILE - 1)
    earlier2 = earlier1 + row_of(so_far_KC, 2 * TILE - 1)
    earlier3 = earlier2 + row_of(so_far_KC, 3 * TILE - 1)
    a0, a1 = tl.floor(g0 + 0.5), tl.floor(earlier1 + g1 + 0.5)
    a2, a3 = tl.floor(earlier2 + g2 + 0.5), tl.floor(earlier3 + g3 + 0.5)
    down0, down1, down2, down3 = a0 - BALANCE, a1 - earlier1 - BALANCE, a2 - earlier2 - BALANCE, a3 - earlier3 - BALANCE
    local_KC = so_far_KC - of_tiles(down0, down1, down2, down3)
    return local_KC, a0, a1, a2, a3


@triton.jit
def level_tiles(a0, a1, a2, a3):
    """[K, C] each: from the anchor of a key to that of the next tile, from it to the second half, and from that to the
    anchor of a row; and where these are not zero."""
    zero = tl.zeros_like(a0)
    to_next_KC = of_tiles(tl.exp2(a1 - a0), zero, tl.exp2(a3 - a2), zero)
    to_half_KC = of_tiles(tl.exp2(a2 - a0), tl.exp2(a2 - a1), zero, zero)
    from_half_KC = of_tiles(zero, zero, zero + 1.0, tl.exp2(a3 - a2))
    tile_1C = (tl.arange(0, CHUNK) // TILE)[None, :]
    return to_next_KC, to_half_KC, from_half_KC, tile_1C % 2 == 0, tile_1C < 2


@triton.jit
def left_rows(state_KC, pairs_CC, tile_pairs_CC, own_pairs_CC, k_up_KC, factor_C, a0, a1, a2, a3):
    """Gradients of the rows of q or k on the left of products, but for their own decays inside a tile, [K, C]. `state`
    is their product with the state that enters the chunk."""
    OPERAND: tl.constexpr = k_up_KC.dtype
    to_next_KC, to_half_KC, from_half_KC, even_1C, early_1C = level_tiles(a0, a1, a2, a3)
    from_start_KC = of_tiles(tl.exp2(a0 - BALANCE), tl.exp2(a1 - BALANCE), tl.exp2(a2 - BALANCE), tl.exp2(a3 - BALANCE))
    k_KC = k_up_KC.to(tl.float32)
    k_half_KC = tl.where(early_1C, k_KC * to_half_KC, 0.0).to(OPERAND)
    left_KC = state_KC * from_start_KC * factor_C[None, :]
    left_KC += tl.where(early_1C, -0.0, from_half_KC * tl.dot(k_half_KC, tl.trans(pairs_CC)))
    left_KC = tl.dot(k_up_KC, tl.trans(own_pairs_CC), left_KC)
    k_next_KC = tl.where(even_1C, k_KC * to_next_KC, 0.0).to(OPERAND)
    return tl.dot(k_next_KC, tl.trans(tile_pairs_CC), left_KC)


@triton.jit
def add_right(right_KC, x_down_KC, pairs_CC, tile_pairs_CC, own_pairs_CC, a0, a1, a2, a3):
    """What the rows of q or k, in fp32, give to the keys on the right of products, [K, C], added to `right`."""
    OPERAND: tl.constexpr = pairs_CC.dtype
    to_next_KC, to_half_KC, from_half_KC, even_1C, early_1C = level_tiles(a0, a1, a2, a3)
    x_far_KC = tl.where(early_1C, 0.0, x_down_KC * from_half_KC).to(OPERAND)
    x_down_KC = x_down_KC.to(OPERAND)
    right_KC = tl.dot(x_down_KC, own_pairs_CC, right_KC)
    right_KC += tl.where(early_1C, to_half_KC * tl.dot(x_far_KC, pairs_CC), -0.0)
    right_KC += tl.where(even_1C, to_next_KC * tl.dot(x_down_KC, tile_pairs_CC), -0.0)
    return right_KC


@kernel(do_not_specialize=["T", "H", "chunks_of_row", "first_head", "heads", "scale", "lower_bound"])
def inner_kernel(
    q_ptr, k_ptr, z_ptr, A_log_ptr, dt_bias_ptr, table_ptr,
    do_ptr, dv_ptr, entering_ptr, dA_ptr, dP_ptr, lengths_ptr, along_ptr, ones_ptr,
    dq_ptr, dk_ptr, decays_ptr,
    T, H, chunks_of_row, first_head, heads, scale, lower_bound,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr, AHEAD: tl.constexpr,
    PARTS: tl.constexpr,
):  # fmt: skip
    """One chunk of one head and SLICE of its key channels: dq, and what products of q and k give to k and the decays.

    With AHEAD the state and dO are loaded together with what is needed first. Decays are summed in PARTS.
    """
    OPERAND: tl.constexpr = entering_ptr.dtype.element_ty
    first, own_head, head, chunk = slice_of_head(first_head, heads, K, SLICE)
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    block = chunk.to(tl.int64) * H + head
    own = chunk.to(tl.int64) * heads + own_head
    token = (start * H + head) * K + first
    rows = (end - start).to(tl.int32)
    lengths_ptr += (chunk * H + head).to(tl.int64) * (3 * CHUNK)  # not from `block`, which spills more
    row_C, channel_K, value_V = tl.arange(0, CHUNK), tl.arange(0, SLICE), tl.arange(0, V)
    i, j = row_C[:, None], row_C[None, :]
    place_CC = i * CHUNK + j
    place_CK = i * (H * K) + channel_K[None, :]
    place_KC = channel_K[:, None] + j * (H * K)
    place_CV = (start * H + head) * V + i * (H * V) + value_V[None, :]

    entering_ptr += block * (V * K) + first + value_V[:, None] * K + channel_K[None, :]
    if AHEAD:
        entering_VK = tl.load(entering_ptr)
        given_CV = tl.load(do_ptr + place_CV, mask=i < rows, other=0.0)
    z_CK = tl.load(z_ptr + token + place_CK, mask=i < rows, other=0.0)
    k_CK = tl.load(k_ptr + token + place_CK, mask=i < rows, other=0.0)
    same_CC = tl.load(ones_ptr + SAME + place_CC)
    so_far_CC = tl.load(ones_ptr + SO_FAR + place_CC)
    if not AHEAD:
        q_CK = tl.load(q_ptr + token + place_CK, mask=i < rows, other=0.0)
    _, tiles_CC = level_masks()
    own_CC = (i // TILE) == (j // TILE)
    dA_ptr += own * (CHUNK * CHUNK)
    dP_ptr += own * (CHUNK * CHUNK)
    dA_CC, dP_CC = tl.load(dA_ptr + place_CC), tl.load(dP_ptr + place_CC)
    own_dA_CC = tl.load(dA_ptr + place_CC, mask=own_CC, other=0.0)
    tile_dA_CC = tl.load(dA_ptr + place_CC, mask=tiles_CC, other=0.0)
    own_dP_CC = tl.load(dP_ptr + place_CC, mask=own_CC, other=0.0)
    tile_dP_CC = tl.load(dP_ptr + place_CC, mask=tiles_CC, other=0.0)
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))
    bias_K = tl.load(dt_bias_ptr + head * K + first + channel_K).to(tl.float32)
    if AHEAD:
        state_KC = tl.dot(tl.trans(entering_VK), tl.trans(given_CV))
    # Zeros that the compiler does not know to be: what is wanted again is made again with them, and not kept.
    nothing = tl.minimum(rows, 0).to(tl.float32)
    z_KC = tl.where(j < rows, channels_first(z_CK, same_CC), float("-inf"))
    local_KC, a0, a1, a2, a3 = local_decays(z_KC, bias_K, slope, lower_bound, so_far_CC, PARTS)
    k_up_KC = (channels_first(k_CK, same_CC) * tl.exp2(-local_KC)).to(OPERAND)

    # Rows on the left of products: from the state, and from keys, level by level. First those of q.
    if not AHEAD:
        entering_VK = tl.load(entering_ptr)
        given_CV = tl.load(do_ptr + place_CV, mask=i < rows, other=0.0)
        state_KC = tl.dot(tl.trans(entering_VK), tl.trans(given_CV))
    factor_C = scale * tl.load(lengths_ptr + row_C)
    left_KC = left_rows(state_KC, dA_CC, tile_dA_CC, own_dA_CC, k_up_KC, factor_C, a0, a1, a2, a3)
    if AHEAD:
        q_CK = tl.load(q_ptr + token + place_CK, mask=i < rows, other=0.0)
    x_KC = channels_first(q_CK, same_CC)
    down_KC = tl.exp2(local_KC)
    dG_KC = rounded(x_KC * down_KC, OPERAND, True) * left_KC
    along_C = tl.load(along_ptr + own * (2 * CHUNK) + row_C)
    dq_KC = left_KC * down_KC - x_KC * along_C[None, :]
    tl.store(dq_ptr + token + place_KC, dq_KC.to(OPERAND), mask=j < rows)

    given_CV = tl.load(dv_ptr + place_CV, mask=i < rows, other=0.0)
    k_CK = tl.load(k_ptr + token + place_CK, mask=i < rows, other=0.0)
    factor_C = -tl.load(lengths_ptr + CHUNK + row_C)
    local_KC += nothing
    state_KC = tl.dot(tl.trans(entering_VK), tl.trans(given_CV))
    left_KC = left_rows(state_KC, dP_CC, tile_dP_CC, own_dP_CC, k_up_KC, factor_C, a0 + nothing, a1,
                        a2 + nothing, a3)  # fmt: skip
    down_KC = tl.exp2(local_KC)
    x_down_KC = rounded(channels_first(k_CK, same_CC) * down_KC, OPERAND, True)
    dG_KC += x_down_KC * left_KC
    dk_KC = left_KC * down_KC

    # Keys on the right of products.
    nothing *= 2.0
    q_CK = tl.load(q_ptr + token + place_CK, mask=i < rows, other=0.0)
    a0 += nothing
    a2 += nothing
    right_KC = add_right(tl.zeros([SLICE, CHUNK], tl.float32), x_down_KC, dP_CC, tile_dP_CC, own_dP_CC, a0, a1, a2, a3)
    x_down_KC = rounded(channels_first(q_CK, same_CC) * tl.exp2(local_KC + nothing), OPERAND, True)
    right_KC = add_right(right_KC, x_down_KC, dA_CC, tile_dA_CC, own_dA_CC, a0, a1, a2, a3)
    dG_KC -= k_up_KC.to(tl.float32) * right_KC
    dk_KC += right_KC * tl.exp2(-(local_KC + nothing))
    tl.store(dk_ptr + token + place_KC, dk_KC.to(OPERAND), mask=j < rows)
    back_CC = tl.load(ones_ptr + BACK + place_CC)
    ddecay_KC = sums(dG_KC, back_CC, 2)
    tl.store(decays_ptr + token + place_KC, ddecay_KC.to(decays_ptr.dtype.element_ty), mask=j < rows)
