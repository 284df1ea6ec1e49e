"""The guard: what is skipped, what is remembered, one verdict on all ranks, and an end to skipping."""

from __future__ import annotations

import math
import random
import threading

import pytest
import torch
from k3data.train.optim.guard import SkipStepGuard, TooManySkips, Verdict

SUMS = torch.float64


def judge(guard: SkipStepGuard, norm: float, loss: float = 6.0, weight: float = 3.0, all_reduce=None) -> Verdict:
    scalars = (torch.tensor(value, dtype=SUMS) for value in (loss, weight, norm))
    return guard.judge(*scalars, all_reduce)


def trained(norms: int = 128, spread: float = 0.05, **options) -> SkipStepGuard:
    """After as many steps with norms around 1."""
    draw, guard = random.Random(0), SkipStepGuard(**options)
    for _ in range(norms):
        assert not judge(guard, draw.gauss(1, spread)).skip
    return guard


def test_a_usual_step_is_taken_and_told():
    assert judge(SkipStepGuard(), 1.5) == Verdict(False, "", 2.0, 1.5)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"norm": math.nan}, "the gradients' norm is nan"),
        ({"norm": math.inf}, "the gradients' norm is inf"),
        ({"norm": 1.0, "loss": math.nan}, "the loss is nan"),
        ({"norm": 1.0, "loss": -math.inf}, "the loss is -inf"),
        ({"norm": 1.0, "weight": 0.0}, "no token of the step has a weight"),
    ],
)
def test_what_is_no_number_is_skipped_from_the_first_step_on(values, reason):
    verdict = judge(SkipStepGuard(), **values)
    assert (verdict.skip, verdict.reason) == (True, reason)


def test_six_deviations_are_the_bound():
    guard = trained()
    norms = torch.tensor(guard.norms, dtype=SUMS)
    bound = (norms.mean() + 6 * norms.std()).item()
    assert guard.bound() == pytest.approx(bound)
    assert not judge(guard, bound * 0.9999).skip
    verdict = judge(guard, guard.bound() * 1.0001)
    assert verdict.skip
    assert "the gradients' norm is 1.3" in verdict.reason and ", beyond 1.3" in verdict.reason


def test_before_the_warm_up_no_norm_is_too_large():
    guard = trained(norms=31)
    assert guard.bound() == math.inf
    assert not judge(guard, 50.0).skip
    assert guard.bound() < math.inf


def test_a_spike_does_not_let_the_next_one_through():
    guard = trained()
    assert judge(guard, 1000.0).skip
    assert guard.bound() < 2
    assert judge(guard, 1000.0).skip
    assert not judge(guard, 1.0).skip
    assert guard.skipped == 2 and guard.skipped_in_row == 0


@pytest.mark.parametrize(("factor", "skipped"), [(2, 4), (3, 9)])
@pytest.mark.parametrize("spread", [0.0, 0.02])
def test_norms_that_have_risen_for_good_get_through(factor, skipped, spread):
    guard = trained(spread=spread)
    verdicts = [judge(guard, factor).skip for _ in range(20)]
    assert sum(verdicts) <= skipped
    assert not any(verdicts[skipped:])


def test_the_window_forgets():
    guard = SkipStepGuard(window=8, warmup=4)
    for norm in [*range(1, 9), *[5.0] * 8]:
        judge(guard, norm)
    assert guard.norms == [5.0] * 8


def test_too_many_in_a_row_are_an_error():
    guard = trained(patience=3)
    for _ in range(3):
        assert judge(guard, math.nan).skip
    assert not judge(guard, 1.0).skip
    for _ in range(3):
        judge(guard, math.nan)
    with pytest.raises(TooManySkips, match="4 steps in a row were skipped, the last because the gradients' norm"):
        judge(guard, math.nan)


def test_it_goes_on_from_its_state():
    one, other = trained(norms=50, patience=2), SkipStepGuard(patience=2)
    judge(one, math.nan)
    other.load_state_dict(one.state_dict())
    for norm in (1.1, 9.0, math.inf):
        assert judge(one, norm) == judge(other, norm)
    assert one.state_dict() == other.state_dict()
    for guard in (one, other):
        with pytest.raises(TooManySkips):
            judge(guard, math.nan)


class Ranks:
    """Threads that add up what they bring, as a collective does."""

    def __init__(self, count: int) -> None:
        self.barrier = threading.Barrier(count, timeout=20)
        self.brought: list[torch.Tensor] = []

    def all_reduce(self, tensor: torch.Tensor) -> None:
        self.brought.append(tensor.clone())
        self.barrier.wait()
        total = torch.stack(self.brought).sum(0)
        if self.barrier.wait() == 0:
            self.brought.clear()
        self.barrier.wait()
        tensor.copy_(total)

    def run(self, steps: list[list[dict]]) -> list[list[Verdict]]:
        """Verdicts of each rank, which has a list of steps."""
        verdicts: list[list[Verdict]] = [[] for _ in steps]

        def rank(number: int) -> None:
            guard = SkipStepGuard()
            verdicts[number] += [judge(guard, **step, all_reduce=self.all_reduce) for step in steps[number]]

        threads = [threading.Thread(target=rank, args=(number,)) for number in range(len(steps))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return verdicts


def test_one_bad_rank_makes_all_skip_and_the_loss_is_that_of_all_tokens():
    good, bad = {"norm": 2.0, "loss": 9.0, "weight": 3.0}, {"norm": 2.0, "loss": math.nan, "weight": 1.0}
    empty = {"norm": 2.0, "loss": 0.0, "weight": 0.0}
    verdicts = Ranks(3).run([[good, good, good], [good, bad, empty], [good, good, empty]])
    assert [verdict.skip for verdict in verdicts[0]] == [False, True, False]
    assert verdicts[0][0].loss == 3.0 and verdicts[0][2].loss == 3.0
    assert {verdict.norm for verdict in verdicts[0]} == {2.0}
    for others in verdicts[1:]:
        assert [(one.skip, one.reason, one.norm) for one in others] == [
            (one.skip, one.reason, one.norm) for one in verdicts[0]
        ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"warmup": 1}, "warm-up is 1"),
        ({"warmup": 9, "window": 8}, "warm-up is 9 and its window 8"),
        ({"sigmas": 0}, "0 sigmas"),
        ({"patience": 0}, "patience of 0"),
    ],
)
def test_a_guard_that_cannot_judge_is_refused(options, problem):
    with pytest.raises(ValueError, match=problem):
        SkipStepGuard(**options)
