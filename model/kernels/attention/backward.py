"""The backward kernels, two and a small one before them. With p_ij as in the output, normalised:

    dv_j = Σ_i p_ij do_i;   ds_ij = p_ij (do_i·v_j − δ_i);   dq_i = scale Σ_j ds_ij k_j;   dk_j = scale Σ_i ds_ij q_i

δ_i = do_i·o_i is what makes Σ_j ds_ij zero. Were o rounded, its error would not be, and has a bias where values do
(arXiv:2510.04212): so δ is made of o as it was written, in fp32 where that was asked for, and of do as the products
see it: rounded to the operands' dtype. p and ds are rounded likewise for the products that follow them, whose sums are
in fp32; results are rounded once.

`keys_kernel` has a tile of keys of one head and walks over the queries that see it: dk and dv. It makes scores with
keys as rows, so that p and ds are left operands as they come. `queries_kernel` has a tile of queries and walks over the
keys: dq. Both make p again from the kept logarithms. Nothing is added up across programs.

FLOPs of a pair of tokens and a head: 4 K + 4 V for dk and dv, 4 K + 2 V for dq. Bytes a token and head in bf16, do and
o in fp32: 8 V read and 2 V + 4 written before them, then 4 K + 4 V + 8 read by each, 2 K + 2 V and 2 K written.

Letters: H heads, N tokens, K channels of queries and keys, V of values; R rows of a tile, C rows of the others at a
time. In `keys_kernel` R are keys and C queries, in `queries_kernel` the other way round.
"""

import triton
import triton.language as tl

from ..functions import LOG2E
from ..jit import kernel
from .rows import UNIT, add_product, cross_products, head_of, keys_of, load_parts, load_rows, seen, store_rows, tile_of


@kernel(do_not_specialize=["N", "H"])
def delta_kernel(
    do_ptr, o_ptr, rounded_ptr, delta_ptr, N, H, V: tl.constexpr, VW: tl.constexpr, R: tl.constexpr
):  # fmt: skip
    """δ [H, N] of do and o [N, H, V]; do rounded to the operands' dtype, None where it has it."""
    row_R = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    channel_V = tl.arange(0, VW)
    inside_RV = (row_R < N.to(tl.int64) * H)[:, None] & (channel_V < V)[None, :]
    place_RV = row_R[:, None] * V + channel_V[None, :]
    do_RV = tl.load(do_ptr + place_RV, mask=inside_RV, other=0.0)
    if rounded_ptr is not None:
        do_RV = do_RV.to(rounded_ptr.dtype.element_ty)
        tl.store(rounded_ptr + place_RV, do_RV, mask=inside_RV)
    o_RV = tl.load(o_ptr + place_RV, mask=inside_RV, other=0.0).to(tl.float32)
    delta_R = tl.sum(do_RV.to(tl.float32) * o_RV, 1)
    tl.store(delta_ptr + (row_R % H) * N + row_R // H, delta_R, mask=row_R < N.to(tl.int64) * H)


@triton.jit
def pull_keys(
    dk1_RK, dk2_RK, dv_RV, k1_RK, k2_RK, v_RV, q_ptr, do_ptr, log_sum_ptr, delta_ptr, q_stride, do_stride,
    key_R, begin, end, factor,
    C: tl.constexpr, K: tl.constexpr, K1: tl.constexpr, K2: tl.constexpr, V: tl.constexpr, VW: tl.constexpr,
    MASKED: tl.constexpr,
):  # fmt: skip
    """With the queries from `begin` on. Those past the end have no p, as the logarithm of their sum is infinite."""
    R: tl.constexpr = v_RV.shape[0]
    query_C = begin + tl.arange(0, C)
    log_sum_C = tl.load(log_sum_ptr + query_C, mask=query_C < end, other=float("inf"))
    delta_C = tl.load(delta_ptr + query_C, mask=query_C < end, other=0.0)
    q1_CK, q2_CK = load_parts(q_ptr, q_stride, begin, end, C, K, K1, K2, False)
    score_RC = cross_products(k1_RK, k2_RK, q1_CK, q2_CK, K2)
    do_CV = load_rows(do_ptr, do_stride, begin, end, C, 0, VW, V, False)
    p_RC = tl.exp2(score_RC * factor - log_sum_C[None, :])
    if MASKED:
        p_RC = tl.where(key_R[:, None] <= query_C[None, :], p_RC, 0.0)
    dp_RC = tl.dot(v_RV, tl.trans(do_CV), tl.broadcast_to(-delta_C[None, :], [R, C]), input_precision="ieee")
    ds_RC = (p_RC * dp_RC).to(q1_CK.dtype)
    dv_RV = add_product(dv_RV, p_RC, do_CV)
    dk1_RK = add_product(dk1_RK, ds_RC, q1_CK)
    if K2 > 0:
        dk2_RK = add_product(dk2_RK, ds_RC, q2_CK)
    return dk1_RK, dk2_RK, dv_RV


@kernel(do_not_specialize=["N", "q_stride", "q_head", "k_stride", "k_head", "v_stride", "v_head", "scale"])
def keys_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, log_sum_ptr, delta_ptr, dk_ptr, dv_ptr, tiles_ptr,
    N, q_stride, q_head, k_stride, k_head, v_stride, v_head, scale,
    K: tl.constexpr, K1: tl.constexpr, K2: tl.constexpr, V: tl.constexpr, VW: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """do, dk and dv are [N, H, channels], contiguous, `log_sum` and `delta` [H, N]."""
    first, start, end = tile_of(tiles_ptr)
    head, heads = tl.program_id(1), tl.num_programs(1)
    k_width: tl.constexpr = K // UNIT
    v_width: tl.constexpr = V // UNIT
    q_ptr, do_ptr = head_of(q_ptr, q_head), head_of(do_ptr, v_width)
    log_sum_ptr += head.to(tl.int64) * N
    delta_ptr += head.to(tl.int64) * N
    factor = scale * LOG2E
    key_R = first + tl.arange(0, R)
    k1_RK, k2_RK = load_parts(head_of(k_ptr, k_head), k_stride, first, end, R, K, K1, K2, False)
    v_RV = load_rows(head_of(v_ptr, v_head), v_stride, first, end, R, 0, VW, V, False)
    dk1_RK = tl.zeros([R, K1], tl.float32)
    dk2_RK = dk1_RK
    if K2 > 0:
        dk2_RK = tl.zeros([R, K2], tl.float32)
    dv_RV = tl.zeros([R, VW], tl.float32)
    free = start
    if CAUSAL:
        free = first + (R + C - 1) // C * C
        for begin in range(first, tl.minimum(free, end), C):
            dk1_RK, dk2_RK, dv_RV = pull_keys(
                dk1_RK, dk2_RK, dv_RV, k1_RK, k2_RK, v_RV, q_ptr, do_ptr, log_sum_ptr, delta_ptr,
                q_stride, heads * v_width, key_R, begin, end, factor, C, K, K1, K2, V, VW, True,
            )  # fmt: skip
    for begin in range(free, end, C):
        dk1_RK, dk2_RK, dv_RV = pull_keys(
            dk1_RK, dk2_RK, dv_RV, k1_RK, k2_RK, v_RV, q_ptr, do_ptr, log_sum_ptr, delta_ptr,
            q_stride, heads * v_width, key_R, begin, end, factor, C, K, K1, K2, V, VW, False,
        )  # fmt: skip
    dk_ptr = head_of(dk_ptr, k_width)
    store_rows(dk_ptr, heads * k_width, dk1_RK * scale, first, end, R, 0, K)
    if K2 > 0:
        store_rows(dk_ptr, heads * k_width, dk2_RK * scale, first, end, R, K1, K)
    store_rows(head_of(dv_ptr, v_width), heads * v_width, dv_RV, first, end, R, 0, V)


@triton.jit
def pull_queries(
    dq1_RK, dq2_RK, q1_RK, q2_RK, do_RV, log_sum_R, delta_R, k_ptr, v_ptr, k_stride, v_stride,
    query_R, begin, end, factor,
    C: tl.constexpr, K: tl.constexpr, K1: tl.constexpr, K2: tl.constexpr, V: tl.constexpr, VW: tl.constexpr,
    CAUSAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """With the keys from `begin` on."""
    k1_CK, k2_CK = load_parts(k_ptr, k_stride, begin, end, C, K, K1, K2, not MASKED)
    score_RC = cross_products(q1_RK, q2_RK, k1_CK, k2_CK, K2)
    p_RC = tl.exp2(score_RC * factor - log_sum_R[:, None])
    if MASKED:
        p_RC = tl.where(seen(query_R, begin, end, C, CAUSAL), p_RC, 0.0)
    v_CV = load_rows(v_ptr, v_stride, begin, end, C, 0, VW, V, not MASKED)
    ds_RC = p_RC * (tl.dot(do_RV, tl.trans(v_CV), input_precision="ieee") - delta_R[:, None])
    dq1_RK = add_product(dq1_RK, ds_RC, k1_CK)
    if K2 > 0:
        dq2_RK = add_product(dq2_RK, ds_RC, k2_CK)
    return dq1_RK, dq2_RK


@kernel(do_not_specialize=["N", "q_stride", "q_head", "k_stride", "k_head", "v_stride", "v_head", "scale"])
def queries_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, log_sum_ptr, delta_ptr, dq_ptr, tiles_ptr,
    N, q_stride, q_head, k_stride, k_head, v_stride, v_head, scale,
    K: tl.constexpr, K1: tl.constexpr, K2: tl.constexpr, V: tl.constexpr, VW: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    first, start, end = tile_of(tiles_ptr)
    head, heads = tl.program_id(1), tl.num_programs(1)
    k_width: tl.constexpr = K // UNIT
    v_width: tl.constexpr = V // UNIT
    k_ptr, v_ptr = head_of(k_ptr, k_head), head_of(v_ptr, v_head)
    factor = scale * LOG2E
    query_R = first + tl.arange(0, R)
    q1_RK, q2_RK = load_parts(head_of(q_ptr, q_head), q_stride, first, end, R, K, K1, K2, False)
    do_RV = load_rows(head_of(do_ptr, v_width), heads * v_width, first, end, R, 0, VW, V, False)
    at = head.to(tl.int64) * N
    log_sum_R = tl.load(log_sum_ptr + at + query_R, mask=query_R < end, other=float("inf"))
    delta_R = tl.load(delta_ptr + at + query_R, mask=query_R < end, other=0.0)
    dq1_RK = tl.zeros([R, K1], tl.float32)
    dq2_RK = dq1_RK
    if K2 > 0:
        dq2_RK = tl.zeros([R, K2], tl.float32)
    masked, last = keys_of(first, start, end, R, C, CAUSAL)
    for begin in range(start, masked, C):
        dq1_RK, dq2_RK = pull_queries(
            dq1_RK, dq2_RK, q1_RK, q2_RK, do_RV, log_sum_R, delta_R, k_ptr, v_ptr, k_stride, v_stride,
            query_R, begin, end, factor, C, K, K1, K2, V, VW, CAUSAL, False,
        )  # fmt: skip
    for begin in range(masked, last, C):
        dq1_RK, dq2_RK = pull_queries(
            dq1_RK, dq2_RK, q1_RK, q2_RK, do_RV, log_sum_R, delta_R, k_ptr, v_ptr, k_stride, v_stride,
            query_R, begin, end, factor, C, K, K1, K2, V, VW, CAUSAL, True,
        )  # fmt: skip
    dq_ptr = head_of(dq_ptr, k_width)
    store_rows(dq_ptr, heads * k_width, dq1_RK * scale, first, end, R, 0, K)
    if K2 > 0:
        store_rows(dq_ptr, heads * k_width, dq2_RK * scale, first, end, R, K1, K)
