"""Errors planted into a rewrite, one at a time, of kinds that a language model makes: what the verifier must find.

The same text, kind and generator give the same error. A kind that has no place in a text plants nothing there: what is
planted always changes what the text says.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import plant_facts, plant_logic
from .sites import Edit, apply


@dataclass(frozen=True, slots=True)
class Planted:
    """A text with an error: its kind, and where it stands (an empty span where something is missing)."""

    text: str
    kind: str
    start: int
    end: int


Finder = Callable[[str, random.Random, Sequence[str]], list[Edit]]
KINDS: dict[str, Finder] = {
    "number_changed": plant_facts.number_changed,
    "number_swapped": plant_facts.number_swapped,
    "unit_changed": plant_facts.unit_changed,
    "date_changed": plant_facts.date_changed,
    "name_swapped": plant_facts.name_swapped,
    "name_replaced": plant_facts.name_replaced,
    "claim_added": plant_facts.claim_added,
    "sentence_dropped": plant_facts.sentence_dropped,
    "negation_added": plant_logic.negation_added,
    "negation_removed": plant_logic.negation_removed,
    "quantifier_changed": plant_logic.quantifier_changed,
    "modal_changed": plant_logic.modal_changed,
    "comparator_reversed": plant_logic.comparator_reversed,
    "roles_swapped": plant_logic.roles_swapped,
    "coreference": plant_logic.coreference,
    "scope_shift": plant_logic.scope_shift,
    "number_paraphrased": plant_facts.number_paraphrased,
}


def plant(text: str, kind: str, rng: random.Random, others: Sequence[str] = ()) -> Planted | None:
    """Plant an error of that kind, or None where the text has no place for it.

    Args:
        others: texts of the same field, from which foreign claims and names come.

    Raises:
        KeyError: there is no such kind.
    """
    edits = KINDS[kind](text, rng, others)
    if not edits:
        return None
    changed = apply(text, edits)
    if changed == text:
        return None
    first = min(edits)
    return Planted(changed, kind, first.start, first.start + len(first.text))
