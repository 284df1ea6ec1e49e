"""What the kernels take, checked before they are launched."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

DTYPES = (torch.bfloat16, torch.float32)
WIDEST = 8192
"""Channels of a row that a program can hold."""


def check_dtypes(operands: Mapping[str, Tensor | None]) -> None:
    """Raises ValueError that names an operand of another dtype than bf16 and fp32, or on another device than the first.

    In all checks operands that are None are passed over.
    """
    given = {name: tensor for name, tensor in operands.items() if tensor is not None}
    (first, leader), *_ = given.items()
    for name, tensor in given.items():
        if tensor.dtype not in DTYPES:
            raise ValueError(f"{name} is {tensor.dtype}, but the kernels take {' or '.join(map(str, DTYPES))}")
        if tensor.device != leader.device:
            raise ValueError(f"{name} is on {tensor.device} and {first} on {leader.device}")


def check_alike(operands: Mapping[str, Tensor | None]) -> None:
    """Raises ValueError that names an operand whose shape or dtype is not the first one's."""
    (first, leader), *_ = operands.items()
    assert leader is not None
    for name, tensor in operands.items():
        if tensor is None:
            continue
        if tensor.shape != leader.shape:
            raise ValueError(f"{name} is {list(tensor.shape)}, but must be {list(leader.shape)} to go with {first}")
        if tensor.dtype != leader.dtype:
            raise ValueError(f"{name} is {tensor.dtype}, but must be {leader.dtype} to go with {first}")


def check_weights(weights: Mapping[str, Tensor | None], channels: int) -> None:
    """Raises ValueError that names a weight that is not [channels]."""
    for name, weight in weights.items():
        if weight is not None and tuple(weight.shape) != (channels,):
            raise ValueError(f"{name} is {list(weight.shape)}, but must be {[channels]}")


def check_width(channels: int) -> None:
    """Raises ValueError for rows of no channels, or of more than a program holds."""
    if not 0 < channels <= WIDEST:
        raise ValueError(f"rows have {channels} channels, but the kernels take 1 to {WIDEST}")
