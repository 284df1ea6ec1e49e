"""Tokenising a record: the ids are those of its text, pictures and labels lie where they should, nothing is answered
before it is asked."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.curriculum.documents import Tokenise
from k3data.curriculum.task_text import choose
from k3data.pipelines.errors import UserError
from k3data.pipelines.record import OBJECT, image, licence, new_record, validate
from k3data.pipelines.stage import Context, Filtered, InvalidInput
from k3data.pipelines.tokens import spread
from k3data.tests.curriculum.texts import prose, sources
from k3data.tests.pipelines.samples import picture
from k3data.tokenizer.images import image_grid, image_tokens

PROGRAM = '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="90"><circle r="9" fill="#c33"/></svg>'
TASKS = [
    {"name": "image_to_code", "prompt": "Write the SVG that draws this picture.", "answer": PROGRAM},
    {"name": "code_to_caption", "prompt": f"What does this draw?\n\n```svg\n{PROGRAM}\n```", "answer": "A red disc."},
    {"name": "grounding", "prompt": "Find the disc, in pixels.", "answer": '{"boxes":[[0.0,0.0,9.0,9.0]]}'},
]


def make(text: str, number: int = 0, pictures: int = 0, **metadata):
    record = new_record(text, kind="svg", domain="vision", uri="u", item="1", content=text, licence=licence("MIT"))
    record.text, record.id = text, f"id-{number}"
    record.media = [
        image(picture(at, 60 + at, 90), mime="image/png", width=60 + at, height=90) for at in range(pictures)
    ]
    record.metadata.update(metadata)
    return record


@pytest.fixture(scope="module")
def stage(tokenizer_folder):
    def build(**parameters) -> Tokenise:
        made = Tokenise(tokenizer=str(tokenizer_folder), **parameters)
        made.open(Context(7, "r", "j", "u", Path("/nowhere")))
        return made

    return build


def tokenised(stage: Tokenise, record):
    made = stage.process(record)
    validate(made)
    return made, made.metadata["sample"]


def test_a_text_is_its_ids_and_one_eos(stage, tokenizer):
    for text in [*sources(), prose(1, 4000), "x"]:
        _, sample = tokenised(stage(), make(text))
        assert (sample.tokens[:-1] == tokenizer.encode(text)).all()
        assert sample.tokens[-1] == tokenizer.special["eos"]
        assert sample.groups == [{"start": 0, "end": len(sample.tokens)}]
        weights = spread(sample.weights)
        assert weights[:-1].all() and weights[-1] == 0


def test_a_long_text_says_where_it_may_be_cut(stage, tokenizer):
    text = prose(2, 9000)
    made, sample = tokenised(stage(), make(text))
    breaks = made.metadata["breaks"]
    assert len(breaks) > 20 and breaks == sorted(set(breaks))
    for at in breaks:
        assert tokenizer.decode(sample.tokens[:at]).endswith("\n\n")
    assert max(np.diff([0, *breaks, len(sample.tokens)])) < 2 * max(np.diff([0, *breaks]))


def test_pictures_stand_where_the_text_has_them(stage, tokenizer):
    record = make(f"before {OBJECT} between {OBJECT}", pictures=2)
    _, sample = tokenised(stage(max_tokens=6), record)
    want = [
        *tokenizer.encode("before "), *image_tokens(tokenizer, 60, 90, 6),
        *tokenizer.encode(" between "), *image_tokens(tokenizer, 61, 90, 6), tokenizer.special["eos"],
    ]  # fmt: skip
    assert sample.tokens.tolist() == want
    for number, one in enumerate(sample.images):
        run = sample.tokens[one["start"] : one["start"] + one["tokens"]]
        assert (run == tokenizer.special["media_pad"]).all()
        assert one["tokens"] == image_grid(60 + number, 90, 6).tokens
        assert sample.picture(number) == record.media[number].media_bytes
    # What predicts a placeholder carries no loss, everything else does.
    is_pad = sample.tokens[1:] == tokenizer.special["media_pad"]
    assert (spread(sample.weights)[:-1] == ~is_pad).all()


def test_targets_become_weights(stage, tokenizer):
    text = "question: 17? answer: 4. And more"
    start, end = text.index("4."), text.index(" And")
    _, sample = tokenised(stage(), make(text, targets=[{"start": start, "end": end, "weight": 0.5}]))
    weights = spread(sample.weights)
    counted = np.flatnonzero(weights) + 1  # the labels
    assert tokenizer.decode(sample.tokens[counted]) == "4.<|eos|>"
    assert set(weights[counted[:-1] - 1]) == {0.5}


def test_every_form_occurs_and_is_chosen_by_the_id_alone(stage, tokenizer):
    seen = {"document": 0, "plain": 0, "chat": 0}
    texts = set()
    for number in range(60):
        record = make(f"{OBJECT}\n{PROGRAM}", number, 1, tasks=TASKS)
        _, sample = tokenised(stage(), record)
        text = tokenizer.decode(sample.tokens)
        answers = sum(task["answer"] in text for task in TASKS[1:])
        form = "chat" if "<|open|>" in text else "plain" if answers else "document"
        seen[form] += 1
        texts.add(text)
        assert len(sample.images) == 1 and sample.picture(0) == record.media[0].media_bytes
        again = stage().process(make(f"{OBJECT}\n{PROGRAM}", number, 1, tasks=TASKS)).metadata["sample"]
        assert (again.tokens == sample.tokens).all()
    assert min(seen.values()) >= 5
    assert len(texts) > 12


def test_the_chat_template_trains_on_answers_alone(stage, tokenizer):
    record = make(f"{OBJECT}\n{PROGRAM}", 1, 1, tasks=TASKS[2:])
    _, sample = tokenised(stage(forms={"document": 0, "plain": 0, "chat": 1}), record)
    labels = sample.tokens[np.flatnonzero(spread(sample.weights)) + 1]
    text = tokenizer.decode(labels)
    assert TASKS[2]["answer"] in text and TASKS[2]["prompt"] not in text


@given(st.permutations(TASKS), st.integers(0, 100))
def test_no_answer_stands_above_its_question(tasks, seed):
    chosen = choose(tasks, random.Random(seed))
    above = ""
    for task in chosen:
        if len(task["answer"]) > 40:
            assert task["answer"] not in above
        above += task["prompt"] + task["answer"]
    assert {task["name"] for task in chosen} >= {"grounding"} and len(chosen) == 2


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=300))
def test_any_text_comes_back(tokenizer_folder, tokenizer, text):
    made = Tokenise(tokenizer=str(tokenizer_folder))
    made.open(Context(7, "r", "j", "u", Path("/nowhere")))
    text = text.replace(OBJECT, "")
    if text.strip():
        assert tokenizer.decode_bytes(made.process(make(text)).metadata["sample"].tokens) == text.encode()


def test_turns_become_a_conversation(stage, tokenizer):
    text = "Be brief.What is 2+2?Two and two.4"
    edges = [0, 9, 21, 33, 34]
    roles = [("system", None), ("user", None), ("assistant", "think"), ("assistant", "response")]
    turns = [
        {"role": role, "channel": channel, "start": edges[at], "end": edges[at + 1]}
        for at, (role, channel) in enumerate(roles)
    ]
    _, sample = tokenised(stage(), make(text, turns=turns))
    labels = tokenizer.decode(sample.tokens[np.flatnonzero(spread(sample.weights)) + 1])
    assert labels.startswith("Two and two.") and "What is" not in labels


@pytest.mark.parametrize(
    ("record", "error", "code"),
    [
        (make(" \n"), Filtered, "empty"),
        (make("abc", targets=[{"start": 0, "end": 2, "weight": 1}, {"start": 1, "end": 3, "weight": 1}]),
         InvalidInput, "overlapping_targets"),
        (make("abc", turns=[{"role": "oracle", "channel": None, "start": 0, "end": 3}]), InvalidInput, "unknown_turn"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_document_is_refused(stage, record, error, code):
    with pytest.raises(error) as found:
        stage().process(record)
    assert found.value.code == code


def test_a_missing_or_damaged_tokenizer_is_one_line(tmp_path):
    context = Context(7, "r", "j", "u", Path("/nowhere"), output=str(tmp_path / "out" / "run"))
    with pytest.raises(UserError, match="no such tokenizer"):
        Tokenise(tokenizer="tokenizer").reads(context)
    (tmp_path / "out" / "tokenizer").mkdir(parents=True)
    (tmp_path / "out" / "tokenizer" / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match="damaged"):
        Tokenise(tokenizer="tokenizer").reads(context)
