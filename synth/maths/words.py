"""Answers in words: yes and no, days, options of a test, `no solution`. Words that differ are undecided in general."""

from __future__ import annotations

import re

from .lexicon import wordlist
from .values import SetExpr, Text, Value

# Words of one class exclude each other; those of one row mean the same.
_CLASSES: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("yes", "true", "correct"), ("no", "false", "incorrect")),
    (("even",), ("odd",)),
    (("increasing",), ("decreasing",), ("constant",)),
    (("convergent", "converges", "it converges"), ("divergent", "diverges", "it diverges")),
    (("prime",), ("composite", "not prime")),
    (("rational",), ("irrational", "not rational")),
    (("heads",), ("tails",)),
    (("positive",), ("negative",), ("zero",)),
    (("greater", "larger", "more"), ("less", "smaller", "fewer"), ("equal", "the same")),
    (("acute",), ("right",), ("obtuse",)),
    (("north",), ("south",), ("east",), ("west",)),
    tuple((day,) for day in wordlist("monday tuesday wednesday thursday friday saturday sunday")),
    tuple((month,) for month in wordlist("january february march april may june july august september october november "
                                         "december")),
    (("undefined", "not defined"), ("does not exist", "dne", "the limit does not exist"),
     ("infinity", "infinite", "infinitely many"), ("no solution", "no solutions", "none", "there is no solution")),
)  # fmt: skip
_SETS = {"all real numbers": "R", "all reals": "R", "the real numbers": "R", "the empty set": "∅", "empty set": "∅"}
_KNOWN = {word for rows in _CLASSES for row in rows for word in row} - {"zero", "infinity"}
_OPTION = re.compile(r"\(?\s*([A-H])\s*[).]|([A-H])")


def as_words(text: str) -> Value | None:
    """The words, where the whole text is words that are known, or the name of a set in words."""
    plain = _plain(text)
    if plain in _SETS:
        return SetExpr(_SETS[plain])
    return Text(plain) if plain in _KNOWN else None


def compare_words(gold: Value, answer: Value, gold_text: str, answer_text: str) -> tuple[str, str, str]:
    """(verdict, code, reason) where at least one side is words."""
    first, second = _plain(gold_text), _plain(answer_text)
    if first == second:
        return "equal", "", ""
    empty = {"no solution", "no solutions", "none", "there is no solution"}
    if (first in empty and answer == SetExpr("∅")) or (second in empty and gold == SetExpr("∅")):
        return "equal", "", ""
    for rows in _CLASSES:
        at = [[row for row in rows if word in row] for word in (first, second)]
        if at[0] and at[1]:
            return ("equal", "", "") if at[0] == at[1] else ("different", "ans_diff", f"{second!r} is not {first!r}")
    if isinstance(gold, Text) != isinstance(answer, Text):
        return "undecided", "ans_undecided", "words on one side, a value on the other"
    return "undecided", "ans_undecided", "different words may mean the same"


def compare_options(gold_text: str, answer_text: str) -> tuple[str, str, str] | None:
    """The outcome of two options of a test, `(B)` or `B.`; None where they are something else."""
    found = [_OPTION.fullmatch(re.sub(r"\\text|[{}]", "", one).strip()) for one in (gold_text, answer_text)]
    letters = [one[1] or one[2] for one in found if one]
    if len(letters) < 2:
        return None
    return ("equal", "", "") if letters[0] == letters[1] else ("different", "ans_diff", "another option")


def _plain(text: str) -> str:
    text = re.sub(r"\\(?:text|mathrm|textbf|mbox)\s*\{([^{}]*)\}", r"\1", text)
    words = re.sub(r"[\s.,;:!?\"'“”]+", " ", text).strip().lower().split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("a", "an") else words)
