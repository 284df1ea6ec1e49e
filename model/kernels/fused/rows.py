"""What kernels over whole rows share: which rows a program has, weights of channels, sums over them.

Letters: N rows, D channels of a row, R rows of a program's block.
"""

import triton
import triton.language as tl


@triton.jit
def row_block(block, N, D: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    """The rows of a block, where their channels lie, and which of these exist."""
    row_R = block * ROWS + tl.arange(0, ROWS)
    channel_D = tl.arange(0, WIDTH)
    inside_RD = (row_R < N)[:, None]
    if D != WIDTH:
        inside_RD = inside_RD & (channel_D < D)[None, :]
    row_R = row_R.to(tl.int64)
    return row_R, row_R[:, None] * D + channel_D[None, :], inside_RD


@triton.jit
def load_weight(weight_ptr, D: tl.constexpr, WIDTH: tl.constexpr):
    channel_D = tl.arange(0, WIDTH)
    return tl.load(weight_ptr + channel_D, mask=channel_D < D, other=0.0).to(tl.float32)


@triton.jit
def two_sums(a_RD, b_RD):
    """Over the channels of each row; both at once, as threads have to meet for it."""
    return tl.split(tl.sum(tl.join(a_RD, b_RD), 1))


@triton.jit
def with_last(values, last):
    """A tuple with one more."""
    return values + (last,)  # noqa: RUF005 (no stars in a kernel)
