"""Backward of Kimi Delta Attention in five launches: the walk back over chunks, and around it what needs no walk.

With the letters of `forward.py`, dS' the gradient of the state that leaves a chunk and dO that of its output:

    rows      m q⁺, n k⁺, k° and γ_last again, which forward does not keep
    reverse   dW = Aᵀ dO + k° dS'     dv = Xᵀ dW       dS = Diag(γ_last) dS' + (m q⁺)ᵀ dO − (n k⁺)ᵀ dv
    pairs     dA = m Tril(dO Wᵀ)      dP = −n StrictTril(dv Wᵀ)          dβ and the rows' own products
    inner     dq⁺ = m dO Sᵀ + dA k⁻   dk⁺ = −n dv Sᵀ + dP k⁻             dk⁻ = dAᵀ q⁺ + dPᵀ k⁺
    gate      dk° = W dS'ᵀ            dk, dz and the parts of dA_log and d dt_bias

W = X r with r = v − n k⁺ S, so dv = Xᵀ dW is the gradient of r; P = k⁺ k⁻ᵀ below the diagonal. The products of forward
are not needed again. The diagonal of X is in fp32, as in forward.

This file has the walk; what lies behind it is in `local.py` (pairs, gate) and `products.py` (inner). Rows of q⁺ and k⁺
are handed over in the memory of dq and dk, which nobody has written yet; and what inner gives to keys and to decays, in
that of dk and dz.

Bytes for a token of a head, K = V = 128, bf16, read and written, each number counted once: rows 776 + 776, reverse
1,292 + 768, pairs 1,290 + 266, inner 2,060 + 768, gate 2,308 + 520. FLOPs: reverse 131K, pairs 33K, inner 426K, gate
66K.

Heads are worked on in groups, for memory: `first_head` and `heads` say which. What is only handed over has room for the
heads of a group, what forward kept and the gradients for all.

Letters: as in `forward.py`.
"""

import triton.language as tl

from ..functions import LOG2E
from ..jit import kernel
from .tiles import (
    CHUNK,
    chunk_rows,
    level_factors,
    log2_decays,
    places,
    rows_by_tile,
    slice_of_head,
    tile_decays,
    walk_chunks,
)


@kernel(do_not_specialize=["T", "H", "chunks_of_row", "first_head", "heads", "scale", "lower_bound"])
def rows_kernel(
    q_ptr, k_ptr, z_ptr, A_log_ptr, dt_bias_ptr, table_ptr, lengths_ptr,
    q_plus_ptr, k_plus_ptr, k_end_ptr, decay_ptr,
    T, H, chunks_of_row, first_head, heads, scale, lower_bound,
    K: tl.constexpr, SLICE: tl.constexpr, PACKED: tl.constexpr, WARPS: tl.constexpr,
):  # fmt: skip
    """One chunk of one head and SLICE of its key channels: what `prepare_kernel` makes of rows, once more."""
    OPERAND: tl.constexpr = q_plus_ptr.dtype.element_ty
    first, own_head, head, chunk = slice_of_head(first_head, heads, K, SLICE)
    start, end = chunk_rows(table_ptr, chunk, T, chunks_of_row, PACKED)
    if start >= end:
        return
    own = chunk.to(tl.int64) * heads + own_head
    lengths_ptr += (chunk.to(tl.int64) * H + head) * (3 * CHUNK)
    row_QR, channel_K = rows_by_tile(), tl.arange(0, SLICE)
    is_row_1QR = (row_QR < end - start)[None, :, :]
    place_KQR = (start * H + head) * K + first + places(row_QR * (H * K), channel_K, WARPS)
    z_KQR = tl.load(z_ptr + place_KQR, mask=is_row_1QR, other=float("-inf"))
    q_KQR = tl.load(q_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    k_KQR = tl.load(k_ptr + place_KQR, mask=is_row_1QR, other=0.0).to(tl.float32)
    q_length_QR, k_length_QR = tl.load(lengths_ptr + row_QR), tl.load(lengths_ptr + CHUNK + row_QR)
    bias_K = tl.load(dt_bias_ptr + head * K + first + channel_K).to(tl.float32)
    slope = tl.exp2(LOG2E * tl.load(A_log_ptr + head).to(tl.float32))

    local_KQR, a0, a1, a2, a3, last = tile_decays(log2_decays(z_KQR, bias_K, slope, lower_bound))
    from_start_KQ, to_end_KQ, _, _, _ = level_factors(a0, a1, a2, a3, last)
    gamma_KQR = tl.exp2(local_KQR) * from_start_KQ[:, :, None]
    q_KQR *= (scale * q_length_QR)[None, :, :] * gamma_KQR
    tl.store(q_plus_ptr + place_KQR, q_KQR.to(OPERAND), mask=is_row_1QR)
    gamma_KQR *= k_KQR * k_length_QR[None, :, :]
    tl.store(k_plus_ptr + place_KQR, gamma_KQR.to(OPERAND), mask=is_row_1QR)
    k_KQR *= tl.exp2(-local_KQR) * to_end_KQ[:, :, None]
    tl.store(k_end_ptr + own * (CHUNK * K) + first + places(row_QR * K, channel_K, WARPS), k_KQR.to(OPERAND))
    tl.store(decay_ptr + own * K + first + channel_K, tl.exp2(last))


@kernel(do_not_specialize=["T", "H", "chunks_of_row", "first_head", "heads"])
def reverse_kernel(
    do_ptr, dfinal_ptr, q_plus_ptr, k_plus_ptr, k_end_ptr, a_ptr, x_ptr, decay_ptr, lengths_ptr,
    passed_ptr, walks_ptr,
    leaving_ptr, dv_ptr, dinitial_ptr,
    T, H, chunks_of_row, first_head, heads,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, TABLE: tl.constexpr, CUT: tl.constexpr,
    HAS_FINAL: tl.constexpr, HAS_INITIAL: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """All chunks of one segment, one head and one slice of V, from the last to the first.

    `passed` holds the gradients of the states that leave segments other than the last of their sequence.
    """
    OPERAND: tl.constexpr = q_plus_ptr.dtype.element_ty
    SLICES: tl.constexpr = V // SLICE
    program = tl.program_id(0)
    slice_S = (program % SLICES) * SLICE + tl.arange(0, SLICE)
    own_head = (program // SLICES) % heads
    head = first_head + own_head
    walk = program // SLICES // heads
    walked = walk_chunks(walks_ptr, walk, T, chunks_of_row, TABLE)
    start, end, first, count, sequence, before, after, segment = walked
    channel_K, row_C = tl.arange(0, K), tl.arange(0, CHUNK)
    place_state_SK = (sequence * H + head) * (K * V) + channel_K[None, :] * V + slice_S[:, None]
    place_CK = row_C[:, None] * K + channel_K[None, :]
    place_CC = row_C[:, None] * CHUNK + row_C[None, :]
    place_SK = slice_S[:, None] * K + channel_K[None, :]
    dstate_SK = tl.zeros([SLICE, K], dtype=tl.float32)
    if HAS_FINAL:
        dstate_SK = tl.load(dfinal_ptr + place_state_SK, mask=after == 0, other=0.0).to(tl.float32)
    if CUT:
        passed_ptr += (segment * heads + own_head) * (V * K)
        dstate_SK += tl.load(passed_ptr + place_SK, mask=after > 0, other=0.0)
    for back in range(count):
        step = count - 1 - back
        block = (first + step) * H + head
        own = (first + step) * heads + own_head
        half_SK = dstate_SK.to(OPERAND)
        tl.store(leaving_ptr + own * (V * K) + place_SK, half_SK)
        token_C = start + step * CHUNK + row_C
        is_token_C = token_C < end
        place_CS = (token_C[:, None] * H + head) * V + slice_S[None, :]
        place_rows_CK = (token_C[:, None] * H + head) * K + channel_K[None, :]
        do_CS = tl.load(do_ptr + place_CS, mask=is_token_C[:, None], other=0.0)
        diagonal_C = tl.load(lengths_ptr + block * (3 * CHUNK) + 2 * CHUNK + row_C)
        if AHEAD:
            decay_K = tl.load(decay_ptr + own * K + channel_K)
        k_end_CK = tl.load(k_end_ptr + own * (CHUNK * K) + place_CK)
        a_CC = tl.load(a_ptr + block * (CHUNK * CHUNK) + place_CC)
        dwritten_SC = tl.dot(tl.trans(do_CS), a_CC)
        dwritten_SC = tl.dot(half_SK, tl.trans(k_end_CK), dwritten_SC)
        x_CC = tl.load(x_ptr + block * (CHUNK * CHUNK) + place_CC)
        dv_SC = tl.dot(dwritten_SC.to(OPERAND), x_CC, dwritten_SC * diagonal_C[None, :])
        tl.store(dv_ptr + place_CS, tl.trans(dv_SC.to(OPERAND)), mask=is_token_C[:, None])
        q_plus_CK = tl.load(q_plus_ptr + place_rows_CK, mask=is_token_C[:, None], other=0.0)
        k_plus_CK = tl.load(k_plus_ptr + place_rows_CK, mask=is_token_C[:, None], other=0.0)
        if not AHEAD:
            decay_K = tl.load(decay_ptr + own * K + channel_K)
        dstate_SK = tl.dot(tl.trans(do_CS), q_plus_CK, dstate_SK * decay_K[None, :])
        dstate_SK = tl.dot((-dv_SC).to(OPERAND), k_plus_CK, dstate_SK)
    if HAS_INITIAL:
        tl.store(dinitial_ptr + place_state_SK, dstate_SK, mask=before == 0)
