"""The inner kernel with channels first, in each way it is launched, beside the one with rows first and fp64."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from k3data.model.bench.kernels import LIMITS, TENSORS, composed, operands_of, results_and_gradients
from k3data.model.bench.oracles import relative_rms
from k3data.model.bench.study import patched
from k3data.model.kernels.kda import across, kda, launch, passes

WAYS = {"ahead": {}, "not_ahead": {"ahead": False}, "two_parts": {"parts": 2}, "rows_first": {"joint": False}}


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


@pytest.mark.parametrize("way", ["not_ahead", "two_parts"])
def test_errors_in_bf16_are_within_limits(way, device):
    given = operands_of(1, 150, 1, 32, 32, "mixed", device=device)
    with inner(**WAYS[way]):
        found = results_and_gradients(kda, given)
    expected = results_and_gradients(composed, [x.double() for x in given])
    far = {name: relative_rms(a, b) for name, a, b in zip(TENSORS, found, expected, strict=True)}
    assert {name: far[name] for name, limit in LIMITS.items() if not far[name] <= limit} == {}


def test_gates_in_fp32_may_differ_from_operands_in_dtype(device):
    given = operands_of(1, 70, 1, 32, 32, "mixed", device=device)
    wide = [*given[:3], given[3].float(), *given[4:]]
    narrow, found = (results_and_gradients(kda, x) for x in (given, wide))
    for name, a, b in zip(TENSORS, found, narrow, strict=True):
        assert relative_rms(a, b) <= 0.004, name


def test_sums_of_rows_are_in_order(device):
    same, so_far, back = across.ones_of_rows(torch.float32, torch.device(device))
    x = torch.arange(1.0, 65, device=device)
    assert torch.equal(x @ same, x)
    assert torch.equal(x @ so_far, x.view(4, 16).cumsum(1).flatten())
    assert torch.equal(x @ back, x.flip(0).cumsum(0).flip(0))
