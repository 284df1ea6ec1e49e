"""From patches to tokens: the mean over a clip's frames, 2 × 2 neighbours side by side, and two matrices.

    y = RMSNorm(W_2 GELU(W_1 x)),  x the four neighbours row by row          (K3 norms after; K2.5 did before)

Letters: P patches, W width of the tower, N tokens, M = 4·W, D model width.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..config import ModelConfig
from ..norm import RMSNorm
from .preprocess import Grid
from .vit import MoonViT


def merge_patches(x_PW: Tensor, grids: Sequence[Grid], merge: int = 2) -> list[Tensor]:
    """[N, M] of each picture, tokens row by row; what the release calls sd2_tpool. The mean is taken in fp32."""
    alike = [(grid, len(list(run))) for grid, run in groupby(grids)]  # pictures of one size in a row are done at once
    parts = x_PW.split([pictures * frames * rows * columns for (frames, rows, columns), pictures in alike])
    merged: list[Tensor] = []
    for x, ((frames, rows, columns), pictures) in zip(parts, alike, strict=True):
        if frames > 1:
            wide = torch.promote_types(x.dtype, torch.float32)
            x = x.unflatten(0, (pictures, frames, -1)).mean(1, dtype=wide).to(x.dtype).flatten(0, 1)
        squares = x.view(-1, rows // merge, merge, columns // merge, merge, x.shape[-1]).transpose(2, 3)
        merged += squares.reshape(pictures, rows * columns // merge**2, -1).unbind()
    return merged


class Projector(nn.Module):
    """Matrices `in_proj` [M, M] and `out_proj` [D, M] without biases, and `norm`."""

    def __init__(self, merged: int, d_model: int, norm_eps: float = 1e-5) -> None:
        super().__init__()
        self.in_proj = nn.Linear(merged, merged, bias=False)
        self.out_proj = nn.Linear(merged, d_model, bias=False)
        self.norm = RMSNorm(d_model, norm_eps)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Matrices normal with √(2/fan-in), the norm's weight 1."""
        for linear in (self.in_proj, self.out_proj):
            nn.init.normal_(linear.weight, std=(2 / linear.in_features) ** 0.5)
        self.norm.weight.fill_(1)

    def forward(self, x_NM: Tensor) -> Tensor:
        return self.norm(self.out_proj(F.gelu(self.in_proj(x_NM))))


class VisionEncoder(nn.Module):
    """Tower and projector: what a picture's places in a sequence hold."""

    def __init__(self, config: ModelConfig) -> None:
        """Raises ValueError for a model without vision."""
        super().__init__()
        if config.vision is None:
            raise ValueError(f"the model {config.name} has no vision")
        self.merge = config.vision.merge
        self.tower = MoonViT(config.vision, norm_eps=config.norm_eps)
        self.projector = Projector(config.vision.merged, config.d_model, config.norm_eps)

    def reset_parameters(self) -> None:
        self.tower.reset_parameters()
        self.projector.reset_parameters()

    def forward(self, pixels_PCSS: Tensor, grids: Sequence[Grid]) -> Tensor:
        """Features [N, D] of all pictures, one after the other; a picture has rows · columns / 4 of its grid.

        Raises ValueError as `MoonViT` does.
        """
        return self.projector(torch.cat(merge_patches(self.tower(pixels_PCSS, grids), grids, self.merge)))
