"""Held-out tasks out of packed sequences, and the controls that tell reading from guessing."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
import torch
from k3data.curriculum.reader import PackedReader
from k3data.model.config import ConfigError
from k3data.model.generate import Written
from k3data.tokenizer.bpe import Tokenizer
from k3data.train.evaluate import answer, open_split, tally
from k3data.train.loop import build_model
from k3data.train.prompting import build_prompt
from k3data.train.questions import QUESTION_TOKENS, Question, questions, with_controls
from PIL import Image

from .conftest import tiny


@pytest.fixture(scope="module")
def held_out(packed) -> tuple[PackedReader, Tokenizer]:
    reader = open_split(PackedReader.open(packed, "shapes"), "val")
    return reader, Tokenizer(bytes(reader.files.store.read("tokenizer.json")))


def all_questions(held_out) -> list[Question]:
    reader, tokenizer = held_out
    return [one for sequence in islice(reader.iter(), len(reader)) for one in questions(sequence, tokenizer, 4096)]


def test_every_held_out_drawing_is_one_question(held_out):
    reader, tokenizer = held_out
    asked = all_questions(held_out)
    docs = [doc for sequence in islice(reader.iter(), len(reader)) for doc in sequence.spans["docs"]]
    assert [one.id for one in asked] == [doc["id"] for doc in docs] and len(asked) >= 2
    for one in asked:
        assert one.task == "to_code" and one.end == tokenizer.special["end_of_msg"]
        assert tokenizer.decode(one.prompt).endswith("response<|sep|>")
        assert tokenizer.decode(one.answer).startswith("<svg")
        assert [picture.size for picture in one.pictures] == [(112, 112)]
        assert one.prompt.count(tokenizer.special["media_pad"]) == 16


def test_a_prompt_that_is_too_long_is_not_asked(held_out):
    reader, tokenizer = held_out
    assert not list(questions(next(reader.iter()), tokenizer, 10))


def test_controls_change_the_picture_and_nothing_else(held_out):
    asked = all_questions(held_out)[:2]
    found = with_controls(asked, seed=1)
    assert [one.control for one in found] == ["", "", "blank", "swapped", "blank", "swapped"]
    blank, swapped = found[2], found[3]
    assert blank.pictures[0].getextrema() == ((255, 255),) * 3
    assert swapped.pictures[0].tobytes() == asked[1].pictures[0].tobytes() != asked[0].pictures[0].tobytes()
    assert blank.prompt == swapped.prompt == asked[0].prompt and blank.answer == asked[0].answer


def test_a_text_is_shuffled_but_for_what_is_asked():
    prompt = list(range(1000))
    one = Question("a", "scatter", "knowledge", "scatter", prompt, [5], 1)
    _, control = with_controls([one], seed=1)
    assert control.control == "shuffled" and sorted(control.prompt) == prompt
    assert control.prompt[-QUESTION_TOKENS:] == prompt[-QUESTION_TOKENS:]
    assert control.prompt[:50] != prompt[:50]


def test_answers_are_counted_by_task_and_control():
    right, wrong = Written(tokens=[5]), Written(tokens=[6])
    one = Question("a", "scatter", "knowledge", "scatter", list(range(1000)), [5], 1)
    asked = with_controls([one, one], seed=1)
    counted = tally(asked, [right, wrong, wrong, wrong])
    assert counted["answers"] == {"scatter": {"asked": 2, "exact": 1}}
    assert counted["controls"] == {"shuffled": {"scatter": {"asked": 2, "exact": 0}}}


def test_all_questions_are_answered_in_their_order(held_out):
    asked = with_controls(all_questions(held_out)[:2], seed=1)
    torch.manual_seed(0)
    model = build_model(replace(tiny().model, vocab_size=540), torch.device("cpu"))
    together = answer(model, asked, 12, 64, torch.float32)
    alone = [answer(model, [one], 12, 64, torch.float32)[0] for one in asked]
    assert [one.tokens for one in together] == [one.tokens for one in alone]


def test_a_prompt_of_text_and_pictures(held_out, tmp_path):
    _, tokenizer = held_out
    path = tmp_path / "a.png"
    Image.new("RGB", (112, 56), "red").save(path)
    plain = build_prompt(tokenizer, "Draw it.", [path], max_tokens=64)
    assert list(plain.tokens).count(tokenizer.special["media_pad"]) == plain.images[0].tokens == 8
    assert tokenizer.decode(plain.tokens).endswith("\nDraw it.")
    chat = build_prompt(tokenizer, "Draw it.", [path], chat=True, max_tokens=64)
    assert tokenizer.decode(chat.tokens).endswith("<|open|>assistant<|sep|><|open|>response<|sep|>")
    with pytest.raises(ConfigError, match="nothing to go on from"):
        build_prompt(tokenizer, "", [])
    path.write_bytes(b"not a picture")
    with pytest.raises(ConfigError, match=r"a.png: cannot be read as a picture"):
        build_prompt(tokenizer, "x", [path])
