"""Gradients scaled down together when their norm, that of all of them as one vector, is above a limit."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

from .sharding import local

_ROOM = 1e-6
"""Added to the norm, as `torch.nn.utils.clip_grad_norm_` does it."""


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
    norm = total_norm(with_gradient)
    assert norm is not None
    factor = (limit / (norm + _ROOM)).clamp(max=1.0)
    torch._foreach_mul_([local(parameter.grad) for parameter in with_gradient if parameter.grad is not None], factor)
    return norm


def total_norm(parameters: Iterable[Tensor]) -> Tensor | None:
    """Of the gradients that there are, as one vector; on the pieces that are here, as a call on each of them costs more
    than its norm. All ranks must call this."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return None
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm([local(one) for one in gradients])))
    meshes = {id(one.device_mesh): one.device_mesh for one in gradients if isinstance(one, DTensor)}
    if not meshes:
        return norm
    groups = {mesh.get_group() for mesh in meshes.values()}
    if len(groups) > 1 or not all(isinstance(one, DTensor) for one in gradients):
        raise ValueError("the gradients are spread over more than one group of ranks")
    group = groups.pop()
    if group.size() == 1:
        return norm
    square = norm.square()
    dist.all_reduce(square, group=group)
    return square.sqrt()
