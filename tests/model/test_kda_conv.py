"""The short convolution against torch's, across the borders of sequences and from token to token."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.model.kda.conv import ShortConvolution
from torch.nn import functional as F


def by_torch(conv, x_TP):
    """One sequence: torch's depthwise convolution of zeros and x."""
    padded = F.pad(x_TP.T, (conv.kernel - 1, 0))
    return F.silu(F.conv1d(padded[None], conv.weight, groups=x_TP.shape[1])[0].T)


@pytest.mark.parametrize("kernel", [1, 2, 4])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 30])
def test_it_is_the_depthwise_convolution_with_its_gradients(kernel, length):
    torch.manual_seed(0)
    conv = ShortConvolution(6, kernel).double()
    x = torch.randn(2, length, 6, dtype=torch.float64, requires_grad=True)
    expected = torch.stack([by_torch(conv, row) for row in x])
    found, _ = conv(x)
    torch.testing.assert_close(found, expected)
    dy = torch.randn_like(found)
    torch.testing.assert_close(
        torch.autograd.grad(found, (x, conv.weight), dy), torch.autograd.grad(expected, (x, conv.weight), dy)
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any), st.booleans())
def test_packed_sequences_do_not_see_each_other(lengths, with_tail):
    torch.manual_seed(0)
    conv = ShortConvolution(5).double()
    bounds = torch.tensor([0, *lengths]).cumsum(0)
    x = torch.randn(1, int(bounds[-1]), 5, dtype=torch.float64)
    tail = torch.randn(len(lengths), 3, 5, dtype=torch.float64) if with_tail else None
    y, new_tail = conv(x, bounds, tail)
    for n, (start, end) in enumerate(pairwise(bounds.tolist())):
        before = torch.zeros(3, 5, dtype=torch.float64) if tail is None else tail[n]
        seen = torch.cat([before, x[0, start:end]])
        torch.testing.assert_close(y[0, start:end], by_torch(conv, seen)[3:])
        assert torch.equal(new_tail[n], seen[-3:])


@pytest.mark.parametrize("cuts", [[1, 2, 3], [1, 1, 1, 1, 1, 1], [5, 1]])
def test_a_batch_goes_on_from_its_tail(cuts):
    torch.manual_seed(0)
    conv = ShortConvolution(5)
    x = torch.randn(3, sum(cuts), 5)
    whole, last = conv(x)
    tail, parts = None, []
    for part in x.split(cuts, 1):
        y, tail = conv(part, tail_NLP=tail)
        parts.append(y)
    torch.testing.assert_close(torch.cat(parts, 1), whole)
    assert torch.equal(tail, last) and torch.equal(last, x[:, -3:])


def test_bf16_is_rounded_once_at_the_end():
    torch.manual_seed(0)
    conv = ShortConvolution(8)
    x = torch.randn(1, 20, 8).bfloat16()
    assert torch.equal(conv(x)[0], conv(x.float())[0].bfloat16())


def test_a_tail_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"tail is \[2, 2, 5\], but must be \[2, 3, 5\]"):
        ShortConvolution(5)(torch.randn(2, 4, 5), tail_NLP=torch.zeros(2, 2, 5))
    with pytest.raises(ValueError, match="must end at the number of tokens"):
        ShortConvolution(5)(torch.randn(1, 4, 5), torch.tensor([0, 3]))
