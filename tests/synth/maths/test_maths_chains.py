"""Chains of relations: the hand-written suite, the places of steps, and what the checks say."""

from __future__ import annotations

from pathlib import Path

import pytest
from k3data.synth.maths.chains import checks, steps

_CASES = [
    line.split("\t")
    for line in Path(__file__).with_name("chains.tsv").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_suite_is_large() -> None:
    assert len({case[0] for case in _CASES}) >= 80


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case[0][:60])
def test_case(case: list[str]) -> None:
    found = steps(case[0].replace("⏎", "\n"))
    assert [step.verdict for step in found] == case[1].split(), found


def test_steps_have_their_places() -> None:
    text = "First $2 + 2 = 4 = 5$, and\n7 - 1 = 6 = 5 + 2\nfollows."
    assert [text[step.start : step.stop] for step in steps(text)] == ["2 + 2 = 4", "4 = 5", "7 - 1 = 6", "6 = 5 + 2"]


def test_false_step_fails_the_check_at_its_place() -> None:
    text = "We know $1 + 1 = 2$ and $2 + 2 = 5$."
    wrong, open_ = checks(text)
    assert (wrong.ok, wrong.code, wrong.value) == (False, "eq_false", 1.0)
    assert [text[start:stop] for start, stop in wrong.spans] == ["2 + 2 = 5"]
    assert (open_.ok, open_.value, open_.code) == (True, 0.0, "")


def test_many_undecided_steps_fail_the_check() -> None:
    _, open_ = checks("$\\foo = 1 = 1$ and $\\bar = \\baz = 2$")
    assert (open_.ok, open_.code) == (False, "eq_undecided")
    assert open_.value == pytest.approx(0.75)


def test_text_without_claims_passes() -> None:
    assert all(check.ok and not check.code for check in checks("Nothing to see here. Let $x = 3$."))
