"""The learning rate over a plan, and the clipping of gradients."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from k3data.train.optim.clip import clip_gradients
from k3data.train.optim.schedule import CosinePlan, learning_rate
from torch import nn

PLAN = CosinePlan(peak=0.01, tokens=1_000_000, floor=0.1)


def test_it_rises_in_a_straight_line_and_falls_by_half_a_cosine():
    assert learning_rate(PLAN, 0) == 0
    assert learning_rate(PLAN, 2_500) == pytest.approx(0.0025)
    assert learning_rate(PLAN, 10_000) == pytest.approx(0.01)
    assert learning_rate(PLAN, 505_000) == pytest.approx(0.01 * (0.1 + 0.9 / 2))
    assert learning_rate(PLAN, 257_500) == pytest.approx(0.01 * (0.1 + 0.9 * (1 + math.cos(math.pi / 4)) / 2))
    assert learning_rate(PLAN, 1_000_000) == pytest.approx(0.001)
    assert learning_rate(PLAN, 1_200_000) == pytest.approx(0.001)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 1))
def test_it_has_one_peak_and_stays_between_floor_and_peak(early, late, warmup, floor):
    plan = CosinePlan(peak=2.0, tokens=1000, warmup=warmup, floor=floor)
    early, late = sorted((1000 * early, 1000 * late))
    first, second = learning_rate(plan, early), learning_rate(plan, late)
    assert 0 <= first <= 2 and 0 <= second <= 2
    if late <= 1000 * warmup:
        assert first <= second
    if early >= 1000 * warmup:
        assert first >= second >= 2 * floor - 1e-12


def test_without_a_floor_the_middles_of_all_steps_have_a_rate():
    """8 steps; the warm-up of one per cent lies inside the first."""
    rates = [learning_rate(CosinePlan(peak=1.0, tokens=800), 100 * step + 50) for step in range(8)]
    assert min(rates) > 0.009
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"peak": 0.0}, "peak of the learning rate is 0.0"),
        ({"peak": math.nan}, "peak of the learning rate is nan"),
        ({"tokens": 0}, "plan has 0 tokens"),
        ({"warmup": 1.0}, "warm-up is 1.0"),
        ({"floor": 1.5}, "floor is 1.5"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(change, problem):
    with pytest.raises(ValueError, match=problem):
        CosinePlan(**{"peak": 0.1, "tokens": 10, **change})


def test_a_negative_number_of_tokens_is_refused():
    with pytest.raises(ValueError, match="-1 tokens"):
        learning_rate(PLAN, -1)


def with_gradients(*gradients: list[float]) -> list[nn.Parameter]:
    parameters = [nn.Parameter(torch.zeros(len(one))) for one in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.tensor(gradient)
    return parameters


def test_clipping_keeps_the_direction_and_tells_the_norm_before():
    parameters = with_gradients([3.0, 0.0], [0.0, 4.0, 12.0])
    assert clip_gradients(parameters, 1.0).item() == pytest.approx(13)
    joint = torch.cat([parameter.grad for parameter in parameters])
    torch.testing.assert_close(joint, torch.tensor([3.0, 0, 0, 4, 12]) / 13, rtol=1e-5, atol=0)


def test_a_small_gradient_is_left_as_it_is():
    parameters = with_gradients([0.3], [0.4])
    parameters.append(nn.Parameter(torch.zeros(2)))
    assert clip_gradients(parameters, 1.0).item() == pytest.approx(0.5)
    assert [parameter.grad.item() for parameter in parameters[:2]] == [pytest.approx(0.3), pytest.approx(0.4)]
    assert parameters[2].grad is None


def test_a_norm_that_is_no_number_is_told():
    assert math.isnan(clip_gradients(with_gradients([1.0, math.nan]), 1.0).item())
    assert clip_gradients(with_gradients([1.0, math.inf]), 1.0).item() == math.inf


def test_clipping_nothing_or_to_nothing_is_refused():
    with pytest.raises(ValueError, match="limit of the gradients' norm is 0"):
        clip_gradients(with_gradients([1.0]), 0)
    with pytest.raises(ValueError, match="no gradient to clip"):
        clip_gradients([nn.Parameter(torch.zeros(1))], 1.0)
