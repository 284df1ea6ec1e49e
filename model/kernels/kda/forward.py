"""Forward of Kimi Delta Attention in two launches: what can be done chunk by chunk, then the walk over chunks.

Of each chunk of 64 rows and each head, with γ = 2^G, q and k of unit length, S the state that enters:

    prepare   P = StrictTril(k⁺ k⁻ᵀ)     A = scale · Tril(q⁺ k⁻ᵀ)     X = (I + Diag(β) P)⁻¹
              W = X Diag(β) k⁺           U = X Diag(β) v              q⁺ = scale · γ q     k° = (γ_last / γ) k
    scan      Ṽ = U − W S                O = q⁺ S + A Ṽ               S' = Diag(γ_last) S + k°ᵀ Ṽ

The scan holds Sᵀ, V × K, in registers in fp32: then each product has an accumulator as its left operand, straight from
registers, and a tile of the prepared tensors from shared memory as its right one. Nothing that was accumulated is ever
transposed. A program owns a slice of V; slices are independent.

The inverse is block recursive, X ← X − X N X with N the blocks below the diagonal of twice the size, from 1 to 64: every
factor is the inverse of a part of the matrix, with entries of at most 1, so fp16 operands (11 bits) lose nothing that
the bf16 result would keep. (Powers of I + L, which are as few products, cancel badly where keys are alike.)

Bytes for a token of a head, K = V = 128, bf16: prepare reads 1,026 and writes 1,160, scan reads 1,160 and writes 256,
and 768 more for training (the state that enters each chunk, and Ṽ over U). FLOPs: prepare about 330K of which 140K are
in blocks that are not used (three dense products instead of 10 small tiles), scan 115K.

Prepared tensors lie chunk by chunk, head by head: row-major [64, K], but U and Ṽ as [V, 64] and states as [V, K].
Rows past the end of a sequence are zero in all of them.

Letters: C = 64 rows of a chunk, K key channels, V value channels, S = V channels of a slice.
"""

import triton
import triton.language as tl

from .tiles import (
    BALANCE,
    CHUNK,
    LOG2E,
    TILE,
    by_tile,
    chunk_rows,
    inverse_length,
    level_masks,
    sequence_chunks,
    sigmoid,
    tile_decays,
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


@triton.jit(do_not_specialize=["T", "H", "chunks_of_row", "scale", "lower_bound"])
def prepare_kernel(
    q_ptr, k_ptr, v_ptr, z_ptr, beta_ptr, A_log_ptr, dt_bias_ptr, table_ptr,
    q_plus_ptr, k_end_ptr, w_ptr, a_ptr, decay_ptr, u_ptr, x_ptr,
    T, H, chunks_of_row, scale, lower_bound,
    K: tl.constexpr, V: tl.constexpr, PACKED: tl.constexpr, FOR_BACKWARD: tl.constexpr,
):  # fmt: skip
    """One chunk of one head. Writes U, or for the backward pass X instead."""
    OPERAND: tl.constexpr = q_plus_ptr.dtype.element_ty
    HALF: tl.constexpr = tl.float16 if OPERAND == tl.bfloat16 else OPERAND
    chunk = tl.program_id(0) // H
    head = tl.program_id(0) % H
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    row_C = start + tl.arange(0, CHUNK)
    is_row_C = row_C < end
    i, j = tl.arange(0, CHUNK)[:, None], tl.arange(0, CHUNK)[None, :]
    channel_K = tl.arange(0, K)
    place_CK = (row_C[:, None] * H + head) * K + channel_K[None, :]
    is_row_CK = is_row_C[:, None]

    z_CK = tl.load(z_ptr + place_CK, mask=is_row_CK, other=0.0).to(tl.float32)
    z_CK += tl.load(dt_bias_ptr + head * K + channel_K).to(tl.float32)[None, :]
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))
    log2_decay_CK = tl.where(is_row_CK, (lower_bound * LOG2E) * sigmoid(slope * z_CK), 0.0)
    local_QRK, a0, a1, a2, a3, last = tile_decays(log2_decay_CK, K)
    anchor_Q1K = by_tile(a0, a1, a2, a3)
    down_QRK = tl.exp2(local_QRK + BALANCE)
    up_QRK = tl.exp2(-local_QRK - BALANCE)

    q_CK = tl.load(q_ptr + place_CK, mask=is_row_CK, other=0.0).to(tl.float32)
    k_CK = tl.load(k_ptr + place_CK, mask=is_row_CK, other=0.0).to(tl.float32)
    q_QRK = tl.reshape(q_CK * inverse_length(q_CK)[:, None], [CHUNK // TILE, TILE, K])
    k_QRK = tl.reshape(k_CK * inverse_length(k_CK)[:, None], [CHUNK // TILE, TILE, K])
    q_down_QRK, k_down_QRK, k_up_QRK = q_QRK * down_QRK, k_QRK * down_QRK, k_QRK * up_QRK

    prepared = (chunk.to(tl.int64) * H + head) * (CHUNK * K)
    place_prepared_CK = prepared + i * K + channel_K[None, :]
    from_start_Q1K = tl.exp2(anchor_Q1K - BALANCE)
    q_plus_CK = tl.reshape(q_down_QRK * (from_start_Q1K * scale), [CHUNK, K])
    tl.store(q_plus_ptr + place_prepared_CK, q_plus_CK.to(OPERAND))
    k_end_CK = tl.reshape(k_up_QRK * tl.exp2(last[None, None, :] - anchor_Q1K + BALANCE), [CHUNK, K])
    tl.store(k_end_ptr + place_prepared_CK, k_end_CK.to(OPERAND))
    tl.store(decay_ptr + (chunk.to(tl.int64) * H + head) * K + channel_K, tl.exp2(last))
    k_plus_CK = tl.reshape(k_down_QRK * from_start_Q1K, [CHUNK, K])

    # Products of rows, level by level.
    tile_Q11 = tl.arange(0, CHUNK // TILE)[:, None, None]
    q_left_CK = tl.reshape(q_down_QRK, [CHUNK, K]).to(OPERAND)
    k_left_CK = tl.reshape(k_down_QRK, [CHUNK, K]).to(OPERAND)
    right_CK = tl.reshape(k_up_QRK, [CHUNK, K]).to(OPERAND)
    qk_CC = tl.dot(q_left_CK, tl.trans(right_CK))
    kk_CC = tl.dot(k_left_CK, tl.trans(right_CK))

    halves_CC, tiles_CC = level_masks()
    to_next_Q1K = tl.where(tile_Q11 < 2, a1[None, None, :], a3[None, None, :]) - anchor_Q1K
    to_next_Q1K = tl.where(tile_Q11 % 2 == 0, tl.exp2(tl.minimum(to_next_Q1K, 0.0)), 0.0)
    right_CK = tl.reshape(k_up_QRK * to_next_Q1K, [CHUNK, K]).to(OPERAND)
    qk_CC = tl.where(tiles_CC, tl.dot(q_left_CK, tl.trans(right_CK)), qk_CC)
    kk_CC = tl.where(tiles_CC, tl.dot(k_left_CK, tl.trans(right_CK)), kk_CC)

    to_half_Q1K = tl.where(tile_Q11 < 2, a2[None, None, :] - anchor_Q1K, 0.0)
    to_half_Q1K = tl.where(tile_Q11 < 2, tl.exp2(to_half_Q1K), 0.0)
    from_half_Q1K = tl.where(tile_Q11 < 2, 0.0, anchor_Q1K - a2[None, None, :])
    from_half_Q1K = tl.where(tile_Q11 < 2, 0.0, tl.exp2(from_half_Q1K))
    right_CK = tl.reshape(k_up_QRK * to_half_Q1K, [CHUNK, K]).to(OPERAND)
    q_left_CK = tl.reshape(q_down_QRK * from_half_Q1K, [CHUNK, K]).to(OPERAND)
    k_left_CK = tl.reshape(k_down_QRK * from_half_Q1K, [CHUNK, K]).to(OPERAND)
    qk_CC = tl.where(halves_CC, tl.dot(q_left_CK, tl.trans(right_CK)), qk_CC)
    kk_CC = tl.where(halves_CC, tl.dot(k_left_CK, tl.trans(right_CK)), kk_CC)

    square = (chunk.to(tl.int64) * H + head) * (CHUNK * CHUNK) + i * CHUNK + j
    tl.store(a_ptr + square, tl.where(i >= j, scale * qk_CC, 0.0).to(OPERAND))

    beta_C = tl.load(beta_ptr + row_C * H + head, mask=is_row_C, other=0.0).to(tl.float32)
    beta_C = tl.where(is_row_C, sigmoid(beta_C), 0.0)
    X_CC = unit_lower_inverse(tl.where(i > j, beta_C[:, None] * kk_CC, 0.0), HALF).to(OPERAND)
    w_CK = tl.dot(X_CC, (beta_C[:, None] * k_plus_CK).to(OPERAND))
    tl.store(w_ptr + place_prepared_CK, w_CK.to(OPERAND))
    if FOR_BACKWARD:
        tl.store(x_ptr + square, X_CC)
    else:
        value_V = tl.arange(0, V)
        place_CV = (row_C[:, None] * H + head) * V + value_V[None, :]
        v_CV = tl.load(v_ptr + place_CV, mask=is_row_CK, other=0.0).to(tl.float32)
        u_CV = tl.dot(X_CC, (beta_C[:, None] * v_CV).to(OPERAND)).to(OPERAND)
        place_VC = (chunk.to(tl.int64) * H + head) * (V * CHUNK) + value_V[:, None] * CHUNK + j
        tl.store(u_ptr + place_VC, tl.trans(u_CV))


@triton.jit(do_not_specialize=["T", "H", "chunks_of_row"])
def scan_kernel(
    q_plus_ptr, k_end_ptr, w_ptr, a_ptr, decay_ptr, u_ptr, initial_ptr, sequences_ptr,
    o_ptr, entering_ptr, final_ptr,
    T, H, chunks_of_row,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr,
    HAS_INITIAL: tl.constexpr, TRAINING: tl.constexpr,
):  # fmt: skip
    """All chunks of one sequence, one head and one slice of V. For training it also writes the states and Ṽ over U."""
    OPERAND: tl.constexpr = w_ptr.dtype.element_ty
    SLICES: tl.constexpr = V // SLICE
    program = tl.program_id(0)
    slice_S = (program % SLICES) * SLICE + tl.arange(0, SLICE)
    head = (program // SLICES) % H
    sequence = program // SLICES // H
    start, end, first, count = sequence_chunks(sequences_ptr, sequence, T, chunks_of_row, PACKED)
    channel_K, row_C = tl.arange(0, K), tl.arange(0, CHUNK)
    place_state_SK = (sequence.to(tl.int64) * H + head) * (K * V) + channel_K[None, :] * V + slice_S[:, None]
    if HAS_INITIAL:
        state_SK = tl.load(initial_ptr + place_state_SK).to(tl.float32)
    else:
        state_SK = tl.zeros([SLICE, K], dtype=tl.float32)
    place_CK = row_C[:, None] * K + channel_K[None, :]
    place_CC = row_C[:, None] * CHUNK + row_C[None, :]
    place_SC = slice_S[:, None] * CHUNK + row_C[None, :]
    place_SK = slice_S[:, None] * K + channel_K[None, :]
    for step in range(count):
        block = (first + step) * H + head
        w_CK = tl.load(w_ptr + block * (CHUNK * K) + place_CK)
        u_SC = tl.load(u_ptr + block * (V * CHUNK) + place_SC)
        half_SK = state_SK.to(OPERAND)
        written_SC = (u_SC.to(tl.float32) - tl.dot(half_SK, tl.trans(w_CK))).to(OPERAND)
        q_plus_CK = tl.load(q_plus_ptr + block * (CHUNK * K) + place_CK)
        o_SC = tl.dot(half_SK, tl.trans(q_plus_CK))
        a_CC = tl.load(a_ptr + block * (CHUNK * CHUNK) + place_CC)
        o_SC = tl.dot(written_SC, tl.trans(a_CC), o_SC)
        if TRAINING:
            tl.store(entering_ptr + block * (V * K) + place_SK, half_SK)
            tl.store(u_ptr + block * (V * CHUNK) + place_SC, written_SC)
        k_end_CK = tl.load(k_end_ptr + block * (CHUNK * K) + place_CK)
        decay_K = tl.load(decay_ptr + block * K + channel_K)
        state_SK = tl.dot(written_SC, k_end_CK, state_SK * decay_K[None, :])
        token_C = start + step * CHUNK + row_C
        place_CS = (token_C[:, None] * H + head) * V + slice_S[None, :]
        tl.store(o_ptr + place_CS, tl.trans(o_SC.to(OPERAND)), mask=(token_C < end)[:, None])
    tl.store(final_ptr + place_state_SK, state_SK)
