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


def test_a_single_spike_is_skipped_and_hardly_makes_room_for_the_next():
    guard = trained()
    for step in range(40):
        spike = step % 10 == 5
        assert judge(guard, 1000.0 if spike else 1.0).skip == spike
        assert guard.bound() < 3
    assert guard.skipped == 4 and guard.skipped_in_row == 0


def test_a_norm_that_comes_back_is_taken_and_remembered_as_it_is():
    guard = trained()
    bound = guard.bound()
    assert [judge(guard, norm).skip for norm in (40.0, 50.0, 60.0, 70.0, 80.0)] == [True] * 3 + [False] * 2
    assert guard.norms[-2:] == [70.0, 80.0] and max(guard.norms[:-2]) < 2 * bound
    assert guard.skipped == 3 and guard.skipped_in_row == 0


def test_a_usual_norm_between_makes_the_row_start_anew():
    guard = trained()
    verdicts = [judge(guard, norm).skip for norm in (40.0, 40.0, 40.0, 1.0, 40.0, 40.0, 40.0, 40.0)]
    assert verdicts == [True, True, True, False, True, True, True, False]


@pytest.mark.parametrize("factor", [2, 3, 40, 1e6])
@pytest.mark.parametrize("spread", [0.0, 0.02])
def test_norms_that_have_risen_for_good_cost_three_steps(factor, spread):
    guard = trained(spread=spread)
    assert [judge(guard, factor).skip for _ in range(200)] == [True] * 3 + [False] * 197
    assert guard.bound() == pytest.approx(factor)


ASTRAY_AND_BACK = (
    [
        0.118, 0.482, 0.126, 0.088, 0.101, 0.515, 0.117, 0.104, 0.122, 0.061, 0.094, 0.098, 0.088, 0.084, 0.095, 0.072,
        0.098, 0.077, 0.086, 0.069, 0.055, 0.072, 0.062, 0.058, 0.06, 0.119, 0.05, 0.087, 0.067, 0.197, 0.081, 0.831,
        0.599,
    ],
    [2.905, 3.492, 3.233, 2.94, 3.119, 3.063, 2.669, 2.356],
    [0.074, 0.085, 0.068, 0.055, 0.194, 0.084, 0.087, 0.056],
)  # fmt: skip
"""Norms of `nano` on drawings, steps 350 to 398: before; where the loss had doubled, for as long as all was skipped;
and after the first step that was taken there."""

STUCK = (
    [0.083, 0.126, 0.139, 0.109, 0.076, 0.085, 0.108, 0.121, 0.291, 0.091],
    [
        4.007,
        4.112,
        4.11,
        4.069,
        4.008,
        4.059,
        4.201,
        4.034,
        4.078,
        3.971,
        4.046,
        4.049,
        4.011,
        4.004,
        3.98,
        4.042,
        4.145,
    ],
)
"""Norms of `small` on drawings, steps 413 to 439: a guard that skipped all of the latter ended the run there."""


@pytest.mark.parametrize("norms", [ASTRAY_AND_BACK, STUCK])
def test_where_norms_are_large_for_long_it_costs_three_steps(norms):
    before, *rest = norms
    guard = SkipStepGuard()
    for norm in before * (128 // len(before)):
        assert not judge(guard, norm).skip
    skipped = [judge(guard, norm).skip for part in rest for norm in part]
    assert skipped == [True] * 3 + [False] * (len(skipped) - 3)
    assert guard.bound() > max(rest[0])


def test_a_loss_that_spikes_with_usual_gradients_is_no_reason():
    guard = trained()
    assert judge(guard, 1.0, loss=6000.0) == Verdict(False, "", 2000.0, 1.0)


def test_what_is_no_number_leaves_no_trace_and_does_not_count_as_a_norm_that_comes_back():
    guard = trained()
    norms = list(guard.norms)
    assert judge(guard, 1000.0, loss=math.nan).skip and judge(guard, 0.0, weight=0.0).skip
    assert guard.norms == norms
    judge(guard, 50.0)
    judge(guard, 50.0)
    assert judge(guard, math.inf).skip
    assert [judge(guard, 50.0).skip for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize("values", [{"norm": math.nan}, {"norm": 1.0, "loss": math.inf}])
def test_what_is_no_number_is_never_taken_and_ends_the_run(values):
    guard = trained()
    for _ in range(16):
        assert judge(guard, **values).skip
    with pytest.raises(TooManySkips, match="17 steps in a row"):
        judge(guard, **values)


def test_large_norms_and_none_in_turn_end_the_run():
    guard = trained()
    with pytest.raises(TooManySkips):
        for step in range(17):
            assert judge(guard, math.nan if step % 4 == 3 else 50.0).skip


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


@pytest.mark.parametrize("before", range(6))
def test_it_goes_on_from_its_state(before):
    norms = (1.1, 9.0, 8.0, 7.0, 9.0, 8.0, 1.0, math.inf, 9.0)
    one, other = trained(norms=50), SkipStepGuard()
    for norm in norms[:before]:
        judge(one, norm)
    other.load_state_dict(one.state_dict())
    for norm in norms[before:]:
        assert judge(one, norm) == judge(other, norm)
    assert one.state_dict() == other.state_dict()


def test_patience_is_a_part_of_the_state():
    one, other = trained(norms=50, patience=2), SkipStepGuard(patience=2)
    judge(one, math.nan)
    other.load_state_dict(one.state_dict())
    for guard in (one, other):
        judge(guard, math.nan)
        with pytest.raises(TooManySkips):
            judge(guard, math.nan)


def test_a_state_without_a_row_of_large_norms_is_read():
    state = trained().state_dict()
    del state["large_in_row"]
    guard = SkipStepGuard()
    judge(guard, 1.0)
    guard.load_state_dict(state)
    assert [judge(guard, 50.0).skip for _ in range(4)] == [True, True, True, False]


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
        ({"outliers": 0}, "0 outliers"),
        ({"patience": 0}, "patience of 0"),
    ],
)
def test_a_guard_that_cannot_judge_is_refused(options, problem):
    with pytest.raises(ValueError, match=problem):
        SkipStepGuard(**options)
