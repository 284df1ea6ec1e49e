"""How well a tokenizer fits texts: bytes and words a token by domain, round trips, and what numbers and boxes cost."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping
from itertools import islice

from .bpe import Tokenizer

_WORD = re.compile(r"\w+")
_BATCH = 256


def report(tokenizer: Tokenizer, texts: Mapping[str, Iterable[str]]) -> dict[str, dict[str, float]]:
    """Figures by domain, and over all of them under `all`.

    Returns:
        For each domain `texts`, `bytes`, `tokens`, `words`, `bytes_per_token`, `tokens_per_word` (fertility; a word is
        a run of letters, digits and underscores) and `round_trip_failures`.
    """
    found: dict[str, dict[str, float]] = {}
    whole = _Counts()
    for domain, members in texts.items():
        counts = _Counts()
        waiting = iter(members)
        while batch := list(islice(waiting, _BATCH)):
            counts.add(tokenizer, batch)
        whole.merge(counts)
        found[domain] = counts.figures()
    return {**found, "all": whole.figures()}


def coordinates(tokenizer: Tokenizer, count: int = 2000) -> dict[str, float]:
    """Tokens that a coordinate takes, in each form in which prompts and answers write one, and whole JSON boxes.

    Numbers are drawn evenly, from a fixed seed: pixels of sides to 1,920 (whole and with one decimal), shares of the
    side with four decimals, thousandths of the side. `*_box` counts a box of four as it stands in an answer, blanks,
    commas and brackets included; `digit_group_share` is the share of whole pixels written as one token per group of
    three digits, the fewest that the split rule allows.
    """
    rng = random.Random(0)
    forms = {
        "pixel": [str(rng.randrange(1921)) for _ in range(count)],
        "pixel_decimal": [f"{rng.uniform(0, 1920):.1f}" for _ in range(count)],
        "normalised": [f"{rng.random():.4f}" for _ in range(count)],
        "per_mille": [str(rng.randrange(1001)) for _ in range(count)],
    }
    found: dict[str, float] = {}
    for name, numbers in forms.items():
        found[f"{name}_tokens"] = round(_mean(tokenizer, numbers), 4)
        boxes = [json.dumps([json.loads(one) for one in numbers[at : at + 4]]) for at in range(0, count - 3, 4)]
        found[f"{name}_box_tokens"] = round(_mean(tokenizer, boxes), 4)
    lengths = [len(ids) for ids in tokenizer.encode_batch(forms["pixel"])]
    fewest = [-(-len(number) // 3) for number in forms["pixel"]]
    found["digit_group_share"] = round(sum(map(int.__eq__, lengths, fewest)) / count, 4)
    return found


class _Counts:
    def __init__(self) -> None:
        self.texts = self.bytes = self.tokens = self.words = self.failures = 0

    def add(self, tokenizer: Tokenizer, texts: list[str]) -> None:
        for text, ids in zip(texts, tokenizer.encode_batch(texts), strict=True):
            data = text.encode()
            self.texts += 1
            self.bytes += len(data)
            self.tokens += len(ids)
            self.words += sum(1 for _ in _WORD.finditer(text))
            self.failures += tokenizer.decode_bytes(ids) != data

    def merge(self, other: _Counts) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def figures(self) -> dict[str, float]:
        return {
            "texts": self.texts,
            "bytes": self.bytes,
            "tokens": self.tokens,
            "words": self.words,
            "bytes_per_token": round(self.bytes / max(1, self.tokens), 4),
            "tokens_per_word": round(self.tokens / max(1, self.words), 4),
            "round_trip_failures": self.failures,
        }


def _mean(tokenizer: Tokenizer, texts: list[str]) -> float:
    return sum(map(len, tokenizer.encode_batch(texts))) / len(texts)
