"""What the kernels of both directions share: which rows a chunk has, its gate, and its decays tile by tile.

A chunk is 64 rows, four tiles of 16. With G the running sum of the log2 decays, every factor that a product needs is
2^(a difference of G), and only differences are ever formed: inside a tile relative to the tile's first row (its
anchor), between tiles relative to anchors. Anchors lie in the past of all rows that use them, and the sums for an
anchor hold only rows up to it: so no later token changes an earlier result by a bit.

    down_i = 2^( G_i − anchor + BALANCE)      ≥ 2^-74, since fifteen steps of the lowest gate span 128 bits
    up_j   = 2^(−G_j + anchor − BALANCE)      ≤ 2^74
    down_i · up_j = 2^(G_i − G_j)             for rows of one tile

BALANCE halves the range, so that neither factor overflows or becomes subnormal in bf16. It cancels exactly.

Products between tiles are made on two levels, each one dense 64 × 64 product of which some blocks are used:

    level 16   tiles (1, 0) and (3, 2)        up · 2^(next anchor − anchor)
    level 32   tiles {2, 3} × {0, 1}          up · 2^(anchor of tile 2 − anchor), down · 2^(anchor − anchor of tile 2)

Letters: C = 64 rows of a chunk, K key channels, Q = 4 tiles.
"""

import triton
import triton.language as tl

CHUNK = tl.constexpr(64)
TILE = tl.constexpr(16)
BALANCE = tl.constexpr(54.0)
LOG2E = tl.constexpr(1.4426950408889634)


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
def sequence_chunks(sequences_ptr, sequence, T, chunks_of_row, PACKED: tl.constexpr):
    """The first token of a sequence, its end, its first chunk and the number of its chunks."""
    if PACKED:
        start = tl.load(sequences_ptr + 3 * sequence).to(tl.int64)
        end = tl.load(sequences_ptr + 3 * sequence + 1).to(tl.int64)
        first = tl.load(sequences_ptr + 3 * sequence + 2).to(tl.int64)
        count = (end - start + CHUNK - 1) // CHUNK
    else:
        start = sequence.to(tl.int64) * T
        end = start + T
        first = sequence.to(tl.int64) * chunks_of_row
        count = tl.cast(chunks_of_row, tl.int64)
    return start, end, first, count


@triton.jit
def inverse_length(x_CK):
    """1 / sqrt(Σ x² + 1e-6), for each row."""
    return tl.rsqrt(tl.sum(x_CK * x_CK, 1) + 1e-6)


@triton.jit
def sigmoid(x):
    return 1.0 / (1.0 + tl.exp2(-LOG2E * x))


@triton.jit
def tile_decays(log2_decay_CK, K: tl.constexpr):
    """The running sum inside each tile without its first row, as [Q, 16, K], and the anchors and the end, [K] each."""
    decay_QRK = tl.reshape(log2_decay_CK, [CHUNK // TILE, TILE, K])
    is_first = (tl.arange(0, TILE) == 0)[None, :, None]
    local_QRK = tl.cumsum(tl.where(is_first, 0.0, decay_QRK), 1)
    first_QK = tl.sum(tl.where(is_first, decay_QRK, 0.0), 1)
    total_QK = tl.sum(decay_QRK, 1)
    tile = tl.arange(0, CHUNK // TILE)[:, None]
    a0 = tl.sum(tl.where(tile == 0, first_QK, 0.0), 0)
    a1 = tl.sum(tl.where(tile < 1, total_QK, tl.where(tile == 1, first_QK, 0.0)), 0)
    a2 = tl.sum(tl.where(tile < 2, total_QK, tl.where(tile == 2, first_QK, 0.0)), 0)
    a3 = tl.sum(tl.where(tile < 3, total_QK, tl.where(tile == 3, first_QK, 0.0)), 0)
    end = tl.sum(total_QK, 0)
    return local_QRK, a0, a1, a2, a3, end


@triton.jit
def by_tile(x0, x1, x2, x3):
    """Four [K] as [Q, 1, K]."""
    tile = tl.arange(0, CHUNK // TILE)[:, None]
    x_QK = tl.where(
        tile == 0, x0[None, :], tl.where(tile == 1, x1[None, :], tl.where(tile == 2, x2[None, :], x3[None, :]))
    )
    return x_QK[:, None, :]


@triton.jit
def level_masks():
    """[C, C] each: pairs of rows of different halves, and of different tiles of one half."""
    i, j = tl.arange(0, CHUNK)[:, None], tl.arange(0, CHUNK)[None, :]
    return (i // 32) != (j // 32), ((i // 32) == (j // 32)) & ((i // TILE) != (j // TILE))
