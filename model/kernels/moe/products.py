"""Products of rows with the matrices of their experts: up with the activation, down, and back to the latent.

    g, u = W_gate z, W_up z        a = p · f(g, u)        row = W_down a        and back: dz row = W_gateᵀ dg + W_upᵀ du

A program has one tile, up to ROWS rows of one expert, and one block of columns. Programs of one tile follow one another
so that its rows and its expert's matrices are read from L2 but the first time. The rows of z are gathered where they
are loaded; weighing by p stands before the last product, so that combining only adds. Gate and up are one product, of
rows that interleave a block of each, so that the tile of z is read once for both.

A slot of a tile past the last row of its expert has a row of the next one, which is not stored: so loads of rows wait
for where the tile begins, and not for where the expert ends. No row has any part in another, and how a sum is split
does not depend on the tile: the same token has the same bits in any batch.

Bytes a row in bf16, matrices and gathered rows in L2: up 6 I (2 I if nothing is kept), down 2 I + 2 L, back 4 I + 2 L.
FLOPs a row: up 4 L I, down 2 L I, back 4 L I.

Letters: N tokens, K experts of a token, M = N·K rows, E experts, L latent width, I inner width, G tiles, R rows of a
tile, P = a block of rows of both gate and up, B = a block of columns, D = a block that is summed over.
"""

import triton
import triton.language as tl

from ..jit import kernel
from .situ import situ_parts


@triton.jit
def load_block(pointers_XD, block_D, LIMIT: tl.constexpr, BLOCK: tl.constexpr):
    """A tile of which columns past LIMIT are zero. Without a mask where there are none."""
    if LIMIT % BLOCK == 0:
        return tl.load(pointers_XD)
    return tl.load(pointers_XD, mask=(block_D < LIMIT)[None, :], other=0.0)


@triton.jit
def rows_of_tile(tiles_ptr, ends_ptr, tile, expert, M, ROWS: tl.constexpr):
    """The rows of a tile, and which of them are of its expert; the others are some that are there."""
    row_R = tl.load(tiles_ptr + 2 * tile + 1) + tl.arange(0, ROWS)
    return tl.minimum(row_R, M - 1), row_R < tl.load(ends_ptr + expert)


@kernel(do_not_specialize=["M", "beta_gate", "beta_up"])
def up_kernel(
    z_ptr, gate_ptr, up_ptr, weights_ptr, rows_ptr, ends_ptr, tiles_ptr, a_ptr, h_ptr,
    M, beta_gate, beta_up,
    L: tl.constexpr, INNER: tl.constexpr, TOP_K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    DEPTH: tl.constexpr, TRAINING: tl.constexpr,
):  # fmt: skip
    """One tile and BLOCK inner columns: a, and for the backward pass g and u side by side, h_M2I."""
    OPERAND: tl.constexpr = a_ptr.dtype.element_ty
    BLOCKS: tl.constexpr = (INNER + BLOCK - 1) // BLOCK
    program = tl.program_id(0)
    tile = program // BLOCKS
    expert = tl.load(tiles_ptr + 2 * tile).to(tl.int64)
    if expert < 0:
        return
    row_R, is_row_R = rows_of_tile(tiles_ptr, ends_ptr, tile, expert, M, ROWS)
    flat_R = tl.load(rows_ptr + row_R)
    first = program % BLOCKS * BLOCK
    pair_P, block_D = tl.arange(0, 2 * BLOCK), tl.arange(0, DEPTH)
    inner_P = tl.minimum(first + pair_P % BLOCK, INNER - 1)
    z_ptrs = z_ptr + (flat_R // TOP_K).to(tl.int64)[:, None] * L + block_D[None, :]
    matrix_P = tl.where(pair_P < BLOCK, gate_ptr, up_ptr) + expert * (INNER * L) + inner_P * L
    matrix_ptrs = matrix_P[:, None] + block_D[None, :]
    pair_RP = tl.zeros([ROWS, 2 * BLOCK], tl.float32)
    for k in range(0, L, DEPTH):
        z_RD = load_block(z_ptrs + k, k + block_D, L, DEPTH)
        matrix_PD = load_block(matrix_ptrs + k, k + block_D, L, DEPTH)
        pair_RP = tl.dot(z_RD, tl.trans(matrix_PD), pair_RP, input_precision="ieee")
    gate_RB, up_RB = tl.split(tl.permute(tl.reshape(pair_RP, [ROWS, 2, BLOCK]), (0, 2, 1)))
    tanh_gate_RB, tanh_up_RB, sigmoid_RB = situ_parts(gate_RB, up_RB, beta_gate, beta_up)
    weight_R = tl.load(weights_ptr + flat_R) * (beta_gate * beta_up)
    a_RB = weight_R[:, None] * (tanh_gate_RB * sigmoid_RB * tanh_up_RB)
    inner_B = first + tl.arange(0, BLOCK)
    is_place_RB = is_row_R[:, None] & (inner_B < INNER)[None, :]
    row_R1 = row_R.to(tl.int64)[:, None]
    tl.store(a_ptr + row_R1 * INNER + inner_B[None, :], a_RB.to(OPERAND), mask=is_place_RB)
    if TRAINING:
        h_ptrs = h_ptr + row_R1 * (2 * INNER) + inner_B[None, :]
        tl.store(h_ptrs, gate_RB.to(OPERAND), mask=is_place_RB)
        tl.store(h_ptrs + INNER, up_RB.to(OPERAND), mask=is_place_RB)


@kernel(do_not_specialize=["M"])
def down_kernel(
    a_ptr, down_ptr, ends_ptr, tiles_ptr, out_ptr,
    M,
    L: tl.constexpr, INNER: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """One tile and BLOCK latent columns: rows of a times the expert's W_down."""
    BLOCKS: tl.constexpr = (L + BLOCK - 1) // BLOCK
    program = tl.program_id(0)
    tile = program // BLOCKS
    expert = tl.load(tiles_ptr + 2 * tile).to(tl.int64)
    if expert < 0:
        return
    row_R, is_row_R = rows_of_tile(tiles_ptr, ends_ptr, tile, expert, M, ROWS)
    row_R1 = row_R.to(tl.int64)[:, None]
    latent_B, block_D = program % BLOCKS * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DEPTH)
    a_ptrs = a_ptr + row_R1 * INNER + block_D[None, :]
    down_ptrs = down_ptr + expert * (L * INNER) + tl.minimum(latent_B, L - 1)[:, None] * INNER + block_D[None, :]
    out_RB = tl.zeros([ROWS, BLOCK], tl.float32)
    for k in range(0, INNER, DEPTH):
        a_RD = load_block(a_ptrs + k, k + block_D, INNER, DEPTH)
        down_BD = load_block(down_ptrs + k, k + block_D, INNER, DEPTH)
        out_RB = tl.dot(a_RD, tl.trans(down_BD), out_RB, input_precision="ieee")
    is_place_RB = is_row_R[:, None] & (latent_B < L)[None, :]
    tl.store(out_ptr + row_R1 * L + latent_B[None, :], out_RB.to(out_ptr.dtype.element_ty), mask=is_place_RB)


@kernel(do_not_specialize=["M"])
def back_kernel(
    dh_ptr, gate_ptr, up_ptr, ends_ptr, tiles_ptr, out_ptr,
    M,
    L: tl.constexpr, INNER: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """One tile and BLOCK latent columns: rows of dg times W_gate and of du times W_up, one sum over both."""
    BLOCKS: tl.constexpr = (L + BLOCK - 1) // BLOCK
    STEPS: tl.constexpr = (INNER + DEPTH - 1) // DEPTH
    program = tl.program_id(0)
    tile = program // BLOCKS
    expert = tl.load(tiles_ptr + 2 * tile).to(tl.int64)
    if expert < 0:
        return
    row_R, is_row_R = rows_of_tile(tiles_ptr, ends_ptr, tile, expert, M, ROWS)
    row_R1 = row_R.to(tl.int64)[:, None]
    latent_B, block_D = program % BLOCKS * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DEPTH)
    dh_ptrs = dh_ptr + row_R1 * (2 * INNER) + block_D[None, :]
    place_DB = expert * (INNER * L) + block_D[:, None] * L + latent_B[None, :]
    out_RB = tl.zeros([ROWS, BLOCK], tl.float32)
    for step in range(2 * STEPS):
        k = step % STEPS * DEPTH
        is_up = step // STEPS
        matrix_ptr = tl.where(is_up == 1, up_ptr, gate_ptr)
        dh_RD = load_block(dh_ptrs + is_up * INNER + k, k + block_D, INNER, DEPTH)
        # The last columns and the last rows of a block may not be there.
        if L % BLOCK == 0 and INNER % DEPTH == 0:
            matrix_DB = tl.load(matrix_ptr + k * L + place_DB)
        else:
            is_place_DB = (k + block_D < INNER)[:, None] & (latent_B < L)[None, :]
            matrix_DB = tl.load(matrix_ptr + k * L + place_DB, mask=is_place_DB, other=0.0)
        out_RB = tl.dot(dh_RD, matrix_DB, out_RB, input_precision="ieee")
    is_place_RB = is_row_R[:, None] & (latent_B < L)[None, :]
    tl.store(out_ptr + row_R1 * L + latent_B[None, :], out_RB.to(out_ptr.dtype.element_ty), mask=is_place_RB)
