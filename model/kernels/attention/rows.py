"""What the kernels of both directions share: how tiles and rows are loaded and multiplied.

Rows of queries and keys are held in two parts whose widths are powers of two: 192 channels are 128 and 64. A part may
be wider than what is left for it, and then has zeros at its end: no part is narrower than 64, as Triton 3.6 has made
products of 32 columns that read past the end of shared memory.

Strides are in units of 8 numbers, which tells the compiler that rows of bf16 are aligned to 16 bytes.
"""

import triton
import triton.language as tl

UNIT = tl.constexpr(8)


@triton.jit
def tile_of(tiles_ptr):
    """The first token of the program's tile; start and end of its group."""
    tiles_ptr += 4 * tl.program_id(0)
    return tl.load(tiles_ptr), tl.load(tiles_ptr + 1), tl.load(tiles_ptr + 2)


@triton.jit
def keys_of(first, start, end, R: tl.constexpr, C: tl.constexpr, CAUSAL: tl.constexpr):
    """For a tile of R queries, keys C at a time: where those begin that not every query sees or that may reach over the
    end of the group, and where they end. Those from `start` on are seen by all."""
    if CAUSAL:
        seen_by_all, last = first, tl.minimum(first + R, end)
    else:
        seen_by_all, last = end, end
    return start + (seen_by_all - start) // C * C, last


@triton.jit
def head_of(x_ptr, stride):
    """Where the program's head begins; `stride` as given, in units."""
    return x_ptr + tl.program_id(1).to(tl.int64) * (tl.cast(stride, tl.int64) * UNIT)


@triton.jit
def load_rows(
    x_ptr, stride, begin, end, ROWS: tl.constexpr, OFFSET: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr,
    INSIDE: tl.constexpr,
):  # fmt: skip
    """[ROWS, WIDTH], channels from OFFSET on of the tokens from `begin` on. What lies at `end` or after it (unless all
    are INSIDE), and channels from D on, are zeros and not read."""
    row = tl.arange(0, ROWS)
    channel = OFFSET + tl.arange(0, WIDTH)
    x_ptr += tl.cast(begin, tl.int64) * (tl.cast(stride, tl.int64) * UNIT)
    place = row[:, None] * (stride * UNIT) + channel[None, :]
    if INSIDE and OFFSET + WIDTH <= D:
        return tl.load(x_ptr + place)
    if INSIDE:
        mask = tl.broadcast_to((channel < D)[None, :], [ROWS, WIDTH])
    else:
        mask = tl.broadcast_to((begin + row < end)[:, None], [ROWS, WIDTH])
        if OFFSET + WIDTH > D:
            mask = mask & (channel < D)[None, :]
    return tl.load(x_ptr + place, mask=mask, other=0.0)


@triton.jit
def load_parts(
    x_ptr, stride, begin, end, ROWS: tl.constexpr, D: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr,
    INSIDE: tl.constexpr,
):  # fmt: skip
    """Both parts of rows; the first one twice where there is no second."""
    first = load_rows(x_ptr, stride, begin, end, ROWS, 0, FIRST, D, INSIDE)
    second = first
    if SECOND > 0:
        second = load_rows(x_ptr, stride, begin, end, ROWS, FIRST, SECOND, D, INSIDE)
    return first, second


@triton.jit
def store_rows(x_ptr, stride, x, begin, end, ROWS: tl.constexpr, OFFSET: tl.constexpr, D: tl.constexpr):
    """What `load_rows` would load, of the dtype that it is kept in."""
    row = tl.arange(0, ROWS)
    channel = OFFSET + tl.arange(0, x.shape[1])
    x_ptr += begin.to(tl.int64) * (tl.cast(stride, tl.int64) * UNIT)
    mask = (begin + row < end)[:, None] & (channel < D)[None, :]
    place = row[:, None] * (stride * UNIT) + channel[None, :]
    tl.store(x_ptr + place, x.to(x_ptr.dtype.element_ty), mask=mask)


@triton.jit
def add_product(total, left, right):
    """total + left right, the left one rounded to the right one's dtype, the sum in fp32."""
    return tl.dot(left.to(right.dtype), right, total, input_precision="ieee")


@triton.jit
def cross_products(left_1, left_2, right_1, right_2, SECOND: tl.constexpr):
    """Of rows with rows, over all their channels."""
    found = tl.dot(left_1, tl.trans(right_1), input_precision="ieee")
    if SECOND > 0:
        found = tl.dot(left_2, tl.trans(right_2), found, input_precision="ieee")
    return found


@triton.jit
def seen(query_R, begin, end, C: tl.constexpr, CAUSAL: tl.constexpr):
    """Which of the C keys from `begin` on a query sees, [R, C]: not those after it, or all of its group."""
    key_C = begin + tl.arange(0, C)
    return (
        key_C[None, :] <= query_R[:, None] if CAUSAL else tl.broadcast_to((key_C < end)[None, :], [query_R.shape[0], C])
    )
