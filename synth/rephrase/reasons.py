"""What a failed check says to whoever is asked to repair the rewrite, and to people: one sentence a code."""

from __future__ import annotations

from collections.abc import Iterable

from ..verify.result import Check

REASONS = {
    "length": "The answer was cut off: be briefer.",
    "empty": "The answer holds no text.",
    "encoding": "The answer holds broken characters.",
    "refusal": "The answer declines instead of rewriting.",
    "meta": "The answer talks about itself: give the text alone.",
    "echo": "The answer repeats the instruction.",
    "lang": "The answer is in another language.",
    "ratio": "The answer is too short or too long for the passage.",
    "loop": "The answer repeats itself.",
    "copy": "The answer copies the passage: say it in other words and another order.",
    "template": "The answer begins like too many others.",
    "format": "The answer does not have the form that was asked for.",
    "num_new": "The answer has numbers that the passage does not have",
    "num_lost": "The answer lacks numbers of the passage",
    "num_ctx": "Numbers of the passage stand beside other things than there",
    "unit": "A number has another unit than in the passage",
    "date": "A date differs from the passage",
    "ent_new": "The answer names what the passage does not name",
    "ent_lost": "The answer leaves out names of the passage",
    "ent_ctx": "A name stands where the passage has another one",
    "neg": "A statement is denied that the passage makes, or made where the passage denies it",
    "modal": "What the passage says may, must or can be is said with another force",
    "quant": "All, some, none, only and the like differ from the passage",
    "comp": "More, less, before, after and the like differ from the passage",
    "role": "Who does what to whom differs from the passage",
    "scope": "A condition or restriction belongs to another statement than in the passage",
    "coref": "A pronoun points to something else than in the passage",
    "unsupported": "The passage does not say this",
    "uncovered": "The answer leaves this out",
    "seam_repeat": "The answer says again what the text before it said.",
    "seam_pronoun": "The answer begins with a pronoun that has nothing to point to.",
    "seam_heading": "The answer leaves out headings of the passage.",
    "eq_false": "An equation is wrong",
    "eq_undecided": "Too many equations cannot be checked",
    "ans_diff": "The result differs from that of the passage.",
    "ans_undecided": "The result cannot be compared with that of the passage: write it as the passage does.",
    "degenerate": "The result is not readable as mathematics.",
    "nli": "The passage does not support this",
    "judge": "A reader finds that this is not what the passage says",
    "quote_missing": "What is quoted as evidence does not stand in the passage",
    "qa_lost": "A question that the passage answers cannot be answered from the answer",
    "qa_wrong": "A question is answered otherwise than by the passage",
}
_SHOWN = 3  # places a reason
_LONG = 90  # characters of a place


def reasons(checks: Iterable[Check], source: str, text: str) -> list[str]:
    """A line for each failed check, with the places it speaks of."""
    lines = []
    for check in checks:
        if check.ok:
            continue
        told = REASONS.get(check.code, check.code)
        if told.endswith("."):
            lines.append(told)
            continue
        of = source if check.of_source else text
        places = dict.fromkeys(" ".join(of[start:end].split())[:_LONG] for start, end in check.spans[:_SHOWN])
        lines.append(f"{told}: " + "; ".join(f'"{place}"' for place in places if place) if any(places) else f"{told}.")
    return lines
