"""MoonViT-V2: a transformer over the patches of many pictures in one row, each at its own resolution.

Pictures and clips are groups of one packed row: attention inside a group, both ways, over all frames of a clip together
(the report speaks of a spatial and a temporal pass; the released code makes one, and so do we). Pre-norm blocks, no
biases. (K3 report, §2.4, and the release.)

Letters: P patches, W width, H heads, K channels of a head, C colour channels, S pixels of a patch's side.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..attention import Groups, attention
from ..config import VisionConfig
from ..norm import RMSNorm
from ..operators import HasKernels, check_heads
from .positions import PatchPositions, rotate, rotations
from .preprocess import Grid

_SIDE_LIMIT = 512
"""Patches of the longest side."""


class MoonViT(nn.Module):
    def __init__(self, config: VisionConfig, *, norm_eps: float = 1e-5, interpolation: str = "bilinear") -> None:
        """`interpolation` of the table of positions: bilinear in K3, bicubic in K2.5."""
        super().__init__()
        self.config = config
        self.patch_weight = nn.Parameter(torch.empty(config.width, 3, config.patch, config.patch))
        self.positions = PatchPositions(config.table, config.width, interpolation)
        self.blocks = nn.ModuleList(VisionBlock(config, norm_eps) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, norm_eps)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """The table of positions N(0, 1), matrices of the MLPs normal with √(2/fan-in), all others, of which
        nothing is known, uniform within ±1/√fan-in; weights of norms 1.
        """
        nn.init.normal_(self.positions.table)
        _uniform(self.patch_weight)
        for module in self.modules():
            if isinstance(module, VisionBlock):
                module.reset_parameters()
        self.norm.weight.fill_(1)

    def forward(self, pixels_PCSS: Tensor, grids: Sequence[Grid]) -> Tensor:
        """Features [P, W] of the patches, in the order given; `grids` say which patches belong together, and how.

        Raises ValueError when there is no grid, when grids and patches differ in number, and for a grid with no patch,
        with a side that is odd or above 512 patches, or with more frames than the configuration has.
        """
        self._check(pixels_PCSS, grids)
        x_PW = F.linear(pixels_PCSS.to(self.patch_weight.dtype).flatten(1), self.patch_weight.flatten(1))
        x_BPW = (x_PW + self.positions(grids)).to(x_PW.dtype)[None]
        turns = rotations(grids, self.config.head_dim, x_BPW.device)
        bounds = torch.tensor([0, *accumulate(frames * rows * columns for frames, rows, columns in grids)])
        groups = Groups(1, len(x_PW), bounds)
        for block in self.blocks:
            x_BPW = block(x_BPW, groups, turns)
        return self.norm(x_BPW)[0]

    def _check(self, pixels_PCSS: Tensor, grids: Sequence[Grid]) -> None:
        config = self.config
        if not grids:
            raise ValueError("there is no picture")
        for frames, rows, columns in grids:
            shape = f"{frames} x {rows} x {columns} patches"
            if min(frames, rows, columns) < 1:
                raise ValueError(f"a picture of {shape} has none")
            if frames > config.max_frames:
                raise ValueError(f"a clip of {frames} frames is longer than the limit of {config.max_frames}")
            if max(rows, columns) > _SIDE_LIMIT:
                raise ValueError(f"a picture of {shape} is larger than the limit of {_SIDE_LIMIT} patches a side")
            if rows % config.merge or columns % config.merge:
                raise ValueError(f"a picture of {shape} does not divide into squares of {config.merge} a side")
        total = sum(frames * rows * columns for frames, rows, columns in grids)
        expected = (total, 3, config.patch, config.patch)
        if pixels_PCSS.shape != expected:
            raise ValueError(f"the patches are {list(pixels_PCSS.shape)}, but the grids ask for {list(expected)}")


class VisionBlock(HasKernels):
    def __init__(self, config: VisionConfig, norm_eps: float) -> None:
        super().__init__()
        self.heads = config.heads
        self.attention_norm = RMSNorm(config.width, norm_eps)
        self.qkv_proj = nn.Linear(config.width, 3 * config.qkv_width, bias=False)
        self.o_proj = nn.Linear(config.qkv_width, config.width, bias=False)
        self.mlp_norm = RMSNorm(config.width, norm_eps)
        self.mlp_up = nn.Linear(config.width, config.mlp, bias=False)
        self.mlp_down = nn.Linear(config.mlp, config.width, bias=False)

    def check_kernels(self) -> None:
        channels = self.o_proj.in_features // self.heads
        check_heads(channels, channels)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        for linear in (self.qkv_proj, self.o_proj):
            _uniform(linear.weight)
        for linear in (self.mlp_up, self.mlp_down):
            nn.init.normal_(linear.weight, std=(2 / linear.in_features) ** 0.5)
        for norm in (self.attention_norm, self.mlp_norm):
            norm.weight.fill_(1)

    def forward(self, x_BPW: Tensor, groups: Groups, turns: Tensor) -> Tensor:
        qkv = self.qkv_proj(self.attention_norm(x_BPW)).unflatten(-1, (3, self.heads, -1))
        q_BPHK, k_BPHK, v_BPHK = qkv.unbind(2)
        q_BPHK, k_BPHK = rotate(q_BPHK, turns), rotate(k_BPHK, turns)
        if self.kernels == "triton":
            from ..kernels.attention import attention as by_kernels

            o_BPHK = by_kernels(q_BPHK, k_BPHK, v_BPHK, groups.tiles(x_BPW.device), causal=False)
        else:
            o_BPHK = attention(q_BPHK, k_BPHK, v_BPHK, groups, causal=False)
        x_BPW = x_BPW + self.o_proj(o_BPHK.flatten(-2))
        return x_BPW + self.mlp_down(F.gelu(self.mlp_up(self.mlp_norm(x_BPW)), approximate="tanh"))


def _uniform(weight: Tensor) -> None:
    bound = weight[0].numel() ** -0.5
    nn.init.uniform_(weight, -bound, bound)
