"""The verifier's agreement with a reader on rewrites by a model, and what it says of free paraphrases that are true.

SmolLM2-135M-Instruct rewrote, summarised and asked about chunks of the suite's packages. Each answer was read beside
its source, before any verdict was known, and labelled: `faithful` (says nothing that the source does not say, and in a
paraphrase leaves out nothing of weight), `unfaithful`, or `no_answer` (not what was asked for: loops, continuations,
talk). How they are stored is told in `verify_labelled`; rows whose package has changed since are left out and counted.

What so small a model says truly, it mostly copies. How many true sentences in other words the verifier refuses is told
by 27 paraphrases that were written by hand for it, before any verdict, with other words and another order in nearly
every sentence: they are judged by the rules of `paraphrase`, by those of `free`, and by the facts alone.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from ..verify.rules import rules_for
from ..verify.verify import verify
from .verify_labelled import with_texts

LABELS = Path(__file__).with_suffix(".jsonl")
HAND = Path(__file__).with_name("verify_hand.jsonl")
FORM = frozenset({"copy", "ratio", "format", "length", "loop", "lang", "template", "meta", "echo"})
"""Codes of what is no matter of truth."""

LOGIC_OFF = {"negation": None, "modal": None, "quantifier": None, "comparator": None, "scope": None, "role": None}


def figures() -> dict[str, Any]:
    """Counts by style, label and verdict; shares of agreement; how many sources were not found again.

    `real_agreement`: of all verdicts. `real_agreement_on_facts`: on answers, of the checks that are no matter of form.
    """
    seen: Counter[str] = Counter()
    for found in with_texts(LABELS):
        if found is None:
            seen["changed"] += 1
            continue
        row, source, text = found
        codes = set(verify(source, text, row.style, finish=row.finish).codes)
        true = row.label == "faithful"
        seen["all"] += 1
        seen["agreed"] += true == (not codes)
        if row.label != "no_answer":
            seen["answers"] += 1
            seen["agreed_on_facts"] += true == (not codes - FORM)
        seen[f"real_{row.style}_{row.label}_{'refused' if codes else 'passed'}"] += 1
    return {
        "real_rewrites": seen["all"],
        "real_sources_changed": seen["changed"],
        "real_agreement": round(seen["agreed"] / max(1, seen["all"]), 4),
        "real_agreement_on_facts": round(seen["agreed_on_facts"] / max(1, seen["answers"]), 4),
        **{name: count for name, count in sorted(seen.items()) if name.startswith("real_")},
        **_by_hand(),
    }


def _by_hand() -> dict[str, int]:
    """How many true paraphrases pass."""
    passed: Counter[str] = Counter()
    for found in with_texts(HAND):
        if found is not None:
            _, source, text = found
            passed["hand_paraphrases"] += 1
            for name, rules in (("paraphrase", rules_for("paraphrase")), ("free", rules_for("free")),
                                ("facts", rules_for("free", LOGIC_OFF))):  # fmt: skip
                passed[f"hand_passed_by_{name}"] += not verify(source, text, rules=rules).codes
    return dict(passed)
