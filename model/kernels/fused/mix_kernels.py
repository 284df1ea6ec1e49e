"""The kernels of `mix`: the running sum, a softmax over depth and the norm that follows, one pass over the sources.

    partial ← partial + added;     s_i = r_i ⟨w̃, v_i⟩,  r_i = (mean v_i² + ε)^-1/2;     h = Σ softmax(s)_i v_i
    x = h · r · g,  r = (mean h² + ε')^-1/2

The sources v are the blocks and, last, the running sum, rounded to its dtype as it is written; w̃ = query ⊙ norm weight.
With one source there is no softmax and h = v: that is an RMSNorm, after a sum where something was added. Without g,
x = h. All in fp32 inside. A program has whole rows, so nothing of a token depends on the other tokens.

Forward, an online softmax: a source is read once, multiplied once into h, and needs nothing of those behind it.
Bytes a token with bf16 and S sources: 2 D (S + 1 read for `added`, 2 written) and 8 S of scores s and scales r, which
are kept for the backward pass: D is hundreds, and without them every source would cost two more sums over D there.

Backward, with dh the gradient of h and d the gradient that arrives at a source by another way:

    dh = r (g dx − h r² mean(g dx h))
    ds_i = p_i (⟨dh, v_i⟩ − Σ_j p_j ⟨dh, v_j⟩)
    dv_i = p_i dh + ds_i r_i (w̃ − s_i r_i v_i / D) + d_i
    dw̃ = Σ ds_i r_i v_i,   dg = Σ dx h r     over all tokens: a sum for each program, in the order of its rows

Bytes a token: 2 D (S + 1 read, S written, and one for each d). A program holds its rows of all sources in registers
(`HELD`) while it takes h, the S products with dh, and dv of them; where they are too many, it reads them again, which
by then a cache answers. FLOPs: about 20 a number forward, 30 backward; neither counts beside the bytes.

Letters: N tokens, S sources, D model width, R rows of a program's block.
"""

import triton
import triton.language as tl

from ..functions import LOG2E
from ..jit import kernel
from .rows import load_weight, row_block, two_sums, with_last


@triton.jit
def source(sources, held, i: tl.constexpr, place_RD, inside_RD, eviction: tl.constexpr, HELD: tl.constexpr):
    """One of the sources, from registers or from memory."""
    if HELD:  # noqa: SIM108
        v_RD = held[i]
    else:
        v_RD = tl.load(sources[i] + place_RD, mask=inside_RD, other=0.0, eviction_policy=eviction)
    return v_RD.to(tl.float32)


@kernel(do_not_specialize=["N", "eps", "out_eps"])
def mix_kernel(
    sources, added_ptr, query_ptr, norm_weight_ptr, out_weight_ptr, sum_ptr, x_ptr, stats_ptr,
    N, eps, out_eps,
    S: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, HELD: tl.constexpr,
):  # fmt: skip
    """`added` and `sum` both or neither; without `out_weight` no norm; without `stats` nothing is kept."""
    row_R, place_RD, inside_RD = row_block(tl.program_id(0), N, D, WIDTH, ROWS)
    held = ()
    if HELD:
        for i in tl.static_range(S):
            held = with_last(held, tl.load(sources[i] + place_RD, mask=inside_RD, other=0.0))
    if added_ptr is not None:
        added_RD = tl.load(added_ptr + place_RD, mask=inside_RD, other=0.0).to(tl.float32)
    if S > 1:
        folded_D = load_weight(query_ptr, D, WIDTH) * load_weight(norm_weight_ptr, D, WIDTH)
    for i in tl.static_range(S):
        v_RD = source(sources, held, i, place_RD, inside_RD, "", HELD)
        if i == S - 1:  # noqa: SIM102
            if added_ptr is not None:
                rounded_RD = (v_RD + added_RD).to(sum_ptr.dtype.element_ty)
                tl.store(sum_ptr + place_RD, rounded_RD, mask=inside_RD)
                v_RD = rounded_RD.to(tl.float32)
        if S == 1:
            h_RD = v_RD
        else:
            square_R, product_R = two_sums(v_RD * v_RD, v_RD * folded_D[None, :])
            scale_R = tl.rsqrt(square_R * (1.0 / D) + eps)
            score_R = scale_R * product_R
            if stats_ptr is not None:
                tl.store(stats_ptr + i * N.to(tl.int64) + row_R, score_R, mask=row_R < N)
                tl.store(stats_ptr + (S + i) * N.to(tl.int64) + row_R, scale_R, mask=row_R < N)
            if i == 0:
                highest_R, total_R, h_RD = score_R, tl.full([ROWS], 1.0, tl.float32), v_RD
            else:
                higher_R = tl.maximum(highest_R, score_R)
                kept_R, new_R = tl.exp2(LOG2E * (highest_R - higher_R)), tl.exp2(LOG2E * (score_R - higher_R))
                h_RD = h_RD * kept_R[:, None] + new_R[:, None] * v_RD
                highest_R, total_R = higher_R, total_R * kept_R + new_R
    if S > 1:
        h_RD = h_RD * (1.0 / total_R)[:, None]
    if out_weight_ptr is not None:
        norm_R = tl.rsqrt(tl.sum(h_RD * h_RD, 1) * (1.0 / D) + out_eps)
        h_RD = h_RD * norm_R[:, None] * load_weight(out_weight_ptr, D, WIDTH)[None, :]
    tl.store(x_ptr + place_RD, h_RD.to(x_ptr.dtype.element_ty), mask=inside_RD)


@triton.jit
def probabilities(stats_ptr, row_R, N, S: tl.constexpr):
    """p, s and r of each source, three tuples of [R]."""
    scores = ()
    scales = ()
    highest_R = tl.full(row_R.shape, float("-inf"), tl.float32)
    for i in tl.static_range(S):
        scores = with_last(scores, tl.load(stats_ptr + i * N.to(tl.int64) + row_R, mask=row_R < N, other=0.0))
        scales = with_last(scales, tl.load(stats_ptr + (S + i) * N.to(tl.int64) + row_R, mask=row_R < N, other=0.0))
        highest_R = tl.maximum(highest_R, scores[i])
    weights = ()
    total_R = tl.zeros_like(highest_R)
    for i in tl.static_range(S):
        weights = with_last(weights, tl.exp2(LOG2E * (scores[i] - highest_R)))
        total_R += weights[i]
    p = ()
    for i in tl.static_range(S):
        p = with_last(p, weights[i] * (1.0 / total_R))
    return p, scores, scales


@kernel(do_not_specialize=["programs", "N", "out_eps"])
def mix_backward_kernel(
    sources, arriving, dsources, query_ptr, norm_weight_ptr, out_weight_ptr, stats_ptr, dx_ptr, partials_ptr,
    programs, N, out_eps,
    S: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, HELD: tl.constexpr,
):  # fmt: skip
    """`arriving` has None where no other gradient is to be added. `partials` is [2, programs, D]: dw̃ and dg."""
    program = tl.program_id(0)
    dfolded_RD = tl.zeros([ROWS, WIDTH], tl.float32)
    dout_RD = tl.zeros([ROWS, WIDTH], tl.float32)
    if S > 1:
        folded_D = load_weight(query_ptr, D, WIDTH) * load_weight(norm_weight_ptr, D, WIDTH)
    if out_weight_ptr is not None:
        out_weight_D = load_weight(out_weight_ptr, D, WIDTH)
    for block in range(program, tl.cdiv(N, ROWS), programs):
        row_R, place_RD, inside_RD = row_block(block, N, D, WIDTH, ROWS)
        held = ()
        if HELD:
            for i in tl.static_range(S):
                held = with_last(held, tl.load(sources[i] + place_RD, mask=inside_RD, other=0.0))
        dh_RD = tl.load(dx_ptr + place_RD, mask=inside_RD, other=0.0).to(tl.float32)
        if S > 1:
            p, scores, scales = probabilities(stats_ptr, row_R, N, S)
        if out_weight_ptr is not None:
            for i in tl.static_range(S):
                v_RD = source(sources, held, i, place_RD, inside_RD, "evict_last", HELD)
                if S == 1:
                    h_RD = v_RD
                elif i == 0:
                    h_RD = p[i][:, None] * v_RD
                else:
                    h_RD += p[i][:, None] * v_RD
            pulled_RD = dh_RD * out_weight_D[None, :]
            square_R, product_R = two_sums(h_RD * h_RD, pulled_RD * h_RD)
            norm_R = tl.rsqrt(square_R * (1.0 / D) + out_eps)
            dout_RD += dh_RD * (h_RD * norm_R[:, None])
            back_R = norm_R * norm_R * product_R * (1.0 / D)
            dh_RD = norm_R[:, None] * (pulled_RD - back_R[:, None] * h_RD)
        arrived = ()
        for i in tl.static_range(S):
            if arriving[i] is not None:
                arrived = with_last(arrived, tl.load(arriving[i] + place_RD, mask=inside_RD, other=0.0))
            else:
                arrived = with_last(arrived, 0.0)
        if S > 1:
            agreements = ()
            mean_R = tl.zeros([ROWS], tl.float32)
            for i in tl.static_range(S):
                v_RD = source(sources, held, i, place_RD, inside_RD, "", HELD)
                agreements = with_last(agreements, tl.sum(dh_RD * v_RD, 1))
                mean_R += p[i] * agreements[i]
        for i in tl.static_range(S):
            dv_RD = dh_RD
            if S > 1:
                v_RD = source(sources, held, i, place_RD, inside_RD, "evict_first", HELD)
                weight_R = p[i] * (agreements[i] - mean_R) * scales[i]  # ds · r
                back_R = weight_R * scales[i] * scores[i] * (1.0 / D)
                dv_RD = p[i][:, None] * dh_RD + weight_R[:, None] * folded_D[None, :] - back_R[:, None] * v_RD
                dfolded_RD += weight_R[:, None] * v_RD
            if arriving[i] is not None:
                dv_RD += arrived[i].to(tl.float32)
            tl.store(dsources[i] + place_RD, dv_RD.to(dsources[i].dtype.element_ty), mask=inside_RD)
    channel_D = tl.arange(0, WIDTH)
    partials_ptr += program * D + channel_D
    tl.store(partials_ptr, tl.sum(dfolded_RD, 0), mask=channel_D < D)
    tl.store(partials_ptr + programs * D, tl.sum(dout_RD, 0), mask=channel_D < D)
