"""Whose operators a module runs: PyTorch's, which run anywhere, or Triton kernels, for bf16 on a GPU.

Chosen by name for a whole model, never by what a machine has: results differ by roundings, and a run that is gone on
from elsewhere must not change.
"""

from __future__ import annotations

from typing import Literal

from torch import nn

from .config import ConfigError

Kernels = Literal["torch", "triton"]


class HasKernels(nn.Module):
    """A module some of whose operators have kernels."""

    kernels: Kernels = "torch"

    def check_kernels(self) -> None:
        """Raises ConfigError when there are no kernels for a module of these sizes. Triton is there."""


def check_heads(keys: int, values: int) -> None:
    """Raises ConfigError when softmax attention has no kernels for heads of so many channels. Triton is there."""
    from .kernels.attention.launch import WIDEST_KEYS, WIDEST_VALUES

    if keys % 8 or values % 8 or keys > WIDEST_KEYS or values > WIDEST_VALUES:
        most = f"multiples of 8 up to {WIDEST_KEYS} and {WIDEST_VALUES}"
        raise ConfigError(f"kernels: triton attends with {most} channels of keys and values, not {keys} and {values}")


def use_kernels(module: nn.Module, kernels: Kernels) -> None:
    """For the module and all in it. Raises ConfigError when Triton is not there, or as `check_kernels` does."""
    found = [one for one in module.modules() if isinstance(one, HasKernels)]
    if kernels == "triton":
        try:
            import triton  # noqa: F401
        except ModuleNotFoundError:
            raise ConfigError("kernels: triton needs triton, which is not installed here") from None
        for one in found:
            one.check_kernels()
    for one in found:
        one.kernels = kernels
