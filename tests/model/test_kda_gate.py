"""The forget gate: its range, its gradients by hand, and where a new model starts."""

from __future__ import annotations

import math

import pytest
import torch
from k3data.model.kda.gate import bounded_log_decay, initial_dt_bias


def operands(heads=3, channels=8):
    torch.manual_seed(0)
    z = torch.randn(2, 5, heads, channels, dtype=torch.float64)
    return z, 0.5 * torch.randn(heads, dtype=torch.float64), torch.randn(heads * channels, dtype=torch.float64)


def test_its_gradients_are_the_closed_form():
    z, A_log, dt_bias = (x.requires_grad_() for x in operands())
    dg = torch.randn_like(z)
    found = torch.autograd.grad(bounded_log_decay(z, A_log, dt_bias, -5.0), (z, A_log, dt_bias), dg)
    rate = A_log.exp()[:, None]
    biased = z + dt_bias.view(3, 8)
    s = torch.sigmoid(rate * biased)
    dz = dg * -5.0 * s * (1 - s) * rate
    expected = (dz, (dz * biased).sum((0, 1, 3)), dz.sum((0, 1)).flatten())
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_the_rate_scales_the_bias_too_and_is_one_a_head():
    z, A_log, dt_bias = operands()
    g = bounded_log_decay(z, A_log, dt_bias)
    for head in range(3):
        logit = A_log[head].exp() * (z[:, :, head] + dt_bias[8 * head : 8 * head + 8])
        torch.testing.assert_close(g[:, :, head], -5 * torch.sigmoid(logit))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_saturation_stays_inside_the_bounds_with_finite_gradients(dtype):
    z = torch.tensor([-1e30, -200.0, 0.0, 200.0, 1e30], dtype=dtype).view(1, 1, 1, 5).requires_grad_()
    A_log, dt_bias = torch.full((1,), 3.0, requires_grad=True), torch.zeros(5, requires_grad=True)
    g = bounded_log_decay(z, A_log, dt_bias)
    assert g.dtype == torch.float32
    assert g.flatten().tolist() == [0.0, 0.0, -2.5, -5.0, -5.0]
    g.sum().backward()
    assert all(torch.isfinite(x.grad).all() for x in (z, A_log, dt_bias))


def test_a_new_layer_forgets_a_little_everywhere():
    torch.manual_seed(0)
    bias = initial_dt_bias(100_000)
    alpha = bounded_log_decay(torch.zeros(1, 1, 1, 100_000), torch.zeros(1), bias).exp()
    assert 0.6213 < alpha.min() < 0.625
    assert 0.9949 < alpha.max() < 0.9951
    # Half of all steps are below 1e-2, the middle of the logarithms.
    assert alpha.median().item() == pytest.approx(math.exp(-5 * -math.expm1(-1e-2)), abs=2e-3)
    dt = torch.nn.functional.softplus(bias)
    assert dt.log().mean() == pytest.approx(math.log(1e-2), abs=0.02)
    torch.testing.assert_close(alpha.flatten(), torch.exp(-5 * -torch.expm1(-dt)))


def test_sizes_that_do_not_go_together_are_refused():
    z, A_log, dt_bias = operands()
    with pytest.raises(ValueError, match=r"A_log is \[2\] and dt_bias \[24\], but 3 heads of 8 channels take \[3\]"):
        bounded_log_decay(z, A_log[:2], dt_bias)
    with pytest.raises(ValueError, match=r"dt_bias \[23\]"):
        bounded_log_decay(z, A_log, dt_bias[:23])
