"""Free rewrites of documentation in the forms of the prompts, written by hand: how many true ones pass, how many errors
of the kinds that models make are found.

Chunks of the development packages were rewritten as articles, memos, digests, tutorials, notes, tables, dialogues and
questions with answers, in other words throughout; then each was changed in one place so that it says something false:
a number, who does what, a condition, how many, how surely, a claim that is added or dropped, what refers to what, a
negation. All were written, and parted by package into those that rules may be developed on and those held out, before
any verdict was known. `label` is `faithful` or the kind of the error; an error follows the rewrite that it was made of.

An error is `found` by a fault that the same rewrite without it has not; `refused` counts errors that do not pass, for
whatever reason.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from ..verify.result import Verdict
from ..verify.rules import Rules, rules_for
from ..verify.verify import verify
from .verify_labelled import with_texts

LABELS = Path(__file__).with_suffix(".jsonl")
FAITHFUL = "faithful"
HELD_OUT = frozenset(
    str.split("pandas matplotlib transformers pyarrow hypothesis ezdxf cadquery pydantic jsonschema")
)


def figures() -> dict[str, Any]:
    """Of either half, by the style `free`: shares of faithful rewrites passed and of errors found, by kind and form."""
    return {**_figures(held_out=True), **_figures(held_out=False)}


def _figures(held_out: bool) -> dict[str, Any]:
    seen, hit = counts(held_out, rules_for("free"))
    half = "free" if held_out else "free_development"
    return {f"{half}_{name}": round(hit[name] / of, 4) for name, of in sorted(seen.items())} | {
        f"{half}_{name}_of": seen[name] for name in ("faithful_passed", "errors_found")
    }


def counts(held_out: bool, rules: Rules) -> tuple[Counter[str], Counter[str]]:
    """How many rewrites and errors of a half were judged, by figure, and of how many the figure's name is true."""
    seen: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    sound: Verdict | None = None
    for found in with_texts(LABELS):
        if found is None or (found[0].package in HELD_OUT) != held_out:
            continue
        row, source, text = found
        verdict = verify(source, text, rules=rules)
        if row.label == FAITHFUL:
            sound = verdict
            told = {"faithful_passed": not verdict.codes, f"passed_{row.style}": not verdict.codes}
        else:
            assert sound is not None
            new = bool(_faults(verdict) - _faults(sound))
            told = {"errors_found": new, "errors_refused": bool(verdict.codes), f"found_{row.label}": new}
        seen.update(told.keys())
        hit.update(name for name, true in told.items() if true)
    return seen, hit


def _faults(verdict: Verdict) -> set[tuple[str, float]]:
    """Failed checks with what they measured: one fault more is a new one."""
    return {(check.name, check.value) for check in verdict.checks if not check.ok}
