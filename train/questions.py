"""Held-out tasks, taken out of packed sequences: what a model is asked, what is right, and what it must not rest on.

A question is a stretch of tokens without loss weight and the stretch with weight after it: a picture and the program
that draws it, a description and the boxes. Free text has no such stretches and asks nothing. A window of scattered
facts has weights everywhere: there the proof of each item says where its answer lies.

Beside each question stand its controls: the same with a blank picture, with another question's picture, or, where the
answer depends on a text, with its tokens shuffled. What a model answers as well under a control it did not read there.

Letters: T tokens of a sequence.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from ..curriculum.sequence import PackedSequence
from ..model.generate import Prompt
from ..model.vision.preprocess import preprocess_image
from ..tokenizer.bpe import Tokenizer

Task = Literal["to_code", "grounding", "scatter", "other"]
Control = Literal["", "blank", "swapped", "shuffled"]
QUESTION_TOKENS = 128
"""The last tokens of a prompt that shuffling leaves: what is asked, not what it is asked about."""


@dataclass(frozen=True)
class Question:
    """Attributes:
    id: of the document. kind, domain: as packed.
    prompt: token ids, up to the first token of the answer.
    answer: token ids, without the one that ends it. end: that one, if the answer has one.
    pictures: as stored, in the order of their places.
    """

    id: str
    kind: str
    domain: str
    task: Task
    prompt: list[int]
    answer: list[int]
    end: int | None
    pictures: tuple[Image.Image, ...] = ()
    control: Control = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def as_prompt(self, max_tokens: int) -> Prompt:
        """`max_tokens` bounds a picture, as the data was packed."""
        return Prompt(self.prompt, [preprocess_image(picture, max_tokens) for picture in self.pictures])


def questions(sequence: PackedSequence, tokenizer: Tokenizer, longest: int) -> Iterator[Question]:
    """Those of a sequence whose prompt has at most `longest` tokens, in order."""
    tokens = sequence.tokens.astype(np.int64)
    weighted = np.flatnonzero(sequence.weights > 0)
    ends = {tokenizer.special["eos"], tokenizer.special["end_of_msg"]}
    yield from _scattered(sequence, tokens, longest)
    for doc in sequence.spans["docs"]:
        if doc.get("part") or doc["kind"] == "scatter":
            continue  # its beginning, and perhaps its picture, is in another sequence; or it is asked by its proof
        inside = weighted[(weighted >= doc["start"]) & (weighted < doc["end"])]
        if not len(inside) or inside[0] == doc["start"]:
            continue  # free text from the first token on
        images = [n for n, one in enumerate(sequence.images) if doc["start"] <= one["start"] < doc["end"]]
        edges = [0, *(np.flatnonzero(np.diff(inside) > 1) + 1).tolist(), len(inside)]
        for first, last in pairwise(edges):
            # Weights belong to the position before the token that they are for.
            start, stop = int(inside[first]) + 1, int(inside[last - 1]) + 2
            if start - doc["start"] > longest:
                break
            answer = tokens[start:stop].tolist()
            closed = next((at for at, token in enumerate(answer) if token in ends), None)
            end = None if closed is None else answer[closed]
            answer = answer[:closed]
            before = [n for n in images if sequence.images[n]["start"] < start]
            yield Question(
                id=doc["id"], kind=doc["kind"], domain=doc["domain"], task=_task(tokenizer.decode(answer)),
                prompt=tokens[doc["start"] : start].tolist(), answer=answer, end=end,
                pictures=tuple(_picture(sequence, n) for n in before),
            )  # fmt: skip


def _scattered(sequence: PackedSequence, tokens: npt.NDArray[np.int64], longest: int) -> Iterator[Question]:
    """The items of the windows in a sequence; what stands behind an answer there ends it."""
    for number, proof in enumerate(map(json.loads, sequence.spans["proofs"])):
        first, answer = proof["start"], proof["answer"]
        if answer["start"] > longest:
            continue
        start, end = first + answer["start"], first + answer["end"]
        furthest = min(clue["start"] for clue in proof["clues"])
        yield Question(
            id=f"scatter-{sequence.place.number}-{number}", kind="scatter", domain="knowledge", task="scatter",
            prompt=tokens[first:start].tolist(), answer=tokens[start:end].tolist(), end=int(tokens[end]),
            pictures=tuple(
                _picture(sequence, n) for n, one in enumerate(sequence.images) if first <= one["start"] < start
            ),
            extra={"family": proof["family"], "length": proof["length"], "distance": answer["start"] - furthest},
        )  # fmt: skip


def with_controls(asked: list[Question], seed: int) -> list[Question]:
    """The questions themselves, and each under the controls that apply to it."""
    rng = random.Random(seed)
    found = list(asked)
    for number, one in enumerate(asked):
        if one.pictures:
            blank = tuple(Image.new("RGB", picture.size, "white") for picture in one.pictures)
            found.append(replace(one, pictures=blank, control="blank"))
            others = [other for other in asked if other.pictures and other.id != one.id]
            if others:
                other = others[number % len(others)]
                swapped = tuple(other.pictures[0].resize(picture.size) for picture in one.pictures)
                found.append(replace(one, pictures=swapped, control="swapped"))
        elif len(one.prompt) > 2 * QUESTION_TOKENS:
            context = one.prompt[:-QUESTION_TOKENS]
            rng.shuffle(context)
            found.append(replace(one, prompt=context + one.prompt[-QUESTION_TOKENS:], control="shuffled"))
    return found


def _task(answer: str) -> Task:
    if '"boxes"' in answer and '"pixels"' in answer:
        return "grounding"
    beginnings = ("<svg", "<?xml", "<!doctype", "<html", "import cadquery", "from cadquery")
    return "to_code" if answer.lstrip().lower().startswith(beginnings) else "other"


def _picture(sequence: PackedSequence, number: int) -> Image.Image:
    with Image.open(io.BytesIO(bytes(sequence.picture(number)))) as opened:
        return opened.convert("RGB")
