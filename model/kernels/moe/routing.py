"""`route` and `choose`: checks, and the kernels of routing as custom operators that autograd and torch.compile know.

`route` is the whole of `model.router.Router` but its counts: the product with the router's matrix, which cuBLAS does,
and the choice. Its gradient is dense in memory, [N, E], though only K of E are not zero: two products by tensor cores
cost less than K gathered rows of the matrix a token. Where x and the matrix are in bf16 the gradient of the logits is
written in two bf16 parts, high and low side by side, at most 2^-18 off: then both products run on tensor cores with
sums in fp32, as the forward one, whose operands are exact. dx and dW are 2.5e-6 off before they are rounded to bf16
themselves (0.0017); with one part it would be 0.0023 in all, and fp32 products would run without tensor cores.

Kept for the backward pass, a token: 12 K + 4 bytes, and x. The logits are not.

Letters: N tokens, D model width, E experts, K experts of a token.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from ...custom_op import custom_op
from ...wide_linear import gradients_of_parts, wide_product
from ..checks import on_gpu
from ..launch import cdiv, next_power_of_2
from .selection import choose_kernel, logits_gradient_kernel

MOST_EXPERTS = 1024
MOST_CHOSEN = 32
ROWS = 4  # tokens a program of the gradient


class Routing(NamedTuple):
    experts_NK: Tensor
    """int32; the best first, ties to the lower number."""
    weights_NK: Tensor
    """fp32, of sum 1."""
    thresholds_N: Tensor
    """fp32; the (K+1)-th best of score plus bias."""
    logits_NE: Tensor
    """fp32, without a gradient: for `count`."""


def route(x_ND: Tensor, weight_ED: Tensor, bias_E: Tensor, top_k: int) -> Routing:
    """Logits x Wᵀ with sums in fp32, and what `choose` makes of them; differentiable in x and the matrix, once.

    With x and the matrix in bf16 the products run on tensor cores, forward and back; else in fp32 throughout. Raises
    ValueError as `choose`, and for shapes and dtypes of x and the matrix that do not fit.
    """
    if x_ND.ndim != 2 or weight_ED.ndim != 2 or x_ND.shape[1] != weight_ED.shape[1]:
        raise ValueError(f"x is {list(x_ND.shape)} and the router's matrix {list(weight_ED.shape)}: not [N, D], [E, D]")
    for name, tensor in (("x", x_ND), ("the router's matrix", weight_ED)):
        if tensor.dtype not in (torch.bfloat16, torch.float32):
            raise ValueError(f"{name} is {tensor.dtype}, but must be bfloat16 or float32")
    _check(len(x_ND), len(weight_ED), bias_E, top_k)
    experts, weights, thresholds, _, logits = _route(x_ND, weight_ED, bias_E.contiguous(), top_k)
    return Routing(experts, weights, thresholds, logits)


def choose(logits_NE: Tensor, bias_E: Tensor, top_k: int) -> tuple[Tensor, Tensor, Tensor]:
    """experts_NK (int32, the best first, ties to the lower number), weights_NK and thresholds_N (fp32).

    Logits and bias are fp32. Differentiable, once, in the logits; their gradient is fp32. Whatever the logits are, NaN
    as well, the experts of a token are K different ones. Raises ValueError for dtypes and shapes that do not fit, for
    more than 1,024 experts or 32 chosen ones, where there is no next best, and without a GPU.
    """
    if logits_NE.ndim != 2 or logits_NE.dtype != torch.float32:
        raise ValueError(f"logits must be float32 [N, E], not {logits_NE.dtype} {list(logits_NE.shape)}")
    _check(len(logits_NE), logits_NE.shape[1], bias_E, top_k)
    experts, weights, thresholds, _ = _choose(logits_NE.contiguous(), bias_E.contiguous(), top_k)
    return experts, weights, thresholds


def _check(N: int, E: int, bias_E: Tensor, top_k: int) -> None:
    if bias_E.shape != (E,) or bias_E.dtype != torch.float32:
        raise ValueError(f"the bias must be float32 [{E}], not {bias_E.dtype} {list(bias_E.shape)}")
    if not N:
        raise ValueError("there are no tokens")
    if not 1 <= top_k < E or top_k > MOST_CHOSEN or E > MOST_EXPERTS:
        raise ValueError(
            f"{top_k} of {E} experts cannot be chosen: at most {MOST_CHOSEN} of at most {MOST_EXPERTS}, "
            "and there must be one more for the next best"
        )


def settings(E: int, K: int) -> dict[str, int]:
    """Constants of `choose_kernel`: groups so many that the bound is met by few more than K + 1, and slots for them."""
    size = max(32, next_power_of_2(E))
    return {
        "E": E, "K": K, "SIZE": size, "G": 32 if K <= 16 else min(size, 128),
        "S": max(32, next_power_of_2(K + 2 + K // 4)),
    }  # fmt: skip


def gradient_settings(E: int, K: int, parts: int) -> dict[str, int]:
    """Constants of `logits_gradient_kernel`."""
    sizes = {"SIZE": next_power_of_2(parts * E), "SLOTS": next_power_of_2(K)}
    return {"E": E, "K": K, "P": parts, "ROWS": ROWS, **sizes}


CHOOSE_OPTIONS = {"num_warps": 1, "enable_fp_fusion": False}
GRADIENT_OPTIONS = {"num_warps": 4}


def _chosen(logits_NE: Tensor, bias_E: Tensor, top_k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    N, constants = len(logits_NE), settings(logits_NE.shape[1], top_k)
    slots_NS = logits_NE.new_empty(N, constants["S"], dtype=torch.int32)
    outputs = _outputs(logits_NE, N, top_k)
    choose_kernel[(N,)](logits_NE, bias_E, slots_NS, *outputs, **constants, **CHOOSE_OPTIONS)
    return outputs


def _outputs(like: Tensor, N: int, top_k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    experts_NK = like.new_empty(N, top_k, dtype=torch.int32)
    weights_NK = like.new_empty(N, top_k, dtype=torch.float32)
    thresholds_N, totals_N = (like.new_empty(N, dtype=torch.float32) for _ in range(2))
    return experts_NK, weights_NK, thresholds_N, totals_N


def _logits_gradient(dweights: Tensor, weights: Tensor, experts: Tensor, totals: Tensor, E: int, parts: int) -> Tensor:
    N, K = experts.shape
    dtype = torch.float32 if parts == 1 else torch.bfloat16
    dlogits = dweights.new_empty(N, parts * E, dtype=dtype)
    constants = gradient_settings(E, K, parts)
    logits_gradient_kernel[(cdiv(N, constants["ROWS"]),)](
        dweights, weights, experts, totals, dlogits, N, **constants, **GRADIENT_OPTIONS
    )
    return dlogits


@custom_op("k3data::moe_choose")
def _choose(logits: Tensor, bias: Tensor, top_k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Experts, weights, thresholds, and the sums that the weights were divided by."""
    on_gpu(logits)
    return _chosen(logits, bias, top_k)


@_choose.register_fake
def _(logits: Tensor, bias: Tensor, top_k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return _outputs(logits, len(logits), top_k)


@custom_op("k3data::moe_choose_backward")
def _choose_backward(dweights: Tensor, weights: Tensor, experts: Tensor, totals: Tensor, E: int) -> Tensor:
    return _logits_gradient(dweights, weights, experts, totals, E, 1)


@_choose_backward.register_fake
def _(dweights: Tensor, weights: Tensor, experts: Tensor, totals: Tensor, E: int) -> Tensor:
    return weights.new_empty(len(weights), E)


def _save_choice(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    experts, weights, thresholds, totals = output
    ctx.mark_non_differentiable(thresholds, totals)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(weights, experts, totals)
    ctx.experts = inputs[0].shape[1]


def _choice_gradients(ctx: Any, _e: None, dweights: Tensor | None, *_unused: None) -> tuple[Tensor | None, None, None]:
    if dweights is None:
        return None, None, None
    return _choose_backward(dweights.contiguous(), *ctx.saved_tensors, ctx.experts), None, None


_choose.register_autograd(_choice_gradients, setup_context=_save_choice)


@custom_op("k3data::moe_route")
def _route(x: Tensor, weight: Tensor, bias: Tensor, top_k: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Experts, weights, thresholds, the sums that the weights were divided by, and the logits."""
    on_gpu(x)
    with torch.autocast(x.device.type, enabled=False):
        logits = wide_product(x, weight.T) if _in_parts(x, weight) else F.linear(x.float(), weight.float())
    return *_chosen(logits, bias, top_k), logits


@_route.register_fake
def _(x: Tensor, weight: Tensor, bias: Tensor, top_k: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return *_outputs(x, len(x), top_k), x.new_empty(len(x), len(weight), dtype=torch.float32)


@custom_op("k3data::moe_route_backward")
def _route_backward(
    dweights: Tensor, x: Tensor, weight: Tensor, weights: Tensor, experts: Tensor, totals: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of x and of the matrix."""
    E = len(weight)
    with torch.autocast(x.device.type, enabled=False):
        if _in_parts(x, weight):
            return gradients_of_parts(_logits_gradient(dweights, weights, experts, totals, E, 2), x, weight)
        dlogits = _logits_gradient(dweights, weights, experts, totals, E, 1)
        dx, dweight = dlogits @ weight.float(), dlogits.T @ x.float()
    return dx.to(x.dtype), dweight.to(weight.dtype)


@_route_backward.register_fake
def _(dweights: Tensor, x: Tensor, weight: Tensor, *_others: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x), torch.empty_like(weight)


def _in_parts(x: Tensor, weight: Tensor) -> bool:
    return x.dtype == weight.dtype == torch.bfloat16


def _save_route(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    experts, weights, thresholds, totals, logits = output
    ctx.mark_non_differentiable(thresholds, totals, logits)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs[:2], weights, experts, totals)


def _route_gradients(ctx: Any, _e: None, dweights: Tensor | None, *_unused: None) -> tuple[Tensor | None, ...]:
    if dweights is None:
        return None, None, None, None
    return *_route_backward(dweights.contiguous(), *ctx.saved_tensors), None, None


_route.register_autograd(_route_gradients, setup_context=_save_route)
