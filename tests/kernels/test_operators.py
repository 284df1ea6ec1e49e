"""What PyTorch asks of a custom operator: a schema that tells the truth, and the real shapes on fake tensors."""

from __future__ import annotations

import pytest
import torch
from k3data.model.bench.kernels import operands_of
from k3data.model.kernels.kda import ChunkTable, chunks, op, step

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
CHECKS = ("test_schema", "test_faketensor", "test_autograd_registration")


def operands(batch, length, sequences=None):
    return operands_of(batch, length, 1, 32, 32, "mixed", sequences=sequences, device=DEVICE, dtype=DTYPE)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("cut", [True, False])
def test_forward(training, cut, monkeypatch):
    if cut:
        monkeypatch.setattr(chunks, "cuts_of", lambda heads: chunks.Cuts(64, 64))
    tensors = [x.requires_grad_(training) for x in operands(1, 70)]
    torch.library.opcheck(op._forward.registered, (*tensors, None, None, None, -5.0, 0.2, training), test_utils=CHECKS)


def test_backward_of_packed_sequences(monkeypatch):
    monkeypatch.setattr(chunks, "cuts_of", lambda heads: chunks.Cuts(64, 64))
    table = ChunkTable.of([0, 10, 80], 80, 1, DEVICE)
    inputs = (*operands(1, 80, 2), table.rows_M2, table.walks_Z8, table.cuts_N2)
    o, state, *kept = op._forward(*inputs, -5.0, 0.2, True)
    arguments = (torch.ones_like(o), torch.ones_like(state), *inputs, o, *kept, -5.0, 0.2)
    torch.library.opcheck(op._backward.registered, arguments, test_utils=CHECKS)


def test_step():
    given = operands(2, 1)
    arguments = (*(x[:, 0].contiguous() for x in given[:5]), *given[5:], -5.0, 0.2)
    torch.library.opcheck(step._step.registered, arguments, test_utils=CHECKS)


def test_shapes_of_any_length_are_traced_without_the_kernels():
    """On fake tensors nothing runs: a million tokens cost nothing, and lengths of one graph need not be known."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        tensors = [torch.empty(1, 2**20, 32, 128, dtype=torch.bfloat16, requires_grad=True) for _ in range(4)]
        beta = torch.empty(1, 2**20, 32, dtype=torch.bfloat16)
        o, state, entering, *_, across = op._forward(
            *tensors, beta, torch.empty(32), torch.empty(4096), None, None, None, None, -5.0, 0.2, True
        )
        (dq,) = torch.autograd.grad(o.sum(), tensors[:1])
    assert o.shape == dq.shape == (1, 2**20, 32, 128)
    assert state.shape == (1, 32, 128, 128)
    assert entering.shape == (2**14, 32, 128, 128)
    assert across.shape == (1 + 28 + 240, 32, 128, 128)
