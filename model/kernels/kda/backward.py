"""Backward of Kimi Delta Attention in six launches: the walk back over chunks, and around it what needs no walk.

With the letters of `forward.py`, dS' the gradient of the state that leaves a chunk and dO that of its output:

    rows      q⁺, β k⁺, k° and γ_last again, which forward does not keep
    reverse   dṼ = Aᵀ dO + k° dS'     Y = Xᵀ dṼ     dS = Diag(γ_last) dS' + q⁺ᵀ dO − (β k⁺)ᵀ Y
    pairs     dv = β Y                dA = scale · Tril(dO Ṽᵀ)             dL = −StrictTril(Y Ṽᵀ)
    left      dq⁺ = scale · dO Sᵀ + dA k⁻                                  dk⁺ = β (dL k⁻ − Y Sᵀ)
    right     dk⁻ = dAᵀ q⁺ + (β dL)ᵀ k⁺                                    dk° = Ṽ dS'ᵀ
    gate      dk, dz and the parts of dA_log and d dt_bias

(I + L) Ṽ = β (v − k⁺ S), so Y is the gradient of the right side, and the products of forward are not needed again.

What scales a row may scale what it is multiplied with as well, so the rows' own products need no sum over channels:

    ⟨q, dq⟩ = ⟨dO, O⟩      ⟨k⁻, dk⁻⟩ + ⟨k°, dk°⟩ = ⟨Y, Ṽ⟩ = c      ⟨k⁺, dk⁺⟩ = c − β ⟨Y, v⟩      β dβ = c

They give the gradient of β and take the lengths of q and k out of theirs, and so channels can be worked on in slices.
The gradient of G needs no derivative of an exponential: each of q⁺, k⁺, k⁻, k° contributes ± itself times its gradient,
and the last row of a chunk ⟨k°, dk°⟩ + γ_last ⟨S, dS'⟩ besides. Of A_log and dt_bias each program writes its part, and
the parts are summed in a fixed order. A transposed product reads its factor transposed from memory: no accumulator is
ever transposed into a product.

Why so many launches: one kernel for all behind the walk spilled its registers and took 12.7 ms where these take 4.3.

Bytes for a token of a head, K = V = 128, bf16, read and written: rows 770 + 770, reverse 1,290 + 768,
pairs 1,280 + 770, left 2,050 + 512, right 2,310 + 520, gate 1,800 + 512. FLOPs: reverse 147K, pairs 33K, left 180K,
right 150K.

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
    by_channel,
    by_tile,
    chunk_rows,
    level_factors,
    level_masks,
    log2_decays,
    places,
    rows_by_tile,
    sequence_chunks,
    sigmoid,
    tile_decays,
)


@triton.jit(do_not_specialize=["T", "H", "chunks_of_row", "scale", "lower_bound"])
def rows_kernel(
    q_ptr, k_ptr, z_ptr, beta_ptr, A_log_ptr, dt_bias_ptr, table_ptr, lengths_ptr,
    q_plus_ptr, k_plus_ptr, k_end_ptr, decay_ptr,
    T, H, chunks_of_row, scale, lower_bound,
    K: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """One chunk of one head and SLICE of its key channels: what `prepare_kernel` makes of rows, once more."""
    OPERAND: tl.constexpr = q_plus_ptr.dtype.element_ty
    SLICES: tl.constexpr = K // SLICE
    program = tl.program_id(0)
    first = (program % SLICES) * SLICE
    head = (program // SLICES) % H
    chunk = program // SLICES // H
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    block = chunk.to(tl.int64) * H + head
    token = start * H + head
    row_QR, channel_K = rows_by_tile(), tl.arange(0, SLICE)
    is_row_QR = row_QR < end - start
    is_row_1QR = is_row_QR[None, :, :]
    place_KQR = token * K + first + places(row_QR * (H * K), channel_K, WARPS)
    prepared_KQR = block * (CHUNK * K) + first + places(row_QR * K, channel_K, WARPS)
    z_KQR = tl.load(z_ptr + place_KQR, mask=is_row_1QR, other=0.0)
    q_KQR = tl.load(q_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    k_KQR = tl.load(k_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    q_length_QR = tl.load(lengths_ptr + block * (2 * CHUNK) + row_QR)
    k_length_QR = tl.load(lengths_ptr + block * (2 * CHUNK) + CHUNK + row_QR)
    beta_QR = tl.load(beta_ptr + token + row_QR * H, mask=is_row_QR, other=0.0).to(tl.float32)
    bias_K = tl.load(dt_bias_ptr + head * K + first + channel_K).to(tl.float32)
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))

    local_KQR, a0, a1, a2, a3, last = tile_decays(log2_decays(z_KQR, bias_K, is_row_1QR, slope, lower_bound))
    from_start_KQ, to_end_KQ, _, _, _ = level_factors(a0, a1, a2, a3, last)
    gamma_KQR = tl.exp2(local_KQR + BALANCE) * from_start_KQ[:, :, None]
    q_KQR *= (scale * q_length_QR)[None, :, :] * gamma_KQR
    tl.store(q_plus_ptr + prepared_KQR, q_KQR.to(OPERAND))
    k_KQR *= k_length_QR[None, :, :]
    tl.store(k_plus_ptr + prepared_KQR, (k_KQR * gamma_KQR * sigmoid(beta_QR)[None, :, :]).to(OPERAND))
    k_KQR *= tl.exp2(-local_KQR - BALANCE) * to_end_KQ[:, :, None]
    tl.store(k_end_ptr + prepared_KQR, k_KQR.to(OPERAND))
    tl.store(decay_ptr + block * K + first + channel_K, tl.exp2(last))


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
        tl.store(y_ptr + block * (V * CHUNK) + row_C[:, None] * V + slice_S[None, :], tl.trans(y_SC.to(OPERAND)))
        q_plus_CK = tl.load(q_plus_ptr + block * (CHUNK * K) + place_CK)
        k_plus_CK = tl.load(k_plus_ptr + block * (CHUNK * K) + place_CK)
        decay_K = tl.load(decay_ptr + block * K + channel_K)
        dstate_SK = tl.dot(tl.trans(do_CS), q_plus_CK, dstate_SK * decay_K[None, :])
        dstate_SK = tl.dot((-y_SC).to(OPERAND), k_plus_CK, dstate_SK)
    if HAS_INITIAL:
        tl.store(dinitial_ptr + place_state_SK, dstate_SK)


@triton.jit(do_not_specialize=["T", "H", "chunks_of_row", "scale"])
def pairs_kernel(
    v_ptr, beta_ptr, o_ptr, do_ptr, written_ptr, y_ptr, table_ptr,
    dA_ptr, dL_ptr, sums_ptr, dv_ptr, dbeta_ptr,
    T, H, chunks_of_row, scale,
    V: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    """One chunk of one head: gradients of v, of β and of the products of rows, and the rows' own products."""
    OPERAND: tl.constexpr = written_ptr.dtype.element_ty
    chunk = tl.program_id(0) // H
    head = tl.program_id(0) % H
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    block = chunk.to(tl.int64) * H + head
    token = start * H + head
    row_C = tl.arange(0, CHUNK)
    is_row_C = row_C < end - start
    is_row_C1 = is_row_C[:, None]
    i, j = row_C[:, None], row_C[None, :]
    value_V = tl.arange(0, V)
    place_CV = token * V + i * (H * V) + value_V[None, :]
    place_VC = block * (V * CHUNK) + value_V[:, None] * CHUNK + j
    place_CC = block * (CHUNK * CHUNK) + i * CHUNK + j

    written_VC = tl.load(written_ptr + place_VC)
    do_CV = tl.load(do_ptr + place_CV, mask=is_row_C1, other=0.0)
    y_CV = tl.load(y_ptr + block * (V * CHUNK) + i * V + value_V[None, :])
    o_CV = tl.load(o_ptr + place_CV, mask=is_row_C1, other=0.0)
    v_CV = tl.load(v_ptr + place_CV, mask=is_row_C1, other=0.0)
    beta_C = tl.load(beta_ptr + token + row_C * H, mask=is_row_C, other=0.0).to(tl.float32)
    beta_C = tl.where(is_row_C, sigmoid(beta_C), 0.0)

    qdq_C = tl.sum(do_CV.to(tl.float32) * o_CV.to(tl.float32), 1)
    tl.store(sums_ptr + block * (2 * CHUNK) + row_C, qdq_C)
    dv_CV = beta_C[:, None] * y_CV.to(tl.float32)
    tl.store(dv_ptr + place_CV, dv_CV.to(OPERAND), mask=is_row_C1)
    dv_v_C = tl.sum(dv_CV * v_CV.to(tl.float32), 1)
    dA_CC = tl.where(i >= j, scale * tl.dot(do_CV, written_VC), 0.0)
    tl.store(dA_ptr + place_CC, dA_CC.to(OPERAND))
    y_written_CC = tl.dot(y_CV, written_VC)
    tl.store(dL_ptr + place_CC, tl.where(i > j, -y_written_CC, 0.0).to(OPERAND))
    common_C = tl.sum(tl.where(i == j, y_written_CC, 0.0), 1)
    tl.store(dbeta_ptr + token + row_C * H, common_C * (1.0 - beta_C), mask=is_row_C)
    tl.store(sums_ptr + block * (2 * CHUNK) + CHUNK + row_C, 2.0 * common_C - dv_v_C)


@triton.jit(do_not_specialize=["T", "H", "chunks_of_row", "scale", "lower_bound"])
def left_kernel(
    q_ptr, k_ptr, z_ptr, beta_ptr, A_log_ptr, dt_bias_ptr, table_ptr,
    do_ptr, y_ptr, entering_ptr, dA_ptr, dL_ptr, lengths_ptr, sums_ptr,
    dq_ptr, dk_ptr,
    T, H, chunks_of_row, scale, lower_bound,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """One chunk of one head and SLICE of its key channels: the rows on the left of products, which are q⁺ and k⁺.

    One program does either: both would not fit its registers. Writes the gradient of q, and for `gate_kernel` the
    part of k⁺ in that of k.
    """
    OPERAND: tl.constexpr = entering_ptr.dtype.element_ty
    SLICES: tl.constexpr = K // SLICE
    program = tl.program_id(0)
    of_keys = program % 2 == 1
    first = (program // 2 % SLICES) * SLICE
    head = (program // 2 // SLICES) % H
    chunk = program // 2 // SLICES // H
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    block = chunk.to(tl.int64) * H + head
    token = start * H + head
    if of_keys:
        given_ptr = y_ptr + block * (CHUNK * V)
        pairs_ptr = dL_ptr + block * (CHUNK * CHUNK)
        x_ptr = k_ptr + token * K + first
        dx_ptr = dk_ptr + token * K + first
    else:
        given_ptr = do_ptr + token * V
        pairs_ptr = dA_ptr + block * (CHUNK * CHUNK)
        x_ptr = q_ptr + token * K + first
        dx_ptr = dq_ptr + token * K + first
    stride = tl.where(of_keys, 1, H) * V
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))
    row_C, row_QR = tl.arange(0, CHUNK), rows_by_tile()
    i, j = row_C[:, None], row_C[None, :]
    value_V, channel_K = tl.arange(0, V), tl.arange(0, SLICE)
    is_row_QR = row_QR < end - start
    is_row_1QR = is_row_QR[None, :, :]
    place_KQR = places(row_QR * (H * K), channel_K, WARPS)
    _, tiles_CC = level_masks()

    z_KQR = tl.load(z_ptr + token * K + first + place_KQR, mask=is_row_1QR, other=0.0)
    k_KQR = tl.load(k_ptr + token * K + first + place_KQR, mask=is_row_1QR, other=0.0)
    bias_K = tl.load(dt_bias_ptr + head * K + first + channel_K).to(tl.float32)
    lengths_ptr += block * (2 * CHUNK)
    k_length_QR = tl.load(lengths_ptr + CHUNK + row_QR)

    log2_decay_KQR = log2_decays(z_KQR, bias_K, is_row_1QR, slope, lower_bound)
    local_KQR, a0, a1, a2, a3, last = tile_decays(log2_decay_KQR)
    from_start_KQ, _, to_next_KQ, to_half_KQ, from_half_KQ = level_factors(a0, a1, a2, a3, last)
    k_up_KQR = k_KQR.to(tl.float32) * (k_length_QR[None, :, :] * tl.exp2(-local_KQR - BALANCE))
    k_up_CK = as_rows(k_up_KQR.to(OPERAND))
    k_next_CK = as_rows((k_up_KQR * to_next_KQ[:, :, None]).to(OPERAND))
    k_half_CK = as_rows((k_up_KQR * to_half_KQ[:, :, None]).to(OPERAND))

    # Through the state, and through products with keys, level by level.
    given_CV = tl.load(given_ptr + i * stride + value_V[None, :], mask=i < end - start, other=0.0)
    entering_VK = tl.load(entering_ptr + block * (V * K) + first + value_V[:, None] * K + channel_K[None, :])
    from_start_KQ *= tl.where(of_keys, -1.0, scale)
    pairs_ptrs = pairs_ptr + i * CHUNK + j
    dx_KQR = from_start_KQ[:, :, None] * by_channel(tl.dot(given_CV, entering_VK))
    dx_KQR += from_half_KQ[:, :, None] * by_channel(tl.dot(tl.load(pairs_ptrs), k_half_CK))
    level_CK = tl.dot(tl.load(pairs_ptrs, mask=(i // TILE) == (j // TILE), other=0.0), k_up_CK)
    level_CK = tl.dot(tl.load(pairs_ptrs, mask=tiles_CC, other=0.0), k_next_CK, level_CK)
    dx_KQR = (dx_KQR + by_channel(level_CK)) * tl.exp2(local_KQR + BALANCE)

    q_length_QR = tl.load(lengths_ptr + row_QR)
    qdq_QR = tl.load(sums_ptr + block * (2 * CHUNK) + row_QR)
    beta_QR = tl.load(beta_ptr + token + row_QR * H, mask=is_row_QR, other=0.0).to(tl.float32)
    x_KQR = tl.load(x_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    along_QR = tl.where(of_keys, 0.0, q_length_QR * q_length_QR * qdq_QR)
    dx_KQR = tl.where(of_keys, sigmoid(beta_QR), q_length_QR)[None, :, :] * dx_KQR - x_KQR * along_QR[None, :, :]
    tl.store(dx_ptr + place_KQR, dx_KQR.to(OPERAND), mask=is_row_1QR)


@triton.jit(do_not_specialize=["T", "H", "chunks_of_row", "lower_bound"])
def right_kernel(
    q_ptr, k_ptr, z_ptr, beta_ptr, A_log_ptr, dt_bias_ptr, table_ptr,
    written_ptr, entering_ptr, leaving_ptr, dA_ptr, dL_ptr, lengths_ptr,
    dk_right_ptr, dlast_ptr,
    T, H, chunks_of_row, lower_bound,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """One chunk of one head and SLICE of its key channels: keys on the right of products, which are k⁻ and k°.

    Writes for `gate_kernel` their part in the gradient of k, and the gradient of the last G but for what rows add.
    """
    OPERAND: tl.constexpr = entering_ptr.dtype.element_ty
    SLICES: tl.constexpr = K // SLICE
    program = tl.program_id(0)
    first = (program % SLICES) * SLICE
    head = (program // SLICES) % H
    chunk = program // SLICES // H
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    block = chunk.to(tl.int64) * H + head
    token = start * H + head
    q_ptr += token * K + first
    k_ptr += token * K + first
    z_ptr += token * K + first
    dk_right_ptr += block * (CHUNK * K) + first
    dt_bias_ptr += head * K + first
    lengths_ptr += block * (2 * CHUNK)
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))
    row_C, row_QR = tl.arange(0, CHUNK), rows_by_tile()
    i, j = row_C[:, None], row_C[None, :]
    value_V, channel_K = tl.arange(0, V), tl.arange(0, SLICE)
    is_row_1QR = (row_QR < end - start)[None, :, :]
    place_KQR = places(row_QR * (H * K), channel_K, WARPS)
    place_VC = block * (V * CHUNK) + value_V[:, None] * CHUNK + j
    place_VK = block * (V * K) + first + value_V[:, None] * K + channel_K[None, :]
    place_CC = block * (CHUNK * CHUNK) + i * CHUNK + j
    _, tiles_CC = level_masks()
    own_CC = (i // TILE) == (j // TILE)

    z_KQR = tl.load(z_ptr + place_KQR, mask=is_row_1QR, other=0.0)
    k_KQR = tl.load(k_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    q_KQR = tl.load(q_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    bias_K = tl.load(dt_bias_ptr + channel_K).to(tl.float32)
    k_length_1QR = tl.load(lengths_ptr + CHUNK + row_QR)[None, :, :]
    q_length_1QR = tl.load(lengths_ptr + row_QR)[None, :, :]
    beta_QR = tl.load(beta_ptr + token + row_QR * H, mask=row_QR < end - start, other=0.0).to(tl.float32)

    # The decays, as `prepare_kernel` has them, and the rows that they scale.
    log2_decay_KQR = log2_decays(z_KQR, bias_K, is_row_1QR, slope, lower_bound)
    local_KQR, a0, a1, a2, a3, last = tile_decays(log2_decay_KQR)
    _, to_end_KQ, to_next_KQ, to_half_KQ, from_half_KQ = level_factors(a0, a1, a2, a3, last)
    k_KQR *= k_length_1QR
    down_KQR = tl.exp2(local_KQR + BALANCE)
    rows_KQR = k_KQR * sigmoid(beta_QR)[None, :, :] * down_KQR
    k_down_CK = as_rows(rows_KQR.to(OPERAND))
    k_far_CK = as_rows((rows_KQR * from_half_KQ[:, :, None]).to(OPERAND))
    rows_KQR = q_KQR * q_length_1QR * down_KQR
    q_down_CK = as_rows(rows_KQR.to(OPERAND))
    q_far_CK = as_rows((rows_KQR * from_half_KQ[:, :, None]).to(OPERAND))

    # Keys as k⁻ (within the chunk), and as k° (to its end).
    level_CK = tl.dot(tl.trans(tl.load(dL_ptr + place_CC)), k_far_CK)
    level_CK = tl.dot(tl.trans(tl.load(dA_ptr + place_CC)), q_far_CK, level_CK)
    dk_minus_KQR = to_half_KQ[:, :, None] * by_channel(level_CK)
    level_CK = tl.dot(tl.trans(tl.load(dL_ptr + place_CC, mask=tiles_CC, other=0.0)), k_down_CK)
    level_CK = tl.dot(tl.trans(tl.load(dA_ptr + place_CC, mask=tiles_CC, other=0.0)), q_down_CK, level_CK)
    dk_minus_KQR += to_next_KQ[:, :, None] * by_channel(level_CK)
    level_CK = tl.dot(tl.trans(tl.load(dL_ptr + place_CC, mask=own_CC, other=0.0)), k_down_CK)
    level_CK = tl.dot(tl.trans(tl.load(dA_ptr + place_CC, mask=own_CC, other=0.0)), q_down_CK, level_CK)
    dk_minus_KQR += by_channel(level_CK)
    written_VC = tl.load(written_ptr + place_VC)
    leaving_VK = tl.load(leaving_ptr + place_VK)
    entering_VK = tl.load(entering_ptr + place_VK)
    up_KQR = tl.exp2(-local_KQR - BALANCE)
    dk_end_KQR = by_channel(tl.dot(tl.trans(written_VC), leaving_VK)) * to_end_KQ[:, :, None] * up_KQR
    dlast_K = tl.exp2(last) * tl.sum(entering_VK.to(tl.float32) * leaving_VK.to(tl.float32), 0)
    dlast_K += tl.sum(tl.sum(k_KQR * dk_end_KQR, 2), 1)
    dk_minus_KQR = dk_minus_KQR * up_KQR + dk_end_KQR
    tl.store(dk_right_ptr + places(row_QR * K, channel_K, WARPS), dk_minus_KQR)
    tl.store(dlast_ptr + block * K + first + channel_K, dlast_K)


@triton.jit(do_not_specialize=["T", "H", "chunks_of_row", "lower_bound"])
def gate_kernel(
    q_ptr, k_ptr, z_ptr, A_log_ptr, dt_bias_ptr, table_ptr, lengths_ptr, sums_ptr, dk_right_ptr, dlast_ptr,
    dq_ptr, dk_ptr, dz_ptr, dA_log_ptr, ddt_bias_ptr,
    T, H, chunks_of_row, lower_bound,
    K: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """One chunk of one head and SLICE of its key channels: the gradients of k and of the gate.

    Finds in `dq_ptr` the gradient of q and in `dk_ptr` the part of k⁺ in that of k. That of k⁻ and k° comes in fp32,
    because most of it cancels in the gradient of the gate.
    """
    SLICES: tl.constexpr = K // SLICE
    program = tl.program_id(0)
    first = (program % SLICES) * SLICE
    head = (program // SLICES) % H
    chunk = program // SLICES // H
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    block = chunk.to(tl.int64) * H + head
    row_QR, channel_K = rows_by_tile(), tl.arange(0, SLICE)
    is_row_1QR = (row_QR < end - start)[None, :, :]
    place_KQR = (start * H + head) * K + first + places(row_QR * (H * K), channel_K, WARPS)
    lengths_ptr += block * (2 * CHUNK)
    sums_ptr += block * (2 * CHUNK)
    q_KQR = tl.load(q_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    dq_KQR = tl.load(dq_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    k_KQR = tl.load(k_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    left_KQR = tl.load(dk_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    right_KQR = tl.load(dk_right_ptr + block * (CHUNK * K) + first + places(row_QR * K, channel_K, WARPS))
    z_KQR = tl.load(z_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    z_KQR += tl.load(dt_bias_ptr + head * K + first + channel_K).to(tl.float32)[:, None, None]
    dlast_K = tl.load(dlast_ptr + block * K + first + channel_K)
    q_length_QR, k_length_QR = tl.load(lengths_ptr + row_QR), tl.load(lengths_ptr + CHUNK + row_QR)
    qdq_QR, kdk_QR = tl.load(sums_ptr + row_QR), tl.load(sums_ptr + CHUNK + row_QR)
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))

    # What queries add, q dq with q of unit length, is taken from the gradient of the q that was given.
    dG_KQR = q_KQR * (dq_KQR + q_KQR * (q_length_QR * q_length_QR * qdq_QR)[None, :, :])
    k_KQR *= k_length_QR[None, :, :]
    dG_KQR += k_KQR * (left_KQR - right_KQR)
    dk_KQR = k_length_QR[None, :, :] * (left_KQR + right_KQR - k_KQR * kdk_QR[None, :, :])
    tl.store(dk_ptr + place_KQR, dk_KQR.to(dk_ptr.dtype.element_ty), mask=is_row_1QR)

    # The sum back over rows. The total is the last of the sums so far, so that rows after the last gradient get zero.
    so_far_KQR = tl.cumsum(dG_KQR, 2)
    total_KQ = tl.sum(tl.where((tl.arange(0, TILE) == TILE - 1)[None, None, :], so_far_KQR, 0.0), 2)
    tile = tl.arange(0, CHUNK // TILE)[None, :]
    t1 = tl.sum(tl.where(tile == 1, total_KQ, 0.0), 1)
    t2 = tl.sum(tl.where(tile == 2, total_KQ, 0.0), 1)
    t3 = tl.sum(tl.where(tile == 3, total_KQ, 0.0), 1)
    later_KQ = by_tile(dlast_K + (t3 + t2 + t1), dlast_K + (t3 + t2), dlast_K + t3, dlast_K)
    ddecay_KQR = total_KQ[:, :, None] - so_far_KQR + dG_KQR + later_KQ[:, :, None]

    # The gate, σ' = e^-x σ². Rows past the end have decays of their own here: they are nobody's.
    inverse_KQR = tl.exp2(tl.minimum((-LOG2E * slope) * z_KQR, 100.0))
    root_KQR = tl.rsqrt(1.0 + inverse_KQR)
    root_KQR *= root_KQR
    dz_KQR = ddecay_KQR * (lower_bound * slope) * (inverse_KQR * root_KQR) * root_KQR
    dz_KQR = tl.where(is_row_1QR, dz_KQR, 0.0)
    tl.store(dz_ptr + place_KQR, dz_KQR.to(dz_ptr.dtype.element_ty), mask=is_row_1QR)
    tl.store(ddt_bias_ptr + block * K + first + channel_K, tl.sum(tl.sum(dz_KQR, 2), 1))
    dA_log = tl.sum(tl.sum(tl.sum(dz_KQR * z_KQR, 2), 1), 0)
    tl.store(dA_log_ptr + block * SLICES + program % SLICES, dA_log)
