"""Backward of Kimi Delta Attention behind the walk: gradients of the products of rows, of k° and of the gate.

The formulas are in `backward.py`. What scales a row may scale what it is multiplied with as well, so the rows' own
products need no sum over channels:

    ⟨q, dq⟩ = ⟨dO, O⟩      ⟨k⁻, dk⁻⟩ + ⟨k°, dk°⟩ = c = β dβ = ⟨dv, W⟩ / (β n)      ⟨k⁺, dk⁺⟩ = c − ⟨dv, v⟩

They give the gradient of β and take the lengths of q and k out of theirs, and so channels can be worked on in slices.

The gradient of G needs no derivative of an exponential: each of q⁺, k⁺, k⁻, k° contributes ± itself times its
gradient, and the last row of a chunk ⟨k°, dk°⟩ + γ_last ⟨S, dS'⟩ besides; and the gradient of a decay is the sum of
that of G over its own and all later rows. In it a product of rows i and j, j ≤ i, counts for the decays between them
alone: for those up to j it cancels. So both ends of all products are found by one program of `inner_kernel`
(`products.py`), from the rows as they were rounded, and only the sums over rows are handed over, in which nothing is
left that cancels. What k° adds is a sum over earlier rows.

Of A_log and dt_bias each program writes its part, and the parts are summed in a fixed order. A transposed product reads
its factor transposed from memory: no accumulator is ever transposed into a product.

Letters: as in `forward.py`.
"""

import triton
import triton.language as tl

from ..functions import LOG2E, sigmoid
from ..jit import kernel
from .tiles import (
    CHUNK,
    TILE,
    by_channel,
    by_tile,
    chunk_rows,
    log2_decays,
    places,
    rows_by_tile,
    slice_of_head,
)


@kernel(do_not_specialize=["T", "H", "chunks_of_row", "first_head", "heads", "scale"])
def pairs_kernel(
    v_ptr, beta_ptr, o_ptr, do_ptr, written_ptr, dv_ptr, lengths_ptr, table_ptr,
    dA_ptr, dP_ptr, along_ptr, dbeta_ptr,
    T, H, chunks_of_row, first_head, heads, scale,
    V: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    """One chunk of one head: gradients of the products of rows and of β, and how much of q and k is in theirs."""
    OPERAND: tl.constexpr = written_ptr.dtype.element_ty
    own_head = tl.program_id(0) % heads
    head = first_head + own_head
    chunk = tl.program_id(0) // heads
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    block = chunk.to(tl.int64) * H + head
    own = chunk.to(tl.int64) * heads + own_head
    token = start * H + head
    row_C = tl.arange(0, CHUNK)
    is_row_C = row_C < end - start
    is_row_C1 = is_row_C[:, None]
    i, j = row_C[:, None], row_C[None, :]
    value_V = tl.arange(0, V)
    place_CV = token * V + i * (H * V) + value_V[None, :]
    place_CC = own * (CHUNK * CHUNK) + i * CHUNK + j

    written_VC = tl.load(written_ptr + block * (V * CHUNK) + value_V[:, None] * CHUNK + j)
    do_CV = tl.load(do_ptr + place_CV, mask=is_row_C1, other=0.0)
    dv_CV = tl.load(dv_ptr + place_CV, mask=is_row_C1, other=0.0)
    o_CV = tl.load(o_ptr + place_CV, mask=is_row_C1, other=0.0)
    v_CV = tl.load(v_ptr + place_CV, mask=is_row_C1, other=0.0)
    beta_C = sigmoid(tl.load(beta_ptr + token + row_C * H, mask=is_row_C, other=0.0).to(tl.float32))
    q_length_C = tl.load(lengths_ptr + block * (3 * CHUNK) + row_C)
    k_length_C = tl.load(lengths_ptr + block * (3 * CHUNK) + CHUNK + row_C)

    qdq_C = tl.sum(do_CV.to(tl.float32) * o_CV.to(tl.float32), 1)
    tl.store(along_ptr + own * (2 * CHUNK) + row_C, q_length_C * q_length_C * qdq_C)
    dv_v_C = tl.sum(dv_CV.to(tl.float32) * v_CV.to(tl.float32), 1)
    dA_CC = tl.dot(do_CV, written_VC) * (scale * q_length_C)[:, None]
    tl.store(dA_ptr + place_CC, tl.where(i >= j, dA_CC, 0.0).to(OPERAND))
    dv_written_CC = tl.dot(dv_CV, written_VC)
    tl.store(dP_ptr + place_CC, tl.where(i > j, -dv_written_CC * k_length_C[:, None], 0.0).to(OPERAND))
    # Where β is next to nothing, so is its gradient, and what it was multiplied with can no longer be told.
    common_C = tl.sum(tl.where(i == j, dv_written_CC, 0.0), 1) / tl.maximum(beta_C * k_length_C, 1e-30)
    common_C = tl.where(beta_C > 1e-25, common_C, 0.0)
    tl.store(dbeta_ptr + token + row_C * H, common_C * (1.0 - beta_C), mask=is_row_C)
    kdk_C = 2.0 * common_C - dv_v_C
    tl.store(along_ptr + own * (2 * CHUNK) + CHUNK + row_C, k_length_C * k_length_C * kdk_C)


@triton.jit
def _add_four(a0, a1, a2, a3, b0, b1, b2, b3):
    return a0 + b0, a1 + b1, a2 + b2, a3 + b3


@triton.jit
def _add_two(a0, a1, b0, b1):
    return a0 + b0, a1 + b1


@triton.jit
def last_of_tiles(so_far_KQR):
    """What the sums so far come to in each of the four tiles, [K] each: warps exchange them at one time."""
    total_KQ = tl.sum(tl.where((tl.arange(0, TILE) == TILE - 1)[None, None, :], so_far_KQR, -0.0), 2)
    tile = tl.arange(0, CHUNK // TILE)[None, :]
    t0_KQ, t1_KQ = tl.where(tile == 0, total_KQ, 0.0), tl.where(tile == 1, total_KQ, 0.0)
    t2_KQ, t3_KQ = tl.where(tile == 2, total_KQ, 0.0), tl.where(tile == 3, total_KQ, 0.0)
    return tl.reduce((t0_KQ, t1_KQ, t2_KQ, t3_KQ), 1, _add_four)


@kernel(do_not_specialize=["T", "H", "chunks_of_row", "first_head", "heads", "walk_first", "walk_heads",
                               "lower_bound"])  # fmt: skip
def gate_kernel(
    k_ptr, z_ptr, A_log_ptr, dt_bias_ptr, table_ptr, along_ptr, written_ptr, entering_ptr, leaving_ptr,
    dk_ptr, dz_ptr, dA_log_ptr, ddt_bias_ptr,
    T, H, chunks_of_row, first_head, heads, walk_first, walk_heads, lower_bound,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr, WARPS: tl.constexpr,
    STRIDE: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """One chunk of one head and SLICE of its key channels: keys as k°, and the gradients of k and of the gate.

    Finds in `dk_ptr` what products of rows have given to keys, and in `dz_ptr` what they have given to decays. STRIDE
    is H·K as a constant: a thread's sixteen rows then are one address and sixteen numbers. States come by BLOCK of
    their value channels, past the registers. AHEAD loads what is added last before there is room for it to wait.
    """
    first, own_head, head, chunk = slice_of_head(first_head, heads, K, SLICE)
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    block = chunk.to(tl.int64) * H + head
    own = chunk.to(tl.int64) * heads + own_head
    token = (start * H + head) * K + first
    written_ptr += block * (V * CHUNK)
    entering_ptr += block * (V * K) + first
    leaving_ptr += (chunk.to(tl.int64) * walk_heads + head - walk_first) * (V * K) + first
    row_C, channel_K, value_V = tl.arange(0, CHUNK), tl.arange(0, SLICE), tl.arange(0, BLOCK)
    tile_Q1, row_11R = tl.arange(0, CHUNK // TILE)[:, None] * TILE, tl.arange(0, TILE)[None, None, :]
    is_row_1QR = row_11R < (tl.minimum(end - start, CHUNK).to(tl.int32) - tile_Q1)[None, :, :]
    place_KQ1 = places(tile_Q1 * STRIDE, channel_K, WARPS)
    k_ptrs, z_ptrs = k_ptr + token + place_KQ1 + row_11R * STRIDE, z_ptr + token + place_KQ1 + row_11R * STRIDE
    dk_ptrs, dz_ptrs = dk_ptr + token + place_KQ1 + row_11R * STRIDE, dz_ptr + token + place_KQ1 + row_11R * STRIDE
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))
    bias_K = tl.load(dt_bias_ptr + head * K + first + channel_K).to(tl.float32)

    # Rows past the end weigh nothing in sums over rows, for they are the last: only their decays have to be zero.
    z_KQR = tl.load(z_ptrs, mask=is_row_1QR, other=float("-inf"))
    dk_CK = tl.zeros([CHUNK, SLICE], tl.float32)
    states_KK = tl.zeros([SLICE, SLICE], tl.float32)
    for value in tl.range(0, V, BLOCK, num_stages=STAGES):
        written_VC = tl.load(written_ptr + (value + value_V)[:, None] * CHUNK + row_C[None, :])
        leaving_VK = tl.load(leaving_ptr + (value + value_V)[:, None] * K + channel_K[None, :])
        entering_VK = tl.load(entering_ptr + (value + value_V)[:, None] * K + channel_K[None, :])
        dk_CK = tl.dot(tl.trans(written_VC), leaving_VK, dk_CK)
        states_KK = tl.dot(tl.trans(entering_VK), leaving_VK, states_KK)
    # A product for its diagonal: ⟨S, dS'⟩ without a state in registers.
    dlast_K = tl.sum(tl.where(channel_K[:, None] == channel_K[None, :], states_KK, 0.0), 1)

    # Loaded behind the product, k decides how threads lie, and of what is large only the product has to be moved.
    k_KQR = tl.load(k_ptrs, mask=is_row_1QR)
    if AHEAD:
        given_dk_KQR = tl.load(dk_ptrs, mask=is_row_1QR)
    so_far_KQR = tl.cumsum(log2_decays(z_KQR, bias_K, slope, lower_bound), 2)
    t0, t1, t2, t3 = last_of_tiles(so_far_KQR)
    t2 += t3
    t1 += t2
    t0 += t1
    to_end_KQR = tl.exp2(by_tile(t0, t1, t2, t3)[:, :, None] - so_far_KQR)
    dlast_K *= tl.exp2(t0)
    along_QR = tl.load(along_ptr + own * (2 * CHUNK) + CHUNK + rows_by_tile())
    dk_KQR, k_KQR = by_channel(dk_CK), k_KQR.to(tl.float32)
    kdk_KQR = dk_KQR * k_KQR * to_end_KQR
    dk_KQR = dk_KQR * to_end_KQR - k_KQR * along_QR[None, :, :]
    if AHEAD:
        given_ddecay_KQR = tl.load(dz_ptrs, mask=is_row_1QR)
    else:
        given_dk_KQR = tl.load(dk_ptrs, mask=is_row_1QR)
    dk_KQR += given_dk_KQR.to(tl.float32)
    tl.store(dk_ptrs, dk_KQR.to(dk_ptr.dtype.element_ty), mask=is_row_1QR)
    if not AHEAD:
        given_ddecay_KQR = tl.load(dz_ptrs, mask=is_row_1QR)
    # Read again, from L2, rather than kept.
    z_KQR = tl.load(z_ptrs, mask=is_row_1QR)

    # The gate, σ' = e^-x σ², as near where σ is next to one. Rows past the end are nobody's.
    so_far_KQR = tl.cumsum(kdk_KQR, 2)
    ddecay_KQR = so_far_KQR - kdk_KQR + given_ddecay_KQR.to(tl.float32)
    t0, t1, t2, _ = last_of_tiles(so_far_KQR)
    ddecay_KQR += by_tile(dlast_K, dlast_K + t0, dlast_K + (t0 + t1), dlast_K + (t0 + t1 + t2))[:, :, None]
    biased_KQR = z_KQR.to(tl.float32) + bias_K[:, None, None]
    inverse_KQR = tl.exp2(tl.minimum((-LOG2E * slope) * biased_KQR, 100.0))
    sigma_KQR = tl.rsqrt(1.0 + inverse_KQR)
    sigma_KQR *= sigma_KQR
    dz_KQR = ddecay_KQR * (lower_bound * slope) * (inverse_KQR * sigma_KQR) * sigma_KQR
    dz_KQR = tl.where(is_row_1QR, dz_KQR, 0.0)
    tl.store(dz_ptrs, dz_KQR.to(dz_ptr.dtype.element_ty), mask=is_row_1QR)
    dA_log_KQR = tl.where(is_row_1QR, dz_KQR * biased_KQR, 0.0)
    ddt_bias_K, dA_log_K = tl.reduce((tl.sum(dz_KQR, 2), tl.sum(dA_log_KQR, 2)), 1, _add_two)
    tl.store(ddt_bias_ptr + block * K + first + channel_K, ddt_bias_K)
    tl.store(dA_log_ptr + block * (K // SLICE) + first // SLICE, tl.sum(dA_log_K, 0))
