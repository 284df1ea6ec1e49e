"""Patches have the packer's geometry to the token, and hold the picture's pixels."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.model.vision import preprocess
from k3data.model.vision.preprocess import preprocess_clip, preprocess_image
from k3data.tokenizer.images import image_grid
from PIL import Image


def noise(width: int, height: int, seed: int = 0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def encoded(picture: Image.Image, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return buffer.getvalue()


def assembled(pixels: torch.Tensor, grid: tuple[int, int, int]) -> np.ndarray:
    """[T, H, W, 3] from patches, one by one."""
    frames, rows, columns = grid
    whole = np.zeros((frames, rows * 14, columns * 14, 3), dtype=np.float32)
    for number, patch in enumerate(pixels.numpy()):
        frame, place = divmod(number, rows * columns)
        row, column = divmod(place, columns)
        whole[frame, row * 14 : row * 14 + 14, column * 14 : column * 14 + 14] = patch.transpose(1, 2, 0)
    return whole


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 700), st.integers(1, 700), st.sampled_from([1, 4, 37, 256, 16384]))
def test_tokens_are_those_of_the_packer(width, height, max_tokens):
    patches = preprocess_image(Image.new("RGB", (width, height)), max_tokens)
    expected = image_grid(width, height, max_tokens)
    assert patches.tokens == expected.tokens
    assert patches.grid == (1, 2 * expected.rows, 2 * expected.columns)
    assert len(patches.pixels_PCSS) == 4 * expected.tokens


def test_a_small_picture_keeps_its_pixels_and_is_padded_with_black():
    picture = noise(50, 33)
    patches = preprocess_image(encoded(picture))
    assert patches.grid == (1, 4, 4)
    whole = assembled(patches.pixels_PCSS, patches.grid)[0]
    np.testing.assert_allclose(whole[:33, :50], np.asarray(picture) / 127.5 - 1, atol=1e-6)
    assert (whole[33:] == -1).all()
    assert (whole[:, 50:] == -1).all()


def test_a_large_picture_is_scaled_by_pillow():
    picture = noise(600, 400)
    patches = preprocess_image(picture, 64)
    grid = image_grid(600, 400, 64)
    whole = assembled(patches.pixels_PCSS, patches.grid)[0]
    scaled = picture.resize((grid.width, grid.height), Image.Resampling.BICUBIC)
    np.testing.assert_allclose(whole[: grid.height, : grid.width], np.asarray(scaled) / 127.5 - 1, atol=1e-6)


def test_the_frames_of_a_clip_follow_each_other():
    frames = [noise(30, 30, seed) for seed in range(3)]
    clip = preprocess_clip([encoded(frame) for frame in frames])
    assert clip.grid == (3, 4, 4)
    assert clip.tokens == 4
    singles = [preprocess_image(frame).pixels_PCSS for frame in frames]
    assert torch.equal(clip.pixels_PCSS, torch.cat(singles))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "1", "CMYK"])
def test_every_kind_of_picture_becomes_rgb(mode):
    patches = preprocess_image(Image.new("RGB", (28, 28), "white").convert(mode))
    assert (patches.pixels_PCSS == 1).all()


def test_transparency_shows_white():
    picture = Image.new("RGBA", (28, 28), (255, 0, 0, 0))
    assert (preprocess_image(encoded(picture)).pixels_PCSS == 1).all()


def test_pictures_that_cannot_be_are_told(monkeypatch):
    with pytest.raises(ValueError, match="has 0 x 5 pixels"):
        preprocess_image(Image.new("RGB", (0, 5)))
    with pytest.raises(ValueError, match="cannot be opened"):
        preprocess_image(b"not a picture")
    with pytest.raises(ValueError, match="cannot be read"):
        preprocess_image(encoded(noise(64, 64))[:3000])
    with pytest.raises(ValueError, match="at least one frame"):
        preprocess_clip([])
    with pytest.raises(ValueError, match=r"one size, not \[\(28, 28\), \(30, 28\)\]"):
        preprocess_clip([noise(28, 28), noise(30, 28)])
    with pytest.raises(ValueError, match="at least 1"):
        preprocess_image(noise(28, 28), 0)
    monkeypatch.setattr(preprocess, "MAX_PIXELS", 1000)
    with pytest.raises(ValueError, match="has 40 x 40 pixels, more than the limit of 1000"):
        preprocess_image(noise(40, 40))
