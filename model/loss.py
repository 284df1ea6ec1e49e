"""Next-token cross-entropy straight from the hidden states, a slice of tokens at a time.

The logits of 8,192 tokens over 163,840 words are 5.4 GB in fp32, and softmax, gradient and copies as much again. Here
they exist for `chunk_size` tokens at once: each slice makes its logits, its loss, and at once the gradients of the
hidden states and of the head. So backward only scales what forward kept.

Tokens of weight 0 (prompts, the places of pictures, padding, what lies across a group's end) cost nothing: they are
taken out first. Words past `vocab_size` (rows of the head that only fill up its shape) take no part.

    total = Σ_t w_t (lse_t − logit_t,target + z · lse_t²),  lse = log Σ e^logit

Letters: T tokens, N of them with a weight, C of these in a slice, D model width, V words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .kda.inputs import compute_dtype, to_device


def slice_tokens(words: int, device: torch.device) -> int:
    """Tokens of a slice unless given: on a GPU so many that their logits take 512 MiB, since every slice reads and
    writes the gradient of the whole head; at least 1,024."""
    return max(1024, 2**27 // words) if device.type == "cuda" else 1024


class TokenLoss(NamedTuple):
    """Sums over tokens in fp32 (fp64 for fp64), scalars but for the last; divide by `weight` for means."""

    total: Tensor
    """Cross-entropy and z-loss; gradients flow through this one alone."""
    cross_entropy: Tensor
    z_loss: Tensor
    weight: Tensor
    per_token_T: Tensor
    """Cross-entropy of each token, not weighed; 0 where the weight is 0."""


class Targets(NamedTuple):
    """The words to predict, of the tokens that have a weight alone; N of them. Made where targets and weights lie."""

    tokens: int
    at_N: Tensor
    """Which tokens, int64, ascending."""
    words_N: Tensor
    weights_N: Tensor

    @staticmethod
    def of(targets_T: Tensor, weights_T: Tensor, vocab_size: int) -> Targets:
        """Waits for a GPU, if they lie there. Raises ValueError as `chunked_cross_entropy` does."""
        if targets_T.shape != weights_T.shape:
            raise ValueError(f"targets are {list(targets_T.shape)}, but weights {list(weights_T.shape)}")
        if not (weights_T.isfinite() & (weights_T >= 0)).all():
            raise ValueError("weights must be finite and not below 0")
        at_N = weights_T.nonzero().squeeze(1)
        words_N = targets_T[at_N].long()
        wrong = (words_N < 0) | (words_N >= vocab_size)
        if wrong.any():
            first = int(wrong.nonzero()[0])
            word = f"the target at {int(at_N[first])} is {int(words_N[first])}"
            raise ValueError(f"{word}, but words are 0 to {vocab_size - 1}")
        return Targets(len(targets_T), at_N, words_N, weights_T[at_N])

    def to(self, device: torch.device) -> Targets:
        return Targets(self.tokens, *(to_device(part, device) for part in self[1:]))


def chunked_cross_entropy(
    hidden_TD: Tensor, head_VD: Tensor, targets_T: Tensor, weights_T: Tensor | None = None, *,
    vocab_size: int | None = None, z_loss: float = 0.0, chunk_size: int | None = None,
) -> TokenLoss:  # fmt: skip
    """The loss of `targets_T` (int64) under softmax(hidden · headᵀ); `hidden` and `head` have one dtype.

    Logits are fp32 sums of exact products, also in bf16. `weights_T` are 1 unless given; where one is 0 the target may
    be any number. Waits for a GPU, to check targets and weights, unless these lie on the CPU.
    Raises ValueError for shapes that do not fit, negative or non-finite weights, and a target that is no word.
    """
    if weights_T is None:
        weights_T = torch.ones(targets_T.shape)
    words = len(head_VD) if vocab_size is None else vocab_size
    if not 0 < words <= len(head_VD):
        raise ValueError(f"vocab_size is {words}, but the head has {len(head_VD)} rows")
    for name, per_token in (("targets", targets_T), ("weights", weights_T)):
        if per_token.shape != hidden_TD.shape[:1]:
            raise ValueError(f"{name} are {list(per_token.shape)}, but there are {len(hidden_TD)} tokens")
    targets = Targets.of(targets_T, weights_T.to(targets_T.device), words).to(hidden_TD.device)
    return cross_entropy(hidden_TD, head_VD, targets, vocab_size=words, z_loss=z_loss, chunk_size=chunk_size)


def cross_entropy(
    hidden_TD: Tensor, head_VD: Tensor, targets: Targets, *, vocab_size: int | None = None, z_loss: float = 0.0,
    chunk_size: int | None = None, of_chunk: OfChunk | None = None,
) -> TokenLoss:  # fmt: skip
    """The same for `targets` on the device of the hidden states; waits for nothing.

    `of_chunk` does what the function of that name here does: that one compiled, or a kernel.
    Raises ValueError for shapes that do not fit.
    """
    _check(hidden_TD, head_VD, targets)
    chunk_size = slice_tokens(len(head_VD), hidden_TD.device) if chunk_size is None else chunk_size
    if chunk_size < 1:
        raise ValueError(f"chunk_size is {chunk_size}, and must be at least 1")
    weights_N = targets.weights_N.to(compute_dtype(hidden_TD))
    settings = _Settings(
        words=len(head_VD) if vocab_size is None else vocab_size, z=z_loss, chunk_size=chunk_size,
        differentiate=torch.is_grad_enabled() and (hidden_TD.requires_grad or head_VD.requires_grad), of_chunk=of_chunk,
    )  # fmt: skip
    total, entropy, z, losses_N = _ChunkedLoss.apply(  # type: ignore[no-untyped-call]
        hidden_TD, head_VD, targets._replace(weights_N=weights_N), settings
    )
    per_token_T = losses_N.new_zeros(len(hidden_TD)).index_copy_(0, targets.at_N, losses_N)
    return TokenLoss(total, entropy, z, weights_N.sum(), per_token_T)


class _Settings(NamedTuple):
    words: int
    z: float
    chunk_size: int
    differentiate: bool
    of_chunk: OfChunk | None


class _ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden_TD: Tensor, head_VD: Tensor, targets: Targets, settings: _Settings
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        wide, size = compute_dtype(hidden_TD), settings.chunk_size
        words_VD = _operand(head_VD[: settings.words])
        differentiate = settings.differentiate
        dhidden_TD = torch.zeros_like(hidden_TD) if differentiate else None
        dhead_VD = torch.zeros(head_VD.shape, dtype=wide, device=head_VD.device) if differentiate else None
        sums_2 = torch.zeros(2, dtype=wide, device=hidden_TD.device)
        losses_N = torch.empty(len(targets.at_N), dtype=wide, device=hidden_TD.device)
        make = settings.of_chunk or of_chunk
        for start in range(0, len(targets.at_N), size):
            at_C, words_C, weights_C = (part[start : start + size] for part in targets[1:])
            chunk_CD = _operand(hidden_TD[at_C])
            logits_CV, dtype = _product(chunk_CD, words_VD.T), chunk_CD.dtype if differentiate else None
            losses_C, chunk_sums_2, dlogits_CV = make(
                logits_CV, words_C[:, None], weights_C[:, None], settings.z, dtype
            )
            losses_N[start : start + size] = losses_C
            sums_2 += chunk_sums_2
            if dlogits_CV is None or dhidden_TD is None or dhead_VD is None:
                continue
            dhidden_TD[at_C] = _product(dlogits_CV, words_VD).to(dhidden_TD.dtype)
            _add_product(dhead_VD[: settings.words], dlogits_CV.T, chunk_CD)
        ctx.gradients = dhidden_TD, None if dhead_VD is None else dhead_VD.to(head_VD.dtype)
        entropy, z_loss = sums_2.clone().unbind()
        ctx.mark_non_differentiable(entropy, z_loss, losses_N)
        return entropy + z_loss, entropy, z_loss, losses_N

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        dhidden_TD, dhead_VD = (None if kept is None else kept * gradients[0] for kept in ctx.gradients)
        return dhidden_TD, dhead_VD, None, None


def of_chunk(
    logits_CV: Tensor, words_C1: Tensor, weights_C1: Tensor, z: float, dtype: torch.dtype | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The losses of each token, the weighed sums of cross-entropy and z-loss, and d(total)/d(logits) as `dtype`.

    The gradient is softmax · (1 + 2 z lse) − one-hot, weighed; it takes the place of the logits.
    """
    lse_C1 = logits_CV.logsumexp(1, keepdim=True)
    losses_C1 = lse_C1 - logits_CV.gather(1, words_C1)
    sums_2 = torch.stack([(weights_C1 * losses_C1).sum(), z * (weights_C1 * lse_C1.square()).sum()])
    if dtype is None:
        return losses_C1.squeeze(1), sums_2, None
    if torch.compiler.is_compiling():
        logits_CV = logits_CV.clone()  # there a copy costs nothing, and writing to an input would
    dlogits_CV = logits_CV.sub_(lse_C1).exp_().mul_(weights_C1 * (1 + 2 * z * lse_C1))
    dlogits_CV.scatter_add_(1, words_C1, -weights_C1)
    return losses_C1.squeeze(1), sums_2, dlogits_CV.to(dtype)


OfChunk = Callable[[Tensor, Tensor, Tensor, float, torch.dtype | None], tuple[Tensor, Tensor, Tensor | None]]


def _operand(x: Tensor) -> Tensor:
    """A GPU multiplies bf16 into fp32 sums; elsewhere the operand is made fp32 first, which bf16 is exact in."""
    return x if x.is_cuda else x.to(compute_dtype(x))


def _product(x: Tensor, y: Tensor) -> Tensor:
    """x y with fp32 sums that are not rounded (fp64 for fp64)."""
    if x.dtype in (torch.bfloat16, torch.float16):
        return torch.mm(x, y, out_dtype=torch.float32)
    return x @ y


def _add_product(total: Tensor, x: Tensor, y: Tensor) -> None:
    """total += x y, in one pass over `total`."""
    if x.dtype in (torch.bfloat16, torch.float16):
        torch.addmm(total, x, y, out_dtype=torch.float32, out=total)
    else:
        total.addmm_(x, y)


def _check(hidden_TD: Tensor, head_VD: Tensor, targets: Targets) -> None:
    if hidden_TD.ndim != 2 or head_VD.ndim != 2 or hidden_TD.shape[1] != head_VD.shape[1]:
        shapes = f"{list(hidden_TD.shape)} and {list(head_VD.shape)}"
        raise ValueError(f"hidden states and head must be [T, D] and [V, D], not {shapes}")
    if hidden_TD.dtype != head_VD.dtype:
        raise ValueError(f"hidden states are {hidden_TD.dtype} and the head is {head_VD.dtype}; they must be the same")
    if targets.tokens != len(hidden_TD):
        raise ValueError(f"the targets are of {targets.tokens} tokens, but there are {len(hidden_TD)}")
