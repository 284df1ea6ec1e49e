"""Where a patch is: a learned table resized to each picture, waves over time in clips, and rotations along two axes.

Letters: P patches, W width, K channels of a head, F = K/4 frequencies an axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .preprocess import Grid

_THETA = 10_000.0


class PatchPositions(nn.Module):
    """`table` [side, side, W], resized to the rows and columns of each picture; clips get waves for each frame too."""

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
        for frames, rows, columns in grids:
            resized = table
            if resized.shape[2:] != (rows, columns):
                resized = F.interpolate(table, (rows, columns), mode=self.interpolation, align_corners=False)
            one_PW = resized[0].permute(1, 2, 0).flatten(0, 1)
            if frames == 1:
                parts.append(one_PW)
            else:
                waves = time_waves(frames, one_PW.shape[1], one_PW.device).to(wide)
                parts.append((one_PW + waves[:, None]).flatten(0, 1))
        return torch.cat(parts)


def time_waves(frames: int, width: int, device: torch.device) -> Tensor:
    """[frames, W] fp32: sines, then cosines, of the frame's number at W/2 frequencies from 1 down to about 1/10,000."""
    speeds = _THETA ** (-torch.arange(0, width, 2, device=device, dtype=torch.float32) / width)
    angles = torch.arange(frames, device=device)[:, None] * speeds
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def rotations(grids: Sequence[Grid], head_dim: int, device: torch.device) -> Tensor:
    """Unit complex numbers [P, K/2], by which pairs of neighbouring channels turn; all frames alike.

    Pairs take turns: the first by the column at the first frequency, the second by the row at the same one, and so on.
    """
    speeds_F = _THETA ** (-torch.arange(0, head_dim, 4, device=device, dtype=torch.float32) / head_dim)
    parts = []
    for frames, rows, columns in grids:
        row, column = torch.meshgrid(
            torch.arange(rows, device=device), torch.arange(columns, device=device), indexing="ij"
        )
        places_P2 = torch.stack([column.flatten(), row.flatten()], dim=1)
        angles_PF2 = speeds_F[:, None] * places_P2[:, None]
        parts.append(angles_PF2.flatten(1).repeat(frames, 1))
    angles = torch.cat(parts)
    return torch.polar(torch.ones_like(angles), angles)


def rotate(x_BPHK: Tensor, turns: Tensor) -> Tensor:
    """Each pair (x_2i, x_2i+1) as a complex number times its turn; in fp32 (fp64 stays), as x's dtype."""
    wide = torch.promote_types(x_BPHK.dtype, torch.float32)
    pairs = torch.view_as_complex(x_BPHK.to(wide).unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turns[:, None]).flatten(-2).to(x_BPHK.dtype)
