"""The product that is not rounded, against one in fp64."""

from __future__ import annotations

import pytest
import torch
from k3data.model.bench.oracles import relative_rms
from k3data.model.wide_linear import _linear, wide_linear
from torch.nn import functional as F

CHECKS = ("test_schema", "test_faketensor", "test_autograd_registration")


def operands(dtype):
    rng = torch.Generator().manual_seed(0)
    x, weight = torch.randn(3, 50, 200, generator=rng), 0.1 * torch.randn(7, 200, generator=rng)
    return [one.to(dtype).requires_grad_() for one in (x, weight)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_result_and_gradients(dtype):
    x, weight = operands(dtype)
    y = wide_linear(x, weight)
    wide = [one.detach().double().requires_grad_() for one in (x, weight)]
    expected = F.linear(*wide)
    # Of 24 bits, of which a gradient rounded to bf16 would lose 16.
    dy = torch.randn(y.shape, generator=torch.Generator().manual_seed(1))
    found = torch.autograd.grad(y, [x, weight], dy.to(y.dtype))
    gradients = torch.autograd.grad(expected, wide, dy.double())
    assert y.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert relative_rms(y, expected) < 1e-6
    for name, own, exact in zip(("dx", "dW"), found, gradients, strict=True):
        assert own.dtype == dtype
        rounded = relative_rms(exact.to(dtype), exact) if dtype == torch.bfloat16 else 5e-7
        assert relative_rms(own, exact) <= 1.05 * rounded, name


def test_the_operator_says_what_it_is():
    torch.library.opcheck(_linear.registered, operands(torch.bfloat16), test_utils=CHECKS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert wide_linear(*operands(torch.float32)).dtype == torch.float32
