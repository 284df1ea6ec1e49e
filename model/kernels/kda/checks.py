"""What the kernels take, checked before they are launched.

Letters: B batch, T tokens, N sequences, H heads, K key channels, V value channels.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ...config import LOWEST_GATE

HEAD_SIZES = (32, 64, 128)


def check(operands: dict[str, Tensor | None], lower_bound: float) -> None:
    """Raises ValueError that names the operand whose shape, dtype or device does not fit."""
    q, v = operands["q"], operands["v"]
    assert q is not None and v is not None
    if q.ndim != 4 or v.ndim != 4:
        raise ValueError(f"q and v must be [B, T, H, channels], not {list(q.shape)} and {list(v.shape)}")
    B, T, H, K = q.shape
    V = v.shape[-1]
    if not B * T * H:
        raise ValueError("there are no tokens")
    if K not in HEAD_SIZES or V != K:
        sizes = ", ".join(map(str, HEAD_SIZES))
        raise ValueError(f"heads have {K} key and {V} value channels, but the kernels take as many of both: {sizes}")
    activations = (torch.bfloat16,) if q.device.type == "cuda" else (torch.bfloat16, torch.float32)
    shapes = {
        "q": (B, T, H, K), "k": (B, T, H, K), "v": (B, T, H, V), "z": (B, T, H, K), "beta_logit": (B, T, H),
        "A_log": (H,), "dt_bias": (H * K,),
    }  # fmt: skip
    for name, tensor in operands.items():
        if tensor is None:
            continue
        shape = shapes.get(name, (len(tensor), H, K, V))
        if tuple(tensor.shape) != shape:
            raise ValueError(f"{name} is {list(tensor.shape)}, but must be {list(shape)} to go with q and v")
        allowed = {"q": activations, "k": (q.dtype,), "v": (q.dtype,)}.get(name, (torch.bfloat16, torch.float32))
        if tensor.dtype not in allowed:
            raise ValueError(f"{name} is {tensor.dtype}, but the kernels take {' or '.join(map(str, allowed))}")
        if tensor.device != q.device:
            raise ValueError(f"{name} is on {tensor.device} and q on {q.device}")
    if not LOWEST_GATE <= lower_bound < 0:
        raise ValueError(f"lower_bound is {lower_bound}, not in [{LOWEST_GATE}, 0)")
