"""The forward kernel: o_i = Σ_j p_ij v_j / Σ_j p_ij with p_ij = exp(scale q_i·k_j), j over i's group, or up to i in it.

A program has a tile of queries of one head and walks over the keys of the group from its start, with the largest score
so far, the sum of p relative to it and that of p v in registers. Scores are scaled after the product, exponents are in
base 2. p is rounded to the values' dtype for p v, and not for the sum of p. o is written as it is, in fp32, or rounded
once. Kept for the backward pass is the logarithm of the sum, in base 2 and fp32.

Only tiles on the diagonal and at the end of a group need a mask; they have a loop of their own. A block of keys that a
row does not see leaves the row as it was, bit for bit.

FLOPs of a pair of tokens and a head: 2 K + 2 V. Bytes a token and head in bf16, o in fp32: 4 K + 2 V read and 4 V + 4
written, and keys and values again from L2 by every tile of queries.

Letters: H heads, N tokens, K channels of queries and keys, V of values; R queries of a tile, C keys at a time.
"""

import triton
import triton.language as tl

from ..functions import LOG2E
from ..jit import kernel
from .rows import UNIT, add_product, cross_products, head_of, keys_of, load_parts, load_rows, seen, store_rows, tile_of


@triton.jit
def attend(
    o_RV, top_R, sum_R, q1_RK, q2_RK, k_ptr, v_ptr, k_stride, v_stride, row_R, begin, end, factor,
    C: tl.constexpr, K: tl.constexpr, K1: tl.constexpr, K2: tl.constexpr, V: tl.constexpr, VW: tl.constexpr,
    CAUSAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """With the keys from `begin` on."""
    k1_CK, k2_CK = load_parts(k_ptr, k_stride, begin, end, C, K, K1, K2, not MASKED)
    score_RC = cross_products(q1_RK, q2_RK, k1_CK, k2_CK, K2)
    if MASKED:
        score_RC = tl.where(seen(row_R, begin, end, C, CAUSAL), score_RC, float("-inf"))
    higher_R = tl.maximum(top_R, tl.max(score_RC, 1) * factor)
    p_RC = tl.exp2(score_RC * factor - higher_R[:, None])
    fade_R = tl.exp2(top_R - higher_R)
    v_CV = load_rows(v_ptr, v_stride, begin, end, C, 0, VW, V, not MASKED)
    o_RV = add_product(o_RV * fade_R[:, None], p_RC, v_CV)
    return o_RV, higher_R, sum_R * fade_R + tl.sum(p_RC, 1)


@kernel(do_not_specialize=["N", "q_stride", "q_head", "k_stride", "k_head", "v_stride", "v_head", "scale"])
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, log_sum_ptr, tiles_ptr,
    N, q_stride, q_head, k_stride, k_head, v_stride, v_head, scale,
    K: tl.constexpr, K1: tl.constexpr, K2: tl.constexpr, V: tl.constexpr, VW: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """o is [N, H, V] and `log_sum` [H, N]; K and V are held as K1 + K2 and VW channels."""
    first, start, end = tile_of(tiles_ptr)
    head, heads = tl.program_id(1), tl.num_programs(1)
    k_ptr, v_ptr = head_of(k_ptr, k_head), head_of(v_ptr, v_head)
    factor = scale * LOG2E
    row_R = first + tl.arange(0, R)
    q1_RK, q2_RK = load_parts(head_of(q_ptr, q_head), q_stride, first, end, R, K, K1, K2, False)
    o_RV = tl.zeros([R, VW], tl.float32)
    top_R = tl.full([R], float("-inf"), tl.float32)
    sum_R = tl.zeros([R], tl.float32)
    masked, last = keys_of(first, start, end, R, C, CAUSAL)
    for begin in range(start, masked, C):
        o_RV, top_R, sum_R = attend(
            o_RV, top_R, sum_R, q1_RK, q2_RK, k_ptr, v_ptr, k_stride, v_stride, row_R, begin, end, factor,
            C, K, K1, K2, V, VW, CAUSAL, False,
        )  # fmt: skip
    for begin in range(masked, last, C):
        o_RV, top_R, sum_R = attend(
            o_RV, top_R, sum_R, q1_RK, q2_RK, k_ptr, v_ptr, k_stride, v_stride, row_R, begin, end, factor,
            C, K, K1, K2, V, VW, CAUSAL, True,
        )  # fmt: skip
    log_sum_ptr += head.to(tl.int64) * N
    tl.store(log_sum_ptr + row_R, top_R + tl.log2(sum_R), mask=row_R < end)
    o_stride = heads * (V // UNIT)
    store_rows(head_of(o_ptr, V // UNIT), o_stride, o_RV / sum_R[:, None], first, end, R, 0, V)
