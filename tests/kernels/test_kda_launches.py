"""The inner kernel in the ways it is launched that no table has, against fp64."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from k3data.model.bench.kernels import LIMITS, TENSORS, composed, operands_of, results_and_gradients
from k3data.model.bench.oracles import relative_rms
from k3data.model.bench.study import patched
from k3data.model.kernels.kda import kda, launch, passes

WAYS = {"not_ahead": {"ahead": False}, "two_parts": {"parts": 2}}


@contextmanager
def inner(**changes):
    def changed(key_dim, value_dim):
        table = launch.launches(key_dim, value_dim)
        return replace(table, inner=replace(table.inner, **changes))

    with patched(passes, launches=changed):
        yield


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("gate", ["mixed", "saturated"])
def test_gradients_are_those_of_fp64_and_repeat(way, gate, device, limit_of):
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    given = [x.to(dtype) for x in operands_of(1, 150, 2, 32, 32, gate, device=device)]
    with inner(**WAYS[way]):
        found, again = (results_and_gradients(kda, given) for _ in range(2))
    expected = results_and_gradients(composed, [x.double() for x in given])
    assert all(map(torch.equal, found, again))
    for name, a, b in zip(TENSORS, found, expected, strict=True):
        # Of a gate at its end next to nothing is left.
        if (a.double() - b).abs().max() > 1e-6:
            assert relative_rms(a, b) <= limit_of(name), name


@pytest.mark.parametrize("way", WAYS)
def test_errors_in_bf16_are_within_limits(way, device):
    given = operands_of(1, 150, 1, 32, 32, "mixed", device=device)
    with inner(**WAYS[way]):
        found = results_and_gradients(kda, given)
    expected = results_and_gradients(composed, [x.double() for x in given])
    far = {name: relative_rms(a, b) for name, a, b in zip(TENSORS, found, expected, strict=True)}
    assert {name: far[name] for name, limit in LIMITS.items() if not far[name] <= limit} == {}
