"""Damage to proofs, of fourteen kinds, and whether the second program notices it: for tests and the benchmark."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...pipelines.tokens import TokenSample
from ...tokenizer import Tokenizer

Corruption = Callable[[TokenSample, dict[str, Any], random.Random, Tokenizer], None]


def _answer_tokens(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    at = proof["start"] + rng.randrange(proof["answer"]["start"], proof["answer"]["end"])
    sample.tokens[at] = (int(sample.tokens[at]) + 1 + rng.randrange(200)) % (tokenizer.vocab_size - 256)


def _answer_text(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    proof["answer"]["text"] += "1"


def _clue_dropped(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    proof["clues"].pop(rng.randrange(len(proof["clues"])))


def _clue_moved(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    clue = rng.choice(proof["clues"])
    clue["start"] += rng.choice((3, 5, 40))
    clue["end"] += rng.choice((3, 5, 40))


def _clue_tokens(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    """Not of tables: another number in a row that nobody asks for leaves the proof true."""
    clue = rng.choice([one for one in proof["clues"] if "picture" not in one])
    at = rng.randrange(clue["start"], clue["end"])
    sample.tokens[at] = (int(sample.tokens[at]) + 1 + rng.randrange(200)) % (tokenizer.vocab_size - 256)


def _distractor_as_clue(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    needless = proof["distractors"].pop(rng.randrange(len(proof["distractors"])))
    proof["clues"].append({**needless, "edit": proof["clues"][0]["edit"]})


def _edit_answer(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    rng.choice(proof["clues"])["edit"]["answer"] += "7"


def _edit_without_effect(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    clue = rng.choice([one for one in proof["clues"] if "picture" not in one])
    span = sample.tokens[clue["start"] : clue["end"]]
    clue["edit"] = {"text": tokenizer.decode(span).strip(), "answer": proof["answer"]["text"]}


def _span_overstated(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    proof["span"] = 0.999


def _leak(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    """Write a clue a second time over some document, where no span covers it."""
    clue = rng.choice([one for one in proof["clues"] if "picture" not in one])
    told = np.zeros(len(sample.tokens), bool)
    for one in sample.proofs:
        for span in (*one["clues"], *one["distractors"], one["question"], one["answer"]):
            told[span["start"] : span["end"]] = True
    for image in sample.images:
        told[image["start"] - 16 : image["start"] + image["tokens"] + 2] = True
    ids = tokenizer.encode("\n\n" + tokenizer.decode(sample.tokens[clue["start"] : clue["end"]]) + "\n\n")
    while told[(at := rng.randrange(len(sample.tokens) - len(ids))) : at + len(ids)].any():
        pass
    sample.tokens[at : at + len(ids)] = ids


def _lexical(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    proof["lexical"]["solved"] = not proof["lexical"]["solved"]


def _tokenizer(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    proof["tokenizer"] = "0" * 64


def _picture_bytes(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    clue = rng.choice([one for one in proof["clues"] if "picture" in one])
    image = next(one for one in sample.images if clue["start"] <= one["start"] < clue["end"])
    media = bytearray(sample.media)
    media[image["offset"] + rng.randrange(image["bytes"])] ^= 1
    sample.media = bytes(media)


def _picture_program(sample: TokenSample, proof: dict[str, Any], rng: random.Random, tokenizer: Tokenizer) -> None:
    clue = rng.choice([one for one in proof["clues"] if "picture" in one])
    clue["picture"]["program"] = clue["picture"]["program"].replace("1", "2")


_ANY: list[Corruption] = [
    _answer_tokens,
    _answer_text,
    _clue_dropped,
    _clue_moved,
    _clue_tokens,
    _distractor_as_clue,
    _edit_answer,
    _edit_without_effect,
    _span_overstated,
    _leak,
    _lexical,
    _tokenizer,
]
_PICTURED: list[Corruption] = [_picture_bytes, _picture_program]


KINDS = (*_ANY, *_PICTURED)


def corrupt_and_check(
    samples: Sequence[TokenSample],
    tokenizer: Tokenizer,
    problems_of: Callable[[TokenSample], list[str]],
    count: int,
    seed: int = 4,
) -> tuple[Counter[str], list[tuple[str, str]]]:
    """Corrupt one proof at a time, `count` times; give how often each kind was tried, and (kind, family) of the missed.

    Args:
        problems_of: the second program: a line for each item that does not hold. A corruption is noticed if one of them
            names the corrupted item.
    """
    rng = random.Random(seed)
    tried: Counter[str] = Counter()
    missed = []
    for turn in range(count):
        corrupt = rng.choice(_PICTURED) if turn % 7 == 0 else rng.choice(_ANY)
        sample = copy.deepcopy(rng.choice(samples))
        sample.tokens = sample.tokens.copy()
        fitting = [number for number, proof in enumerate(sample.proofs) if _fits(corrupt, proof)]
        if not fitting:
            continue
        number = rng.choice(fitting)
        corrupt(sample, sample.proofs[number], rng, tokenizer)
        tried[corrupt.__name__.strip("_")] += 1
        if not any(f"item {number} " in line for line in problems_of(sample)):
            missed.append((corrupt.__name__.strip("_"), sample.proofs[number]["family"]))
    return tried, missed


def _fits(corrupt: Corruption, proof: dict[str, Any]) -> bool:
    if corrupt in _PICTURED:
        return any("picture" in clue for clue in proof["clues"])
    return corrupt is not _clue_tokens or proof["family"] != "table_join"
