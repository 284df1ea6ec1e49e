"""Backward of the products of the experts: through the activation, and the gradients of the matrices.

    da = W_downᵀ du[token]      dp = ⟨da, f⟩      df = p da      dg, du = f' df      a = p f again
    dW_down = Σ du[token] aᵀ    dW_gate, dW_up = Σ dg z[token]ᵀ, Σ du z[token]ᵀ      over the rows of an expert

`inner_kernel` has one tile and one block of inner columns, like those of `products.py`. Its part of dp is a sum over
its columns; the parts are added in a fixed order by `combine.py`. `matrices_kernel` has one expert and one block of its
matrix and walks over the expert's rows, all of them in one sum: no order varies, and an expert without rows gets zeros.
Rows past the end are masked here, since every row is a part of the sum.

Bytes a row in bf16, du, z and matrices in L2: inner 10 I, matrices 6 I for each block of columns that reads them again.
FLOPs a row: inner 2 L I, matrices 2 L I and 4 L I.

Letters: as in `products.py`; S = rows that are summed over at a time, or a slice of columns, P and Q = rows and columns
of a matrix's block.
"""

import triton
import triton.language as tl

from ..jit import kernel
from .products import rows_of_tile
from .situ import situ_parts


@kernel(do_not_specialize=["M", "beta_gate", "beta_up"])
def inner_kernel(
    du_ptr, down_ptr, weights_ptr, rows_ptr, ends_ptr, tiles_ptr, h_ptr, dh_ptr, a_ptr, dweights_ptr,
    M, beta_gate, beta_up,
    L: tl.constexpr, INNER: tl.constexpr, TOP_K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    DEPTH: tl.constexpr, SLICE: tl.constexpr,
):  # fmt: skip
    """One tile and BLOCK inner columns: gradients of g and u side by side, a, and a part of the weights' gradients."""
    BLOCKS: tl.constexpr = (INNER + BLOCK - 1) // BLOCK
    program = tl.program_id(0)
    tile, block = program // BLOCKS, program % BLOCKS
    expert = tl.load(tiles_ptr + 2 * tile).to(tl.int64)
    if expert < 0:
        return
    row_R, is_row_R = rows_of_tile(tiles_ptr, ends_ptr, tile, expert, M, ROWS)
    flat_R = tl.load(rows_ptr + row_R)
    inner_B, block_D = block * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DEPTH)
    du_ptrs = du_ptr + (flat_R // TOP_K).to(tl.int64)[:, None] * L + block_D[None, :]
    down_ptrs = down_ptr + expert * (L * INNER) + block_D[:, None] * INNER + inner_B[None, :]
    da_RB = tl.zeros([ROWS, BLOCK], tl.float32)
    for k in range(0, L, DEPTH):
        if L % DEPTH == 0 and INNER % BLOCK == 0:
            du_RD = tl.load(du_ptrs + k)
            down_DB = tl.load(down_ptrs + k * INNER)
        else:
            is_latent_D = k + block_D < L
            du_RD = tl.load(du_ptrs + k, mask=is_latent_D[None, :], other=0.0)
            down_DB = tl.load(down_ptrs + k * INNER, mask=is_latent_D[:, None] & (inner_B < INNER)[None, :], other=0.0)
        da_RB = tl.dot(du_RD, down_DB, da_RB, input_precision="ieee")
    weight_R = tl.load(weights_ptr + flat_R)
    dweight_R = _by_slices(
        da_RB, block * BLOCK, row_R, is_row_R, weight_R, h_ptr, dh_ptr, a_ptr, beta_gate, beta_up, INNER, SLICE
    )
    tl.store(dweights_ptr + block.to(tl.int64) * M + flat_R, dweight_R, mask=is_row_R)


@triton.jit
def _by_slices(
    da_RB, first, row_R, is_row_R, weight_R, h_ptr, dh_ptr, a_ptr, beta_gate, beta_up, INNER: tl.constexpr,
    SLICE: tl.constexpr,
):  # fmt: skip
    """SLICE columns at a time: g, u and all that comes of them would not fit in registers beside the whole of da."""
    HALF: tl.constexpr = da_RB.shape[1] // 2
    if HALF >= SLICE:
        halves_RSH = tl.permute(tl.reshape(da_RB, [da_RB.shape[0], 2, HALF]), (0, 2, 1))
        left_RS, right_RS = tl.split(halves_RSH)
        left_R = _by_slices(
            left_RS, first, row_R, is_row_R, weight_R, h_ptr, dh_ptr, a_ptr, beta_gate, beta_up, INNER, SLICE
        )
        right_R = _by_slices(
            right_RS, first + HALF, row_R, is_row_R, weight_R, h_ptr, dh_ptr, a_ptr, beta_gate, beta_up, INNER, SLICE
        )
        return left_R + right_R
    else:  # noqa: RET505 - compiled where it holds, one of the two
        return _through_activation(
            da_RB, first, row_R, is_row_R, weight_R, h_ptr, dh_ptr, a_ptr, beta_gate, beta_up, INNER
        )


@triton.jit
def _through_activation(
    da_RS, first, row_R, is_row_R, weight_R, h_ptr, dh_ptr, a_ptr, beta_gate, beta_up, INNER: tl.constexpr
):  # fmt: skip
    """Stores dg, du and a of the columns from `first` on, and gives their part of the weights' gradients."""
    OPERAND: tl.constexpr = a_ptr.dtype.element_ty
    inner_S = first + tl.arange(0, da_RS.shape[1])
    is_place_RS = is_row_R[:, None] & (inner_S < INNER)[None, :]
    row_R1 = row_R.to(tl.int64)[:, None]
    place_RS = row_R1 * (2 * INNER) + inner_S[None, :]
    gate_RS = tl.load(h_ptr + place_RS, mask=is_place_RS, other=0.0).to(tl.float32)
    up_RS = tl.load(h_ptr + place_RS + INNER, mask=is_place_RS, other=0.0).to(tl.float32)
    tanh_gate_RS, tanh_up_RS, sigmoid_RS = situ_parts(gate_RS, up_RS, beta_gate, beta_up)
    left_RS = beta_gate * tanh_gate_RS
    right_RS = beta_up * tanh_up_RS
    f_RS = left_RS * sigmoid_RS * right_RS
    a_RS = weight_R[:, None] * f_RS
    tl.store(a_ptr + row_R1 * INNER + inner_S[None, :], a_RS.to(OPERAND), mask=is_place_RS)
    common_RS = weight_R[:, None] * da_RS * sigmoid_RS
    dgate_RS = common_RS * right_RS * (1.0 - tanh_gate_RS * tanh_gate_RS + left_RS * (1.0 - sigmoid_RS))
    tl.store(dh_ptr + place_RS, dgate_RS.to(OPERAND), mask=is_place_RS)
    dup_RS = common_RS * left_RS * (1.0 - tanh_up_RS * tanh_up_RS)
    tl.store(dh_ptr + place_RS + INNER, dup_RS.to(OPERAND), mask=is_place_RS)
    return tl.sum(da_RS * f_RS, 1)


@kernel()
def matrices_kernel(
    left_ptr, right_ptr, rows_ptr, ends_ptr, first_ptr, second_ptr,
    P: tl.constexpr, Q: tl.constexpr, SPLIT: tl.constexpr, TOP_K: tl.constexpr,
    BLOCK_P: tl.constexpr, BLOCK_Q: tl.constexpr, DEPTH: tl.constexpr, LEFT_IS_OF_TOKENS: tl.constexpr,
):  # fmt: skip
    """One expert and one block of Σ left rightᵀ, [P, Q]: its rows up to SPLIT are the first gradient, then the second.

    One factor lies row by row, the other, left or right, token by token.
    """
    BLOCKS_P: tl.constexpr = (P + BLOCK_P - 1) // BLOCK_P
    BLOCKS_Q: tl.constexpr = (Q + BLOCK_Q - 1) // BLOCK_Q
    program = tl.program_id(0)
    expert = (program // (BLOCKS_P * BLOCKS_Q)).to(tl.int64)
    p_P = program // BLOCKS_Q % BLOCKS_P * BLOCK_P + tl.arange(0, BLOCK_P)
    q_Q = program % BLOCKS_Q * BLOCK_Q + tl.arange(0, BLOCK_Q)
    begin = tl.load(ends_ptr + expert - 1, mask=expert > 0, other=0)
    end = tl.load(ends_ptr + expert)
    d_PQ = tl.zeros([BLOCK_P, BLOCK_Q], tl.float32)
    row_S = begin + tl.arange(0, DEPTH)
    flat_S = tl.load(rows_ptr + row_S, mask=row_S < end, other=0)
    for _ in range(begin, end, DEPTH):
        is_row_S1 = (row_S < end)[:, None]
        token_S = flat_S // TOP_K
        if LEFT_IS_OF_TOKENS:
            left_S, right_S = token_S.to(tl.int64), row_S.to(tl.int64)
        else:
            left_S, right_S = row_S.to(tl.int64), token_S.to(tl.int64)
        left_SP = tl.load(left_ptr + left_S[:, None] * P + p_P[None, :], mask=is_row_S1 & (p_P < P)[None, :], other=0.0)
        right_SQ = tl.load(
            right_ptr + right_S[:, None] * Q + q_Q[None, :], mask=is_row_S1 & (q_Q < Q)[None, :], other=0.0
        )
        # A step ahead, so that loads of rows need not wait for where they are.
        row_S += DEPTH
        flat_S = tl.load(rows_ptr + row_S, mask=row_S < end, other=0)
        d_PQ = tl.dot(tl.trans(left_SP), right_SQ, d_PQ, input_precision="ieee")
    of_first_P = p_P < SPLIT
    lines_P = tl.where(of_first_P, first_ptr + expert * (SPLIT * Q), second_ptr + expert * ((P - SPLIT) * Q))
    lines_P += tl.where(of_first_P, p_P, p_P - SPLIT) * Q
    is_place_PQ = (p_P < P)[:, None] & (q_Q < Q)[None, :]
    tl.store(lines_P[:, None] + q_Q[None, :], d_PQ.to(first_ptr.dtype.element_ty), mask=is_place_PQ)
