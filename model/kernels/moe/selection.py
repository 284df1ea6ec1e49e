"""The kernels of routing: which experts a token goes to and with what weights, and the gradient of its logits.

    s = σ(logits);  T = the best K of s + b;  p_j = s_j / Σ_T s;  α = the (K+1)-th best of s + b
    d logit_j = p_j (1 − s_j) (dp_j − Σ_i dp_i p_i)                                           for j in T, else zero

One token is one warp, its row of E scores in registers. K + 1 rounds over all scores would be 17 × 1024 comparisons and
more. Instead a bound is found below which no score matters, and the few above it go through memory to a thread each:

    groups   the best of each of G groups of scores; the (K+1)-th best of those is a bound, as K + 1 scores reach it
    bisect   where more than S scores reach the bound (ties, or good scores that share a group), it is raised by
             halves; of too many that tie, the first are taken
    rank     K + 1 rounds find the best of those, of the lowest number where scores tie

Scores are compared as integers in the order of their values. They are the same bits everywhere (`scores`), with no
multiply-add fused, so that a threshold is exactly one of the s + b and counting finds what choosing saw.

Bytes a token: 4 E for logits, 8 S for what is handed over, 8 K + 8; back 4 E for gradients. E = 256, K = 8: 1.2K.
Instructions of a token's warp: about 640 for E = 256, K = 8 and 1,430 for E = 896, K = 16.

Letters: N tokens, E experts, K experts of a token, G groups, S slots for what reaches the bound, P parts.
"""

import triton
import triton.language as tl

from ..functions import sigmoid
from ..jit import kernel

LOWEST = tl.constexpr(-(2**31))  # no expert
HIGHEST = tl.constexpr(2**31 - 1)


@triton.jit
def scores(logits_ptr, place, mask):
    """σ of the logits there; zero logits where `mask` is false."""
    return sigmoid(tl.load(logits_ptr + place, mask=mask, other=0.0))


@triton.jit
def sortable(x):
    """int32 in the order of the fp32 values."""
    bits = x.to(tl.int32, bitcast=True)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def bound_of_groups(key_E, K: tl.constexpr, G: tl.constexpr):
    """The (K+1)-th best of the best of each group, or the lowest key of an expert where there are not as many."""
    SIZE: tl.constexpr = key_E.shape[0]
    COLUMNS: tl.constexpr = min(SIZE, 128)  # a thread has four neighbours of every 128, so groups are of threads
    best_G = tl.max(tl.reshape(key_E, [SIZE // COLUMNS, COLUMNS]), 0)
    if COLUMNS > G:
        best_G = tl.max(tl.reshape(best_G, [G, COLUMNS // G]), 1)
    bound = tl.max(best_G, 0)
    for _ in range(K):
        bound = tl.max(tl.where(best_G < bound, best_G, LOWEST), 0)
    return tl.maximum(bound, LOWEST + 1)


@triton.jit
def narrowed(key_E, bound, K: tl.constexpr, S: tl.constexpr):
    """The keys, a number that K + 1 to S of them exceed, and how many do. Of more than S that tie there, the first stay
    as far as they are wanted, and the others become the lowest key."""
    low, high = bound - 1, HIGHEST
    count = tl.sum((key_E > low).to(tl.int32), 0)
    while (count > S) & (low + 1 < high):
        middle = (low & high) + ((low ^ high) >> 1)  # their mean; the sum could overflow
        reach = tl.sum((key_E > middle).to(tl.int32), 0)
        high = tl.where(reach > K, high, middle)
        low = tl.where(reach > K, middle, low)
        count = tl.where(reach > K, reach, count)
    if count > S:
        wanted = K + 1 - tl.sum((key_E > high).to(tl.int32), 0)
        tied_E = key_E == high
        key_E = tl.where(tied_E & (tl.cumsum(tied_E.to(tl.int32), 0) > wanted), LOWEST, key_E)
        count = K + 1
    return key_E, low, count


@triton.jit
def places(taken_E):
    """A place for each that is taken, from 0 on: thread after thread, as that takes the fewest shuffles."""
    SIZE: tl.constexpr = taken_E.shape[0]
    NEIGHBOURS: tl.constexpr = min(SIZE // 32, 4)
    taken_RLV = tl.reshape(taken_E.to(tl.int32), [SIZE // (32 * NEIGHBOURS), 32, NEIGHBOURS])
    taken_RL = tl.sum(taken_RLV, 2)
    taken_L = tl.sum(taken_RL, 0)
    before_L = tl.cumsum(taken_L, 0) - taken_L
    before_RL = before_L[None, :] + tl.cumsum(taken_RL, 0) - taken_RL
    return tl.reshape(before_RL[:, :, None] + tl.cumsum(taken_RLV, 2) - taken_RLV, [SIZE])


@triton.jit
def ranks(key_S, expert_S, K: tl.constexpr):
    """Of the best K + 1, from 0 on, ties by number; K + 1 for all others. A thread has one or two keys, so that rounds
    cost little."""
    rank_S = tl.zeros_like(expert_S) + (K + 1)
    for rank in range(K + 1):
        best_S = key_S == tl.max(key_S, 0)
        best_S = expert_S == tl.min(tl.where(best_S, expert_S, HIGHEST), 0)
        rank_S = tl.where(best_S, rank, rank_S)
        key_S = tl.where(best_S, LOWEST, key_S)
    return rank_S


@kernel()
def choose_kernel(
    logits_ptr, bias_ptr, slots_ptr, experts_ptr, weights_ptr, thresholds_ptr, totals_ptr,
    E: tl.constexpr, K: tl.constexpr, SIZE: tl.constexpr, G: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """One token. `totals` is Σ_T s + 1e-20, which the gradient wants; `slots` is [N, S] of memory to work in."""
    token = tl.program_id(0).to(tl.int64)
    logits_ptr += token * E
    slots_ptr += token * S
    expert_E = tl.arange(0, SIZE)
    real_E = expert_E < E
    score_E = scores(logits_ptr, expert_E, real_E)
    key_E = tl.where(real_E, sortable(score_E + tl.load(bias_ptr + expert_E, mask=real_E, other=0.0)), LOWEST)
    key_E, low, count = narrowed(key_E, bound_of_groups(key_E, K, G), K, S)
    tl.store(slots_ptr + places(key_E > low), expert_E, mask=key_E > low)
    tl.debug_barrier()  # other threads read it

    slot_S = tl.arange(0, S)
    filled_S = slot_S < count
    expert_S = tl.load(slots_ptr + slot_S, mask=filled_S, other=SIZE)
    score_S = scores(logits_ptr, expert_S, filled_S)
    biased_S = score_S + tl.load(bias_ptr + expert_S, mask=filled_S, other=0.0)
    rank_S = ranks(tl.where(filled_S, sortable(biased_S), LOWEST), expert_S, K)
    chosen_S = rank_S < K
    total = tl.sum(tl.where(chosen_S, score_S, 0.0), 0) + 1e-20
    place_S = token * K + rank_S
    tl.store(experts_ptr + place_S, expert_S, mask=chosen_S)
    tl.store(weights_ptr + place_S, tl.div_rn(score_S, tl.zeros_like(score_S) + total), mask=chosen_S)
    tl.store(thresholds_ptr + token + tl.zeros_like(slot_S), biased_S, mask=rank_S == K)
    tl.store(totals_ptr + token, total)


@kernel(do_not_specialize=["N"])
def logits_gradient_kernel(
    dweights_ptr, weights_ptr, experts_ptr, totals_ptr, dlogits_ptr,
    N,
    E: tl.constexpr, K: tl.constexpr, P: tl.constexpr, SIZE: tl.constexpr, SLOTS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """ROWS tokens: zeros for all experts, then the K that are not zero. `dlogits` is [N, P·E]: fp32, or in bf16 the
    rounded gradient followed by what rounding left."""
    token_R = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    real_R = token_R < N
    slot = tl.arange(0, SLOTS)[None, :]
    real_RK = real_R[:, None] & (slot < K)
    place_RK = token_R[:, None] * K + slot
    expert_RK = tl.load(experts_ptr + place_RK, mask=real_RK, other=0)
    weight_RK = tl.load(weights_ptr + place_RK, mask=real_RK, other=0.0)
    dweight_RK = tl.load(dweights_ptr + place_RK, mask=real_RK, other=0.0)
    score_RK = weight_RK * tl.load(totals_ptr + token_R, mask=real_R, other=0.0)[:, None]
    common_R = tl.sum(dweight_RK * weight_RK, 1)
    dlogit_RK = weight_RK * (1.0 - score_RK) * (dweight_RK - common_R[:, None])

    column = tl.arange(0, SIZE)[None, :]
    zero = tl.zeros([ROWS, SIZE], dlogits_ptr.dtype.element_ty)
    tl.store(dlogits_ptr + token_R[:, None] * (P * E) + column, zero, mask=real_R[:, None] & (column < P * E))
    tl.debug_barrier()  # other threads overwrite some of it
    dlogits_ptr += token_R[:, None] * (P * E) + expert_RK
    rounded_RK = dlogit_RK.to(dlogits_ptr.dtype.element_ty)
    tl.store(dlogits_ptr, rounded_RK, mask=real_RK)
    if P == 2:
        rest_RK = dlogit_RK - rounded_RK.to(tl.float32)
        tl.store(dlogits_ptr + E, rest_RK.to(dlogits_ptr.dtype.element_ty), mask=real_RK)
