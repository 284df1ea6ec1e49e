"""Attention over groups by kernels, against PyTorch's in fp64, group by group."""

from __future__ import annotations

from itertools import accumulate

import pytest
import torch
from k3data.model.attention import attention as definition
from k3data.model.bench.oracles import relative_rms
from k3data.model.kernels.attention import TileTable, attention, op

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
LIMIT = 0.005 if DEVICE == "cuda" else 1e-5
CHECKS = ("test_schema", "test_faketensor", "test_autograd_registration")
NAMES = ("o", "dq", "dk", "dv")


def bounds_of(*lengths):
    return [0, *accumulate(lengths)]


def draw(*shape, seed=0, dtype=DTYPE):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def operands(tokens, heads=1, keys=64, values=64, batch=1, dtype=DTYPE):
    """q, k, v and do, whose numbers are of bf16, so that they are the same in every dtype."""
    widths = (keys, keys, values, values)
    return [draw(batch, tokens, heads, D, seed=seed).bfloat16().to(dtype) for seed, D in enumerate(widths)]


def run(given, bounds, fp32_output=True, **options):
    """o and the gradients of q, k and v."""
    *leaves, do = given
    leaves = [x.detach().requires_grad_() for x in leaves]
    o = attention(*leaves, TileTable.of(bounds, DEVICE), fp32_output=fp32_output, **options)
    return [o.detach(), *torch.autograd.grad(o, leaves, do.to(o))]


def defined(given, bounds, **options):
    q, k, v, do = (x.double().flatten(0, 1)[None] for x in given)
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    o = definition(*leaves, torch.tensor(bounds), **options)
    found = [o.detach(), *torch.autograd.grad(o, leaves, do)]
    return [x.view(y.shape) for x, y in zip(found, (given[3], *given[:3]), strict=True)]


def compare(given, bounds, limit=LIMIT, **options):
    found, expected = run(given, bounds, **options), defined(given, bounds, **options)
    for name, one, other, like in zip(NAMES, found, expected, (given[3].float(), *given[:3]), strict=True):
        assert one.dtype == like.dtype
        assert relative_rms(one, other) <= (limit if name == "o" else 1.6 * limit), name


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("keys", "values"), [(192, 128), (96, 64), (64, 64), (48, 32)])
def test_output_and_gradients_are_the_definitions(keys, values, causal):
    """Groups shorter than a tile, of one token, of none, of whole tiles, and of some and a rest."""
    bounds = bounds_of(37, 1, 0, 128, 150)
    compare(operands(bounds[-1], 1, keys, values), bounds, causal=causal)
