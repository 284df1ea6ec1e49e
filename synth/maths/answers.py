"""Final answers (M2): is the answer what the gold says? Equal, different, or undecided, never equal by a poor reading.

Gold and answer are not interchangeable: only the gold can state a rounding. What cannot be read whole is `degenerate`,
and two such never agree. Units count: 10 cm is not 10 m, and not 10 cm².
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from sympy import Rational

from ..verify.result import Check
from . import decide, units
from .errors import UNREADABLE, Degenerate
from .parse import parse
from .parse_units import LETTER_UNITS
from .shapes import compare_shapes
from .values import Number, Text, Value
from .words import as_words, compare_options, compare_words

_LEAD = re.compile(
    r"^(?:(?:so|thus|hence|therefore),?\s+)?(?:the\s+)?(?:final\s+)?answer\s*(?:is|:|=)\s*:?\s*|^####\s*|^(?:=|∴)\s*(?=\S)",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"^(?:approximately|about|roughly|around|approx\.?|\\approx|≈|~)\s*", re.IGNORECASE)
_PLACES = {"ten": -1, "hundred": -2, "thousand": -3, "integer": 0, "whole number": 0, "unit": 0, "dollar": 0,
           "tenth": 1, "cent": 2, "hundredth": 2, "thousandth": 3}  # fmt: skip
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4}
_ROUNDED = re.compile(
    r"[,;]?\s*\(?\s*(?:(?:correct|rounded|accurate)\s+)?to\s+(?:(?:the\s+)?nearest\s+(?P<name>"
    + "|".join(_PLACES)
    + r")"
    r"|(?P<count>\d+|one|two|three|four)\s+(?P<kind>decimal places?|d\.?p\.?|significant figures?|s\.?f\.?))\s*\)?\.?$",
    re.IGNORECASE,
)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")


class Judgement(NamedTuple):
    """`verdict`: equal, different or undecided. `code` is empty for equal; `reason` is for people."""

    verdict: str
    code: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Pair:
    """A gold answer and the answer to judge.

    Attributes:
        ordered: whether the order of values with commas between them counts; None where the question is not known, and
            then another order is undecided.
    """

    gold: str
    answer: str
    ordered: bool | None = None


def judge(pair: Pair) -> Judgement:
    """The verdict on a pair."""
    gold_text, places, rounded = _gold(pair.gold)
    answer_text = _ABOUT.sub("", strip(pair.answer))
    if not gold_text or not answer_text:
        return Judgement("undecided", "degenerate", "an empty answer")
    if (options := compare_options(gold_text, answer_text)) is not None:
        return Judgement(*options)
    try:
        gold = read(gold_text)
        answer = read(answer_text)
    except UNREADABLE as error:
        if not isinstance(error, Degenerate) and _signs(gold_text) == _signs(answer_text):
            return Judgement("equal", "", "written alike")
        code = "degenerate" if isinstance(error, Degenerate) else "ans_undecided"
        return Judgement("undecided", code, str(error))
    if isinstance(gold, Number) and isinstance(answer, Number) and (rounded or gold.approximate):
        return _rounded(gold, answer, gold_text, places)
    found = _compare(gold, answer, gold_text, answer_text, pair.ordered)
    if found.verdict != "equal" and found.code != "degenerate" and _signs(gold_text) == _signs(answer_text):
        return Judgement("equal", "", "written alike")
    if found.verdict == "different" and _commas_only(gold_text, answer_text):
        return Judgement("undecided", "ans_undecided", "a comma that separates thousands, decimals or values")
    return found


def check(pair: Pair) -> Check:
    """The verdict as a check: 1 equal, 0 different, ½ undecided, against a threshold of 1."""
    return as_check(pair, judge(pair))


def as_check(pair: Pair, found: Judgement) -> Check:
    """A judgement as a check."""
    value = {"equal": 1.0, "different": 0.0, "undecided": 0.5}[found.verdict]
    return Check("answer", value, 1.0, found.verdict == "equal", found.code, ((0, len(pair.answer)),))


def final_answer(text: str) -> str | None:
    """What a solution gives as its result: the last `\\boxed`, `####`, or `the answer is`; None where it gives none."""
    boxes = list(_BOXED.finditer(text))
    if boxes:
        depth = 0
        for at in range(boxes[-1].end() - 1, len(text)):
            depth += {"{": 1, "}": -1}.get(text[at], 0) if text[at - 1] != "\\" else 0
            if depth == 0:
                return text[boxes[-1].end() : at]
        return None
    told = re.findall(r"(?:####|\banswer\s*(?:is|:|=))[ \t]*:?[ \t]*([^\n]+)", text, re.IGNORECASE)
    return told[-1].strip() if told else None


def read(text: str) -> Value:
    """The value of an answer: a formula, or words. Raises as `parse` does."""
    words = as_words(text)
    if words is not None:
        return words
    try:
        return parse(text)
    except Degenerate:
        plain = re.sub(r"\\(?:text|mathrm|textbf|mbox)\s*\{([^{}]*)\}", r"\1", text)
        if re.search(r"[\d\\=<>+*/^_{}|%$]", plain) or not re.search(r"[^\W\d_]{2}", plain):
            raise
        return Text(" ".join(plain.split()))


def strip(text: str) -> str:
    """Without what is around an answer: dollar signs, `The answer is`, a full stop at the end."""
    text = text.strip()
    for _ in range(4):
        before = text
        text = _LEAD.sub("", text).strip()
        for opener, closer in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"), ("**", "**")):
            inner = text[len(opener) : -len(closer)]
            if (
                text.startswith(opener)
                and text.endswith(closer)
                and len(text) > len(opener + closer)
                and opener not in inner
            ):
                text = inner.strip()
        if text.endswith(".") and not text.endswith(".."):
            text = text[:-1].rstrip()
        if text == before:
            break
    return text


def _gold(text: str) -> tuple[str, int | None, bool]:
    """The gold without its remark on rounding, the places that the remark names, and whether it rounds at all."""
    text = strip(text)
    found = _ROUNDED.search(text)
    places = None
    if found:
        text = strip(text[: found.start()])
        if found["name"]:
            places = _PLACES[found["name"].lower()]
        elif found["kind"][0] in "dD":
            places = _COUNTS.get(found["count"].lower()) or int(found["count"])
    about = _ABOUT.sub("", text)
    return about, places, bool(found) or about != text


def _rounded(gold: Number, answer: Number, gold_text: str, places: int | None) -> Judgement:
    """Whether the answer rounds to the gold; one that gives fewer places than the gold must be the gold."""
    places = gold.places if places is None else places
    wrong = _units(gold, answer)
    if wrong is not None:
        return wrong
    if places is None or not answer.expr.subs(dict.fromkeys(gold.expr.free_symbols, 1)).is_number:
        return Judgement("undecided", "ans_undecided", "a rounding without a number of places")
    bare = _bare(gold_text)
    scale = gold.expr / bare.expr if bare is not None and bare.expr != 0 else Rational(1)
    off = ((answer.expr - gold.expr) / scale).evalf(30)
    if not off.is_number or not off.is_real:
        return Judgement("undecided", "ans_undecided", "values that cannot be compared")
    exactly = gold.marks == answer.marks and answer.places is not None and answer.places <= places and places >= 0
    bound = Fraction(0) if exactly else Fraction(1, 2) * Fraction(10) ** -places
    if abs(off) <= Rational(bound.numerator, bound.denominator) + Rational(1, 10**20):
        return Judgement("equal", "", f"to {places} places")
    return Judgement("different", "ans_diff", f"off by {off:.3g} where {places} places are asked for")


def _compare(gold: Value, answer: Value, gold_text: str, answer_text: str, ordered: bool | None) -> Judgement:
    if isinstance(gold, Text) or isinstance(answer, Text):
        return Judgement(*compare_words(gold, answer, gold_text, answer_text))
    if isinstance(gold, Number) and isinstance(answer, Number):
        found = numbers(gold, answer, _bare(gold_text), _bare(answer_text))
        letters = {one.name for one in gold.expr.free_symbols | answer.expr.free_symbols} & LETTER_UNITS
        if found.verdict == "different" and letters and (gold.marks or answer.marks):
            return Judgement("undecided", "unit", f"{', '.join(sorted(letters))}: a variable or a unit")
        return found
    return Judgement(*compare_shapes(gold, answer, ordered, lambda a, b: numbers(a, b)[:3]))


def numbers(
    gold: Number, answer: Number, gold_bare: Number | None = None, answer_bare: Number | None = None
) -> Judgement:
    """Two values, with their units. The bare ones are the same with every unit read as 1."""
    wrong = _units(gold, answer, gold_bare, answer_bare)
    if wrong is not None:
        return wrong
    verdict = decide.equal(*_kelvin(gold, answer))
    if verdict.holds:
        return Judgement("equal")
    if verdict.holds is None:
        return Judgement("undecided", "ans_undecided", verdict.reason)
    same = gold_bare is not None and answer_bare is not None and decide.equal(gold_bare.expr, answer_bare.expr).holds
    if same and bool(gold.marks) != bool(answer.marks):
        return Judgement("undecided", "unit", "the same number, one of them with a unit")
    return Judgement("different", "unit" if same and gold.marks != answer.marks else "ans_diff", verdict.reason)


def _units(
    gold: Number, answer: Number, gold_bare: Number | None = None, answer_bare: Number | None = None
) -> Judgement | None:
    """What is wrong with the units, or None where values can be compared."""
    if (gold.expr.is_zero or answer.expr.is_zero) and gold.marks != answer.marks:
        return Judgement("undecided", "unit", "zero has lost its unit")
    first, second = units.dimensions(gold.expr), units.dimensions(answer.expr)
    if first is None or second is None:
        return Judgement("undecided", "degenerate", "a sum of values with different units")
    heat = [{"[celsius]": 1}, {"[fahrenheit]": 1}, {"[heat]": 1}]
    if first == second or (first in heat and second in heat):
        return None
    if first and second:
        return Judgement("different", "unit", "units of different kinds")
    if gold_bare is None or answer_bare is None:
        return Judgement("undecided", "unit", "one of them has no unit")
    bare = decide.equal(gold_bare.expr, answer_bare.expr)
    if bare.holds and (units.is_count(gold.expr) or units.is_count(answer.expr)):
        return Judgement("equal")
    if bare.holds is False and not (gold_bare.expr.free_symbols | answer_bare.expr.free_symbols):
        return Judgement("different", "ans_diff", bare.reason)
    return Judgement("undecided", "unit", "one of them has no unit")


def _kelvin(gold: Number, answer: Number) -> tuple:
    """Both values, as temperatures in kelvin where they are given on different scales."""
    scales = {"[celsius]": (Rational(1), Rational(5463, 20)), "[fahrenheit]": (Rational(5, 9), Rational(45967, 180))}
    found = []
    names = [units.dimensions(one.expr) or {} for one in (gold, answer)]
    if names[0] == names[1]:
        return gold.expr, answer.expr
    for one, name in zip((gold, answer), names, strict=True):
        key = next(iter(name))
        factor, shift = scales.get(key, (Rational(1), Rational(0)))
        found.append(one.expr.subs(units.dimension(key[1:-1]), 1) * factor + shift)
    return tuple(found)


def _bare(text: str) -> Number | None:
    """The value with every unit as 1."""
    value = parse(text, unit_one=True)
    return replace(value, marks=frozenset()) if isinstance(value, Number) else None


def _signs(text: str) -> str:
    """The text without spaces, but for those between two digits."""
    return re.sub(r"\s+(?!\d)|(?<!\d)\s+", "", text)


def _commas_only(gold: str, answer: str) -> bool:
    """Whether two texts have the same digits, with commas or points that could separate either way."""
    plain = [re.sub(r"[\s$]", "", one) for one in (gold, answer)]
    digits = [re.sub(r"[,.]", "", one) for one in plain]
    return digits[0] == digits[1] and any("," in one for one in plain) and digits[0].isdecimal()
