"""What all kernels want."""

from __future__ import annotations

import triton
from torch import Tensor


def on_gpu(x: Tensor) -> None:
    """Raises ValueError elsewhere, but in Triton's interpreter."""
    if x.device.type != "cuda" and not triton.knobs.runtime.interpret:
        raise ValueError(f"the kernels need a GPU, but their operands are on {x.device}")
