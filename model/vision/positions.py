"""Where a patch is: a learned table resized to each picture, waves over time in clips, and rotations along two axes.

Letters: P patches, W width, K channels of a head, F = K/4 frequencies an axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..kda.inputs import to_device
from .preprocess import Grid

_THETA = 10_000.0


class PatchPositions(nn.Module):
    """`table` [side, side, W], resized to the rows and columns of each picture; clips get waves for each frame too.

    Pictures of one size in a row are done at once.
    """

    def __init__(self, side: int, width: int, interpolation: str) -> None:
        super().__init__()
        if interpolation not in ("bilinear", "bicubic"):
            raise ValueError(f"interpolation is {interpolation!r}, and must be bilinear or bicubic")
        self.interpolation = interpolation
        self.table = nn.Parameter(torch.empty(side, side, width))

    def forward(self, grids: Sequence[Grid]) -> Tensor:
        """[P, W] in fp32 (fp64 with an fp64 table): patches of all grids, frame by frame, row by row."""
        wide = torch.promote_types(self.table.dtype, torch.float32)
        table = self.table.to(wide).permute(2, 0, 1)[None]
        parts = []
        for (frames, rows, columns), run in groupby(grids):
            resized = _Repeated.apply(table, len(list(run)))  # type: ignore[no-untyped-call]
            if resized.shape[2:] != (rows, columns):
                resized = F.interpolate(resized, (rows, columns), mode=self.interpolation, align_corners=False)
            x_NPW = resized.permute(0, 2, 3, 1).flatten(1, 2)
            if frames > 1:
                waves = time_waves(frames, x_NPW.shape[-1], x_NPW.device).to(wide)
                x_NPW = (x_NPW[:, None] + waves[:, None]).flatten(1, 2)
            parts.append(x_NPW.flatten(0, 1))
        return torch.cat(parts)


class _Repeated(torch.autograd.Function):
    """A table for each picture. Their gradients are added one after the other, the last first, as autograd adds those
    of a table that is used several times: a few launches more than a sum, and the same bits."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, times: int) -> Tensor:
        return table.expand(times, -1, -1, -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        *others, total = gradients[0].split(1)
        for one in reversed(others):
            total = total + one
        return total, None


def time_waves(frames: int, width: int, device: torch.device) -> Tensor:
    """[frames, W] fp32: sines, then cosines, of the frame's number at W/2 frequencies from 1 down to about 1/10,000."""
    speeds = _THETA ** (-torch.arange(0, width, 2, device=device, dtype=torch.float32) / width)
    angles = torch.arange(frames, device=device)[:, None] * speeds
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def rotations(grids: Sequence[Grid], head_dim: int, device: torch.device) -> Tensor:
    """Unit complex numbers [P, K/2], by which pairs of neighbouring channels turn; all frames alike.

    Made on the CPU, and moved in one transfer. Pairs take turns: the first by the column at the first frequency, the
    second by the row at the same one, and so on.
    """
    speeds_F = _THETA ** (-torch.arange(0, head_dim, 4, dtype=torch.float32) / head_dim)
    parts = []
    for (frames, rows, columns), run in groupby(grids):
        row, column = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
        places_P2 = torch.stack([column.flatten(), row.flatten()], dim=1)
        angles_PF2 = speeds_F[:, None] * places_P2[:, None]
        parts.append(angles_PF2.flatten(1).repeat(frames * len(list(run)), 1))
    angles = torch.cat(parts)
    return to_device(torch.polar(torch.ones_like(angles), angles), device)


def rotate(x_BPHK: Tensor, turns: Tensor) -> Tensor:
    """Each pair (x_2i, x_2i+1) as a complex number times its turn; in fp32 (fp64 stays), as x's dtype."""
    wide = torch.promote_types(x_BPHK.dtype, torch.float32)
    pairs = torch.view_as_complex(x_BPHK.to(wide).unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turns[:, None]).flatten(-2).to(x_BPHK.dtype)
