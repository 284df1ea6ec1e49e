"""The kernels of `conv_silu`: a depthwise causal convolution over four tokens, then SiLU; several inputs in one launch.

    z_n = Σ_s w_s ⊙ x_{n−s} for s = 0 … 3 with place_n ≥ s;             y_n = z_n σ(z_n)
    dx_n = Σ_s w_s ⊙ dz_{n+s} with place_{n+s} ≥ s;                     dz_n = dy_n σ(z_n) (1 + z_n (1 − σ(z_n)))
    dw_s = Σ_n dz_n ⊙ x_{n−s} with place_n ≥ s

The place of a token is its number in its document: no product crosses into another. w_s is element 3 − s of the
weight. Kept for the backward pass is x alone: z is found again.

Forward, a program has a tile of tokens and channels and loads the four shifted tiles; all but one come from the cache.
Backward, a program walks over the tokens of a segment, with the last three x and the unfinished dx of the last three
tokens in registers, so that z and its special functions are found once; it begins three tokens early for x and goes on
for three more, whose dz it needs. Four steps are taken at a time, to have their loads on the way together. Products are
added by `fma`, so that a token's bits do not depend on where its segment begins.

Bytes a number in bf16: 2 read and 2 written forward; 4 read and 2 written backward, and 6 in 64 of the reads again.

Letters: N tokens, P channels, C channels of a program, R tokens of a forward tile.
"""

import triton
import triton.language as tl

from ..functions import sigmoid
from ..jit import kernel

STEPS = tl.constexpr(4)


@triton.jit
def weight_of(weight_ptr, shift: tl.constexpr, channel_C, P: tl.constexpr):
    return tl.load(weight_ptr + channel_C * 4 + (3 - shift), mask=channel_C < P, other=0.0).to(tl.float32)


@triton.jit
def conv_tile(
    x_ptr, weight_ptr, places_ptr, y_ptr, N, P: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr
):  # fmt: skip
    row_R = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    channel_C = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    place_R = tl.load(places_ptr + row_R, mask=row_R < N, other=-1)
    row_R = row_R.to(tl.int64)
    z_RC = tl.zeros([ROWS, WIDTH], tl.float32)
    for shift in tl.static_range(4):
        inside_RC = ((place_R >= shift) & (row_R >= shift))[:, None]
        if P % WIDTH != 0:
            inside_RC = inside_RC & (channel_C < P)[None, :]
        x_RC = tl.load(x_ptr + (row_R - shift)[:, None] * P + channel_C[None, :], mask=inside_RC, other=0.0)
        weight_RC = tl.broadcast_to(weight_of(weight_ptr, shift, channel_C, P)[None, :], [ROWS, WIDTH])
        z_RC = tl.fma(x_RC.to(tl.float32), weight_RC, z_RC)
    inside_RC = (row_R < N)[:, None] & (channel_C < P)[None, :]
    y_RC = z_RC * sigmoid(z_RC)
    tl.store(y_ptr + row_R[:, None] * P + channel_C[None, :], y_RC.to(y_ptr.dtype.element_ty), mask=inside_RC)


@kernel(do_not_specialize=["N"])
def conv_kernel(
    inputs, weights, places_ptr, outputs, N,
    STREAMS: tl.constexpr, P: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    for stream in tl.static_range(STREAMS):
        if tl.program_id(2) == stream:
            conv_tile(inputs[stream], weights[stream], places_ptr, outputs[stream], N, P, WIDTH, ROWS)


@triton.jit
def load_token(x_ptr, row, channel_C, wanted, P: tl.constexpr):
    """[C] of a token in fp32, zeros where it is not wanted."""
    return tl.load(x_ptr + row * P + channel_C, mask=wanted & (channel_C < P), other=0.0).to(tl.float32)


@triton.jit
def conv_backward_walk(
    x_ptr, weight_ptr, places_ptr, dy_ptr, dx_ptr, partials_ptr, N, programs,
    P: tl.constexpr, WIDTH: tl.constexpr, SEGMENT: tl.constexpr,
):  # fmt: skip
    channel_C = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    w0, w1 = weight_of(weight_ptr, 0, channel_C, P), weight_of(weight_ptr, 1, channel_C, P)
    w2, w3 = weight_of(weight_ptr, 2, channel_C, P), weight_of(weight_ptr, 3, channel_C, P)
    dw0 = tl.zeros([WIDTH], tl.float32)
    dw1, dw2, dw3 = dw0, dw0, dw0
    for segment in range(tl.program_id(0), tl.cdiv(N, SEGMENT), programs):
        start = tl.cast(segment, tl.int64) * SEGMENT
        end = tl.minimum(start + SEGMENT, N)
        x1 = load_token(x_ptr, start - 1, channel_C, start >= 1, P)
        x2 = load_token(x_ptr, start - 2, channel_C, start >= 2, P)
        x3 = load_token(x_ptr, start - 3, channel_C, start >= 3, P)
        d1 = tl.zeros([WIDTH], tl.float32)  # dx of the last three tokens, as far as it is known
        d2, d3 = d1, d1
        for begin in range(start, start + SEGMENT + STEPS, STEPS):
            places = tl.tuple(())
            tokens = tl.tuple(())
            gradients = tl.tuple(())
            for step in tl.static_range(STEPS):
                there = begin + step < N
                places = places + (tl.load(places_ptr + begin + step, mask=there, other=0),)  # noqa: RUF005
                tokens = tokens + (load_token(x_ptr, begin + step, channel_C, there, P),)  # noqa: RUF005
                gradients = gradients + (load_token(dy_ptr, begin + step, channel_C, there, P),)  # noqa: RUF005
            for step in tl.static_range(STEPS):
                row = begin + step
                place, x0, dy = places[step], tokens[step], gradients[step]
                from1, from2, from3 = (
                    tl.where(place < 1, 0.0, x1),
                    tl.where(place < 2, 0.0, x2),
                    tl.where(place < 3, 0.0, x3),
                )
                z = tl.fma(w3, from3, tl.fma(w2, from2, tl.fma(w1, from1, w0 * x0)))
                open_ = sigmoid(z)
                dz = dy * (open_ * tl.fma(z, 1.0 - open_, 1.0))
                d3 = tl.fma(w3, tl.where(place < 3, 0.0, dz), d3)
                done = (row - 3 >= start) & (row - 3 < end)
                tl.store(
                    dx_ptr + (row - 3) * P + channel_C, d3.to(dx_ptr.dtype.element_ty), mask=done & (channel_C < P)
                )
                d3, d2, d1 = (
                    tl.fma(w2, tl.where(place < 2, 0.0, dz), d2),
                    tl.fma(w1, tl.where(place < 1, 0.0, dz), d1),
                    w0 * dz,
                )
                own = tl.where(row >= end, 0.0, dz)
                dw0, dw1 = tl.fma(own, x0, dw0), tl.fma(own, from1, dw1)
                dw2, dw3 = tl.fma(own, from2, dw2), tl.fma(own, from3, dw3)
                x3, x2, x1 = x2, x1, x0
    partials_ptr += tl.program_id(0) * (P * 4) + channel_C * 4
    tl.store(partials_ptr + 3, dw0, mask=channel_C < P)
    tl.store(partials_ptr + 2, dw1, mask=channel_C < P)
    tl.store(partials_ptr + 1, dw2, mask=channel_C < P)
    tl.store(partials_ptr, dw3, mask=channel_C < P)


@kernel(do_not_specialize=["N", "programs"])
def conv_backward_kernel(
    inputs, weights, places_ptr, doutputs, dinputs, partials_ptr, N, programs,
    STREAMS: tl.constexpr, P: tl.constexpr, WIDTH: tl.constexpr, SEGMENT: tl.constexpr,
):  # fmt: skip
    """`partials` is [STREAMS, programs, P, 4]. `programs` is the first side of the grid."""
    for stream in tl.static_range(STREAMS):
        if tl.program_id(2) == stream:
            conv_backward_walk(
                inputs[stream], weights[stream], places_ptr, doutputs[stream], dinputs[stream],
                partials_ptr + stream * programs.to(tl.int64) * (P * 4), N, programs, P, WIDTH, SEGMENT,
            )  # fmt: skip
