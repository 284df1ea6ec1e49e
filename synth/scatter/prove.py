"""The proof of an item in its window: what the solver says of the whole, of every part, and of every counterfactual.

    full            all facts of the window give the answer
    ablation        without any one clue the answer is another or undefined
    counterfactual  with any one clue edited the answer is another, and which
    windows         no stretch of `REACH` of the window's length holds enough facts to give the answer
    no context      nothing gives no answer
    lexical         whether the chunks that share most words with the question give the answer (told, not required)

Placement makes these true; the proof is how one knows. An item without one is not published.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...tokenizer.words import Words
from .families import FAMILIES
from .item import Clue, Fact, Item

REACH = 0.75
"""An item must not be solvable from any part of the window shorter than this fraction of it."""
CHUNKS = 8
"""How many chunks the lexical retriever may look at."""
_CHUNK = 2048


class Unproved(Exception):
    """The item does not hold in its window; `code` says which part of the proof failed."""

    def __init__(self, code: str, detail: str):
        super().__init__(f"{code}: {detail}")
        self.code = code


@dataclass(frozen=True)
class Placed:
    """A clue or distractor and the tokens it takes; `number` is its place among the item's clues, None if needless."""

    clue: Clue
    start: int
    end: int
    number: int | None


@dataclass(frozen=True)
class Proof:
    """What was found.

    Attributes:
        edited: the answer after each clue's edit, in the order of the item's clues.
        span: the fraction of the window from the first needed clue to the last.
    """

    edited: tuple[str, ...]
    span: float


def prove(item: Item, placed: Sequence[Placed], length: int) -> Proof:
    """Check an item in a window of `length` tokens; `placed` are its clues and distractors in the window's order.

    Raises:
        Unproved: codes `underdetermined`, `needless`, `no_counterfactual`, `shortcut_window`, `no_context`.
    """
    solve = FAMILIES[item.family].solve

    def answer(chosen: Sequence[Placed]) -> str | None:
        return solve([fact for one in chosen for fact in one.clue.facts], item.query)

    if answer(placed) != item.answer:
        raise Unproved("underdetermined", f"the window says {answer(placed)!r}, the item {item.answer!r}")
    for number in range(len(item.clues)):
        if answer([one for one in placed if one.number != number]) == item.answer:
            raise Unproved("needless", f"clue {number} is not needed")
    edited = tuple(_edited(item, placed, number) for number in range(len(item.clues)))
    for part in _stretches(placed, REACH * length):
        if answer(part) == item.answer:
            raise Unproved("shortcut_window", f"solvable from {part[0].start}..{part[-1].end} of {length}")
    if solve([], item.query) is not None:
        raise Unproved("no_context", "solvable without any fact")
    needed = [one for one in placed if one.number is not None]
    return Proof(edited, (max(one.end for one in needed) - min(one.start for one in needed)) / length)


def _edited(item: Item, placed: Sequence[Placed], number: int) -> str:
    facts: list[Fact] = []
    for one in placed:
        edit = one.clue.edit if one.number == number else None
        facts += edit.facts if edit else one.clue.facts
    found = FAMILIES[item.family].solve(facts, item.query)
    if found is None or found == item.answer:
        raise Unproved("no_counterfactual", f"editing clue {number} gives {found!r}")
    return found


def _stretches(placed: Sequence[Placed], reach: float) -> Iterator[Sequence[Placed]]:
    """What lies wholly within `reach` tokens, for every place where such a stretch may begin."""
    for first in range(len(placed)):
        limit = placed[first].start + reach
        part = [one for one in placed[first:] if one.end <= limit]
        if part:
            yield part


class Retriever:
    """Ranks chunks of a window by the words they share with a question, rare words counting most (BM25's idf).

    Args:
        tokens: [T] uint32, the window.
        words: how words are spelled in tokens.
        questions: all that will be asked.
    """

    def __init__(self, tokens: np.ndarray, words: Words, questions: Sequence[str]):
        self.size = max(64, min(_CHUNK, len(tokens) // 64))
        self._tokens, self._words = tokens, words
        self._count = -(-len(tokens) // self.size)
        self._candidates = words.candidates(tokens, {word for one in questions for word in _terms(one)})
        self._idf: dict[str, tuple[np.ndarray, float]] = {}

    def solves(self, item: Item, placed: Sequence[Placed]) -> bool:
        """Whether the facts in the best `CHUNKS` chunks give the item's answer."""
        scores = np.zeros(self._count)
        for word in _terms(item.question):
            chunks, idf = self._chunks(word)
            scores[chunks] += idf
        best = set(np.argsort(-scores, kind="stable")[:CHUNKS].tolist())
        seen = [one for one in placed if {one.start // self.size, (one.end - 1) // self.size} <= best]
        facts = [fact for one in seen for fact in one.clue.facts]
        return FAMILIES[item.family].solve(facts, item.query) == item.answer

    def _chunks(self, word: str) -> tuple[np.ndarray, float]:
        """The chunks that hold a word, and how much it tells."""
        if word not in self._idf:
            chunks = np.unique(self._words.find(self._tokens, word, self._candidates) // self.size)
            self._idf[word] = chunks, math.log(1 + (self._count - len(chunks) + 0.5) / (len(chunks) + 0.5))
        return self._idf[word]


def _terms(question: str) -> list[str]:
    return sorted(set(re.findall(r"\w+", question)))
