"""One token by the kernel against the operator's step, and against the same tokens read as a prompt."""

from __future__ import annotations

import pytest
import torch
from k3data.model.bench.kernels import operands_of
from k3data.model.bench.oracles import GATES, relative_rms
from k3data.model.kda.gate import bounded_log_decay
from k3data.model.kda.step import kda_step as definition
from k3data.model.kernels.kda import kda, kda_step

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32


def operands(key_dim=32, value_dim=32, gate="mixed", tokens=1):
    return operands_of(2, tokens, 3, key_dim, value_dim, gate, device=DEVICE, dtype=DTYPE)


def at(given, t):
    return [*(x[:, t] for x in given[:5]), *given[5:]]


def unit(x):
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("sizes", [(32, 32), (64, 64), (128, 128)])
def test_equal_to_the_definition(sizes, gate):
    q, k, v, z, beta, A_log, dt_bias, state = at(operands(*sizes, gate), 0)
    wide = [x.double() for x in (q, k, v, z, beta, A_log, dt_bias, state)]
    log_decay = bounded_log_decay(wide[3], wide[5], wide[6])
    expected, after = definition(unit(wide[0]), unit(wide[1]), wide[2], log_decay, wide[4].sigmoid(), wide[7])
    o = kda_step(q, k, v, z, beta, A_log, dt_bias, state)
    assert o.dtype == v.dtype
    assert relative_rms(o, expected) <= (0.003 if DEVICE == "cuda" else 1e-6)
    assert relative_rms(state, after) <= 1e-6


def test_token_by_token_is_what_a_prompt_gives():
    given = operands(tokens=6)
    expected, after = kda(*given[:7], initial_state_NHKV=given[7], scale=1.0, lower_bound=-2.0)
    state = given[7].clone()
    outputs = [kda_step(*at(given, t)[:7], state, scale=1.0, lower_bound=-2.0) for t in range(6)]
    limit = 0.01 if DEVICE == "cuda" else 1e-5
    assert relative_rms(torch.stack(outputs, 1), expected) <= limit
    assert relative_rms(state, after) <= limit


def test_it_compiles_into_one_graph():
    given = at(operands(), 0)

    def step(*tensors):
        return 2 * kda_step(*tensors)

    states = [given[7].clone() for _ in range(2)]
    with torch.no_grad():
        found = torch.compile(step, fullgraph=True, backend="aot_eager")(*given[:7], states[0])
        expected = step(*given[:7], states[1])
    assert torch.equal(found, expected)
    assert torch.equal(*states)


def test_what_does_not_fit_is_refused_before_the_launch():
    given = at(operands(), 0)
    state = given[7]
    for bad, match in (
        (state.double(), "initial_state is torch.float64"),
        (state.bfloat16(), "must be contiguous fp32, not torch.bfloat16"),
        (state.transpose(0, 1).contiguous().transpose(0, 1), "must be contiguous"),
        (state[:1], "of 1 sequences, but the input has 2"),
        (state[..., :16], "initial_state is"),
    ):
        with pytest.raises(ValueError, match=match):
            kda_step(*given[:7], bad)
    given[0].requires_grad_()
    with pytest.raises(ValueError, match="no gradients"):
        kda_step(*given)
