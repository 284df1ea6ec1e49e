"""V3, claims: every sentence of the rewrite has its source, every sentence of the source its place in the rewrite.

By words of content alone, weighted by rarity: enough to notice a foreign or a missing sentence in a rewrite that keeps
the terms of its source, not enough for free retelling, whose styles lower or switch off the thresholds. A short
sentence may keep none of them: what fails is compared again by all of its words.
"""

from __future__ import annotations

from collections import Counter

from .align import Alignment, Source
from .facts import FactSheet, Sentence
from .result import Check, at_least
from .rules import Rules

_FEW = 8  # failing sentences; where more fail, no counterpart saves the rewrite
_ALIKE = 0.5  # share of all words, function words too, from which on a sentence is the counterpart of another
_LONG = 7  # words of content, from which on a sentence must meet the threshold in full


def claims(source: Source, rewrite: FactSheet, alignment: Alignment, rules: Rules) -> list[Check]:
    """The checks of support and coverage; their values are the least share found."""
    checks = []
    if rules.support is not None:
        shares = [1.0 if share is None else share + _ease(sentence, rules.support)
                  for share, sentence in zip(alignment.support, rewrite.sentences, strict=True)]  # fmt: skip
        _excuse(shares, rules.support, rewrite, source.sheet)
        checks.append(at_least("support", "unsupported", shares, rules.support, rewrite.sentences, False))
    if rules.recall and rules.coverage is not None:
        shares = [1.0 if len(sentence.bag) < 2 else share
                  for share, sentence in zip(alignment.coverage, source.sheet.sentences, strict=True)]  # fmt: skip
        _excuse(shares, rules.coverage, source.sheet, rewrite)
        checks.append(at_least("coverage", "uncovered", shares, rules.coverage, source.sheet.sentences, True))
    return checks


def _excuse(shares: list[float], limit: float, sheet: FactSheet, other: FactSheet) -> None:
    """Raise the shares of failing sentences that have a counterpart by all words: each the other's nearest."""
    failing = [number for number, share in enumerate(shares) if share < limit]
    if not 0 < len(failing) <= _FEW:
        return
    mine, theirs = _spelled(sheet), _spelled(other)
    for number in failing:
        there, alike = _nearest(mine[number], theirs)
        if alike >= _ALIKE and _nearest(theirs[there], mine)[1] <= alike:
            shares[number] = alike


def _spelled(sheet: FactSheet) -> list[Counter[str]]:
    return [Counter([word.lower for word in sheet.words[one.low : one.high]]) for one in sheet.sentences]


def _nearest(words: Counter[str], sentences: list[Counter[str]]) -> tuple[int, float]:
    """The sentence that shares most words, of content or not, and the share."""
    best, alike = -1, 0.0
    for number, other in enumerate(sentences):
        share = 2 * (words & other).total() / max(1, words.total() + other.total())
        if share > alike:
            best, alike = number, share
    return best, alike


def _ease(sentence: Sentence, limit: float) -> float:
    """What a short sentence is given: two synonyms may be half of its words."""
    return limit * max(0, _LONG - len(sentence.bag)) / (_LONG - 1)
