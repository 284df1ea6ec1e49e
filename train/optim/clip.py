"""Gradients scaled down together when their norm, that of all of them as one vector, is above a limit."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from .sharding import whole


@torch.no_grad()
def clip_gradients(parameters: Iterable[Tensor], limit: float) -> Tensor:
    """The norm before clipping, a scalar that is the same on all ranks of sharded parameters, which all must call this.

    A norm that is not finite is returned as it is and spoils the gradients: ask the guard before a step.
    Raises ValueError for a limit that is not above 0, and where there is no gradient.
    """
    if not limit > 0:
        raise ValueError(f"the limit of the gradients' norm is {limit}, and must be above 0")
    with_gradient = [parameter for parameter in parameters if parameter.grad is not None]
    if not with_gradient:
        raise ValueError("there is no gradient to clip")
    norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in with_gradient if parameter.grad is not None])
    norm = whole(norm)
    torch.nn.utils.clip_grads_with_norm_(with_gradient, limit, norm)
    return norm
