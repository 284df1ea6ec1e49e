"""Cross-entropy of a slice of logits: two passes over them, where PyTorch's operators take about eight.

A program has one token. It goes over the logits once for their maximum and the sum of exponentials, and once more for
the gradient, which it writes rounded: what the products with hidden states and head want. Nothing is written in place.

Bytes of a logit: 8 read and 2 written. Letters: C tokens of a slice, V words, X a block of words.
"""

from __future__ import annotations

import torch
import triton.language as tl
from torch import Tensor

from ..custom_op import custom_op
from .checks import on_gpu
from .functions import LOG2E
from .jit import kernel

_BLOCK = 4096
_WARPS = 8


@kernel(do_not_specialize=["V", "z"])
def loss_kernel(
    logits_ptr, words_ptr, weights_ptr, losses_ptr, lse_ptr, gradient_ptr,
    V, z,
    BLOCK: tl.constexpr, GRADIENT: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0).to(tl.int64)
    logits_ptr += token * V
    gradient_ptr += token * V
    word = tl.load(words_ptr + token)
    weight = tl.load(weights_ptr + token)
    within_X = tl.arange(0, BLOCK)
    # Of each lane of a block; lanes are joined once, at the end.
    maximum_X = tl.full([BLOCK], -float("inf"), tl.float32)
    sum_X = tl.zeros([BLOCK], tl.float32)
    for start in range(0, V, BLOCK):
        logit_X = tl.load(logits_ptr + start + within_X, mask=start + within_X < V, other=-float("inf"))
        higher_X = tl.maximum(maximum_X, logit_X)
        # A lane past the last word has seen nothing yet: its sum stays 0.
        seen_X = tl.where(higher_X > -float("inf"), higher_X, 0.0)
        sum_X = sum_X * tl.exp2(LOG2E * (maximum_X - seen_X)) + tl.exp2(LOG2E * (logit_X - seen_X))
        maximum_X = higher_X
    maximum = tl.max(maximum_X, 0)
    lse = maximum + tl.log(tl.sum(sum_X * tl.exp2(LOG2E * (maximum_X - maximum)), 0))
    tl.store(losses_ptr + token, lse - tl.load(logits_ptr + word))
    tl.store(lse_ptr + token, lse)
    if GRADIENT:
        scale = weight * (1 + 2 * z * lse)
        for start in range(0, V, BLOCK):
            word_X = start + within_X
            logit_X = tl.load(logits_ptr + word_X, mask=word_X < V, other=-float("inf"))
            gradient_X = scale * tl.exp2(LOG2E * (logit_X - lse)) - tl.where(word_X == word, weight, 0.0)
            tl.store(gradient_ptr + word_X, gradient_X.to(gradient_ptr.dtype.element_ty), mask=word_X < V)


def of_chunk(
    logits_CV: Tensor, words_C1: Tensor, weights_C1: Tensor, z: float, dtype: torch.dtype | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """What `model.loss.of_chunk` gives, for fp32 logits; they stay as they are.

    Raises ValueError for logits that are not fp32, and without a GPU (unless TRITON_INTERPRET=1).
    """
    if logits_CV.dtype != torch.float32:
        raise ValueError(f"the kernel takes fp32 logits, not {logits_CV.dtype}")
    losses_C, lse_C, dlogits_CV = _losses(
        logits_CV.contiguous(), words_C1.flatten(), weights_C1.flatten(), z, dtype or torch.float32, dtype is not None
    )
    weights_C = weights_C1.flatten()
    sums_2 = torch.stack([(weights_C * losses_C).sum(), z * (weights_C * lse_C.square()).sum()])
    return losses_C, sums_2, None if dtype is None else dlogits_CV


@custom_op("k3data::cross_entropy_of_chunk")
def _losses(
    logits_CV: Tensor, words_C: Tensor, weights_C: Tensor, z: float, dtype: torch.dtype, gradient: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Losses, log of the sum of exponentials, and the gradient of the logits (else empty)."""
    on_gpu(logits_CV)
    C, V = logits_CV.shape
    losses_C, lse_C, dlogits_CV = _shapes(logits_CV, words_C, weights_C, z, dtype, gradient)
    if C:
        loss_kernel[(C,)](
            logits_CV, words_C, weights_C, losses_C, lse_C, dlogits_CV, V, z, _BLOCK, gradient, num_warps=_WARPS
        )
    return losses_C, lse_C, dlogits_CV


@_losses.register_fake
def _shapes(
    logits_CV: Tensor, words_C: Tensor, weights_C: Tensor, z: float, dtype: torch.dtype, gradient: bool
) -> tuple[Tensor, Tensor, Tensor]:
    losses_C, lse_C = (torch.empty_like(weights_C) for _ in range(2))
    return losses_C, lse_C, logits_CV.new_empty(logits_CV.shape if gradient else 0, dtype=dtype)
