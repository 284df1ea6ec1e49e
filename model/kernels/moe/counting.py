"""What quantile balancing counts, in place: how often r = α − s falls into each bin of each expert, and the load.

    bin = (r − low) / width, cut to a whole number in [0, B);  low = min b − 1;  width = (max b + 1 − low) / B

as in `model.quantile_balancing`, operation for operation, with no [N, E] tensor of bins. One program has TOKENS tokens
and four neighbouring experts, which lie in 16 bytes of a row of logits. Triton has no sums into shared memory; its
histogram of 2^n bins takes, for 32 numbers, n votes and a count of bits for every 32 bins. So it is made of WINDOW bins
from the lowest bin of the tokens on, then from the lowest of those that are left, as long as there are some: once for
most experts. What is found is added to the counts by integer atomics, one a bin that is not empty: the order of sums
does not matter.

Bytes: 4 N E for logits, and 16 for each bin of each expert that occurs, N / TOKENS times. Instructions for 32 numbers:
about 105, of them 60 for a window of 256.

Letters: N tokens, E experts, K experts of a token, M = N·K, B bins, T tokens and R entries of a program, W bins of
a window.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from ...custom_op import custom_op
from ..checks import on_gpu
from ..jit import kernel
from ..launch import cdiv, next_power_of_2
from .selection import scores

ABSENT = tl.constexpr(1 << 30)
"""The bin of a token that is not counted."""

TOKENS = 2048
WINDOW = 256
ROUTES = 4096  # entries of `experts` that a program adds to the load
HISTOGRAM_OPTIONS = {"num_warps": 4, "enable_fp_fusion": False}
LOAD_OPTIONS = {"num_warps": 4}


def settings(E: int, B: int, K: int) -> dict[str, int]:
    """Constants of both kernels."""
    size = max(32, next_power_of_2(E))
    return {"E": E, "B": B, "K": K, "SIZE": size, "T": TOKENS, "W": WINDOW, "R": ROUTES}


@kernel(do_not_specialize=["N"])
def histogram_kernel(
    histogram_ptr, logits_ptr, bias_ptr, thresholds_ptr, counted_ptr,
    N,
    E: tl.constexpr, B: tl.constexpr, SIZE: tl.constexpr, T: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """T tokens and four experts; programs of the same tokens are neighbours."""
    FOURS: tl.constexpr = (E + 3) // 4
    program = tl.program_id(0)
    expert_E = tl.arange(0, SIZE)
    bias_E = tl.load(bias_ptr + expert_E, mask=expert_E < E, other=float("inf"))
    low = tl.min(bias_E, 0) - 1.0
    high = tl.max(tl.where(expert_E < E, bias_E, float("-inf")), 0) + 1.0
    width = tl.div_rn(high - low, tl.cast(B, tl.float32))

    token_T = (program // FOURS).to(tl.int64) * T + tl.arange(0, T)
    counted_T = tl.load(counted_ptr + token_T, mask=token_T < N, other=0) != 0
    threshold_T = tl.load(thresholds_ptr + token_T, mask=counted_T, other=0.0)
    first = (program % FOURS) * 4
    expert_4 = first + tl.arange(0, 4)
    real_T4 = counted_T[:, None] & (expert_4 < E)[None, :]
    score_T4 = scores(logits_ptr, token_T[:, None] * E + expert_4[None, :], real_T4)
    from_low_T4 = (threshold_T[:, None] - score_T4) - low
    bin_T4 = tl.div_rn(from_low_T4, tl.zeros_like(from_low_T4) + width).to(tl.int32)
    bin_T4 = tl.where(real_T4, tl.minimum(tl.maximum(bin_T4, 0), B - 1), ABSENT)

    even_T2, odd_T2 = tl.split(tl.reshape(bin_T4, [T, 2, 2]))
    bin0_T, bin2_T = tl.split(even_T2)
    bin1_T, bin3_T = tl.split(odd_T2)
    histogram_ptr += first.to(tl.int64) * B
    add_bins(histogram_ptr, bin0_T, W)
    add_bins(histogram_ptr + B, bin1_T, W)
    add_bins(histogram_ptr + 2 * B, bin2_T, W)
    add_bins(histogram_ptr + 3 * B, bin3_T, W)


@triton.jit
def add_bins(histogram_ptr, bin_T, W: tl.constexpr):
    """Adds one expert's tokens to its counts, a window of bins at a time."""
    start = tl.min(bin_T, 0)
    while start < ABSENT:
        inside_T = bin_T - start < W
        found_W = tl.histogram(tl.where(inside_T, bin_T - start, 0), W, mask=inside_T)
        add_found(histogram_ptr + start, found_W)
        bin_T = tl.where(inside_T, ABSENT, bin_T)
        start = tl.min(bin_T, 0)


@triton.jit
def add_found(counts_ptr, found_W):
    place_W = tl.arange(0, found_W.shape[0])
    tl.atomic_add(counts_ptr + place_W, found_W.to(tl.int64), mask=found_W > 0, sem="relaxed")


@kernel(do_not_specialize=["M"])
def load_kernel(
    load_ptr, experts_ptr, counted_ptr,
    M,
    K: tl.constexpr, SIZE: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """How many of R entries of `experts`, of counted tokens, are each expert's."""
    route = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    counted = tl.load(counted_ptr + route // K, mask=route < M, other=0) != 0
    expert = tl.load(experts_ptr + route, mask=counted, other=0)
    add_found(load_ptr, tl.histogram(expert, SIZE, mask=counted))


def count(
    histogram_EB: Tensor, load_E: Tensor, logits_NE: Tensor, bias_E: Tensor, thresholds_N: Tensor, experts_NK: Tensor,
    counted_N: Tensor,
) -> None:  # fmt: skip
    """Adds tokens to `histogram_EB` and `load_E` (int64, contiguous, in place), where `counted_N` (bool) is true.

    Logits, thresholds and experts (int32) are those of `route` or `choose` with this bias; of tokens that do not count
    they may be anything. Nothing here has a gradient. Raises ValueError for shapes and dtypes that do not fit, and
    without a GPU.
    """
    (N, E), B, K = logits_NE.shape, histogram_EB.shape[-1], experts_NK.shape[-1]
    for name, tensor, shape, dtype in (
        ("histogram", histogram_EB, (E, B), torch.int64), ("load", load_E, (E,), torch.int64),
        ("logits", logits_NE, (N, E), torch.float32), ("bias", bias_E, (E,), torch.float32),
        ("thresholds", thresholds_N, (N,), torch.float32), ("experts", experts_NK, (N, K), torch.int32),
        ("counted", counted_N, (N,), torch.bool),
    ):  # fmt: skip
        if tensor.shape != shape or tensor.dtype != dtype:
            raise ValueError(f"{name} must be {dtype} {list(shape)}, not {tensor.dtype} {list(tensor.shape)}")
    if not (histogram_EB.is_contiguous() and load_E.is_contiguous()):
        raise ValueError("the histogram and the load are changed in place, so they must be contiguous")
    inputs = (logits_NE.detach(), bias_E, thresholds_N, experts_NK, counted_N)
    _count(histogram_EB, load_E, *(tensor.contiguous() for tensor in inputs))


@custom_op("k3data::moe_count", mutates_args=("histogram", "load"))
def _count(
    histogram: Tensor, load: Tensor, logits: Tensor, bias: Tensor, thresholds: Tensor, experts: Tensor, counted: Tensor
) -> None:
    on_gpu(logits)
    (N, E), M = logits.shape, experts.numel()
    constants, flags = settings(E, histogram.shape[1], experts.shape[1]), counted.view(torch.uint8)
    histogram_kernel[(cdiv(N, TOKENS) * cdiv(E, 4),)](
        histogram, logits, bias, thresholds, flags, N,
        **{name: constants[name] for name in ("E", "B", "SIZE", "T", "W")}, **HISTOGRAM_OPTIONS,
    )  # fmt: skip
    load_kernel[(cdiv(M, ROUTES),)](
        load, experts, flags, M, **{name: constants[name] for name in ("K", "SIZE", "R")}, **LOAD_OPTIONS
    )


@_count.register_fake
def _(*_tensors: Tensor) -> None:
    return None
