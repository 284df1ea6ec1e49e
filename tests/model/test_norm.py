"""RMSNorm against the formula, and where it rounds."""

from __future__ import annotations

import torch
from k3data.model.norm import RMSNorm, rms_norm


def test_it_is_the_formula_in_fp64_with_gradients():
    torch.manual_seed(0)
    x = torch.randn(3, 5, 16, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(16, dtype=torch.float64, requires_grad=True)
    expected = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight
    torch.testing.assert_close(rms_norm(x, weight, 1e-5), expected, rtol=0, atol=1e-14)
    assert torch.autograd.gradcheck(lambda x, weight: rms_norm(x, weight, 1e-5), (x, weight))


def test_it_agrees_with_torch():
    torch.manual_seed(0)
    ours, theirs = RMSNorm(64, 1e-6), torch.nn.RMSNorm(64, eps=1e-6)
    with torch.no_grad():
        theirs.weight.copy_(ours.weight.normal_())
    x = torch.randn(7, 64)
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=1e-6)


def test_bf16_is_rounded_once_at_the_end():
    torch.manual_seed(0)
    norm = RMSNorm(256)
    with torch.no_grad():
        norm.weight.uniform_(0.5, 1.5)
    x = torch.randn(64, 256).bfloat16()
    out = norm(x)
    assert out.dtype == torch.bfloat16
    exact = rms_norm(x.double(), norm.weight.double(), norm.eps)
    torch.testing.assert_close(out, exact.bfloat16(), rtol=2**-7, atol=0)
    assert (out == exact.bfloat16()).float().mean() > 0.99
    # Rounding before the weight is multiplied, as the released layer does, gives other bits.
    twice = (rms_norm(x, torch.ones(256), norm.eps) * norm.weight.bfloat16()).bfloat16()
    assert (twice == exact.bfloat16()).float().mean() < 0.9


def test_large_bf16_does_not_overflow():
    x = torch.full((1, 8), 1e18, dtype=torch.bfloat16)
    torch.testing.assert_close(RMSNorm(8)(x), torch.ones(1, 8, dtype=torch.bfloat16))


def test_zeros_stay_zeros():
    assert RMSNorm(8)(torch.zeros(2, 8)).abs().max() == 0
