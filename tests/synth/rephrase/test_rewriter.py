"""Chunk after chunk: what each call is told, the second try, what becomes of failures, and the records made of it."""

from __future__ import annotations

import orjson
import pytest
from k3data.pipelines.record import licence, new_record, to_sample, validate
from k3data.synth.chat.types import Refused, Reply, Request
from k3data.synth.rephrase import prompts
from k3data.synth.rephrase.assign import Assignment
from k3data.synth.rephrase.judging import Judge
from k3data.synth.rephrase.layout import lay_out
from k3data.synth.rephrase.reasons import REASONS, reasons
from k3data.synth.rephrase.rewriter import Rewriter
from k3data.synth.rephrase.rows import Made, codes_of, rewrite_of, row, runs
from k3data.synth.verify.result import at_most

PARTS = (
    "The server keeps 12 pages of each table in memory. The others are read from disk in blocks of 8 kB.",
    "A checkpoint writes all changed pages to the disk. It runs every 5 minutes, unless the log is full.",
    "Old versions of a row are removed by the cleaner. The cleaner does not wait for transactions that only read.",
)
GOOD = (
    "Of each table, 12 pages are kept in memory by the server. In blocks of 8 kB the others are read from disk.",
    "All changed pages are written to the disk by a checkpoint. Unless the log is full, it runs every 5 minutes.",
    "The cleaner removes old versions of a row. For transactions that only read, the cleaner does not wait.",
)
DOCUMENT = "# Storage\n\n" + "\n\n".join(PARTS)
ASSIGNMENT = Assignment("encyclopedic", "expert", "same", 5)


class Answers:
    """Answers by rule, and keeps what it was asked."""

    def __init__(self, answer) -> None:
        self.answer, self.requests = answer, []

    def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        answer = self.answer(request)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Reply) else Reply(answer)


def good(request: Request) -> str:
    return next(text for part, text in zip(PARTS, GOOD, strict=True) if part in request.source)


def rewrite(answer, style="encyclopedic"):
    known = prompts.chosen([style], None)
    rules = {name: one.verifier_rules({"copied": None}) for name, one in known.items()}
    asks = Answers(answer)
    judge = Judge(maths=False)
    rewriter = Rewriter(asks, judge, known, rules, 0.5, 0.9)
    layout = lay_out(DOCUMENT, 24, 400, 5)
    found = rewriter.excerpt(DOCUMENT, layout, layout.excerpts[0], ASSIGNMENT._replace(style=style))
    judge.close()
    return found, asks.requests, known[style]


def document():
    free = licence("MIT")
    record = new_record(DOCUMENT, kind="text", domain="knowledge", uri="x", item="y", content="z", licence=free)
    record.metadata.update(split="train", lineage={})
    return record


def test_each_call_carries_title_chunk_and_what_was_written():
    found, requests, _ = rewrite(good)
    assert [one.code for one in found] == ["", "", ""]
    assert all(one.passed for one in found), [one.verdict.codes for one in found]
    texts = [one.messages[-1].content for one in requests]
    assert "Title: Storage" in texts[0]
    assert "written so far" not in texts[0]
    assert texts[1].endswith(f"The passage:\n{PARTS[1]}")
    assert GOOD[0] in texts[1]
    assert GOOD[1] in texts[2]
    assert [one.seed for one in requests] == [5, 6, 7]
    assert all(one.max_tokens >= 64 and (one.temperature, one.top_p) == (0.5, 0.9) for one in requests)


def test_a_wrong_answer_is_asked_for_once_more_with_the_reasons():
    def answer(request: Request) -> str:
        return good(request) if request.attempt == 2 else good(request).replace("12", "14")

    found, requests, _ = rewrite(answer)
    assert all(one.passed for one in found)
    assert [one.attempts for one in found] == [2, 1, 1]
    again = requests[1].messages
    assert [one.role for one in again] == ["system", "user", "assistant", "user"]
    assert "14" in again[2].content
    assert '"14"' in again[3].content
    assert REASONS["num_new"] in again[3].content


def test_what_fails_for_good_is_kept_apart_and_continued_by_nobody():
    def answer(request: Request) -> str:
        return good(request).replace("5 minutes", "9 hours")

    found, requests, prompt = rewrite(answer)
    assert [one.passed for one in found] == [True, False, True]
    assert found[1].verdict.verdict == "quarantine"
    assert "9 hours" not in requests[-1].messages[-1].content
    assert "written so far" not in requests[-1].messages[-1].content
    rows = list(runs(found))
    assert [[one.text for one in run] for run in rows] == [[GOOD[0]], [found[1].text], [GOOD[2]]]
    made = [row(document(), run, Made("endpoint", "toy", prompt, ASSIGNMENT, 0)) for run in rows]
    assert [one.metadata["checks"][0]["passed"] for one in made] == [True, False, True]
    assert "num_new" in made[1].metadata["checks"][0]["reason"]
    stored = rewrite_of(made[1])
    assert stored["source"] == PARTS[1]
    assert "num_new" in codes_of(stored)
    spans = next(check[5] for check in stored["chunks"][0]["checks"] if check[4] == "num_new")
    assert [made[1].text[slice(*span)] for span in spans] == ["9 hours"]
    for one in made:
        validate(one)
        assert orjson.loads(to_sample(one)["extra"])["rewrite"]["prompt"]["id"] == "encyclopedic"


def test_a_run_of_chunks_is_one_record_whose_places_are_right():
    found, _, prompt = rewrite(good)
    (run,) = runs(found)
    made = row(document(), run, Made("endpoint", "toy", prompt, ASSIGNMENT, 0))
    assert made.text == "\n\n".join(GOOD)
    stored = rewrite_of(made)
    for chunk, text, source in zip(stored["chunks"], GOOD, PARTS, strict=True):
        assert made.text[slice(*chunk["text"])] == text
        assert source in stored["source"][slice(*chunk["source"])]
        assert source in DOCUMENT[slice(*chunk["at"])]


def test_fact_sheets_are_stored_when_asked_for():
    found, _, prompt = rewrite(good)
    (run,) = runs(found)
    about = Made("endpoint", "toy", prompt, ASSIGNMENT, 0)
    sheet = rewrite_of(row(document(), run, about, sheets=True))["chunks"][1]["facts"]
    assert [(one["value"], one["unit"]) for one in sheet["numbers"]] == [(5, "minutes")]
    assert [one["class"] for one in sheet["conditions"]] == ["unless"]
    assert "facts" not in rewrite_of(row(document(), run, about))["chunks"][1]


@pytest.mark.parametrize("code", ["http_400", "unsuitable"])
def test_a_chunk_that_is_refused_is_a_gap(code):
    def answer(request: Request):
        return Refused(code, "no") if PARTS[1] in request.source else good(request)

    found, _, _ = rewrite(answer)
    assert [one.code for one in found] == ["", code, ""]
    assert len(list(runs(found))) == 2


def test_an_answer_that_failed_counts_although_the_second_call_is_refused():
    def answer(request: Request):
        return good(request).replace("5", "6") if request.attempt == 1 else Refused("http_400", "too long")

    found, _, _ = rewrite(answer)
    assert [(one.passed, one.code) for one in found] == [(True, ""), (False, ""), (True, "")]
    assert found[1].verdict.verdict == "repair"  # it was asked for, and there was no answer


@pytest.mark.parametrize(
    ("text", "finish", "code"),
    [("", "stop", "empty"), ("   \n ", "stop", "empty"), ("I'm sorry, but I cannot rewrite that.", "stop", "refusal"),
     (GOOD[0], "length", "length"), (GOOD[0], "loop", "length")],
)  # fmt: skip
def test_answers_that_are_none_are_told_apart(text, finish, code):
    found, _, _ = rewrite(lambda request: Reply(text, finish) if PARTS[0] in request.source else good(request))
    assert not found[0].passed
    assert code in found[0].verdict.codes


def test_reasons_name_the_places():
    checks = [
        at_most("number_new", "num_new", [(5, 7), (5, 7)], 0), at_most("number_lost", "num_lost", [(0, 3)], 0, True),
        at_most("finish", "length", [(9, 9)], 0), at_most("names", "ent_new", [], 0),
    ]  # fmt: skip
    lines = reasons(checks, "365 days", "It's 14 days")
    assert lines == [f'{REASONS["num_new"]}: "14"', f'{REASONS["num_lost"]}: "365"', REASONS["length"]]
