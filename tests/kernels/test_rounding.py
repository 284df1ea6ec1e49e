"""Errors in bf16 against fp64: on a GPU as it is, elsewhere in the interpreter, with operands rounded as a GPU does.

The error that only rounding makes is the same on both: dz of heads of 32 channels was 0.028 off on an H200 and 0.025 in
the interpreter, before products of rows saw the same rounded rows as the gradient of the gate.
"""

from __future__ import annotations

import pytest
import torch
from k3data.model.bench.kernels import LIMITS, TENSORS, composed, operands_of, results_and_gradients
from k3data.model.bench.oracles import relative_rms
from k3data.model.kernels.kda import kda


def errors(length, head_dim, gate, device, **options):
    given = operands_of(1, length, 1, head_dim, head_dim, gate, device=device)
    found = results_and_gradients(kda, given, **options)
    expected = results_and_gradients(composed, [x.double() for x in given], **options)
    pairs = zip(TENSORS, found, expected, strict=True)
    return {name: relative_rms(a, b) for name, a, b in pairs if (a.double() - b).abs().max() > 1e-6}


SIZES = [(150, 32), *(pytest.param(*size, marks=pytest.mark.slow) for size in ((1000, 32), (300, 64), (300, 128)))]


@pytest.mark.parametrize(("length", "head_dim"), SIZES)
@pytest.mark.parametrize("gate", ["mixed", "initial", "saturated"])
def test_every_tensor_is_as_near_to_fp64_as_fla_asks(length, head_dim, gate, device):
    found = errors(length, head_dim, gate, device)
    # A gate at its end: what is left of the gradients is smaller than the numbers of bf16.
    names = set(found) - ({"dz", "dA_log", "ddt_bias"} if gate == "saturated" else set())
    limits = LIMITS | {"dA_log": 0.1}
    assert {name: found[name] for name in names if found[name] > limits[name]} == {}


@pytest.mark.parametrize("gate", ["mixed", "initial"])
def test_the_gradient_of_the_gate_is_no_farther_off_than_that_of_keys(gate, device):
    found = errors(150, 32, gate, device)
    assert found["dz"] <= 0.006, found


def test_rows_far_from_unit_length_lose_nothing(device):
    given = operands_of(1, 70, 1, 32, 32, "mixed", device=device)
    given[0], given[1] = given[0] * 2.0**20, given[1] * 2.0**-6
    found = results_and_gradients(kda, given)
    expected = results_and_gradients(composed, [x.double() for x in given])
    for name, a, b in zip(TENSORS, found, expected, strict=True):
        assert relative_rms(a, b) <= 2 * LIMITS[name], name
        assert torch.isfinite(a).all(), name


def test_gates_in_fp32_may_differ_from_operands_in_dtype(device):
    given = operands_of(1, 70, 1, 32, 32, "mixed", device=device)
    wide = [*given[:3], given[3].float(), *given[4:]]
    narrow, found = (results_and_gradients(kda, x) for x in (given, wide))
    for name, a, b in zip(TENSORS, found, narrow, strict=True):
        assert relative_rms(a, b) <= 0.004, name
