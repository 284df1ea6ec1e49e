"""The verifier's agreement with a reader on rewrites by a model, and what it says of free paraphrases that are true.

SmolLM2-135M-Instruct rewrote, summarised and asked about chunks of the suite's packages. Each answer was read beside
its source, before any verdict was known, and labelled: `faithful` (says nothing that the source does not say, and in a
paraphrase leaves out nothing of weight), `unfaithful`, or `no_answer` (not what was asked for: loops, continuations,
talk). The sources are not stored but found again in the installed packages, by file and characters, and checked by
their hash: rows whose package has changed since are left out and counted.

What so small a model says truly, it mostly copies. How many true sentences in other words the verifier refuses is told
by 27 paraphrases that were written by hand for it, before any verdict, with other words and another order in nearly
every sentence: they are judged by the rules of `paraphrase`, by those of `free`, and by the facts alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ...pipelines.errors import UserError
from ..verify.rules import rules_for
from ..verify.verify import verify
from .verify_texts import document

LABELS = Path(__file__).with_suffix(".jsonl")
HAND = Path(__file__).with_name("verify_hand.jsonl")
FORM = frozenset({"copy", "ratio", "format", "length", "loop", "lang", "template", "meta", "echo"})
"""Codes of what is no matter of truth."""

LOGIC_OFF = {"negation": None, "modal": None, "quantifier": None, "comparator": None}


class Labelled(NamedTuple):
    """A rewrite as it was read: its source's characters, the style asked for, the server's reason for stopping."""

    package: str
    file: str
    span: tuple[int, int]
    sha256: str
    style: str
    finish: str
    text: str
    label: str
    note: str


def labelled(path: Path = LABELS) -> list[Labelled]:
    """All rewrites of a file, in the order in which they were read."""
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    return [Labelled(**{**row, "span": tuple(row["span"])}) for row in rows]


def figures() -> dict[str, Any]:
    """Counts by style, label and verdict; shares of agreement; how many sources were not found again.

    `real_agreement`: of all verdicts. `real_agreement_on_facts`: on answers, of the checks that are no matter of form.
    """
    seen: Counter[str] = Counter()
    for row, source in _with_sources(LABELS):
        if source is None:
            seen["changed"] += 1
            continue
        codes = set(verify(source, row.text, row.style, finish=row.finish).codes)
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
    for row, source in _with_sources(HAND):
        if source is not None:
            passed["hand_paraphrases"] += 1
            for name, rules in (("paraphrase", rules_for("paraphrase")), ("free", rules_for("free")),
                                ("facts", rules_for("free", LOGIC_OFF))):  # fmt: skip
                passed[f"hand_passed_by_{name}"] += not verify(source, row.text, rules=rules).codes
    return dict(passed)


def _with_sources(path: Path) -> Iterator[tuple[Labelled, str | None]]:
    find = cache(_prose)
    for row in labelled(path):
        text = find(row.package, row.file)[slice(*row.span)]
        same = hashlib.sha256(text.encode()).hexdigest().startswith(row.sha256)
        yield row, text if same else None


def _prose(package: str, file: str) -> str:
    try:
        return document(package, file).text
    except UserError:
        return ""
