"""SiTU-GLU against its closed form."""

from __future__ import annotations

import math

import pytest
import torch
from k3data.model.activation import SiTUGLU, situ_glu
from torch.nn import functional as F


def closed_form(g: float, u: float, beta_gate: float = 4.0, beta_up: float = 25.0) -> float:
    sigmoid = 1 / (1 + math.exp(-g))
    return beta_gate * math.tanh(g / beta_gate) * sigmoid * beta_up * math.tanh(u / beta_up)


@pytest.mark.parametrize(("g", "u"), [(0.0, 3.0), (1.0, 1.0), (-1.219, 1.0), (8.0, -40.0), (-30.0, 90.0)])
def test_it_is_equation_12(g, u):
    out = situ_glu(torch.tensor(g, dtype=torch.float64), torch.tensor(u, dtype=torch.float64))
    assert float(out) == pytest.approx(closed_form(g, u), abs=1e-13)


def test_the_gate_has_the_minimum_of_the_reference():
    g = torch.linspace(-5, 5, 100_001, dtype=torch.float64)
    # Linear in `up` near 0.
    gate = situ_glu(g, torch.full_like(g, 1e-6)) / 1e-6
    assert float(gate.min()) == pytest.approx(-0.2698, abs=5e-5)
    assert float(g[gate.argmin()]) == pytest.approx(-1.219, abs=1e-3)


def test_nothing_exceeds_the_product_of_the_constants():
    x = torch.tensor([1e3, 1e30, 3e38])
    torch.testing.assert_close(situ_glu(x, x), torch.full((3,), 100.0))
    torch.testing.assert_close(situ_glu(-x, x), torch.zeros(3))


def test_it_becomes_swiglu_as_the_constants_grow():
    torch.manual_seed(0)
    g, u = torch.randn(2, 1000, dtype=torch.float64)
    torch.testing.assert_close(situ_glu(g, u, 1e6, 1e6), F.silu(g) * u, rtol=0, atol=1e-9)


def test_the_gradient_by_hand_is_that_of_the_formula():
    torch.manual_seed(0)
    g, u = (6 * torch.randn(2, 50, dtype=torch.float64)).requires_grad_().unbind()
    assert torch.autograd.gradcheck(lambda g, u: situ_glu(g, u, 4.0, 25.0), (g, u))


def test_bf16_is_computed_wide_and_rounded_once():
    torch.manual_seed(0)
    g, u = (4 * torch.randn(2, 500)).bfloat16().unbind()
    g, u = g.requires_grad_(), u.requires_grad_()
    out = situ_glu(g, u)
    assert out.dtype == torch.bfloat16
    exact = situ_glu(g.detach().double(), u.detach().double())
    torch.testing.assert_close(out.detach(), exact.bfloat16(), rtol=2**-7, atol=1e-30)
    out.sum().backward()
    assert g.grad.dtype == u.grad.dtype == torch.bfloat16 and g.grad.isfinite().all()


def test_the_module_uses_its_constants():
    g, u = torch.tensor([5.0]), torch.tensor([7.0])
    assert SiTUGLU(2.0, 3.0)(g, u).item() == pytest.approx(closed_form(5, 7, 2, 3), rel=1e-6)
