"""The rows of a token added up in the order of its experts, in fp32, and the norm that follows, both ways.

    u = Σ_j row[place_j]        y = u / √(mean u² + eps) · w
    with s = 1/√(mean u² + eps), û = s u:      du = s (w dy − û mean(û w dy))      dw = Σ_n û dy

Kept for the backward pass are s and u, u in the dtype of y: dy and du are rounded as finely, and it is only in the part
of du along û that it counts. y is made before u is rounded.

A program has a few tokens and all latent columns, WIDTH of them with those that are not there: the sums over a token
stay in it. It gathers whole rows and adds them in a fixed order, so nothing is added into memory by two programs.

Bytes a token in bf16: combine and dz K·2L read, 4 L (2 L) written; norm back 6 L.

Letters: N tokens, T tokens of a program, K experts of a token, L latent width (WIDTH in registers), B blocks of inner
columns that each have a part of the weights' gradients.
"""

import triton
import triton.language as tl

from ..jit import kernel


@triton.jit
def sum_of_rows(rows_ptr, places_ptr, token_T, is_token_T, L: tl.constexpr, WIDTH: tl.constexpr, TOP_K: tl.constexpr):
    """Σ_j row[place_j] of each token, [T, WIDTH] in fp32, zero where there is nothing."""
    latent_L = tl.arange(0, WIDTH)
    is_place_TL = is_token_T[:, None] & (latent_L < L)[None, :]
    sum_TL = tl.zeros([token_T.shape[0], WIDTH], tl.float32)
    for j in tl.static_range(TOP_K):
        place_T = tl.load(places_ptr + token_T * TOP_K + j, mask=is_token_T, other=0).to(tl.int64)
        row_TL = tl.load(rows_ptr + place_T[:, None] * L + latent_L[None, :], mask=is_place_TL, other=0.0)
        sum_TL += row_TL.to(tl.float32)
    return sum_TL


@kernel(do_not_specialize=["N", "eps"])
def combine_kernel(
    rows_ptr, places_ptr, norm_weight_ptr, y_ptr, u_ptr, inverse_ptr,
    N, eps,
    L: tl.constexpr, WIDTH: tl.constexpr, TOP_K: tl.constexpr, TOKENS: tl.constexpr, TRAINING: tl.constexpr,
):  # fmt: skip
    token_T = tl.program_id(0).to(tl.int64) * TOKENS + tl.arange(0, TOKENS)
    is_token_T = token_T < N
    latent_L = tl.arange(0, WIDTH)
    u_TL = sum_of_rows(rows_ptr, places_ptr, token_T, is_token_T, L, WIDTH, TOP_K)
    inverse_T = tl.rsqrt(tl.sum(u_TL * u_TL, 1) / L + eps)
    weight_L = tl.load(norm_weight_ptr + latent_L, mask=latent_L < L, other=0.0).to(tl.float32)
    y_TL = u_TL * inverse_T[:, None] * weight_L[None, :]
    place_TL = token_T[:, None] * L + latent_L[None, :]
    is_place_TL = is_token_T[:, None] & (latent_L < L)[None, :]
    tl.store(y_ptr + place_TL, y_TL.to(y_ptr.dtype.element_ty), mask=is_place_TL)
    if TRAINING:
        tl.store(u_ptr + place_TL, u_TL.to(u_ptr.dtype.element_ty), mask=is_place_TL)
        tl.store(inverse_ptr + token_T, inverse_T, mask=is_token_T)


@kernel(do_not_specialize=["N", "steps"])
def norm_back_kernel(
    dy_ptr, u_ptr, inverse_ptr, norm_weight_ptr, du_ptr, parts_ptr,
    N, steps,
    L: tl.constexpr, WIDTH: tl.constexpr, TOKENS: tl.constexpr,
):  # fmt: skip
    """`steps` times TOKENS tokens: their du, and a row of `parts`, what they add to the gradient of the weight."""
    latent_L = tl.arange(0, WIDTH)
    weight_L = tl.load(norm_weight_ptr + latent_L, mask=latent_L < L, other=0.0).to(tl.float32)
    dweight_TL = tl.zeros([TOKENS, WIDTH], tl.float32)
    first = tl.program_id(0).to(tl.int64) * (steps * TOKENS)
    for step in range(steps):
        token_T = first + step * TOKENS + tl.arange(0, TOKENS)
        is_token_T = token_T < N
        place_TL = token_T[:, None] * L + latent_L[None, :]
        is_place_TL = is_token_T[:, None] & (latent_L < L)[None, :]
        dy_TL = tl.load(dy_ptr + place_TL, mask=is_place_TL, other=0.0).to(tl.float32)
        u_TL = tl.load(u_ptr + place_TL, mask=is_place_TL, other=0.0).to(tl.float32)
        inverse_T = tl.load(inverse_ptr + token_T, mask=is_token_T, other=0.0)
        normed_TL = u_TL * inverse_T[:, None]
        weighed_TL = dy_TL * weight_L[None, :]
        along_T = tl.sum(weighed_TL * normed_TL, 1) / L
        du_TL = inverse_T[:, None] * (weighed_TL - normed_TL * along_T[:, None])
        tl.store(du_ptr + place_TL, du_TL.to(du_ptr.dtype.element_ty), mask=is_place_TL)
        dweight_TL += normed_TL * dy_TL
    part_ptrs = parts_ptr + tl.program_id(0).to(tl.int64) * L + latent_L
    tl.store(part_ptrs, tl.sum(dweight_TL, 0), mask=latent_L < L)


@kernel(do_not_specialize=["N"])
def scatter_back_kernel(
    rows_ptr, places_ptr, dweight_parts_ptr, dz_ptr, dweights_ptr,
    N,
    L: tl.constexpr, WIDTH: tl.constexpr, TOP_K: tl.constexpr, TOKENS: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """dz of a token from its rows, and the gradients of its weights from their parts, which lie [B, N, K]."""
    token_T = tl.program_id(0).to(tl.int64) * TOKENS + tl.arange(0, TOKENS)
    is_token_T = token_T < N
    latent_L = tl.arange(0, WIDTH)
    dz_TL = sum_of_rows(rows_ptr, places_ptr, token_T, is_token_T, L, WIDTH, TOP_K)
    is_place_TL = is_token_T[:, None] & (latent_L < L)[None, :]
    dz_ptrs = dz_ptr + token_T[:, None] * L + latent_L[None, :]
    tl.store(dz_ptrs, dz_TL.to(dz_ptr.dtype.element_ty), mask=is_place_TL)
    for j in tl.static_range(TOP_K):
        place_T = token_T * TOP_K + j
        dweight_T = tl.zeros([TOKENS], tl.float32)
        for part in tl.static_range(PARTS):
            of_part_ptr = dweight_parts_ptr + tl.cast(N, tl.int64) * (TOP_K * part)
            dweight_T += tl.load(of_part_ptr + place_T, mask=is_token_T, other=0.0)
        tl.store(dweights_ptr + place_T, dweight_T, mask=is_token_T)
