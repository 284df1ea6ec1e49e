"""How many tokens a picture takes: the geometry of K3's image preprocessing, the one place where it is written.

A picture is never enlarged. It is scaled down so that it has at most `4 · max_tokens` patches of 14 × 14 pixels and at
most 512 patches a side, padded right and below to a multiple of 28 pixels, and each 28 × 28 square is one token.
Patches are counted before padding, in whole patches, as the released preprocessing does; so padding can carry a picture
past `max_tokens` (at most to 16,817 for 16,384), and `tokens` is the number to reckon with.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .bpe import Tokenizer

PATCH = 14
TOKEN = 2 * PATCH
"""Pixels of a side of the square that becomes one token."""
SIDE_LIMIT = 512 * PATCH
"""Pixels of the longest side that the model sees."""
MAX_TOKENS = 16384


class ImageGrid(NamedTuple):
    """A picture as the model sees it: size in pixels after scaling, after padding, and its grid of tokens."""

    width: int
    height: int
    padded_width: int
    padded_height: int
    rows: int
    columns: int
    tokens: int


def image_grid(width: int, height: int, max_tokens: int = MAX_TOKENS) -> ImageGrid:
    """The grid of a picture of `width` × `height` pixels. Raises ValueError unless all three are at least 1."""
    if min(width, height, max_tokens) < 1:
        raise ValueError(f"no image grid for {width} x {height} pixels and {max_tokens} tokens: all must be at least 1")
    patches = max(1, width // PATCH) * max(1, height // PATCH)
    scale = min(1.0, math.sqrt(4 * max_tokens / patches), SIDE_LIMIT / width, SIDE_LIMIT / height)
    seen_width, seen_height = (min(max(1, int(side * scale)), SIDE_LIMIT) for side in (width, height))
    columns, rows = -(-seen_width // TOKEN), -(-seen_height // TOKEN)
    return ImageGrid(seen_width, seen_height, columns * TOKEN, rows * TOKEN, rows, columns, rows * columns)


def image_tokens(tokenizer: Tokenizer, width: int, height: int, max_tokens: int = MAX_TOKENS) -> np.ndarray:
    """The ids that stand for a picture in a sequence, uint32 [T].

    `media_begin`, "image WxH" with the original size, `media_content`, one `media_pad` a token of the grid,
    `media_end`; the picture's features take the places of the pads.
    """
    special = tokenizer.special
    return np.concatenate([
        np.array([special["media_begin"]], dtype=np.uint32),
        tokenizer.encode(f"image {width}x{height}"),
        np.array([special["media_content"]], dtype=np.uint32),
        np.full(image_grid(width, height, max_tokens).tokens, special["media_pad"], dtype=np.uint32),
        np.array([special["media_end"]], dtype=np.uint32),
    ])  # fmt: skip
