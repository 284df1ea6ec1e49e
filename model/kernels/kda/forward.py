"""Forward of Kimi Delta Attention in two launches: what can be done chunk by chunk, then the walk over chunks.

Of each chunk of 64 rows and each head, with γ = 2^G, m = scale / ‖q‖, n = 1 / ‖k‖, S the state that enters:

    prepare   q⁺ = γ q       k⁺ = γ k       k⁻ = k / γ       k° = (γ_last / γ) k       rows as they are given
              A = Diag(m) Tril(q⁺ k⁻ᵀ)      X = Diag(n) (I + Diag(β n) StrictTril(k⁺ k⁻ᵀ) Diag(n))⁻¹ Diag(β)
    scan      W = X (v − n k⁺ S)            O = m q⁺ S + A W         S' = Diag(γ_last) S + k°ᵀ W

W is what is written, (I + L)⁻¹ β (v − …), times n. With lengths and β on products instead of on rows, prepare holds no
vector over rows, and the walks need of each token m, n and β n, as factors of columns.

The diagonal of X is β n, and most of W is what it gives. So it is kept in fp32 and multiplies v − n k⁺ S in fp32, as
what the product with the rest of X begins with; so it does with dW going back. Rounded to bf16, it would be off for all
channels of a row alike, in W and once more in dv: the gradient of β, ⟨dv, W⟩, has the error of both.

The scan holds Sᵀ, V × K, in registers in fp32: then each product has an accumulator as its left operand, straight from
registers, and a tile of the prepared tensors from shared memory as its right one. Nothing that was accumulated is ever
transposed. A program owns a slice of V; slices are independent. A long sequence is walked in segments, see
`segments.py`.

The inverse is block recursive, X ← X − X N X with N the blocks below the diagonal of twice the size, from 1 to 64.
Every factor is the inverse of a part of the matrix, with entries of at most 1, so fp16 operands (11 bits) lose nothing
that the bf16 result would keep. (Powers of I + L, which are as few products, cancel badly where keys are alike.)

Bytes for a token of a head, K = V = 128, bf16: prepare reads 770 and writes 1,044; scan reads 1,300 and writes 256, and
for training 768 more: the state that enters each chunk, and W. FLOPs: prepare about 180K, of which 80K are in blocks
that are not used (three dense products instead of ten small tiles) and 80K in the inverse; scan 131K.

Prepared tensors lie chunk by chunk, head by head: row-major [64, K], but W as [V, 64] and states as [V, K]. Rows past
the end of a sequence are zero in all of them. X has zeros on its diagonal, which is the third of `lengths`, [3, 64]:
1 / ‖q‖, n, β n.

Letters: C = 64 rows of a chunk, K key channels, V value channels, S = V channels of a slice; Q, R as in `tiles.py`.
"""

import triton
import triton.language as tl

from ..functions import LOG2E, sigmoid
from ..jit import kernel
from .tiles import (
    CHUNK,
    TILE,
    as_rows,
    chunk_rows,
    inverse_length,
    level_factors,
    level_masks,
    log2_decays,
    places,
    tile_decays,
    walk_chunks,
)


@triton.jit
def unit_lower_inverse(L_CC, HALF: tl.constexpr):
    """(I + L)⁻¹ of a strictly lower L."""
    i, j = tl.arange(0, CHUNK)[:, None], tl.arange(0, CHUNK)[None, :]
    X_CC = tl.where(i == j, 1.0, 0.0) - tl.where((i // 2) == (j // 2), L_CC, 0.0)
    for level in tl.static_range(1, 6):
        below = ((i >> (level + 1)) == (j >> (level + 1))) & ((i >> level) != (j >> level))
        half_CC = X_CC.to(HALF)
        N_CC = tl.where(below, L_CC, 0.0).to(HALF)
        X_CC -= tl.dot(tl.dot(half_CC, N_CC).to(HALF), half_CC)
    return X_CC


@triton.jit
def products_of_rows(near_CK, far_CK, own_CK, next_CK, half_CK, sums_CC):
    """Adds products of rows with keys, of one tile, of the tiles of one half, and of halves."""
    halves_CC, tiles_CC = level_masks()
    of_own_CC, of_next_CC = tl.dot(near_CK, tl.trans(own_CK)), tl.dot(near_CK, tl.trans(next_CK))
    sums_CC += tl.where(halves_CC, 0.0, tl.where(tiles_CC, of_next_CC, of_own_CC))
    # Rows of the first half are zero on the left, those of the second on the right: no other block is touched.
    return tl.dot(far_CK, tl.trans(half_CK), sums_CC)


@kernel(do_not_specialize=["T", "H", "chunks_of_row", "scale", "lower_bound"])
def prepare_kernel(
    q_ptr, k_ptr, z_ptr, beta_ptr, A_log_ptr, dt_bias_ptr, table_ptr,
    q_plus_ptr, k_plus_ptr, k_end_ptr, a_ptr, x_ptr, decay_ptr, lengths_ptr,
    T, H, chunks_of_row, scale, lower_bound,
    K: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr, WARPS: tl.constexpr, STRIDE: tl.constexpr,
):  # fmt: skip
    """One chunk of one head, SLICE key channels at a time.

    STRIDE is H·K as a constant: a thread's sixteen rows then are one address and sixteen numbers.
    """
    OPERAND: tl.constexpr = q_plus_ptr.dtype.element_ty
    HALF: tl.constexpr = tl.float16 if tl.bfloat16 == OPERAND else OPERAND
    chunk = tl.program_id(0) // H
    head = tl.program_id(0) % H
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    block = chunk.to(tl.int64) * H + head
    channel_K = tl.arange(0, SLICE)
    tile_Q1, row_11R = tl.arange(0, CHUNK // TILE)[:, None] * TILE, tl.arange(0, TILE)[None, None, :]
    is_row_1QR = row_11R < (tl.minimum(end - start, CHUNK).to(tl.int32) - tile_Q1)[None, :, :]
    place_KQ1, prepared_KQ1 = places(tile_Q1 * STRIDE, channel_K, WARPS), places(tile_Q1 * K, channel_K, WARPS)
    place_11R, prepared_11R = row_11R * STRIDE, row_11R * K
    token = start * H + head
    q_ptr += token * K
    k_ptr += token * K
    z_ptr += token * K
    dt_bias_ptr += head * K
    beta_ptr += token
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))
    lengths_ptr += block * (3 * CHUNK)
    row_C = tl.arange(0, CHUNK)
    tl.store(lengths_ptr + row_C, inverse_length(q_ptr, STRIDE, end - start, K))
    tl.store(lengths_ptr + CHUNK + row_C, inverse_length(k_ptr, STRIDE, end - start, K))

    qk_CC = tl.zeros([CHUNK, CHUNK], tl.float32)
    kk_CC = tl.zeros([CHUNK, CHUNK], tl.float32)
    for first in range(0, K, SLICE):
        z_KQR = tl.load(z_ptr + first + place_KQ1 + place_11R, mask=is_row_1QR, other=float("-inf"))
        k_KQR = tl.load(k_ptr + first + place_KQ1 + place_11R, mask=is_row_1QR, other=0.0).to(tl.float32)
        q_KQR = tl.load(q_ptr + first + place_KQ1 + place_11R, mask=is_row_1QR, other=0.0).to(tl.float32)
        bias_K = tl.load(dt_bias_ptr + first + channel_K).to(tl.float32)
        log2_decay_KQR = log2_decays(z_KQR, bias_K, slope, lower_bound)
        local_KQR, a0, a1, a2, a3, last = tile_decays(log2_decay_KQR)
        from_start_KQ, to_end_KQ, to_next_KQ, to_half_KQ, from_half_KQ = level_factors(a0, a1, a2, a3, last)
        tl.store(decay_ptr + block * K + first + channel_K, tl.exp2(last))
        prepared = block * (CHUNK * K) + first
        k_up_KQR = k_KQR * tl.exp2(-local_KQR)
        k_end_KQR = (k_up_KQR * to_end_KQ[:, :, None]).to(OPERAND)
        tl.store(k_end_ptr + prepared + prepared_KQ1 + prepared_11R, k_end_KQR)
        own_CK, next_CK = as_rows(k_up_KQR.to(OPERAND)), as_rows((k_up_KQR * to_next_KQ[:, :, None]).to(OPERAND))
        half_CK = as_rows((k_up_KQR * to_half_KQ[:, :, None]).to(OPERAND))

        # Products of rows, level by level, first of q and then of k, so that fewer rows wait.
        down_KQR = tl.exp2(local_KQR)
        q_KQR *= down_KQR
        q_plus_KQR = (q_KQR * from_start_KQ[:, :, None]).to(OPERAND)
        tl.store(q_plus_ptr + prepared + prepared_KQ1 + prepared_11R, q_plus_KQR)
        near_CK, far_CK = as_rows(q_KQR.to(OPERAND)), as_rows((q_KQR * from_half_KQ[:, :, None]).to(OPERAND))
        qk_CC = products_of_rows(near_CK, far_CK, own_CK, next_CK, half_CK, qk_CC)
        k_KQR *= down_KQR
        k_plus_KQR = (k_KQR * from_start_KQ[:, :, None]).to(OPERAND)
        tl.store(k_plus_ptr + prepared + prepared_KQ1 + prepared_11R, k_plus_KQR)
        near_CK, far_CK = as_rows(k_KQR.to(OPERAND)), as_rows((k_KQR * from_half_KQ[:, :, None]).to(OPERAND))
        kk_CC = products_of_rows(near_CK, far_CK, own_CK, next_CK, half_CK, kk_CC)

    # Lengths and β, from memory: the threads that need them here are not those that summed them. Above the diagonal the
    # products may have overflowed.
    tl.debug_barrier()
    i, j = row_C[:, None], row_C[None, :]
    q_length_C, k_length_C = tl.load(lengths_ptr + row_C), tl.load(lengths_ptr + CHUNK + row_C)
    beta_C = sigmoid(tl.load(beta_ptr + row_C * H, mask=row_C < end - start, other=0.0).to(tl.float32))
    tl.store(lengths_ptr + 2 * CHUNK + row_C, k_length_C * beta_C)
    square_CC = block * (CHUNK * CHUNK) + i * CHUNK + j
    tl.store(a_ptr + square_CC, tl.where(i >= j, (scale * q_length_C)[:, None] * qk_CC, 0.0).to(OPERAND))
    L_CC = tl.where(i > j, (beta_C * k_length_C)[:, None] * kk_CC * k_length_C[None, :], 0.0)
    X_CC = k_length_C[:, None] * unit_lower_inverse(L_CC, HALF) * beta_C[None, :]
    tl.store(x_ptr + square_CC, tl.where(i == j, 0.0, X_CC).to(OPERAND))


@kernel(do_not_specialize=["T", "H", "chunks_of_row", "scale"])
def scan_kernel(
    q_plus_ptr, k_plus_ptr, k_end_ptr, a_ptr, x_ptr, decay_ptr, lengths_ptr, v_ptr,
    initial_ptr, passed_ptr, walks_ptr,
    o_ptr, final_ptr, entering_ptr, written_ptr,
    T, H, chunks_of_row, scale,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, TABLE: tl.constexpr, CUT: tl.constexpr,
    HAS_INITIAL: tl.constexpr, TRAINING: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """All chunks of one segment, one head and one slice of V. For training it also writes the states and W.

    `passed` holds the states that enter segments other than the first of their sequence.
    """
    OPERAND: tl.constexpr = q_plus_ptr.dtype.element_ty
    SLICES: tl.constexpr = V // SLICE
    program = tl.program_id(0)
    slice_S = (program % SLICES) * SLICE + tl.arange(0, SLICE)
    head = (program // SLICES) % H
    walk = program // SLICES // H
    walked = walk_chunks(walks_ptr, walk, T, chunks_of_row, TABLE)
    start, end, first, count, sequence, before, after, segment = walked
    channel_K, row_C = tl.arange(0, K), tl.arange(0, CHUNK)
    place_state_SK = (sequence * H + head) * (K * V) + channel_K[None, :] * V + slice_S[:, None]
    place_CK = row_C[:, None] * K + channel_K[None, :]
    place_CC = row_C[:, None] * CHUNK + row_C[None, :]
    place_SC = slice_S[:, None] * CHUNK + row_C[None, :]
    place_SK = slice_S[:, None] * K + channel_K[None, :]
    state_SK = tl.zeros([SLICE, K], dtype=tl.float32)
    if HAS_INITIAL:
        state_SK = tl.load(initial_ptr + place_state_SK, mask=before == 0, other=0.0).to(tl.float32)
    if CUT:
        passed_ptr += (segment * H + head) * (V * K)
        state_SK += tl.load(passed_ptr + place_SK, mask=before > 0, other=0.0)
    for step in range(count):
        block = (first + step) * H + head
        token_C = start + step * CHUNK + row_C
        is_token_C = token_C < end
        place_CS = (token_C[:, None] * H + head) * V + slice_S[None, :]
        k_plus_CK = tl.load(k_plus_ptr + block * (CHUNK * K) + place_CK)
        x_CC = tl.load(x_ptr + block * (CHUNK * CHUNK) + place_CC)
        v_CS = tl.load(v_ptr + place_CS, mask=is_token_C[:, None], other=0.0)
        k_length_C = tl.load(lengths_ptr + block * (3 * CHUNK) + CHUNK + row_C)
        diagonal_C = tl.load(lengths_ptr + block * (3 * CHUNK) + 2 * CHUNK + row_C)
        half_SK = state_SK.to(OPERAND)
        given_SC = tl.trans(v_CS).to(tl.float32) - k_length_C[None, :] * tl.dot(half_SK, tl.trans(k_plus_CK))
        q_length_C = tl.load(lengths_ptr + block * (3 * CHUNK) + row_C)
        written_SC = tl.dot(given_SC.to(OPERAND), tl.trans(x_CC), given_SC * diagonal_C[None, :]).to(OPERAND)
        q_plus_CK = tl.load(q_plus_ptr + block * (CHUNK * K) + place_CK)
        a_CC = tl.load(a_ptr + block * (CHUNK * CHUNK) + place_CC)
        if AHEAD:
            decay_K = tl.load(decay_ptr + block * K + channel_K)
        o_SC = tl.dot(half_SK, tl.trans(q_plus_CK)) * (scale * q_length_C)[None, :]
        o_SC = tl.dot(written_SC, tl.trans(a_CC), o_SC)
        tl.store(o_ptr + place_CS, tl.trans(o_SC.to(OPERAND)), mask=is_token_C[:, None])
        if TRAINING:
            tl.store(entering_ptr + block * (V * K) + place_SK, half_SK)
            tl.store(written_ptr + block * (V * CHUNK) + place_SC, written_SC)
        k_end_CK = tl.load(k_end_ptr + block * (CHUNK * K) + place_CK)
        if not AHEAD:
            decay_K = tl.load(decay_ptr + block * K + channel_K)
        state_SK = tl.dot(written_SC, k_end_CK, state_SK * decay_K[None, :])
    tl.store(final_ptr + place_state_SK, state_SK, mask=after == 0)
