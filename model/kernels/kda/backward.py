"""Backward of Kimi Delta Attention in three launches: `prepare_kernel` again, the walk back, and all the rest.

With the letters of `forward.py`, dS' the gradient of the state that leaves a chunk and dO that of its output:

    reverse   dṼ = Aᵀ dO + k° dS'        Y = Xᵀ dṼ       dS = Diag(γ_last) dS' + q⁺ᵀ dO − (β k⁺)ᵀ Y
    local     dv = β Y                   dA = scale · Tril(dO Ṽᵀ)             dL = −StrictTril(Y Ṽᵀ)
              dq⁺ = scale · dO Sᵀ + dA k⁻      dk⁺ = β (dL k⁻ − Y Sᵀ)         dk° = Ṽ dS'ᵀ
              dk⁻ = dAᵀ q⁺ + (β dL)ᵀ k⁺

(I + L) Ṽ = β (v − k⁺ S), so Y is the gradient of the right side, and the products of forward are not needed again.

What scales a row may scale what it is multiplied with as well, so the rows' own products need no sum over channels:

    ⟨q, dq⟩ = ⟨dO, O⟩      ⟨k⁻, dk⁻⟩ + ⟨k°, dk°⟩ = ⟨Y, Ṽ⟩ = c      ⟨k⁺, dk⁺⟩ = c − β ⟨Y, v⟩      β dβ = c

They give the gradient of β and take the lengths of q and k out of theirs, and so channels can be worked on in slices.
The gradient of G needs no derivative of an exponential: each of q⁺, k⁺, k⁻, k° contributes ± itself times its gradient,
and the last row of a chunk ⟨k°, dk°⟩ + γ_last ⟨S, dS'⟩ besides. Then, still in registers, the sum back over rows and
the gate: what is written is final. Of A_log and dt_bias each program writes its part, and the parts are summed in a
fixed order. A transposed product is made as a product of its own, never by transposing an accumulator.

Bytes for a token of a head, K = V = 128, bf16: prepare 770 + 1,032, reverse 1,290 + 768, local 2,820 + 1,030.
FLOPs: reverse 147K, local 390K.

Letters: as in `forward.py`.
"""

import triton
import triton.language as tl

from .tiles import (
    BALANCE,
    CHUNK,
    LOG2E,
    TILE,
    as_rows,
    by_tile,
    chunk_rows,
    inverse_length,
    level_factors,
    level_masks,
    places,
    rows_by_tile,
    sequence_chunks,
    sigmoid,
    tile_decays,
)


@triton.jit(do_not_specialize=["T", "H", "chunks_of_row"])
def reverse_kernel(
    do_ptr, dfinal_ptr, q_plus_ptr, k_plus_ptr, k_end_ptr, a_ptr, x_ptr, decay_ptr, sequences_ptr,
    leaving_ptr, y_ptr, dinitial_ptr,
    T, H, chunks_of_row,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr, HAS_INITIAL: tl.constexpr,
):  # fmt: skip
    """All chunks of one sequence, one head and one slice of V, from the last to the first."""
    OPERAND: tl.constexpr = q_plus_ptr.dtype.element_ty
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
        x_CC = tl.load(x_ptr + block * (CHUNK * CHUNK) + place_CC)
        y_SC = tl.dot(dwritten_SC.to(OPERAND), x_CC)
        tl.store(y_ptr + block * (V * CHUNK) + place_SC, y_SC.to(OPERAND))
        q_plus_CK = tl.load(q_plus_ptr + block * (CHUNK * K) + place_CK)
        k_plus_CK = tl.load(k_plus_ptr + block * (CHUNK * K) + place_CK)
        decay_K = tl.load(decay_ptr + block * K + channel_K)
        dstate_SK = tl.dot(tl.trans(do_CS), q_plus_CK, dstate_SK * decay_K[None, :])
        dstate_SK = tl.dot((-y_SC).to(OPERAND), k_plus_CK, dstate_SK)
    if HAS_INITIAL:
        tl.store(dinitial_ptr + place_state_SK, dstate_SK)


@triton.jit(do_not_specialize=["T", "H", "chunks_of_row", "scale", "lower_bound"])
def local_kernel(
    q_ptr, k_ptr, v_ptr, z_ptr, beta_ptr, A_log_ptr, dt_bias_ptr, table_ptr,
    o_ptr, do_ptr, written_ptr, y_ptr, entering_ptr, leaving_ptr,
    dq_ptr, dk_ptr, dv_ptr, dz_ptr, dbeta_ptr, dA_log_ptr, ddt_bias_ptr,
    T, H, chunks_of_row, scale, lower_bound,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """One chunk of one head, SLICE key channels at a time."""
    OPERAND: tl.constexpr = entering_ptr.dtype.element_ty
    chunk = tl.program_id(0) // H
    head = tl.program_id(0) % H
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    block = chunk.to(tl.int64) * H + head
    token = start * H + head
    row_C = tl.arange(0, CHUNK)
    is_row_C = row_C < end - start
    i, j = row_C[:, None], row_C[None, :]
    value_V = tl.arange(0, V)
    place_CV = i * (H * V) + value_V[None, :]
    place_VC = value_V[:, None] * CHUNK + j

    # Values, and the gradients of products of rows.
    beta_C = tl.load(beta_ptr + token + row_C * H, mask=is_row_C, other=0.0).to(tl.float32)
    beta_C = tl.where(is_row_C, sigmoid(beta_C), 0.0)
    do_CV = tl.load(do_ptr + token * V + place_CV, mask=is_row_C[:, None], other=0.0)
    o_CV = tl.load(o_ptr + token * V + place_CV, mask=is_row_C[:, None], other=0.0)
    qdq_C = tl.sum(do_CV.to(tl.float32) * o_CV.to(tl.float32), 1)
    written_VC = tl.load(written_ptr + block * (V * CHUNK) + place_VC)
    y_VC = tl.load(y_ptr + block * (V * CHUNK) + place_VC)
    common_C = tl.sum(y_VC.to(tl.float32) * written_VC.to(tl.float32), 0)
    tl.store(dbeta_ptr + token + row_C * H, common_C * (1.0 - beta_C), mask=is_row_C)
    v_CV = tl.load(v_ptr + token * V + place_CV, mask=is_row_C[:, None], other=0.0)
    dv_CV = beta_C[:, None] * tl.trans(y_VC).to(tl.float32)
    tl.store(dv_ptr + token * V + place_CV, dv_CV.to(OPERAND), mask=is_row_C[:, None])
    kdk_C = 2.0 * common_C - tl.sum(dv_CV * v_CV.to(tl.float32), 1)
    dA_CC = tl.where(i >= j, scale * tl.dot(do_CV, written_VC), 0.0).to(OPERAND)
    dAT_CC = tl.where(j >= i, scale * tl.dot(tl.trans(written_VC), tl.trans(do_CV)), 0.0).to(OPERAND)
    dP_CC = tl.where(i > j, beta_C[:, None] * -tl.dot(tl.trans(y_VC), written_VC), 0.0).to(OPERAND)
    dPT_CC = tl.where(j > i, beta_C[None, :] * -tl.dot(tl.trans(written_VC), y_VC), 0.0).to(OPERAND)

    row_QR = rows_by_tile()
    is_row_QR1 = (row_QR < end - start)[:, :, None]
    channel_K = tl.arange(0, SLICE)
    place_QRK = places(row_QR * (H * K), channel_K, WARPS)
    q_ptr += token * K
    k_ptr += token * K
    z_ptr += token * K
    dt_bias_ptr += head * K
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))
    q_length_QR = inverse_length(q_ptr, place_QRK, is_row_QR1, K, SLICE)
    k_length_QR = inverse_length(k_ptr, place_QRK, is_row_QR1, K, SLICE)
    qdq_QR = tl.reshape(qdq_C, [CHUNK // TILE, TILE])
    kdk_QR = tl.reshape(kdk_C, [CHUNK // TILE, TILE])
    beta_QR1 = tl.reshape(beta_C, [CHUNK // TILE, TILE, 1])
    halves_CC, tiles_CC = level_masks()
    own_CC = (halves_CC | tiles_CC) == 0
    zero = tl.zeros([CHUNK, CHUNK], dtype=OPERAND)
    dA_log = 0.0
    for first in range(0, K, SLICE):
        # Through the states.
        place_VK = block * (V * K) + value_V[:, None] * K + first + channel_K[None, :]
        entering_VK = tl.load(entering_ptr + place_VK)
        leaving_VK = tl.load(leaving_ptr + place_VK)
        dq_start_CK = tl.dot(do_CV, entering_VK)
        dk_start_CK = tl.dot(tl.trans(y_VC), entering_VK)
        dk_end_CK = tl.dot(tl.trans(written_VC), leaving_VK)
        dstate_K = tl.sum(entering_VK.to(tl.float32) * leaving_VK.to(tl.float32), 0)

        # The decays and the rows that they scale, as `prepare_kernel` has them.
        z_QRK = tl.load(z_ptr + first + place_QRK, mask=is_row_QR1, other=0.0).to(tl.float32)
        z_QRK += tl.load(dt_bias_ptr + first + channel_K).to(tl.float32)[None, None, :]
        gate_QRK = sigmoid(slope * z_QRK)
        log2_decay_QRK = tl.where(is_row_QR1, (lower_bound * LOG2E) * gate_QRK, 0.0)
        local_QRK, a0, a1, a2, a3, last = tile_decays(log2_decay_QRK)
        from_start_QK, to_end_QK, to_next_QK, to_half_QK, from_half_QK = level_factors(a0, a1, a2, a3, last)
        down_QRK = tl.exp2(local_QRK + BALANCE)
        up_QRK = tl.exp2(-local_QRK - BALANCE)
        q_QRK = tl.load(q_ptr + first + place_QRK, mask=is_row_QR1, other=0.0).to(tl.float32) * q_length_QR[:, :, None]
        k_QRK = tl.load(k_ptr + first + place_QRK, mask=is_row_QR1, other=0.0).to(tl.float32) * k_length_QR[:, :, None]
        q_down_QRK, k_down_QRK, k_up_QRK = q_QRK * down_QRK, k_QRK * down_QRK, k_QRK * up_QRK

        # Pairs of one tile, and of two tiles of one half.
        q_down_CK, k_down_CK = as_rows(q_down_QRK.to(OPERAND)), as_rows(k_down_QRK.to(OPERAND))
        k_up_CK = as_rows(k_up_QRK.to(OPERAND))
        dq_CK = tl.dot(tl.where(own_CC, dA_CC, zero), k_up_CK)
        dk_plus_CK = tl.dot(tl.where(own_CC, dP_CC, zero), k_up_CK)
        dk_minus_CK = tl.dot(tl.where(own_CC, dAT_CC, zero), q_down_CK)
        dk_minus_CK = tl.dot(tl.where(own_CC, dPT_CC, zero), k_down_CK, dk_minus_CK)
        k_up_CK = as_rows((k_up_QRK * to_next_QK[:, None, :]).to(OPERAND))
        dq_CK = tl.dot(tl.where(tiles_CC, dA_CC, zero), k_up_CK, dq_CK)
        dk_plus_CK = tl.dot(tl.where(tiles_CC, dP_CC, zero), k_up_CK, dk_plus_CK)
        level_CK = tl.dot(tl.where(tiles_CC, dAT_CC, zero), q_down_CK)
        level_CK = tl.dot(tl.where(tiles_CC, dPT_CC, zero), k_down_CK, level_CK)
        dk_minus_QRK = tl.reshape(dk_minus_CK, [CHUNK // TILE, TILE, SLICE])
        dk_minus_QRK += to_next_QK[:, None, :] * tl.reshape(level_CK, [CHUNK // TILE, TILE, SLICE])

        # Pairs of two halves: rows of the other half are zero, so nothing need be masked.
        q_down_CK = as_rows((q_down_QRK * from_half_QK[:, None, :]).to(OPERAND))
        k_down_CK = as_rows((k_down_QRK * from_half_QK[:, None, :]).to(OPERAND))
        level_CK = tl.dot(dAT_CC, q_down_CK)
        level_CK = tl.dot(dPT_CC, k_down_CK, level_CK)
        dk_minus_QRK += to_half_QK[:, None, :] * tl.reshape(level_CK, [CHUNK // TILE, TILE, SLICE])
        k_up_CK = as_rows((k_up_QRK * to_half_QK[:, None, :]).to(OPERAND))
        level_CK = tl.dot(dA_CC, k_up_CK)
        dq_QRK = tl.reshape(dq_CK, [CHUNK // TILE, TILE, SLICE])
        dq_QRK += from_half_QK[:, None, :] * tl.reshape(level_CK, [CHUNK // TILE, TILE, SLICE])
        level_CK = tl.dot(dP_CC, k_up_CK)
        dk_plus_QRK = tl.reshape(dk_plus_CK, [CHUNK // TILE, TILE, SLICE])
        dk_plus_QRK += from_half_QK[:, None, :] * tl.reshape(level_CK, [CHUNK // TILE, TILE, SLICE])

        # Gradients of q and k of unit length: k as k⁺ (from the start), as k⁻ (within the chunk), as k° (to the end).
        dq_QRK += (scale * from_start_QK)[:, None, :] * tl.reshape(dq_start_CK, [CHUNK // TILE, TILE, SLICE])
        dk_start_QRK = beta_QR1 * tl.reshape(dk_start_CK, [CHUNK // TILE, TILE, SLICE])
        dk_plus_QRK -= from_start_QK[:, None, :] * dk_start_QRK
        dk_end_QRK = to_end_QK[:, None, :] * tl.reshape(dk_end_CK, [CHUNK // TILE, TILE, SLICE])
        dq_QRK *= down_QRK
        dk_plus_QRK *= down_QRK
        dk_end_QRK *= up_QRK
        dk_minus_QRK = dk_minus_QRK * up_QRK + dk_end_QRK
        dlast_K = tl.exp2(last) * dstate_K + tl.sum(tl.sum(k_QRK * dk_end_QRK, 1), 0)
        dG_QRK = q_QRK * dq_QRK + k_QRK * (dk_plus_QRK - dk_minus_QRK)
        dq_QRK = q_length_QR[:, :, None] * (dq_QRK - q_QRK * qdq_QR[:, :, None])
        tl.store(dq_ptr + token * K + first + place_QRK, dq_QRK.to(OPERAND), mask=is_row_QR1)
        dk_QRK = k_length_QR[:, :, None] * (dk_plus_QRK + dk_minus_QRK - k_QRK * kdk_QR[:, :, None])
        tl.store(dk_ptr + token * K + first + place_QRK, dk_QRK.to(OPERAND), mask=is_row_QR1)

        # The gate. Rows past the end have decays of their own in these formulas: they are nobody's.
        tile = tl.arange(0, CHUNK // TILE)[:, None]
        total_QK = tl.sum(dG_QRK, 1)
        t1 = tl.sum(tl.where(tile == 1, total_QK, 0.0), 0)
        t2 = tl.sum(tl.where(tile == 2, total_QK, 0.0), 0)
        t3 = tl.sum(tl.where(tile == 3, total_QK, 0.0), 0)
        later_QK = by_tile(dlast_K + (t3 + t2 + t1), dlast_K + (t3 + t2), dlast_K + t3, dlast_K)
        ddecay_QRK = tl.cumsum(dG_QRK, 1, reverse=True) + later_QK[:, None, :]
        gate_slope_QRK = gate_QRK * sigmoid(-slope * z_QRK)
        dz_QRK = tl.where(is_row_QR1, ddecay_QRK * (lower_bound * slope) * gate_slope_QRK, 0.0)
        tl.store(dz_ptr + token * K + first + place_QRK, dz_QRK.to(dz_ptr.dtype.element_ty), mask=is_row_QR1)
        tl.store(ddt_bias_ptr + block * K + first + channel_K, tl.sum(tl.sum(dz_QRK, 1), 0))
        dA_log += tl.sum(tl.sum(tl.sum(dz_QRK * z_QRK, 2), 1), 0)
    tl.store(dA_log_ptr + block, dA_log)
