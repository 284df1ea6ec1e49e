"""What the operators of Kimi Delta Attention accept, checked before they start, and where sequences begin and end.

A packed input is one row of tokens, B = 1, with `cu_seqlens` [N+1]: sequence n has the tokens from cu_seqlens[n] up to
cu_seqlens[n+1]. A batch is B sequences of T tokens each. Both become one list of bounds over the B·T tokens.

Letters: B batch, T tokens, N sequences, H heads, K key channels, V value channels.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from ..config import LOWEST_GATE


def sequence_bounds(batch: int, length: int, cu_seqlens: Tensor | None) -> list[int]:
    """Where each sequence starts among batch · length tokens, and at last their number: N + 1 ascending integers.

    `cu_seqlens` may lie on another device than the tokens; on the CPU it costs no wait for a GPU.
    Raises ValueError when it is not one row of integers that starts at 0, never falls and ends at `length`.
    """
    if cu_seqlens is None:
        return [length * row for row in range(batch + 1)]
    if batch != 1:
        raise ValueError(f"cu_seqlens belongs to packed input of one row, but the batch has {batch}")
    if cu_seqlens.ndim != 1 or len(cu_seqlens) < 2 or cu_seqlens.is_floating_point():
        shape = list(cu_seqlens.shape)
        raise ValueError(f"cu_seqlens must be at least 2 integers in one row, not {cu_seqlens.dtype} {shape}")
    bounds: list[int] = cu_seqlens.tolist()
    if bounds[0] != 0:
        raise ValueError(f"cu_seqlens must start at 0, not at {bounds[0]}")
    for number, (start, end) in enumerate(pairwise(bounds)):
        if end < start:
            raise ValueError(f"cu_seqlens must not fall, but entry {number + 1} is {end} after {start}")
    if bounds[-1] != length:
        raise ValueError(f"cu_seqlens must end at the number of tokens, {length}, not at {bounds[-1]}")
    return bounds


def check_operands(
    q_BTHK: Tensor, k_BTHK: Tensor, v_BTHV: Tensor, log_decay_BTHK: Tensor, beta_BTH: Tensor,
    initial_state_NHKV: Tensor | None = None, cu_seqlens: Tensor | None = None, values: bool = True,
) -> list[int]:  # fmt: skip
    """The bounds of the sequences, or ValueError that names the operand whose shape, dtype or values do not fit.

    With `values` they are looked at (one wait for a GPU): a log decay outside [-5.9, 0] would overflow inside a tile.
    """
    if q_BTHK.ndim != 4 or v_BTHV.ndim != 4:
        raise ValueError(f"q and v must be [B, T, H, channels], not {list(q_BTHK.shape)} and {list(v_BTHV.shape)}")
    B, T, H, K = q_BTHK.shape
    if not B * T:
        raise ValueError("there are no tokens")
    bounds = sequence_bounds(B, T, cu_seqlens)
    expected = {
        "q": (q_BTHK, (B, T, H, K)),
        "k": (k_BTHK, (B, T, H, K)),
        "v": (v_BTHV, (B, T, H, v_BTHV.shape[-1])),
        "log_decay": (log_decay_BTHK, (B, T, H, K)),
        "beta": (beta_BTH, (B, T, H)),
    }
    if initial_state_NHKV is not None:
        expected["initial_state"] = (initial_state_NHKV, (len(bounds) - 1, H, K, v_BTHV.shape[-1]))
    for name, (tensor, shape) in expected.items():
        if tensor.shape != shape:
            raise ValueError(f"{name} is {list(tensor.shape)}, but must be {list(shape)} to go with q")
        if not tensor.is_floating_point() or (tensor.dtype == torch.float64) != (q_BTHK.dtype == torch.float64):
            raise ValueError(f"{name} is {tensor.dtype} and q is {q_BTHK.dtype}; fp64 does not mix with other types")
    for name in "kv":
        if expected[name][0].dtype != q_BTHK.dtype:
            raise ValueError(f"{name} is {expected[name][0].dtype} and q is {q_BTHK.dtype}; they must be the same")
    if values:
        _check_values({name: tensor for name, (tensor, _) in expected.items()})
    return bounds


def _check_values(operands: dict[str, Tensor]) -> None:
    extremes = torch.stack([torch.stack(one.detach().aminmax()).double() for one in operands.values()]).tolist()
    for name, (lowest, highest) in zip(operands, extremes, strict=True):
        if not -float("inf") < lowest <= highest < float("inf"):
            raise ValueError(f"{name} holds a value that is not finite")
        # A hundredth of room: -5.9 rounds to less in fp32 and in bf16.
        if name == "log_decay" and not LOWEST_GATE - 0.01 <= lowest <= highest <= 0:
            raise ValueError(f"log_decay goes from {lowest:.6g} to {highest:.6g}, but must lie in [{LOWEST_GATE}, 0]")


def to_device(x: Tensor, device: torch.device | str) -> Tensor:
    """`x` there. From the CPU to a GPU it goes through pinned memory, which nobody has to wait for."""
    if x.device.type == "cpu" and torch.device(device).type == "cuda":
        return x.pin_memory().to(device, non_blocking=True)
    return x.to(device)


def compute_dtype(x: Tensor) -> torch.dtype:
    """fp64 for fp64, fp32 for everything else."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def rounded(x: Tensor, dtype: torch.dtype) -> Tensor:
    """x in that dtype, for the result of an autograd function: where nothing changes, nothing is asked for. (torch 2.11
    compiles wrong gradients of a function whose forward ends with a conversion to the dtype that there is.)"""
    return x if x.dtype == dtype else x.to(dtype)
