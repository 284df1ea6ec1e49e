"""Final answers: the hand-written suite, with no false accept and no false reject, and what `strip` and boxes do."""

from __future__ import annotations

from pathlib import Path

import pytest
from k3data.synth.maths.answers import Pair, check, final_answer, judge, strip

_CASES = [
    line.split("\t")
    for line in Path(__file__).with_name("answers.tsv").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]
_ORDERED = {"yes": True, "no": False}


def pair(case: list[str]) -> Pair:
    return Pair(case[0], case[1], _ORDERED[case[3]] if len(case) > 3 else None)


def test_suite_is_large_and_has_every_verdict() -> None:
    assert len({tuple(case) for case in _CASES}) >= 200
    verdicts = [case[2] for case in _CASES]
    assert min(verdicts.count(one) for one in ("equal", "different", "undecided")) >= 40


def test_gate_has_no_false_accept_and_at_most_one_false_reject() -> None:
    found = [(case, judge(pair(case)).verdict) for case in _CASES]
    assert [case for case, verdict in found if verdict == "equal" and case[2] != "equal"] == []
    assert len([case for case, verdict in found if verdict == "different" and case[2] == "equal"]) <= 1


@pytest.mark.parametrize("case", _CASES, ids=lambda case: " | ".join(case[:2])[:60])
def test_case(case: list[str]) -> None:
    found = judge(pair(case))
    assert found.verdict == case[2], found
    assert (found.code == "") == (found.verdict == "equal")


@pytest.mark.parametrize(
    ("gold", "answer", "code"),
    [
        ("5", "6", "ans_diff"),
        ("10 cm", "10 m", "unit"),
        ("10 cm", "10 cm^2", "unit"),
        ("10 cm", "10", "unit"),
        ("x=x", "y=y", "degenerate"),
        ("1/0", "2/0", "degenerate"),
        ("3 ??", "3", "degenerate"),
        ("1/2x", "x/2", "ans_undecided"),
    ],
)
def test_code_says_what_is_wrong(gold: str, answer: str, code: str) -> None:
    assert judge(Pair(gold, answer)).code == code


def test_only_the_gold_can_state_a_rounding() -> None:
    assert judge(Pair("\\approx 3.14", "\\pi")).verdict == "equal"
    assert judge(Pair("\\pi", "\\approx 3.14")).verdict == "different"


def test_check_holds_the_verdict_against_its_threshold() -> None:
    good, bad, open_ = (check(Pair("5", one)) for one in ("5", "6", "5 ??"))
    assert (good.ok, good.value, good.code) == (True, 1.0, "")
    assert (bad.ok, bad.value, bad.code) == (False, 0.0, "ans_diff")
    assert (open_.ok, open_.value, open_.code) == (False, 0.5, "degenerate")
    assert bad.spans == ((0, 1),)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("First 3. So \\boxed{1}, and then \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}"),
        ("She has 4 + 4 = 8.\n#### 8", "8"),
        ("Thus the answer is $x = 3$.", "$x = 3$."),
        ("There is none here", None),
        ("\\boxed{never closed", None),
    ],
)
def test_final_answer_is_found(text: str, answer: str | None) -> None:
    assert final_answer(text) == answer


def test_strip_takes_off_what_is_around_and_nothing_else() -> None:
    assert strip(" The final answer is: $\\frac12$. ") == "\\frac12"
    assert strip("$5 and $6") == "$5 and $6"
    assert strip("3.5") == "3.5"
