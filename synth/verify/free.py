"""V3 for styles whose wording is free: the same faults as `logic` finds, looked for clause by clause.

Sentences cannot be compared by their cues where a condition became a relative clause and two sentences one. So each cue
asks a smaller question: does the text, where it says the same, say anything that this cue may have come from? A fault
is what no reading of those clauses explains.
"""

from __future__ import annotations

from collections.abc import Callable

from .additions import added
from .align import Source
from .exchanges import exchanges
from .extent import modalities, quantities
from .facts import FactSheet
from .opposites import exceptions, opposites
from .polarity import negations
from .result import Check, at_least, at_most
from .rules import Rules
from .views import Span, View, views

_FEW = 5  # concepts of a sentence, below which it may be said in other words altogether


def free(source: Source, rewrite: FactSheet, rules: Rules) -> list[Check]:
    """The checks of this level."""
    both = views(source, rewrite)
    forth, back = both
    looks: tuple[tuple[str, str, int | None, Callable[[], list[Span]]], ...] = (
        ("negation", "neg", rules.negation, lambda: negations(both)),
        ("modal", "modal", rules.modal, lambda: modalities(both)),
        ("quantifier", "quant", rules.quantifier, lambda: quantities(both)),
        ("comparator", "comp", rules.comparator, lambda: opposites(forth)),
        ("scope", "scope", rules.scope, lambda: exceptions(both)),
        ("role", "role", rules.role, lambda: exchanges(both)),
    )
    checks = [at_most(name, code, look(), limit) for name, code, limit, look in looks if limit is not None]
    if rules.support is not None:
        checks.append(at_most("added", "unsupported", added(forth), 0))
        shares = _shares(forth)
        checks.append(at_least("support", "unsupported", shares, rules.support, rewrite.sentences, False))
    if rules.recall and rules.coverage is not None:
        shares = _shares(back)
        checks.append(at_least("coverage", "uncovered", shares, rules.coverage, source.sheet.sentences, True))
    return checks


def _shares(view: View) -> list[float]:
    """Of each sentence, the share of its concepts that the other text has; 1 where it has too few, or asks."""
    known = set(view.others.concepts)
    found = []
    for sentence in view.sheet.sentences:
        named = set(view.parts.concepts[sentence.low : sentence.high]) - {""}
        asks = view.sheet.text[sentence.end - 1] == "?"
        found.append(1.0 if asks or len(named) < _FEW else len(named & known) / len(named))
    return found
