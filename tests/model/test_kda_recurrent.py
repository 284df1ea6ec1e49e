"""The recurrence, by which all else is measured, against equation 1 written out as matrices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from k3data.model.bench.oracles import GATES, kda_operands
from k3data.model.kda.chunked import kda_chunked
from k3data.model.kda.recurrent import kda_recurrent


def equation_1(q_TK, k_TK, v_TV, log_decay_TK, beta_T, S_KV, scale):
    """S_t = (I − β k kᵀ) Diag(α) S_{t−1} + β k vᵀ,  o_t = scale · S_tᵀ q_t, for one head."""
    outputs = []
    for q, k, v, log_decay, beta in zip(q_TK, k_TK, v_TV, log_decay_TK, beta_T, strict=True):
        transition = (np.eye(len(k)) - beta * np.outer(k, k)) @ np.diag(np.exp(log_decay))
        S_KV = transition @ S_KV + beta * np.outer(k, v)
        outputs.append(scale * S_KV.T @ q)
    return np.stack(outputs), S_KV


@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("gate", GATES)
def test_it_is_equation_1(gate, scale):
    operands = kda_operands(20, 2, 16, gate, batch=2)
    o, state = kda_recurrent(*operands[:5], initial_state_NHKV=operands[5], scale=scale)
    for row in range(2):
        for head in range(2):
            of_the_head = [x[row, :, head].numpy() for x in operands[:5]]
            by_matrices = equation_1(*of_the_head, operands[5][row, head].numpy(), 16**-0.5 if scale is None else scale)
            for found, expected in zip((o[row, :, head], state[row, head]), by_matrices, strict=True):
                np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-13)


def test_it_starts_from_an_empty_state():
    q, k, v, log_decay, beta, initial = kda_operands(9, 2, 16, "initial")
    without = kda_recurrent(q, k, v, log_decay, beta)
    zeros = kda_recurrent(q, k, v, log_decay, beta, initial_state_NHKV=torch.zeros_like(initial))
    for a, b in zip(without, zeros, strict=True):
        assert torch.equal(a, b)
    # The first token reads back what it wrote.
    expected = 16**-0.5 * beta[:, 0, :, None] * (q * k)[:, 0].sum(-1, keepdim=True) * v[:, 0]
    torch.testing.assert_close(without[0][:, 0], expected, rtol=0, atol=1e-14)


def test_packed_sequences_do_not_see_each_other():
    bounds = torch.tensor([0, 4, 4, 5, 30])
    operands = kda_operands(30, 2, 16, "near_zero", sequences=4)
    o, state = kda_recurrent(*operands[:5], initial_state_NHKV=operands[5], cu_seqlens=bounds)
    for n, (start, end) in enumerate(pairwise(bounds.tolist())):
        if start == end:
            assert torch.equal(state[n], operands[5][n])
            continue
        alone = kda_recurrent(*(x[:, start:end] for x in operands[:5]), initial_state_NHKV=operands[5][n : n + 1])
        assert torch.equal(o[:, start:end], alone[0]) and torch.equal(state[n], alone[1][0])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("operator", [kda_recurrent, kda_chunked])
def test_outputs_have_the_values_dtype_and_states_are_wide(operator, dtype):
    o, state = operator(*(x.to(dtype) for x in kda_operands(5, 1, 16, "initial")[:5]))
    assert o.dtype == dtype
    assert state.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


@pytest.mark.parametrize("operator", [kda_recurrent, kda_chunked])
def test_gradients_are_those_of_finite_differences(operator):
    options = {"chunk_size": 16} if operator is kda_chunked else {}
    leaves = [x.requires_grad_() for x in kda_operands(19, 1, 3, "initial")]

    def call(q, k, v, log_decay, beta, initial):
        return operator(q, k, v, log_decay, beta, initial_state_NHKV=initial, **options)

    assert torch.autograd.gradcheck(call, leaves)
