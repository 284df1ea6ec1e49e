"""Backward of Kimi Delta Attention in three launches: `prepare_kernel` again, the walk back, and all the rest.

With the letters of `forward.py`, dS' the gradient of the state that leaves a chunk and dO that of its output:

    reverse   dṼ = Aᵀ dO + k° dS'        dS = Diag(γ_last) dS' + q⁺ᵀ dO − Wᵀ dṼ
    local     Y = Xᵀ dṼ                  dv = β Y                  dL = −StrictTril(Y Ṽᵀ)
              dA = scale · Tril(dO Ṽᵀ)   dq⁺ = scale · dO Sᵀ       dk° = Ṽ dS'ᵀ
              E = −Y Sᵀ + dL k⁻          dk⁺ = β E                 dβ = ⟨Y, v⟩ + ⟨E, k⁺⟩
              dk⁻ = dAᵀ q⁺ + (β dL)ᵀ k⁺

Ṽ solves (I + L) Ṽ = β (v − k⁺ S), so the gradient needs no W, no U and none of the products P and A again. The
gradient of G needs no derivative of an exponential: each of q⁺, k⁺, k⁻, k° contributes ± itself times its gradient,
and the last row of a chunk ⟨k°, dk°⟩ + γ_last ⟨S, dS'⟩ besides. Then, still in registers, the sum back over rows, the
gate, the unit lengths and the sigmoid of β: what is written is final. Of A_log and dt_bias each program writes its
part, and the parts are summed in a fixed order.

A transposed product is made as a product of its own, never by transposing an accumulator.

Bytes for a token of a head, K = V = 128, bf16: prepare 1,026 + 1,160, reverse 1,160 + 768, local 2,950 + 1,030.
FLOPs: reverse 130K, local 410K.

Letters: as in `forward.py`.
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


@triton.jit(do_not_specialize=["T", "H", "chunks_of_row"])
def reverse_kernel(
    do_ptr, dfinal_ptr, q_plus_ptr, k_end_ptr, w_ptr, a_ptr, decay_ptr, sequences_ptr,
    leaving_ptr, dwritten_ptr, dinitial_ptr,
    T, H, chunks_of_row,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr, HAS_INITIAL: tl.constexpr,
):  # fmt: skip
    """All chunks of one sequence, one head and one slice of V, from the last to the first."""
    OPERAND: tl.constexpr = w_ptr.dtype.element_ty
    SLICES: tl.constexpr = V // SLICE
    program = tl.program_id(0)
    slice_S = (program % SLICES) * SLICE + tl.arange(0, SLICE)
    head = (program // SLICES) % H
    sequence = program // SLICES // H
    start, end, first, count = sequence_chunks(sequences_ptr, sequence, T, chunks_of_row, PACKED)
    channel_K, row_C = tl.arange(0, K), tl.arange(0, CHUNK)
    place_state_SK = (sequence.to(tl.int64) * H + head) * (K * V) + channel_K[None, :] * V + slice_S[:, None]
    dstate_SK = tl.load(dfinal_ptr + place_state_SK).to(tl.float32)
    place_CK = row_C[:, None] * K + channel_K[None, :]
    place_CC = row_C[:, None] * CHUNK + row_C[None, :]
    place_SC = slice_S[:, None] * CHUNK + row_C[None, :]
    place_SK = slice_S[:, None] * K + channel_K[None, :]
    for back in range(count):
        step = count - 1 - back
        block = (first + step) * H + head
        half_SK = dstate_SK.to(OPERAND)
        tl.store(leaving_ptr + block * (V * K) + place_SK, half_SK)
        token_C = start + step * CHUNK + row_C
        place_CS = (token_C[:, None] * H + head) * V + slice_S[None, :]
        do_CS = tl.load(do_ptr + place_CS, mask=(token_C < end)[:, None], other=0.0)
        k_end_CK = tl.load(k_end_ptr + block * (CHUNK * K) + place_CK)
        a_CC = tl.load(a_ptr + block * (CHUNK * CHUNK) + place_CC)
        dwritten_SC = tl.dot(tl.trans(do_CS), a_CC)
        dwritten_SC = tl.dot(half_SK, tl.trans(k_end_CK), dwritten_SC)
        tl.store(dwritten_ptr + block * (V * CHUNK) + place_SC, dwritten_SC.to(OPERAND))
        q_plus_CK = tl.load(q_plus_ptr + block * (CHUNK * K) + place_CK)
        w_CK = tl.load(w_ptr + block * (CHUNK * K) + place_CK)
        decay_K = tl.load(decay_ptr + block * K + channel_K)
        dstate_SK = tl.dot(tl.trans(do_CS), q_plus_CK, dstate_SK * decay_K[None, :])
        dstate_SK = tl.dot((-dwritten_SC).to(OPERAND), w_CK, dstate_SK)
    if HAS_INITIAL:
        tl.store(dinitial_ptr + place_state_SK, dstate_SK)


@triton.jit(do_not_specialize=["T", "H", "chunks_of_row", "scale", "lower_bound"])
def local_kernel(
    q_ptr, k_ptr, v_ptr, z_ptr, beta_ptr, A_log_ptr, dt_bias_ptr, table_ptr,
    do_ptr, x_ptr, written_ptr, dwritten_ptr, entering_ptr, leaving_ptr,
    dq_ptr, dk_ptr, dv_ptr, dz_ptr, dbeta_ptr, dA_log_ptr, ddt_bias_ptr,
    T, H, chunks_of_row, scale, lower_bound,
    K: tl.constexpr, V: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    """One chunk of one head."""
    OPERAND: tl.constexpr = x_ptr.dtype.element_ty
    chunk = tl.program_id(0) // H
    head = tl.program_id(0) % H
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    row_C = start + tl.arange(0, CHUNK)
    is_row_C = row_C < end
    is_row_C1 = is_row_C[:, None]
    i, j = tl.arange(0, CHUNK)[:, None], tl.arange(0, CHUNK)[None, :]
    channel_K, value_V = tl.arange(0, K), tl.arange(0, V)
    place_CK = (row_C[:, None] * H + head) * K + channel_K[None, :]
    place_CV = (row_C[:, None] * H + head) * V + value_V[None, :]
    block = chunk.to(tl.int64) * H + head
    place_VC = block * (V * CHUNK) + value_V[:, None] * CHUNK + j
    place_VK = block * (V * K) + value_V[:, None] * K + channel_K[None, :]
    halves_CC, tiles_CC = level_masks()
    own_CC = (i // TILE) == (j // TILE)

    # Back through the inverse to the values.
    beta_C = tl.load(beta_ptr + row_C * H + head, mask=is_row_C, other=0.0).to(tl.float32)
    beta_C = tl.where(is_row_C, sigmoid(beta_C), 0.0)
    X_CC = tl.load(x_ptr + block * (CHUNK * CHUNK) + i * CHUNK + j)
    dwritten_VC = tl.load(dwritten_ptr + place_VC)
    written_VC = tl.load(written_ptr + place_VC)
    do_CV = tl.load(do_ptr + place_CV, mask=is_row_C1, other=0.0)
    y_CV = tl.dot(tl.trans(X_CC), tl.trans(dwritten_VC))
    v_CV = tl.load(v_ptr + place_CV, mask=is_row_C1, other=0.0).to(tl.float32)
    dbeta_C = tl.sum(y_CV * v_CV, 1)
    tl.store(dv_ptr + place_CV, (beta_C[:, None] * y_CV).to(OPERAND), mask=is_row_C1)
    y_CV = y_CV.to(OPERAND)
    y_VC = tl.dot(dwritten_VC, X_CC).to(OPERAND)
    dA_CC = tl.where(i >= j, scale * tl.dot(do_CV, written_VC), 0.0).to(OPERAND)
    dAT_CC = tl.where(j >= i, scale * tl.dot(tl.trans(written_VC), tl.trans(do_CV)), 0.0).to(OPERAND)
    dL_CC = tl.where(i > j, -tl.dot(y_CV, written_VC), 0.0).to(OPERAND)
    dLT_CC = tl.where(j > i, -tl.dot(tl.trans(written_VC), y_VC), 0.0)
    dLT_CC = (beta_C[None, :] * dLT_CC).to(OPERAND)

    # Through the states, to rows of keys and queries.
    entering_VK = tl.load(entering_ptr + place_VK)
    dq_start_CK = tl.dot(do_CV, entering_VK)
    dk_start_CK = tl.dot(y_CV, entering_VK)
    leaving_VK = tl.load(leaving_ptr + place_VK)
    dk_end_CK = tl.dot(tl.trans(written_VC), leaving_VK)
    dstate_K = tl.sum(entering_VK.to(tl.float32) * leaving_VK.to(tl.float32), 0)

    # The decays and the rows that they scale, as `prepare_kernel` has them.
    z_CK = tl.load(z_ptr + place_CK, mask=is_row_C1, other=0.0).to(tl.float32)
    z_CK += tl.load(dt_bias_ptr + head * K + channel_K).to(tl.float32)[None, :]
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))
    log2_decay_CK = tl.where(is_row_C1, (lower_bound * LOG2E) * sigmoid(slope * z_CK), 0.0)
    local_QRK, a0, a1, a2, a3, last = tile_decays(log2_decay_CK, K)
    anchor_Q1K = by_tile(a0, a1, a2, a3)
    down_QRK = tl.exp2(local_QRK + BALANCE)
    up_QRK = tl.exp2(-local_QRK - BALANCE)
    q_CK = tl.load(q_ptr + place_CK, mask=is_row_C1, other=0.0).to(tl.float32)
    k_CK = tl.load(k_ptr + place_CK, mask=is_row_C1, other=0.0).to(tl.float32)
    q_length_C, k_length_C = inverse_length(q_CK), inverse_length(k_CK)
    q_CK *= q_length_C[:, None]
    k_CK *= k_length_C[:, None]
    q_down_QRK = tl.reshape(q_CK, [CHUNK // TILE, TILE, K]) * down_QRK
    k_down_QRK = tl.reshape(k_CK, [CHUNK // TILE, TILE, K]) * down_QRK
    k_up_QRK = tl.reshape(k_CK, [CHUNK // TILE, TILE, K]) * up_QRK
    tile_Q11 = tl.arange(0, CHUNK // TILE)[:, None, None]

    # Pairs of one tile, and of two tiles of one half.
    q_down_CK = tl.reshape(q_down_QRK, [CHUNK, K]).to(OPERAND)
    k_down_CK = tl.reshape(k_down_QRK, [CHUNK, K]).to(OPERAND)
    k_up_CK = tl.reshape(k_up_QRK, [CHUNK, K]).to(OPERAND)
    zero = tl.zeros([CHUNK, CHUNK], dtype=OPERAND)
    dq_CK = tl.dot(tl.where(own_CC, dA_CC, zero), k_up_CK)
    dk_plus_CK = tl.dot(tl.where(own_CC, dL_CC, zero), k_up_CK)
    dk_minus_CK = tl.dot(tl.where(own_CC, dAT_CC, zero), q_down_CK)
    dk_minus_CK = tl.dot(tl.where(own_CC, dLT_CC, zero), k_down_CK, dk_minus_CK)
    to_next_Q1K = tl.where(tile_Q11 < 2, a1[None, None, :], a3[None, None, :]) - anchor_Q1K
    to_next_Q1K = tl.where(tile_Q11 % 2 == 0, tl.exp2(tl.minimum(to_next_Q1K, 0.0)), 0.0)
    k_up_CK = tl.reshape(k_up_QRK * to_next_Q1K, [CHUNK, K]).to(OPERAND)
    dq_CK = tl.dot(tl.where(tiles_CC, dA_CC, zero), k_up_CK, dq_CK)
    dk_plus_CK = tl.dot(tl.where(tiles_CC, dL_CC, zero), k_up_CK, dk_plus_CK)
    level_CK = tl.dot(tl.where(tiles_CC, dAT_CC, zero), q_down_CK)
    level_CK = tl.dot(tl.where(tiles_CC, dLT_CC, zero), k_down_CK, level_CK)
    dk_minus_QRK = tl.reshape(dk_minus_CK, [CHUNK // TILE, TILE, K])
    dk_minus_QRK += to_next_Q1K * tl.reshape(level_CK, [CHUNK // TILE, TILE, K])

    # Pairs of two halves.
    to_half_Q1K = tl.where(tile_Q11 < 2, a2[None, None, :] - anchor_Q1K, 0.0)
    to_half_Q1K = tl.where(tile_Q11 < 2, tl.exp2(to_half_Q1K), 0.0)
    from_half_Q1K = tl.where(tile_Q11 < 2, 0.0, anchor_Q1K - a2[None, None, :])
    from_half_Q1K = tl.where(tile_Q11 < 2, 0.0, tl.exp2(from_half_Q1K))
    q_down_CK = tl.reshape(q_down_QRK * from_half_Q1K, [CHUNK, K]).to(OPERAND)
    k_down_CK = tl.reshape(k_down_QRK * from_half_Q1K, [CHUNK, K]).to(OPERAND)
    level_CK = tl.dot(tl.where(halves_CC, dAT_CC, zero), q_down_CK)
    level_CK = tl.dot(tl.where(halves_CC, dLT_CC, zero), k_down_CK, level_CK)
    dk_minus_QRK += to_half_Q1K * tl.reshape(level_CK, [CHUNK // TILE, TILE, K])
    k_up_CK = tl.reshape(k_up_QRK * to_half_Q1K, [CHUNK, K]).to(OPERAND)
    level_CK = tl.dot(tl.where(halves_CC, dA_CC, zero), k_up_CK)
    dq_QRK = tl.reshape(dq_CK, [CHUNK // TILE, TILE, K])
    dq_QRK += from_half_Q1K * tl.reshape(level_CK, [CHUNK // TILE, TILE, K])
    level_CK = tl.dot(tl.where(halves_CC, dL_CC, zero), k_up_CK)
    dk_plus_QRK = tl.reshape(dk_plus_CK, [CHUNK // TILE, TILE, K])
    dk_plus_QRK += from_half_Q1K * tl.reshape(level_CK, [CHUNK // TILE, TILE, K])

    # Gradients of q and k of unit length: k as k⁺ (from the start), as k⁻ (within the chunk) and as k° (to the end).
    from_start_Q1K = tl.exp2(anchor_Q1K - BALANCE)
    dq_QRK += (scale * from_start_Q1K) * tl.reshape(dq_start_CK, [CHUNK // TILE, TILE, K])
    dk_plus_QRK -= from_start_Q1K * tl.reshape(dk_start_CK, [CHUNK // TILE, TILE, K])
    to_end_Q1K = tl.exp2(last[None, None, :] - anchor_Q1K + BALANCE)
    dk_end_QRK = to_end_Q1K * tl.reshape(dk_end_CK, [CHUNK // TILE, TILE, K])
    dq_CK = tl.reshape(dq_QRK * down_QRK, [CHUNK, K])
    dk_plus_CK = tl.reshape(dk_plus_QRK * down_QRK, [CHUNK, K])
    dbeta_C += tl.sum(dk_plus_CK * k_CK, 1)
    dk_plus_CK *= beta_C[:, None]
    dk_minus_CK = tl.reshape((dk_minus_QRK + dk_end_QRK) * up_QRK, [CHUNK, K])
    dlast_K = tl.exp2(last) * dstate_K + tl.sum(k_CK * tl.reshape(dk_end_QRK * up_QRK, [CHUNK, K]), 0)
    dG_CK = q_CK * dq_CK + k_CK * (dk_plus_CK - dk_minus_CK)
    dk_CK = dk_plus_CK + dk_minus_CK
    tl.store(dbeta_ptr + row_C * H + head, dbeta_C * beta_C * (1.0 - beta_C), mask=is_row_C)
    dq_CK = q_length_C[:, None] * (dq_CK - q_CK * tl.sum(q_CK * dq_CK, 1)[:, None])
    tl.store(dq_ptr + place_CK, dq_CK.to(OPERAND), mask=is_row_C1)
    dk_CK = k_length_C[:, None] * (dk_CK - k_CK * tl.sum(k_CK * dk_CK, 1)[:, None])
    tl.store(dk_ptr + place_CK, dk_CK.to(OPERAND), mask=is_row_C1)

    # The gate. Rows past the end have decays of their own in these formulas: they are nobody's.
    ddecay_CK = tl.cumsum(dG_CK, 0, reverse=True) + dlast_K[None, :]
    gate_slope_CK = sigmoid(slope * z_CK) * sigmoid(-slope * z_CK)
    dz_CK = ddecay_CK * (lower_bound * slope) * gate_slope_CK
    dz_CK = tl.where(is_row_C1, dz_CK, 0.0)
    tl.store(dz_ptr + place_CK, dz_CK.to(dz_ptr.dtype.element_ty), mask=is_row_C1)
    tl.store(ddt_bias_ptr + block * K + channel_K, tl.sum(dz_CK, 0))
    tl.store(dA_log_ptr + block, tl.sum(tl.sum(dz_CK * z_CK, 1), 0))
