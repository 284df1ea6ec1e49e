"""From a picture to patches: exactly the geometry that the packer reckoned with (`tokenizer.images`).

Scale down (bicubic, by Pillow, never up), pad right and below with black to a multiple of 28 pixels, map 0 … 255 to
−1 … 1 (mean and deviation 0.5), cut into 14 × 14 patches, row by row. A picture with transparency lies on white.

Letters: T frames, H and W pixels, P patches, C colour channels, S pixels of a patch's side.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ...tokenizer.images import MAX_TOKENS, PATCH, ImageGrid, image_grid

MAX_PIXELS = 2**26
"""Pixels of the largest picture that is opened: 67 million, five times what the model can see."""

Grid = tuple[int, int, int]
"""Frames, rows and columns of patches."""


class Patches(NamedTuple):
    """A picture (one frame) or a clip, ready for `MoonViT`."""

    pixels_PCSS: Tensor
    """fp32 in [−1, 1]; frame by frame, row by row."""
    grid: Grid
    tokens: int
    """Places that it takes in a sequence, whatever the number of frames."""


def preprocess_image(picture: Image.Image | bytes, max_tokens: int = MAX_TOKENS) -> Patches:
    """Raises ValueError for what is no picture, has no pixel, or has more than `MAX_PIXELS`."""
    return preprocess_clip([picture], max_tokens)


def preprocess_clip(frames: Sequence[Image.Image | bytes], max_tokens: int = MAX_TOKENS) -> Patches:
    """Consecutive frames of a video as one unit. `MoonViT` says how many it takes.

    Raises ValueError as `preprocess_image` does, and for frames of different sizes or none.
    """
    if not frames:
        raise ValueError("a clip must have at least one frame")
    opened = [_opened(frame) for frame in frames]
    sizes = {frame.size for frame in opened}
    if len(sizes) > 1:
        raise ValueError(f"the frames of a clip must have one size, not {sorted(sizes)}")
    grid = image_grid(*opened[0].size, max_tokens)
    frames_THWC = torch.from_numpy(np.stack([_fitted(frame, grid) for frame in opened]))
    rows, columns = grid.padded_height // PATCH, grid.padded_width // PATCH
    cut = frames_THWC.view(len(opened), rows, PATCH, columns, PATCH, 3).permute(0, 1, 3, 5, 2, 4)
    pixels_PCSS = cut.reshape(-1, 3, PATCH, PATCH).float().div_(127.5).sub_(1)
    return Patches(pixels_PCSS, (len(opened), rows, columns), grid.tokens)


def _opened(picture: Image.Image | bytes) -> Image.Image:
    if not isinstance(picture, Image.Image):
        try:
            picture = Image.open(io.BytesIO(picture))
        except (OSError, Image.DecompressionBombError) as error:
            raise ValueError(f"the picture cannot be opened: {error}") from None
    width, height = picture.size
    if width < 1 or height < 1:
        raise ValueError(f"the picture has {width} x {height} pixels, and must have at least one")
    if width * height > MAX_PIXELS:
        raise ValueError(f"the picture has {width} x {height} pixels, more than the limit of {MAX_PIXELS}")
    try:
        picture.load()
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"the picture cannot be read: {error}") from None
    return picture


def _fitted(picture: Image.Image, grid: ImageGrid) -> np.ndarray:
    """uint8 [H, W, 3] of the padded size."""
    if picture.has_transparency_data:
        behind = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(behind, picture.convert("RGBA"))
    picture = picture.convert("RGB")
    if picture.size != (grid.width, grid.height):
        picture = picture.resize((grid.width, grid.height), Image.Resampling.BICUBIC)
    padded = np.zeros((grid.padded_height, grid.padded_width, 3), dtype=np.uint8)
    padded[: grid.height, : grid.width] = np.asarray(picture)
    return padded
