"""What the kernels of both directions share: which rows a chunk has, its gate, and its decays tile by tile.

A chunk is 64 rows, four tiles of 16. With G the running sum of the log2 decays, every factor that a product needs is
2^(a difference of G), and only differences are ever formed: inside a tile relative to its anchor, which is G of its
first row, rounded to an integer, and between tiles relative to anchors. Anchors lie in the past of all rows that use
them, and the sums for an anchor hold only rows up to it: so no later token changes an earlier result by a bit.

    down_i = 2^( G_i − anchor + BALANCE)      ≥ 2^-75, since fifteen steps of the lowest gate span 128 bits
    up_j   = 2^(−G_j + anchor − BALANCE)      ≤ 2^75
    down_i · up_j = 2^(G_i − G_j)             for rows of one tile

BALANCE halves the range, so that neither factor overflows or becomes subnormal in bf16. It cancels exactly.

Anchors are integers so that a row which goes from one anchor to another is scaled by a power of two: it is rounded to
bf16 once, and all products see the same rounded row. In the gradient of the gate each product of two rows is added at
one row and taken away at the other: with the rounded rows in both places it cancels but for fp32.

Products between tiles are made on two levels, each one dense 64 × 64 product of which some blocks are used:

    level 16   tiles (1, 0) and (3, 2)        up · 2^(next anchor − anchor)
    level 32   tiles {2, 3} × {0, 1}          up · 2^(anchor of tile 2 − anchor), down · 2^(anchor − anchor of tile 2)

Layout. Threads take rows first: loads are [K, Q, R], channels by tiles by rows of a tile, and a thread holds the 16
rows of one tile for one to four channels, which a warp still reads as whole lines. Sums over the rows of a tile then
need no exchange between threads. (`products.py` alone has channels first, and its own sums.)

Letters: C = 64 rows of a chunk, K key channels, R = 16 rows of a tile, Q = 4 tiles.
"""

import triton
import triton.language as tl

from ..functions import LOG2E

CHUNK = tl.constexpr(64)
TILE = tl.constexpr(16)
BALANCE = tl.constexpr(54.0)


@triton.jit
def chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED: tl.constexpr):
    """The first token of a chunk and the end of its sequence; an empty range for a chunk that does not exist."""
    if PACKED:
        start = tl.load(table_ptr + 2 * chunk).to(tl.int64)
        end = tl.load(table_ptr + 2 * chunk + 1).to(tl.int64)
    else:
        row = (chunk // chunks_of_row).to(tl.int64)
        start = row * T + (chunk % chunks_of_row) * CHUNK
        end = (row + 1) * T
    return start, end


@triton.jit
def slice_of_head(first_head, heads, K: tl.constexpr, SLICE: tl.constexpr):
    """Of a program for SLICE of K channels: the first of them, the head among the group's, among all, and the chunk."""
    SLICES: tl.constexpr = K // SLICE
    program = tl.program_id(0)
    own_head = (program // SLICES) % heads
    return (program % SLICES) * SLICE, own_head, first_head + own_head, program // SLICES // heads


@triton.jit
def walk_chunks(walks_ptr, walk, T, chunks_of_row, TABLE: tl.constexpr):
    """Of a segment of a sequence: its first token, the end of the sequence, its first chunk, the number of its chunks,
    the sequence, how many segments of the sequence come before and how many after it, and its own number. Without a
    table a sequence is one segment, and a row of the batch."""
    if TABLE:
        walks_ptr += 8 * walk
        start = tl.load(walks_ptr).to(tl.int64)
        end = tl.load(walks_ptr + 1).to(tl.int64)
        first = tl.load(walks_ptr + 2).to(tl.int64)
        count = tl.load(walks_ptr + 3).to(tl.int64)
        sequence = tl.load(walks_ptr + 4).to(tl.int64)
        before = tl.load(walks_ptr + 5).to(tl.int64)
        after = tl.load(walks_ptr + 6).to(tl.int64)
        segment = tl.load(walks_ptr + 7).to(tl.int64)
    else:
        sequence = tl.cast(walk, tl.int64)
        start = sequence * T
        end = start + T
        first = sequence * chunks_of_row
        count = tl.cast(chunks_of_row, tl.int64)
        before = sequence * 0
        after = before
        segment = sequence
    return start, end, first, count, sequence, before, after, segment


@triton.jit
def rows_by_tile():
    """The rows of a chunk, [Q, R]."""
    return tl.arange(0, CHUNK // TILE)[:, None] * TILE + tl.arange(0, TILE)[None, :]


@triton.jit
def places(row_QR, channel_K, WARPS: tl.constexpr):
    """Where channels of rows lie. Marked so that a thread takes all rows of a tile: sums over rows stay in it."""
    SIZE: tl.constexpr = channel_K.shape[0]
    VECTOR: tl.constexpr = max(1, SIZE * (CHUNK // TILE) // (32 * WARPS))
    return tl.max_contiguous(row_QR[None, :, :] + channel_K[:, None, None], [VECTOR, 1, 1])


@triton.jit
def as_rows(x_KQR):
    """[K, Q, R] as [C, K]."""
    return tl.reshape(tl.permute(x_KQR, (1, 2, 0)), [CHUNK, x_KQR.shape[0]])


@triton.jit
def by_channel(x_CK):
    """The inverse: [C, K] as [K, Q, R]."""
    return tl.permute(tl.reshape(x_CK, [CHUNK // TILE, TILE, x_CK.shape[1]]), (2, 0, 1))


@triton.jit
def inverse_length(x_ptr, row_stride, rows, K: tl.constexpr):
    """1 / sqrt(Σ x² + 1e-6) over the K channels of each row, [C]. Here threads take channels first."""
    row_C, channel_K = tl.arange(0, CHUNK), tl.arange(0, K)
    x_CK = tl.load(x_ptr + row_C[:, None] * row_stride + channel_K[None, :], mask=(row_C < rows)[:, None], other=0.0)
    x_CK = x_CK.to(tl.float32)
    return tl.rsqrt(tl.sum(x_CK * x_CK, 1) + 1e-6)


@triton.jit
def log2_decays(z_KQR, bias_K, slope, lower_bound):
    """The gate: lower_bound · σ(slope · (z + bias)) in base 2. Zero for z = -inf, which stands in rows of no token."""
    inverse = -1.0 / (lower_bound * LOG2E)
    power_KQR = tl.exp2((-LOG2E * slope) * (z_KQR.to(tl.float32) + bias_K[:, None, None]))
    root_KQR = tl.rsqrt(inverse + inverse * power_KQR)
    return -root_KQR * root_KQR


@triton.jit
def _add_five(a0, a1, a2, a3, a4, b0, b1, b2, b3, b4):
    return a0 + b0, a1 + b1, a2 + b2, a3 + b3, a4 + b4


@triton.jit
def tile_decays(log2_decay_KQR):
    """G inside each tile from its anchor on, plus the balance; the anchors, and G at the end of the chunk, [K] each.

    Warps exchange all five sums over tiles at one time.
    """
    is_first = (tl.arange(0, TILE) == 0)[None, None, :]
    first_KQ = tl.sum(tl.where(is_first, log2_decay_KQR, -0.0), 2)
    total_KQ = tl.sum(log2_decay_KQR, 2)
    tile = tl.arange(0, CHUNK // TILE)[None, :]
    g0_KQ = tl.where(tile == 0, first_KQ, 0.0)
    g1_KQ = tl.where(tile < 1, total_KQ, tl.where(tile == 1, first_KQ, 0.0))
    g2_KQ = tl.where(tile < 2, total_KQ, tl.where(tile == 2, first_KQ, 0.0))
    g3_KQ = tl.where(tile < 3, total_KQ, tl.where(tile == 3, first_KQ, 0.0))
    g0, g1, g2, g3, last = tl.reduce((g0_KQ, g1_KQ, g2_KQ, g3_KQ, total_KQ), 1, _add_five)
    a0, a1, a2, a3 = tl.floor(g0 + 0.5), tl.floor(g1 + 0.5), tl.floor(g2 + 0.5), tl.floor(g3 + 0.5)
    from_anchor_KQ = by_tile(g0 - a0, g1 - a1, g2 - a2, g3 - a3) + BALANCE
    local_KQR = tl.cumsum(tl.where(is_first, from_anchor_KQ[:, :, None], log2_decay_KQR), 2)
    return local_KQR, a0, a1, a2, a3, last


@triton.jit
def by_tile(x0, x1, x2, x3):
    """Four [K] as [K, Q]."""
    tile = tl.arange(0, CHUNK // TILE)[None, :]
    return tl.where(
        tile == 0, x0[:, None], tl.where(tile == 1, x1[:, None], tl.where(tile == 2, x2[:, None], x3[:, None]))
    )


@triton.jit
def level_factors(a0, a1, a2, a3, last):
    """[K, Q] each: from the start of the chunk to the anchor and from the anchor to the end of the chunk, with the
    balance; from the anchor to the next tile of the half, from it to the second half, and from the second half to it.
    """
    tile = tl.arange(0, CHUNK // TILE)[None, :]
    zero = tl.zeros_like(a0)
    anchor_KQ = by_tile(a0, a1, a2, a3)
    from_start_KQ = tl.exp2(anchor_KQ - BALANCE)
    to_end_KQ = tl.exp2(last[:, None] - anchor_KQ + BALANCE)
    to_next_KQ = tl.where(tile % 2 == 0, tl.exp2(by_tile(a1 - a0, zero, a3 - a2, zero)), 0.0)
    half_KQ = tl.exp2(by_tile(a2 - a0, a2 - a1, zero, a3 - a2))
    to_half_KQ = tl.where(tile < 2, half_KQ, 0.0)
    from_half_KQ = tl.where(tile < 2, 0.0, half_KQ)
    return from_start_KQ, to_end_KQ, to_next_KQ, to_half_KQ, from_half_KQ


@triton.jit
def level_masks():
    """[C, C] each: pairs of rows of different halves, and of different tiles of one half."""
    i, j = tl.arange(0, CHUNK)[:, None], tl.arange(0, CHUNK)[None, :]
    return (i // 32) != (j // 32), ((i // 32) == (j // 32)) & ((i // TILE) != (j // TILE))
