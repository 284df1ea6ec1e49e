"""Language identification and decontamination: what is kept, what is dropped and why, and what a wrong list says."""

from __future__ import annotations

import json

import k3data
import pytest
from datatrove.data import Document
from k3data.pipelines import recipe as recipes
from k3data.pipelines.errors import UserError
from k3data.pipelines.look import rejects_relation
from k3data.pipelines.stage import Filtered
from k3data.pipelines.text_stages.language import Language, detect
from k3data.tests.pipelines.toy import run

TEXTS = {
    "en": "The quick brown fox jumps over the lazy dog and then it goes home to sleep for a while.",
    "de": "Der schnelle braune Fuchs springt über den faulen Hund und geht dann nach Hause, um zu schlafen.",
    "fr": "Le renard brun rapide saute par-dessus le chien paresseux puis rentre chez lui pour dormir.",
    "es": "El rápido zorro marrón salta sobre el perro perezoso y luego se va a casa a dormir.",
    "ru": "Быстрая коричневая лиса прыгает через ленивую собаку и идет домой спать.",
    "ja": "すばやい茶色の狐はのろまな犬を飛び越えてから、家に帰ってしばらく眠ります。",
}


@pytest.mark.parametrize("language", TEXTS)
def test_languages_are_told_whatever_code_stands_between(language):
    code = "\n```python\nfor each in the_list_of_words: print(each)  # a comment in English\n```\n"
    found, share = detect(TEXTS[language] + code)
    assert found == language
    assert share > 0.9


def test_a_text_without_evidence_is_in_no_language():
    assert detect("1 2 3 4 + 5") == (None, 0.0)
    assert detect("```\n" + TEXTS["en"] + "\n```") == (None, 0.0)
    assert detect("\x01\ud800" + TEXTS["en"])[0] == "en"


def record(text: str, kind: str = "text") -> Document:
    return Document(text, "id", [], {"kind": kind})


def test_the_stage_keeps_wanted_languages_and_judges_only_its_kinds():
    stage = Language(languages=["en", "fr"], kinds=["text"])
    assert stage.process(record(TEXTS["fr"])).metadata["checks"][0]["reason"] == "fr"
    with pytest.raises(Filtered) as why:
        stage.process(record(TEXTS["de"]))
    assert why.value.code == "language_de"
    assert "checks" not in stage.process(record(TEXTS["de"], "code")).metadata
    with pytest.raises(Filtered) as why:
        Language(min_share=0.9).process(record(TEXTS["en"] * 3 + TEXTS["ru"]))
    assert why.value.code in ("language_mixed", "language_ru")


QUESTION = "A train leaves the city at nine in the morning and travels at sixty kilometres an hour towards the coast"
RECIPE = """
name: clean
jobs:
  - name: work
    source: [{{jsonl: {{glob: items.jsonl, licence: MIT}}}}]
    stages: [{{text.decontaminate: {parameters}}}]
"""


def work(folder, parameters):
    return recipes.parse(RECIPE.format(parameters=json.dumps(parameters)), "r.yaml", folder)


def test_records_that_hold_a_listed_text_are_dropped_and_name_it(tmp_path):
    words = QUESTION.split()
    texts = {
        "whole": f"Before. {QUESTION}, after.",
        "case and marks": "> a TRAIN leaves the city,\nat nine -- in the morning and travels at sixty (kilometres)",
        "twelve words": " ".join(words[:12]),
        "twelve and twelve": " ".join([*words[:12], "but", *words[-12:]]),
        "short": "The answer of the short one is here: seven plus five is twelve, of course, my dear!",
        "unrelated": "Nothing of the kind stands in this text, which is about something else altogether, as one sees.",
    }
    (tmp_path / "items.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts.values()))
    (tmp_path / "exam.jsonl").write_text(json.dumps({"question": QUESTION, "id": 3}) + "\n\n" + json.dumps({"a": 1}))
    (tmp_path / "quiz.txt").write_text("tiny\n\nseven plus five is twelve of course my dear\n")
    run(work(tmp_path, {"lists": ["exam.jsonl", "quiz.txt"]}), tmp_path / "out")
    left = {one.text for one in k3data.open(tmp_path / "out")}
    assert left == {texts["twelve words"], texts["twelve and twelve"], texts["unrelated"]}
    rows = rejects_relation(str(tmp_path / "out"), None, None).select("code, detail").fetchall()
    assert sorted(code for code, _ in rows) == ["contaminated_exam", "contaminated_exam", "contaminated_quiz"]
    assert any("quiz.txt:3" in detail for _, detail in rows)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.txt", None, "missing.txt does not exist"),
        ("empty.txt", "", "holds no text of 8 or more words"),
        ("short.jsonl", '{"question": "too short"}', "holds no text of 8 or more words under text, question"),
        ("broken.jsonl", '{"question": "x"}\n{broken', r"broken.jsonl:2: "),
        ("list.jsonl", "[1]", "a list where an object was expected"),
        ("latin.txt", "Gr\xfc\xdfe".encode("latin-1"), "is not UTF-8"),
    ],
)
def test_a_list_that_cannot_be_used_is_told_before_the_run(tmp_path, name, content, said):
    (tmp_path / "items.jsonl").write_text('{"text": "words"}\n')
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=said):
        run(work(tmp_path, {"lists": [name]}), tmp_path / "out")


def test_another_list_of_the_same_name_makes_other_units(tmp_path):
    (tmp_path / "items.jsonl").write_text('{"text": "words"}\n')
    (tmp_path / "exam.txt").write_text(QUESTION)
    (first,) = run(work(tmp_path, {"lists": ["exam.txt"]}), tmp_path / "a")
    (again,) = run(work(tmp_path, {"lists": ["exam.txt"]}), tmp_path / "b")
    (tmp_path / "exam.txt").write_text(QUESTION + " and back")
    (other,) = run(work(tmp_path, {"lists": ["exam.txt"]}), tmp_path / "c")
    assert first.plan == again.plan != other.plan


PROBLEM = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. How many clips "
    "did Natalia sell altogether in April and May?"
)
RESTATED = {
    "with its answer": "In April, Natalia sold clips to 48 of her friends, and then she sold half as many in May; "
    "how many clips did Natalia sell altogether in April and May? That is 48 + 24 = 72.",
    "with another answer": "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in "
    "May, so 24. How many clips did Natalia sell altogether?",
    "part of another number": "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips "
    "in May. Altogether in April and May: 172, or 72.5, or 7.2.",
    "the answer alone": "There are 72 pages in this book, which is about friends and clips and the month of May.",
}


def test_a_problem_that_is_restated_with_its_answer_is_dropped(tmp_path):
    texts = RESTATED.values()
    (tmp_path / "items.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    rows = [{"problem": PROBLEM, "answer": "The sum is \\boxed{72}"}, {"problem": "Too short?", "answer": 1}]
    (tmp_path / "sums.jsonl").write_text("\n".join(map(json.dumps, rows)))
    # Long runs alone would see the first no better than the second.
    parameters = {"lists": ["sums.jsonl"], "ngram": 40}
    run(work(tmp_path, parameters), tmp_path / "long")
    assert len(k3data.open(tmp_path / "long")) == len(RESTATED)
    run(work(tmp_path, {**parameters, "restated": {}}), tmp_path / "out")
    assert {one.text for one in k3data.open(tmp_path / "out")} == set(texts) - {RESTATED["with its answer"]}
    ((code, detail),) = rejects_relation(str(tmp_path / "out"), None, None).select("code, detail").fetchall()
    assert code == "restates_sums"
    assert detail == "a problem with its answer: sums.jsonl:1"


def test_lists_without_answers_are_told_before_the_run(tmp_path):
    (tmp_path / "items.jsonl").write_text('{"text": "words"}\n')
    (tmp_path / "sums.jsonl").write_text(json.dumps({"problem": PROBLEM}))
    with pytest.raises(UserError, match="no list holds problems under 'problem' with an answer under 'answer'"):
        run(work(tmp_path, {"lists": ["sums.jsonl"], "restated": {}}), tmp_path / "out")
