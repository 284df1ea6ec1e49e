"""The image grid: the geometry of the preprocessing, its bounds, and the ids that stand for a picture."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from k3data.tests.tokenizer.texts import small_tokenizer
from k3data.tokenizer.images import SIDE_LIMIT, TOKEN, image_grid, image_tokens

SIDE = st.integers(1, 20_000)
MOST = st.sampled_from([1, 16, 64, 256, 1024, 4096, 16384])


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((28, 28), (28, 28, 28, 28, 1, 1, 1)),
        ((29, 28), (29, 28, 56, 28, 1, 2, 2)),
        ((1, 1), (1, 1, 28, 28, 1, 1, 1)),
        ((448, 448), (448, 448, 448, 448, 16, 16, 256)),
        ((3584, 3584), (3584, 3584, 3584, 3584, 128, 128, 16384)),
        ((14336, 28), (7168, 14, 7168, 28, 1, 256, 256)),
        ((7168, 7168), (3584, 3584, 3584, 3584, 128, 128, 16384)),
        ((3591, 3591), (3591, 3591, 3612, 3612, 129, 129, 16641)),
    ],
)
def test_hand_computed_grids(size, expected):
    assert image_grid(*size) == expected


@given(SIDE, SIDE, MOST)
def test_bounds_and_geometry(width, height, most):
    grid = image_grid(width, height, most)
    assert 1 <= grid.width <= min(width, SIDE_LIMIT) and 1 <= grid.height <= min(height, SIDE_LIMIT)
    assert grid.padded_width == TOKEN * grid.columns and 0 <= grid.padded_width - grid.width < TOKEN
    assert grid.padded_height == TOKEN * grid.rows and 0 <= grid.padded_height - grid.height < TOKEN
    assert grid.tokens == grid.rows * grid.columns
    assert max(grid.rows, grid.columns) <= SIDE_LIMIT // TOKEN
    # Only what padding adds, and patches that the count before it leaves out, can lie past the limit.
    scaled = min(1.0, math.sqrt(4 * most / (max(1, width // 14) * max(1, height // 14))))
    assert grid.tokens <= (width * scaled / TOKEN + 1) * (height * scaled / TOKEN + 1)
    if scaled == 1.0 and max(width, height) <= SIDE_LIMIT:
        assert (grid.width, grid.height) == (width, height)


@given(SIDE, SIDE)
def test_a_picture_keeps_its_shape(width, height):
    grid = image_grid(width, height)
    (long, long_seen), (short, short_seen) = sorted([(width, grid.width), (height, grid.height)], reverse=True)
    assert abs(short_seen - max(1, short * long_seen / long)) <= 1


@given(SIDE, SIDE, MOST, MOST)
def test_a_larger_allowance_gives_no_fewer_tokens(width, height, one, other):
    small, large = sorted((one, other))
    assert image_grid(width, height, small).tokens <= image_grid(width, height, large).tokens


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(0, 500), st.integers(0, 500))
def test_a_larger_picture_within_the_limits_gives_no_fewer_tokens(width, height, wider, higher):
    assert image_grid(width, height).tokens <= image_grid(width + wider, height + higher).tokens


@pytest.mark.parametrize("wrong", [(0, 5, 9), (5, -1, 9), (5, 5, 0)])
def test_sizes_below_one_are_refused(wrong):
    with pytest.raises(ValueError, match="at least 1"):
        image_grid(*wrong)


def test_ids_of_a_picture():
    tokenizer = small_tokenizer()
    ids, special = image_tokens(tokenizer, 1000, 30, 256), tokenizer.special
    grid = image_grid(1000, 30, 256)
    pads = ids == special["media_pad"]
    assert pads.sum() == grid.tokens == 36 * 2
    assert tokenizer.decode(ids[~pads]) == "<|media_begin|>image 1000x30<|media_content|><|media_end|>"
    assert ids[0] == special["media_begin"] and ids[-1] == special["media_end"]
