"""Quality of a document: measures of its text with bounds, and the score of a classifier trained on your documents."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Any, ClassVar

from datatrove.data import Document
from pydantic import Field, PrivateAttr

from ...pipelines.errors import UserError
from ...pipelines.reader import Dataset
from ...pipelines.record import add_check
from ...pipelines.stage import Context, Filtered, Stage, seeded_rng
from .classifier import Classifier, train

_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 400_000  # characters are measured


class Quality(Stage):
    """Drop documents outside the bounds or with a low score.

    Attributes:
        good: an earlier job whose documents the classifier takes as good; none: measures alone. `out` may name another
            output.
        samples: how many of them it learns from.
        min_score: documents below are `filtered` as `low_score`.
        min_letters: least share of letters among the characters that are not blanks.
        mean_word: bounds on the mean length of a word.
        max_repeated_lines: greatest share of text in lines of 20 characters or more that occur more than once.
        min_distinct: least share of distinct words among each thousand.
    """

    version: ClassVar[int] = 1

    good: str | None = None
    out: str | None = None
    samples: int = Field(default=400, ge=20)
    min_score: float = Field(default=0.5, ge=0, le=1)
    min_letters: float = Field(default=0.45, ge=0, le=1)
    mean_word: tuple[float, float] = (2.0, 12.0)
    max_repeated_lines: float = Field(default=0.4, ge=0, le=1)
    min_distinct: float = Field(default=0.1, ge=0, le=1)

    _classifier: Classifier | None = PrivateAttr(default=None)

    def semantic(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude={"out"})

    def reads(self, context: Context) -> dict[str, str]:
        if self.good is None and self.out is None:
            return {}
        return {"good text of synth.quality": self._dataset(context).info["plan"][:16]}

    def open(self, context: Context) -> None:
        if self.good is not None or self.out is not None:
            dataset = self._dataset(context)
            self._classifier = _trained(dataset.store.url, dataset.info["plan"], self.samples, context.seed)

    def process(self, record: Document) -> Document:
        for name, fault in self._faults(record.text):
            raise Filtered(name, fault)
        if self._classifier is not None:
            score = self._classifier.score(record.text)
            if score < self.min_score:
                raise Filtered("low_score", f"{score:.2f}, at least {self.min_score} is wanted")
            add_check(record, "quality", True, score)
        return record

    def _faults(self, text: str) -> list[tuple[str, str]]:
        facts = measure(text)
        low, high = self.mean_word
        bounds = (
            ("few_letters", facts["letters"] >= self.min_letters, f"{facts['letters']:.0%} letters"),
            ("word_length", low <= facts["word"] <= high, f"words of {facts['word']:.1f} letters"),
            ("repeated_lines", facts["repeated"] <= self.max_repeated_lines, f"{facts['repeated']:.0%} repeated"),
            ("few_words", facts["distinct"] >= self.min_distinct, f"{facts['distinct']:.0%} distinct words"),
        )
        return [(name, fault) for name, good, fault in bounds if not good]

    def _dataset(self, context: Context) -> Dataset:
        return Dataset.open(context.output if self.out is None else context.beside(self.out), job=self.good)


def measure(text: str) -> dict[str, float]:
    """Shares and means that bounds are put on: letters, word, repeated, distinct."""
    text = text[:_SAMPLE]
    words = _WORD.findall(text)
    signs = len("".join(text.split()))
    lines = Counter(line.strip() for line in text.splitlines() if len(line.strip()) >= 20)
    length = sum(len(line) * count for line, count in lines.items())
    repeated = sum(len(line) * (count - 1) for line, count in lines.items() if count > 1)
    runs = [words[at : at + 1000] for at in range(0, max(len(words) - 500, 1), 1000)]
    return {
        "letters": sum(map(len, words)) / max(signs, 1),
        "word": sum(map(len, words)) / max(len(words), 1),
        "repeated": repeated / max(length, 1),
        "distinct": sum(len({word.lower() for word in run}) / max(len(run), 1) for run in runs) / len(runs),
    }


@lru_cache(maxsize=2)
def _trained(url: str, plan: str, samples: int, seed: int) -> Classifier:
    dataset = Dataset.open(url)
    numbers = list(range(len(dataset)))
    seeded_rng(seed, "quality", plan).shuffle(numbers)
    texts = (dataset[at].text for at in numbers)
    good = [text for text, _ in zip((one for one in texts if len(one) >= 500), range(samples), strict=False)]
    if len(good) < 20:
        raise UserError(f"synth.quality: {url} has {len(good)} documents of 500 characters or more; 20 are the least")
    return train(good, seed)
