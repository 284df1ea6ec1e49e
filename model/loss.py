"""Next-token cross-entropy straight from the hidden states, a slice of tokens at a time.

The logits of 8,192 tokens over 163,840 words are 5.4 GB in fp32, and softmax, gradient and copies as much again. Here
they exist for `chunk_size` tokens at once: each slice makes its logits, its loss, and at once the gradients of the
hidden states and of the head. So backward only scales what forward kept.

Tokens of weight 0 (prompts, the places of pictures, padding, what lies across a group's end) cost nothing: they are
taken out first. Words past `vocab_size` (rows of the head that only fill up its shape) take no part.

    total = Σ_t w_t (lse_t − logit_t,target + z · lse_t²),  lse = log Σ e^logit

Letters: T tokens, D model width, V words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from .kda.inputs import compute_dtype


class TokenLoss(NamedTuple):
    """Sums over tokens in fp32 (fp64 for fp64), scalars but for the last; divide by `weight` for means."""

    total: Tensor
    """Cross-entropy and z-loss; gradients flow through this one alone."""
    cross_entropy: Tensor
    z_loss: Tensor
    weight: Tensor
    per_token_T: Tensor
    """Cross-entropy of each token, not weighed; 0 where the weight is 0."""


def chunked_cross_entropy(
    hidden_TD: Tensor, head_VD: Tensor, targets_T: Tensor, weights_T: Tensor | None = None, *,
    vocab_size: int | None = None, z_loss: float = 0.0, chunk_size: int = 1024,
) -> TokenLoss:  # fmt: skip
    """The loss of `targets_T` (int64) under softmax(hidden · headᵀ); `hidden` and `head` have one dtype.

    Logits are fp32 sums of exact products, also in bf16. `weights_T` are 1 unless given; where one is 0 the target may
    be any number. Waits for a GPU, to check targets and weights.
    Raises ValueError for shapes that do not fit, negative or non-finite weights, and a target that is no word.
    """
    weights_T = _checked(hidden_TD, head_VD, targets_T, weights_T)
    words = len(head_VD) if vocab_size is None else vocab_size
    if not 0 < words <= len(head_VD):
        raise ValueError(f"vocab_size is {words}, but the head has {len(head_VD)} rows")
    if chunk_size < 1:
        raise ValueError(f"chunk_size is {chunk_size}, and must be at least 1")
    counted = weights_T.nonzero().squeeze(1)
    targets_T, weights_T = targets_T[counted].long(), weights_T[counted]
    wrong = (targets_T < 0) | (targets_T >= words)
    if wrong.any():
        at = int(wrong.nonzero()[0])
        raise ValueError(f"the target at {int(counted[at])} is {int(targets_T[at])}, but words are 0 to {words - 1}")
    differentiate = torch.is_grad_enabled() and (hidden_TD.requires_grad or head_VD.requires_grad)
    settings = (words, z_loss, chunk_size, differentiate)
    total, cross_entropy, z, counted_losses = _ChunkedLoss.apply(  # type: ignore[no-untyped-call]
        hidden_TD[counted], head_VD, targets_T, weights_T, settings
    )
    per_token_T = counted_losses.new_zeros(len(hidden_TD)).index_copy_(0, counted, counted_losses)
    return TokenLoss(total, cross_entropy, z, weights_T.sum(), per_token_T)


class _ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden_TD: Tensor, head_VD: Tensor, targets_T: Tensor, weights_T: Tensor, settings: tuple[Any, ...]
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        words, z, chunk_size, differentiate = settings
        wide = compute_dtype(hidden_TD)
        words_VD = _operand(head_VD[:words])
        dhidden_TD = torch.empty_like(hidden_TD) if differentiate else None
        dhead_VD = torch.zeros(head_VD.shape, dtype=wide, device=head_VD.device) if differentiate else None
        cross_entropy, z_loss = torch.zeros(2, dtype=wide, device=hidden_TD.device)
        losses_T = torch.empty(len(hidden_TD), dtype=wide, device=hidden_TD.device)
        for start in range(0, len(hidden_TD), chunk_size):
            part = slice(start, start + chunk_size)
            chunk_TD, targets_T1, weights_T1 = _operand(hidden_TD[part]), targets_T[part, None], weights_T[part, None]
            logits_TV = _product(chunk_TD, words_VD.T)
            lse_T1 = logits_TV.logsumexp(1, keepdim=True)
            losses_T1 = lse_T1 - logits_TV.gather(1, targets_T1)
            losses_T[part] = losses_T1.squeeze(1)
            cross_entropy += (weights_T1 * losses_T1).sum()
            z_loss += z * (weights_T1 * lse_T1.square()).sum()
            if dhidden_TD is None or dhead_VD is None:
                continue
            # d(total)/d(logits) in the place of the logits: softmax · (1 + 2 z lse) − one-hot, weighed.
            dlogits_TV = logits_TV.sub_(lse_T1).exp_().mul_(weights_T1 * (1 + 2 * z * lse_T1))
            dlogits_TV.scatter_add_(1, targets_T1, -weights_T1)
            dlogits_TV = dlogits_TV.to(chunk_TD.dtype)
            dhidden_TD[part] = _product(dlogits_TV, words_VD)
            _add_product(dhead_VD[:words], dlogits_TV.T, chunk_TD)
        ctx.gradients = dhidden_TD, None if dhead_VD is None else dhead_VD.to(head_VD.dtype)
        ctx.mark_non_differentiable(cross_entropy, z_loss, losses_T)
        return cross_entropy + z_loss, cross_entropy, z_loss, losses_T

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        dhidden_TD, dhead_VD = (None if kept is None else kept * gradients[0] for kept in ctx.gradients)
        return dhidden_TD, dhead_VD, None, None, None


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


def _checked(hidden_TD: Tensor, head_VD: Tensor, targets_T: Tensor, weights_T: Tensor | None) -> Tensor:
    """The weights, in the dtype of the sums."""
    if hidden_TD.ndim != 2 or head_VD.ndim != 2 or hidden_TD.shape[1] != head_VD.shape[1]:
        shapes = f"{list(hidden_TD.shape)} and {list(head_VD.shape)}"
        raise ValueError(f"hidden states and head must be [T, D] and [V, D], not {shapes}")
    if hidden_TD.dtype != head_VD.dtype:
        raise ValueError(f"hidden states are {hidden_TD.dtype} and the head is {head_VD.dtype}; they must be the same")
    if weights_T is None:
        weights_T = torch.ones(len(hidden_TD), device=hidden_TD.device)
    for name, per_token in (("targets", targets_T), ("weights", weights_T)):
        if per_token.shape != hidden_TD.shape[:1]:
            raise ValueError(f"{name} are {list(per_token.shape)}, but there are {len(hidden_TD)} tokens")
    if not (weights_T.isfinite() & (weights_T >= 0)).all():
        raise ValueError("weights must be finite and not below 0")
    return weights_T.to(compute_dtype(hidden_TD))
