"""Checks by a model that reads: what it says is checked, and what it does not say well is no verdict."""

from __future__ import annotations

import pytest
from k3data.synth.chat.types import Refused, Reply, Request
from k3data.synth.maths.worker import Worker
from k3data.synth.rephrase.reader import Reader, ReaderOptions, agrees, parse_judgement, parse_questions, place, posed

SOURCE = "The server keeps 12 pages of each table in memory. A checkpoint runs every 5 minutes."
TEXT = "Every 5 minutes there is a checkpoint. Of each table the server keeps 12 pages in memory."
PROBLEM = "Find the sum of 17 and 25.\n\nAdding the tens gives 30, adding the ones 12.\n\nThe answer is 42."


class Model:
    """Answers by the first words of the instruction."""

    def __init__(self, **answers) -> None:
        self.answers, self.asked = answers, []

    def __call__(self, request: Request) -> Reply:
        kinds = {"You compare": "judge", "You write": "questions", "You answer": "answer", "You solve": "solve"}
        name = next(kind for begin, kind in kinds.items() if request.messages[0].content.startswith(begin))
        self.asked.append((name, request.messages[-1].content))
        answer = self.answers[name]
        answer = answer(request) if callable(answer) else answer
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer)


def codes(model: Model, options: dict, source: str = SOURCE, text: str = TEXT, maths=None) -> list[str]:
    return [check.code for check in Reader(model, ReaderOptions(**options)).checks(source, text, maths) if not check.ok]


def judged(verdict: str, words: str, evidence: str) -> Model:
    return Model(judge=f"VERDICT: {verdict}\nWORDS: {words}\nEVIDENCE: {evidence}\n")


def test_a_judge_must_quote_the_source():
    assert codes(judged("faithful", "-", "keeps 12 pages of  each table"), {"judge": 1}) == []
    assert codes(judged("faithful", "-", "keeps 13 pages of each table"), {"judge": 1}) == ["quote_missing"]
    assert codes(judged("faithful", "-", "pages"), {"judge": 1}) == ["quote_missing"]
    assert codes(judged("unfaithful", "12 pages in memory", "12 pages of each table"), {"judge": 1}) == ["judge"]


def test_the_words_that_are_wrong_are_placed():
    model = judged("unfaithful", '"Every 5 minutes"', "A checkpoint runs every 5 minutes")
    check = Reader(model, ReaderOptions(judge=1)).checks(SOURCE, TEXT, None)[0]
    assert [TEXT[slice(*span)] for span in check.spans] == ["Every 5 minutes"]


@pytest.mark.parametrize(
    "answer", ["It is fine.", "", Refused("http_400", "too long"), "VERDICT: maybe\nWORDS: -\nEVIDENCE: x"]
)
def test_what_is_no_verdict_refuses_nothing(answer):
    checks = Reader(Model(judge=answer), ReaderOptions(judge=1)).checks(SOURCE, TEXT, None)
    assert [(check.value, check.ok) for check in checks] == [(0.5, True)]


QUESTIONS = "Q: How many pages are kept?\nA: 12 pages\nQ: How often does a checkpoint run?\nA: every 5 minutes\n"


def test_questions_of_the_source_are_answered_from_the_rewrite_alone():
    replies = {"How many": "12 pages", "How often": "Every 5 minutes."}

    def answer(request: Request) -> str:
        content = request.messages[-1].content
        assert TEXT in content
        assert SOURCE not in content
        return next(said for begin, said in replies.items() if begin in content)

    model = Model(questions=QUESTIONS, answer=answer)
    assert codes(model, {"questions": 1}) == []
    assert len(model.asked) == 3
    replies["How many"] = "NOT STATED"
    assert codes(model, {"questions": 1}) == ["qa_lost"]
    replies["How many"] = "11 pages"
    assert codes(model, {"questions": 1}) == ["qa_wrong"]


def test_a_question_whose_answer_is_not_in_the_source_is_none():
    assert parse_questions(QUESTIONS + "Q: Who wrote it?\nA: Ada Lovelace\n", SOURCE) == [
        ("How many pages are kept?", "12 pages"), ("How often does a checkpoint run?", "every 5 minutes"),
    ]  # fmt: skip
    assert parse_questions("no questions", SOURCE) == []


def test_answers_agree_by_numbers_and_words():
    assert agrees("12 pages", "It keeps 12.") is True
    assert agrees("1,000 rows", "1000 rows")
    assert not agrees("12 pages", "twelve pages or 13")
    assert agrees("the background writer", "background writer")
    assert not agrees("the background writer", "a checkpoint")


def test_a_result_is_found_again_or_not():
    with Worker() as maths:
        for votes, refused in (
            (["\\boxed{42}"] * 3, []), (["\\boxed{41}"] * 3, ["ans_diff"]),
            (["\\boxed{41}", "\\boxed{40}", "\\boxed{39}"], []),
            (["\\boxed{41}", "\\boxed{41}", "\\boxed{42}"], []), (["I do not know"] * 3, []),
        ):  # fmt: skip
            model = Model(solve=lambda request, votes=votes: votes[request.seed])
            assert codes(model, {"solve": 1}, PROBLEM, PROBLEM, maths) == refused, votes
            assert [content for _, content in model.asked] == ["Find the sum of 17 and 25."] * 3
    assert posed("No problem at all.") is None
    assert codes(Model(), {"solve": 1}, PROBLEM, PROBLEM, None) == []


def test_the_shares_are_kept_and_the_same_text_draws_the_same():
    model = judged("faithful", "-", "keeps 12 pages of each table")
    reader = Reader(model, ReaderOptions(judge=0.3))
    drawn = [bool(reader.checks(SOURCE, f"{TEXT} {number}", None)) for number in range(400)]
    assert 90 <= sum(drawn) <= 150
    assert drawn == [bool(reader.checks(SOURCE, f"{TEXT} {number}", None)) for number in range(400)]
    assert len(model.asked) == 2 * sum(drawn)


def test_judgements_in_other_dress():
    said = parse_judgement("Sure.\nverdict: Unfaithful.\nWORDS:  `12 pages`\nEVIDENCE: “5 minutes”\n")
    assert said == (False, "12 pages", "5 minutes")
    assert place("a b", "x A\n b y") == (2, 6)
