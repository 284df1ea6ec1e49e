"""V3, claims: every sentence of the rewrite has its source, every sentence of the source its place in the rewrite.

By words of content alone, weighted by rarity: enough to notice a foreign or a missing sentence in a rewrite that keeps
the terms of its source, not enough for free retelling, whose styles lower or switch off the thresholds.
"""

from __future__ import annotations

from .align import Alignment, Source
from .facts import FactSheet, Sentence
from .result import Check, at_least
from .rules import Rules

_LONG = 6  # words of content, from which on a sentence must meet the threshold in full


def claims(source: Source, rewrite: FactSheet, alignment: Alignment, rules: Rules) -> list[Check]:
    """The checks of support and coverage; their values are the least share found."""
    checks = []
    if rules.support is not None:
        shares = [1.0 if share is None else share + _ease(sentence, rules.support)
                  for share, sentence in zip(alignment.support, rewrite.sentences, strict=True)]  # fmt: skip
        checks.append(at_least("support", "unsupported", shares, rules.support, rewrite.sentences, False))
    if rules.recall and rules.coverage is not None:
        shares = [1.0 if len(sentence.bag) < 2 else share
                  for share, sentence in zip(alignment.coverage, source.sheet.sentences, strict=True)]  # fmt: skip
        checks.append(at_least("coverage", "uncovered", shares, rules.coverage, source.sheet.sentences, True))
    return checks


def _ease(sentence: Sentence, limit: float) -> float:
    """What a short sentence is given: two synonyms may be half of its words."""
    return limit * max(0, _LONG - len(sentence.bag)) / (_LONG - 1)
