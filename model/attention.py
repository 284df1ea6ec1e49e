"""Softmax attention that stops at the bounds of groups: a packed token sees its own group and nothing else.

A mask of T × T is never made. On a CPU, where FlexAttention has no backward, every group goes through PyTorch's scaled
dot product attention (SDPA) alone; on a GPU, for bf16 and fp16, one FlexAttention takes all groups and skips the blocks
of 128 × 128 that no group reaches. Which of the blocks to visit follows from the bounds in closed form. (fp32 and fp64
operands, which are for comparisons, take SDPA there too.)

Rounding: in bf16 both kernels accumulate in fp32 and then round their output to bf16. That rounding is biased and can
derail training (arXiv:2510.04212; K3 report, §2.1.2); `fp32_output=True` hands the kernel fp32 operands, in which bf16
values are exact, so that the output is fp32 and neither it nor the probabilities pass through bf16.

Letters: B batch, T tokens, H heads, K channels of queries and keys, V channels of values, R blocks of tokens.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from .kda.inputs import sequence_bounds, to_device

if TYPE_CHECKING:
    from .kernels.attention import TileTable

_BLOCK = 128
"""Tokens of a side of the blocks that FlexAttention visits or skips."""

_UPCAST = {
    "FLOAT32_PRECISION": "'tf32'",  # exact in what was bf16
    "fwd_BLOCK_M": 128, "fwd_BLOCK_N": 32, "fwd_num_stages": 2, "fwd_num_warps": 8,
    "bwd_BLOCK_M1": 32, "bwd_BLOCK_N1": 32, "bwd_BLOCK_M2": 32, "bwd_BLOCK_N2": 32,
    "bwd_num_stages": 2, "bwd_num_warps": 4,
}  # fmt: skip
"""For fp32 operands made of bf16. With 192 channels the sizes that FlexAttention would choose do not fit the shared
memory of an H200; these are the fastest of those tried there."""


class Groups:
    """Bounds of groups, and masks and tables made of them: make one object for a batch and give it to all layers."""

    def __init__(self, batch: int, length: int, cu_seqlens: Tensor | None) -> None:
        """`cu_seqlens` [N+1] for packed input (batch 1), None for `batch` rows of one group each.

        Raises ValueError when `cu_seqlens` is not one row of integers that starts at 0, never falls, ends at `length`.
        """
        self.batch, self.length, self.packed = batch, length, cu_seqlens is not None
        self.cu_seqlens = None if cu_seqlens is None else cu_seqlens.cpu()  # one wait for a GPU instead of many
        self.bounds = sequence_bounds(batch, length, self.cu_seqlens)
        self._masks: dict[tuple[torch.device, bool], BlockMask] = {}
        self._tiles: dict[torch.device, TileTable] = {}
        self._kept: dict[tuple[str, torch.device], Tensor] = {}

    @staticmethod
    def of(groups: Groups | Tensor | None, batch: int, length: int) -> Groups:
        """`groups` itself, or made of `cu_seqlens`. Raises ValueError when they are not of batch × length tokens."""
        if not isinstance(groups, Groups):
            return Groups(batch, length, groups)
        if (groups.batch, groups.length) != (batch, length):
            held = f"{groups.batch} x {groups.length}"
            raise ValueError(f"the groups are of {held} tokens, but the input has {batch} x {length}")
        return groups

    @property
    def sequences(self) -> int:
        return len(self.bounds) - 1

    def inner(self, device: torch.device) -> Tensor:
        """[B, T] bool: false for the last token of every group."""
        return self._on("inner", device, self._make_inner)

    def places(self, device: torch.device) -> Tensor:
        """[B, T] int32: the number of each token in its group."""
        return self._on("places", device, self._make_places)

    def block_mask(self, device: torch.device, causal: bool) -> BlockMask:
        key = (device, causal)
        if key not in self._masks:
            self._masks[key] = _block_mask(self.bounds, device, causal)
        return self._masks[key]

    def tiles(self, device: torch.device) -> TileTable:
        """For `kernels.attention`."""
        from .kernels.attention import TileTable

        if device not in self._tiles:
            self._tiles[device] = TileTable.of(self.bounds, device)
        return self._tiles[device]

    def _on(self, name: str, device: torch.device, make: Callable[[], npt.NDArray[Any]]) -> Tensor:
        """What `make` makes, on the device; kept, as every layer asks for it.

        Made by NumPy: torch spreads such work over all cores, which then takes it several times as long.
        """
        if (name, device) not in self._kept:
            with torch.inference_mode(False):
                made = torch.from_numpy(make()).view(self.batch, self.length)
                self._kept[name, device] = to_device(made, device)
        return self._kept[name, device]

    def _make_inner(self) -> npt.NDArray[np.bool_]:
        inner_N = np.ones(self.batch * self.length, dtype=np.bool_)
        last = [end - 1 for start, end in pairwise(self.bounds) if end > start]
        inner_N[np.asarray(last, dtype=np.int64)] = False
        return inner_N

    def _make_places(self) -> npt.NDArray[np.int32]:
        edges = np.asarray(self.bounds)
        return (np.arange(self.batch * self.length) - np.repeat(edges[:-1], np.diff(edges))).astype(np.int32)


def attention(
    q_BTHK: Tensor, k_BTHK: Tensor, v_BTHV: Tensor, groups: Groups | Tensor | None = None, *,
    causal: bool = True, scale: float | None = None, fp32_output: bool = False,
) -> Tensor:  # fmt: skip
    """o_BTHV = softmax(q kᵀ · scale) v over the group of each token, in q's dtype, or fp32 with `fp32_output`.

    `causal` leaves out the tokens after each one; without it a token sees its whole group.
    `groups` are the bounds of packed groups, as `cu_seqlens` or a `Groups`; `scale` is K^-1/2 unless given.
    Raises ValueError for shapes that do not fit each other and for wrong bounds.
    """
    _check_shapes(q_BTHK, k_BTHK, v_BTHV)
    B, T = q_BTHK.shape[:2]
    groups = Groups.of(groups, B, T)
    half = q_BTHK.dtype in (torch.bfloat16, torch.float16)
    upcast = fp32_output and half
    q, k, v = (x.float() if upcast else x for x in (q_BTHK, k_BTHK, v_BTHV))
    if groups.packed and q.is_cuda and half:
        return _flex(q, k, v, groups.block_mask(q.device, causal), scale, upcast)
    if not groups.packed:
        return _sdpa(q, k, v, causal, scale)
    parts = [
        _sdpa(q[:, start:end], k[:, start:end], v[:, start:end], causal, scale)
        for start, end in pairwise(groups.bounds)
        if end > start
    ]
    return torch.cat(parts, dim=1)


def _check_shapes(q_BTHK: Tensor, k_BTHK: Tensor, v_BTHV: Tensor) -> None:
    if q_BTHK.ndim != 4 or not q_BTHK.numel():
        raise ValueError(f"q must be [B, T, H, K] with at least one token, not {list(q_BTHK.shape)}")
    if not q_BTHK.dtype == k_BTHK.dtype == v_BTHV.dtype:
        raise ValueError(f"q, k and v must be of one dtype, not {q_BTHK.dtype}, {k_BTHK.dtype} and {v_BTHV.dtype}")
    if k_BTHK.shape != q_BTHK.shape or v_BTHV.shape[:-1] != q_BTHK.shape[:-1]:
        shapes = f"{list(k_BTHK.shape)} and {list(v_BTHV.shape)}"
        raise ValueError(f"k and v are {shapes}, which do not go with q of {list(q_BTHK.shape)}")


def _sdpa(q_BTHK: Tensor, k_BTHK: Tensor, v_BTHV: Tensor, causal: bool, scale: float | None) -> Tensor:
    """The fused kernels want as many channels of values as of keys, and without them all scores would be kept: so the
    narrower is padded with zeros, which change nothing."""
    K, V = q_BTHK.shape[-1], v_BTHV.shape[-1]
    scale = K**-0.5 if scale is None else scale
    q, k, v = (F.pad(x, (0, max(K, V) - x.shape[-1])).transpose(1, 2) for x in (q_BTHK, k_BTHK, v_BTHV))
    o = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)
    return o.transpose(1, 2)[..., :V]


def _flex(q: Tensor, k: Tensor, v: Tensor, mask: BlockMask, scale: float | None, upcast: bool) -> Tensor:
    heads_first = (x.transpose(1, 2) for x in (q, k, v))
    options = _UPCAST if upcast else None
    return _compiled_flex()(*heads_first, block_mask=mask, scale=scale, kernel_options=options).transpose(1, 2)


@functools.cache
def _compiled_flex() -> Callable[..., Any]:
    return torch.compile(flex_attention)


def _block_mask(bounds: list[int], device: torch.device, causal: bool) -> BlockMask:
    """The blocks of keys that each block of queries visits, those without a masked pair apart from the others.

    The blocks of keys that a block of queries must see are one run, and those that all its rows see whole are a run
    inside it. The two tables have R × R entries, R = ⌈T / 128⌉.
    """
    edges = to_device(torch.tensor(bounds), device)
    lengths, T = edges.diff(), bounds[-1]
    start_T = torch.repeat_interleave(edges[:-1], lengths, output_size=T)
    end_T = torch.repeat_interleave(edges[1:], lengths, output_size=T)
    blocks_R = torch.arange(-(-T // _BLOCK), device=device)
    top_R = blocks_R * _BLOCK
    bottom_R = (top_R + _BLOCK - 1).clamp(max=T - 1)
    first_R = start_T[top_R] // _BLOCK
    last_R = blocks_R if causal else (end_T[bottom_R] - 1) // _BLOCK
    whole_R = (start_T[bottom_R] + _BLOCK - 1) // _BLOCK
    whole_end_R = blocks_R if causal else end_T[top_R] // _BLOCK
    wholes_R = (whole_end_R - whole_R).clamp(min=0)
    # The others are the run without the wholes: counting from its first, jump over them.
    others_RR = first_R[:, None] + blocks_R
    others_RR = others_RR + torch.where(others_RR >= whole_R[:, None], wholes_R[:, None], 0)

    def visible(_batch: Tensor, _head: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return (k >= start_T[q]) & ((k <= q) if causal else (k < end_T[q]))

    def counted(x_R: Tensor) -> Tensor:
        return x_R.to(torch.int32)[None, None]

    def listed(x_RR: Tensor) -> Tensor:  # entries past the count are never read, but must be blocks
        return x_RR.clamp(max=len(blocks_R) - 1).to(torch.int32)[None, None]

    return BlockMask.from_kv_blocks(
        counted(last_R - first_R + 1 - wholes_R),
        listed(others_RR),
        counted(wholes_R),
        listed(whole_R[:, None] + blocks_R),
        BLOCK_SIZE=_BLOCK,
        mask_mod=visible,
        seq_lengths=(T, T),
    )
