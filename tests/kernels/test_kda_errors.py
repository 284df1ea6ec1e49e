"""Errors of bf16 that every channel of a row has alike: the diagonal of X is not rounded, going forward or back."""

from __future__ import annotations

import pytest
import torch
from k3data.model.bench.kernels import TENSORS, composed, operands_of, results_and_gradients
from k3data.model.bench.oracles import relative_rms
from k3data.model.kernels.kda import kda

ROUNDING = 2.0**-8 * 1.001
"""The most that one rounding to bf16 takes of a number, and what fp32 adds."""


def test_what_is_written_and_its_gradient_are_rounded_once(device):
    """Keys that know nothing of each other, without decay: rows of the state are W = β v, and dv = β dW = β v."""
    q, k, v, z, beta, A_log, dt_bias, _ = operands_of(1, 32, 1, 32, 32, "initial", device=device)
    k = torch.eye(32, dtype=k.dtype, device=device)[None, :, None]
    leaves = [x.requires_grad_() for x in (q, k, v, torch.full_like(z, -80.0), beta, A_log, dt_bias)]
    _, state_NHKV = kda(*leaves)
    weights = v.detach().float().transpose(1, 2)
    dv, dbeta = torch.autograd.grad(state_NHKV, (v, beta), weights)
    share = beta.detach().double().sigmoid()
    expected = share[..., None] * v.detach().double()
    for found in (state_NHKV.detach().transpose(1, 2), dv):
        assert ((found.double() - expected).abs() <= ROUNDING * expected.abs()).all()
    # The sum of 32 products of what was rounded, rounded: what their errors leave in it is small.
    wanted = v.detach().double().square().sum(-1) * share * (1 - share)
    assert ((dbeta.double() - wanted).abs() <= 1.75 * ROUNDING * wanted).all()


@pytest.mark.parametrize("gate", ["near_zero", "initial"])
def test_what_forward_and_back_share_is_nearer_than_bf16_of_x_allows(gate, device):
    """With the diagonal in bf16 the state was 0.0046 and 0.0037 off, dv 0.0046 and 0.0042, dbeta 0.0063 and 0.0068."""
    given = operands_of(1, 150, 2, 32, 32, gate, device=device)
    found = results_and_gradients(kda, given, scale=1.0)
    expected = results_and_gradients(composed, [x.double() for x in given], scale=1.0)
    errors = {name: relative_rms(a, b) for name, a, b in zip(TENSORS, found, expected, strict=True)}
    limits = {"state": 0.0037, "dv": 0.0038, "dbeta": 0.0054}
    assert {name: errors[name] for name in limits if errors[name] > limits[name]} == {}
