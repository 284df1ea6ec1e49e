"""Long sequences in segments: what each passes on, so that they can be walked side by side.

A chunk takes the state that enters it to S' = M S + E, with M = Diag(γ_last) − k°ᵀ X (n k⁺); so does a segment, with
the product of its M. Both are found by the walk of `forward.py` without its outputs: E is what leaves if nothing
enters, and column c of M what leaves if the identity's column c enters and all v are zero. Then

    pass_on    S_(s+1) = M_s S_s + E_s         one program a sequence, head and slice of V, segment after segment
    back       dS_(s−1) = M_sᵀ dS_s + D_s      with D from the walk back, if nothing comes from what follows

and with the states that enter (leave) its segments a sequence is walked by as many programs as it has segments. The
first segment has no M: from its own initial state it finds what leaves. The products of `pass_on` are in tf32, each in
three parts.

Where a sequence is cut depends on the place in it and on the number of heads (`chunks.py`), so that no later token and
no other sequence of a pack changes a result by a bit.

Bytes for a token of a head behind the first segment, K = V = 128, bf16: forward 912 for E and 656 for M, back 1,292;
and 320 for states of segments. FLOPs: forward 98K for E and M each, back 147K.

Letters: as in `forward.py`.
"""

import triton.language as tl

from ..jit import kernel
from .tiles import CHUNK, walk_chunks


@kernel(do_not_specialize=["H"])
def carry_kernel(
    k_plus_ptr, k_end_ptr, x_ptr, decay_ptr, lengths_ptr, v_ptr, initial_ptr, walks_ptr,
    carried_ptr, across_ptr,
    H,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, HAS_INITIAL: tl.constexpr, TRAINING: tl.constexpr,
    AHEAD: tl.constexpr,
):  # fmt: skip
    """One segment, one head and one slice of V, or of the columns of M. No E of last segments, no M of first ones."""
    OPERAND: tl.constexpr = k_plus_ptr.dtype.element_ty
    SLICES: tl.constexpr = (V + K) // SLICE
    program = tl.program_id(0)
    of_values = program % SLICES < V // SLICE
    head = (program // SLICES) % H
    walk = program // SLICES // H
    walked = walk_chunks(walks_ptr, walk, 0, 0, True)
    start, end, first, count, sequence, before, after, segment = walked
    if of_values & (after == 0):
        return
    if (of_values == 0) & ((before == 0) | ((after == 0) & (TRAINING == 0))):
        return
    slice_S = (program % SLICES) * SLICE + tl.where(of_values, 0, -V) + tl.arange(0, SLICE)
    channel_K, row_C = tl.arange(0, K), tl.arange(0, CHUNK)
    place_CK = row_C[:, None] * K + channel_K[None, :]
    place_CC = row_C[:, None] * CHUNK + row_C[None, :]
    state_SK = tl.where((slice_S[:, None] == channel_K[None, :]) & (of_values == 0), 1.0, 0.0)
    if HAS_INITIAL:
        place_state_SK = (sequence * H + head) * (K * V) + channel_K[None, :] * V + slice_S[:, None]
        state_SK += tl.load(initial_ptr + place_state_SK, mask=of_values & (before == 0), other=0.0).to(tl.float32)
    for step in range(count):
        block = (first + step) * H + head
        token_C = start + step * CHUNK + row_C
        is_token_C = token_C < end
        place_CS = (token_C[:, None] * H + head) * V + slice_S[None, :]
        k_plus_CK = tl.load(k_plus_ptr + block * (CHUNK * K) + place_CK)
        x_CC = tl.load(x_ptr + block * (CHUNK * CHUNK) + place_CC)
        v_CS = tl.load(v_ptr + place_CS, mask=is_token_C[:, None] & of_values, other=0.0)
        k_length_C = tl.load(lengths_ptr + block * (3 * CHUNK) + CHUNK + row_C)
        diagonal_C = tl.load(lengths_ptr + block * (3 * CHUNK) + 2 * CHUNK + row_C)
        if AHEAD:
            decay_K = tl.load(decay_ptr + block * K + channel_K)
        recalled_SC = tl.dot(state_SK.to(OPERAND), tl.trans(k_plus_CK))
        given_SC = tl.trans(v_CS).to(tl.float32) - k_length_C[None, :] * recalled_SC
        written_SC = tl.dot(given_SC.to(OPERAND), tl.trans(x_CC), given_SC * diagonal_C[None, :]).to(OPERAND)
        k_end_CK = tl.load(k_end_ptr + block * (CHUNK * K) + place_CK)
        if not AHEAD:
            decay_K = tl.load(decay_ptr + block * K + channel_K)
        state_SK = tl.dot(written_SC, k_end_CK, state_SK * decay_K[None, :])
    if of_values:
        leaving_ptr = carried_ptr + (segment * H + head) * (V * K)
    else:
        leaving_ptr = across_ptr + (segment * H + head) * (K * K)
    tl.store(leaving_ptr + slice_S[:, None] * K + channel_K[None, :], state_SK)


@kernel(do_not_specialize=["H", "first_head", "heads"])
def carry_back_kernel(
    do_ptr, dfinal_ptr, q_plus_ptr, k_plus_ptr, k_end_ptr, a_ptr, x_ptr, decay_ptr, lengths_ptr, walks_ptr,
    carried_ptr,
    H, first_head, heads,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, HAS_FINAL: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """One segment but the first of its sequence, one head and one slice of V: the gradient of the state that enters."""
    OPERAND: tl.constexpr = q_plus_ptr.dtype.element_ty
    SLICES: tl.constexpr = V // SLICE
    program = tl.program_id(0)
    slice_S = (program % SLICES) * SLICE + tl.arange(0, SLICE)
    own_head = (program // SLICES) % heads
    head = first_head + own_head
    walk = program // SLICES // heads
    walked = walk_chunks(walks_ptr, walk, 0, 0, True)
    start, end, first, count, sequence, before, after, segment = walked
    if before == 0:
        return
    channel_K, row_C = tl.arange(0, K), tl.arange(0, CHUNK)
    place_CK = row_C[:, None] * K + channel_K[None, :]
    place_CC = row_C[:, None] * CHUNK + row_C[None, :]
    dstate_SK = tl.zeros([SLICE, K], dtype=tl.float32)
    if HAS_FINAL:
        place_state_SK = (sequence * H + head) * (K * V) + channel_K[None, :] * V + slice_S[:, None]
        dstate_SK = tl.load(dfinal_ptr + place_state_SK, mask=after == 0, other=0.0).to(tl.float32)
    for back in range(count):
        step = count - 1 - back
        block = (first + step) * H + head
        own = (first + step) * heads + own_head
        token_C = start + step * CHUNK + row_C
        is_token_C = token_C < end
        place_rows_CK = (token_C[:, None] * H + head) * K + channel_K[None, :]
        place_CS = (token_C[:, None] * H + head) * V + slice_S[None, :]
        do_CS = tl.load(do_ptr + place_CS, mask=is_token_C[:, None], other=0.0)
        diagonal_C = tl.load(lengths_ptr + block * (3 * CHUNK) + 2 * CHUNK + row_C)
        if AHEAD:
            decay_K = tl.load(decay_ptr + own * K + channel_K)
        k_end_CK = tl.load(k_end_ptr + own * (CHUNK * K) + place_CK)
        a_CC = tl.load(a_ptr + block * (CHUNK * CHUNK) + place_CC)
        dwritten_SC = tl.dot(tl.trans(do_CS), a_CC)
        dwritten_SC = tl.dot(dstate_SK.to(OPERAND), tl.trans(k_end_CK), dwritten_SC)
        x_CC = tl.load(x_ptr + block * (CHUNK * CHUNK) + place_CC)
        dv_SC = tl.dot(dwritten_SC.to(OPERAND), x_CC, dwritten_SC * diagonal_C[None, :])
        q_plus_CK = tl.load(q_plus_ptr + place_rows_CK, mask=is_token_C[:, None], other=0.0)
        k_plus_CK = tl.load(k_plus_ptr + place_rows_CK, mask=is_token_C[:, None], other=0.0)
        if not AHEAD:
            decay_K = tl.load(decay_ptr + own * K + channel_K)
        dstate_SK = tl.dot(tl.trans(do_CS), q_plus_CK, dstate_SK * decay_K[None, :])
        dstate_SK = tl.dot((-dv_SC).to(OPERAND), k_plus_CK, dstate_SK)
    carried_ptr += (segment * heads + own_head) * (V * K)
    tl.store(carried_ptr + slice_S[:, None] * K + channel_K[None, :], dstate_SK)


@kernel(do_not_specialize=["H", "first_head", "heads"])
def pass_on_kernel(
    carried_ptr, across_ptr, cuts_ptr, passed_ptr,
    H, first_head, heads,
    K: tl.constexpr, V: tl.constexpr, SLICE: tl.constexpr, BACK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One sequence, one head and one slice of V: the states that enter its segments but the first, from the second on;
    or, going back, the gradients of those that leave its segments but the last, from the last but one on."""
    SLICES: tl.constexpr = V // SLICE
    program = tl.program_id(0)
    slice_S = (program % SLICES) * SLICE + tl.arange(0, SLICE)
    own_head = (program // SLICES) % heads
    sequence = program // SLICES // heads
    first = tl.load(cuts_ptr + 2 * sequence).to(tl.int64)
    segments = tl.load(cuts_ptr + 2 * sequence + 1).to(tl.int64)
    if segments < 2:
        return
    channel_K = tl.arange(0, K)
    place_SK = slice_S[:, None] * K + channel_K[None, :]
    # `across` holds M transposed, row by row.
    stride_from: tl.constexpr = 1 if BACK else K
    stride_to: tl.constexpr = K if BACK else 1
    place_KK = channel_K[:, None] * stride_from + channel_K[None, :] * stride_to
    direction: tl.constexpr = -1 if BACK else 1
    begin = first + (segments - 1 if BACK else 0)
    state_SK = tl.load(carried_ptr + (begin * heads + own_head) * (V * K) + place_SK)
    for step in range(1, segments - 1):
        segment = begin + direction * step
        own = segment * heads + own_head
        tl.store(passed_ptr + own * (V * K) + place_SK, state_SK)
        added_SK = tl.load(carried_ptr + own * (V * K) + place_SK)
        across_KK = tl.load(across_ptr + (segment * H + first_head + own_head) * (K * K) + place_KK)
        state_SK = tl.dot(state_SK, across_KK, added_SK, input_precision=PRECISION)
    end = begin + direction * (segments - 1)
    tl.store(passed_ptr + (end * heads + own_head) * (V * K) + place_SK, state_SK)
