"""MXFP4: bytes written by hand, every number of the grid, and the way there and back."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from k3data.model.mxfp4 import decode_mxfp4, encode_mxfp4

GRID = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def test_values_written_by_hand_are_read():
    packed = torch.zeros(2, 32, dtype=torch.uint8)
    packed[0, 0] = 0x21  # low nibble 1 is the even element
    packed[0, 15] = 0xF7
    packed[0, 16] = 0x09
    packed[1, 31] = 0xA0
    scales = torch.tensor([[127, 128], [127, 120]], dtype=torch.uint8)
    expected = torch.zeros(2, 64)
    expected[0, 0], expected[0, 1] = 0.5, 1.0
    expected[0, 30], expected[0, 31] = 6.0, -6.0
    expected[0, 32] = -0.5 * 2
    expected[1, 63] = -1.0 / 128
    assert torch.equal(decode_mxfp4(packed, scales, torch.float32), expected)
    assert decode_mxfp4(packed, scales).dtype == torch.bfloat16


@pytest.mark.parametrize("scale", [0, 1, 126, 127, 128, 252])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_every_nibble_at_every_scale_is_exact(scale, dtype):
    packed = torch.arange(16).repeat(2).view(1, 16, 2)
    packed = (packed[..., 0] | packed[..., 1] << 4).to(torch.uint8)
    got = decode_mxfp4(packed, torch.tensor([[scale]], dtype=torch.uint8), dtype).double()
    signed = torch.tensor([*GRID, *(-value for value in GRID)], dtype=torch.float64)
    assert torch.equal(got[0], signed.repeat(2) * 2.0 ** (scale - 127))
    assert torch.signbit(got[0, 8])


@given(st.data())
def test_what_was_decoded_is_encoded_without_loss(data):
    seed = data.draw(st.integers(0, 2**31))
    generator = torch.Generator().manual_seed(seed)
    packed = torch.randint(0, 256, (3, 5, 32), generator=generator, dtype=torch.uint8)
    packed[0, 0, :16] = data.draw(st.sampled_from([0x00, 0x11, 0x80, 0x88, 0x15]))
    scales = torch.randint(3, 253, (3, 5, 2), generator=generator, dtype=torch.uint8)
    decoded = decode_mxfp4(packed, scales)
    again = decode_mxfp4(*encode_mxfp4(decoded))
    assert torch.equal(decoded.view(torch.int16), again.view(torch.int16))


def test_encoding_takes_the_nearest_number_and_ties_to_the_even_one():
    wanted = {
        0.24: 0.0, 0.25: 0.0, 0.26: 0.5, 0.74: 0.5, 0.75: 1.0, 1.25: 1.0, 1.26: 1.5, 1.75: 2.0, 2.5: 2.0, 2.51: 3.0,
        3.5: 4.0, 4.99: 4.0, 5.0: 4.0, 5.01: 6.0, 7.9: 6.0,
    }  # fmt: skip
    row = torch.zeros(1, 32)
    row[0, 0] = 6.0  # sets the scale
    for place, value in enumerate(wanted, 1):
        row[0, place], row[0, place + 16] = value, -value
    packed, scales = encode_mxfp4(row[:, :32])
    assert scales.tolist() == [[127]]
    got = decode_mxfp4(packed, scales, torch.float32)[0]
    for place, value in enumerate(wanted.values(), 1):
        assert got[place] == value and got[place + 16] == -value
    assert packed[0, 0] == 7  # the element after 6 rounds to 0, in the high nibble


def test_encoding_is_never_further_off_than_a_third_of_a_group_s_largest_number():
    weights = torch.randn(64, 256, generator=torch.Generator().manual_seed(0)) * torch.logspace(-6, 6, 64)[:, None]
    got = decode_mxfp4(*encode_mxfp4(weights), torch.float32)
    largest = weights.view(64, -1, 32).abs().amax(-1, keepdim=True)
    off = ((got - weights).view(64, -1, 32) / largest).abs()
    assert off.max() <= 0.25  # 8 becomes 6
    assert off.mean() < 0.05
    assert torch.equal(encode_mxfp4(torch.zeros(1, 32))[0], torch.zeros(1, 16, dtype=torch.uint8))


def test_the_smallest_and_the_largest_floats_are_encoded():
    for value in (2.0**-149, 2.0**-126, 1.7e38):
        got = decode_mxfp4(*encode_mxfp4(torch.full((1, 32), value)), torch.float32)
        assert torch.isfinite(got).all() and (got - value).abs().max() <= max(value / 4, 2.0**-129)


@pytest.mark.parametrize(
    ("packed", "scales", "message"),
    [
        (torch.zeros(2, 16), torch.zeros(2, 1, dtype=torch.uint8), r"values of MXFP4 are torch\.float32, not uint8"),
        (torch.zeros(2, 16, dtype=torch.uint8), torch.zeros(2, 1), r"scales of MXFP4 are torch\.float32, not uint8"),
        (
            torch.zeros(2, 16, dtype=torch.uint8), torch.zeros(2, 2, dtype=torch.uint8),
            r"values \[2, 16\] and scales \[2, 2\] do not go together",
        ),
        (
            torch.zeros(2, 16, dtype=torch.uint8), torch.full((2, 1), 255, dtype=torch.uint8),
            "a scale of MXFP4 is 255, above 252: its numbers are not finite",
        ),
    ],
)  # fmt: skip
def test_what_is_no_mxfp4_is_refused(packed, scales, message):
    with pytest.raises(ValueError, match=message):
        decode_mxfp4(packed, scales)


def test_what_cannot_be_encoded_is_refused():
    with pytest.raises(ValueError, match="a row of 24 numbers does not divide into MXFP4's groups of 32"):
        encode_mxfp4(torch.zeros(2, 24))
    for bad in (torch.nan, torch.inf):
        with pytest.raises(ValueError, match="not finite"):
            encode_mxfp4(torch.full((2, 32), bad))
