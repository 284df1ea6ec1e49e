"""Functions of numbers that kernels of several packages call."""

import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def sigmoid(x):
    """The square of a reciprocal root is two instructions; a division is ten."""
    root = tl.rsqrt(1.0 + tl.exp2(-LOG2E * x))
    return root * root
