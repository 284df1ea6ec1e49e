"""Numbers and dates of a text as values: "1,200", "1.2 thousand" and "twelve hundred" are one number.

A number has a unit if one stands behind it (or a currency before it), and is compared as value times the unit's factor
within the unit's dimension, so that 1 km is 1000 m, and 50 % is 0.5 and half. In a range the first number takes the
unit of the second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .number_words import MONTHS, MULTIPLIERS, ORDINALS, PARTS, UNITS, WEAK
from .words import Word

Key = tuple[str, str]
"""What two equal quantities share: the dimension, and the value to ten digits."""


class Quantity(NamedTuple):
    """A number as it is written.

    Attributes:
        value: without its unit.
        unit: as it is written, or "".
        key: what it is compared by.
        plain: the key it would have without its unit.
        weak: a word that is as often no number (one, first, half): nobody is held to it.
        first, last: its tokens.
        start, end: its characters, the unit's among them.
    """

    value: float
    unit: str
    key: Key
    plain: Key
    weak: bool
    first: int
    last: int
    start: int
    end: int


class Date(NamedTuple):
    """A date, whole or in part; what is not said is 0."""

    year: int
    month: int
    day: int
    first: int
    last: int
    start: int
    end: int

    def agrees(self, other: Date) -> bool:
        """Whether nothing that both say differs, and they share something."""
        pairs = [(a, b) for a, b in zip(self[:3], other[:3], strict=True) if a and b]
        return bool(pairs) and all(a == b for a, b in pairs)


_SCALE = re.compile(r"\s?[×x]\s?10\s?\^?\s?")
_MONEY = {"$": "dollar", "€": "euro"}
_JOINS = frozenset({"to", "and", "or", "through"})
_SIGNS = str.maketrans({"−": "-", ",": ""})


def quantities(
    places: Sequence[int], words: Sequence[Word], starts: Sequence[int], ends: Sequence[int], text: str
) -> list[Quantity]:
    """The numbers among the tokens of a text, in order, with their units; `places`: the tokens that may begin one."""
    found: list[Quantity] = []
    free = 0
    for at in places:
        if at < free:
            continue
        value, weak, last = _value(words, at, starts, ends, text)
        unit, behind = _unit(words, last + 1, starts, ends, text)
        before = words[at - 1].text if at and words[at - 1].text in _MONEY and ends[at - 1] == starts[at] else ""
        if before and not unit:
            unit = _MONEY[before]
        if unit and found and not found[-1].unit and _in_range(words, found[-1].last, at, ends, starts, text):
            found[-1] = _made(
                found[-1].value, unit, False, found[-1].first, found[-1].last, found[-1].start, found[-1].end
            )
        stop = behind if behind > last else last
        found.append(_made(value, unit, weak and not unit, at, last, starts[at], ends[stop]))
        free = stop + 1
    return found


def key_of(value: float, dimension: str = "") -> Key:
    return dimension, f"{value:.10g}"


def _made(value: float, unit: str, weak: bool, first: int, last: int, start: int, end: int) -> Quantity:
    plain = key_of(value)
    if not unit:
        return Quantity(value, unit, plain, plain, weak, first, last, start, end)
    dimension, factor = UNITS[unit]
    return Quantity(value, unit, key_of(value * factor, dimension), plain, weak, first, last, start, end)


def _value(
    words: Sequence[Word], at: int, starts: Sequence[int], ends: Sequence[int], text: str
) -> tuple[float, bool, int]:
    """Value of the number that begins at token `at`, whether it is weak, and its last token."""
    word, total = words[at], len(words)
    if word.kind == "number":
        value, weak = _digits(word.lower), word.lower.endswith(("st", "nd", "rd", "th"))
    else:
        assert word.value is not None
        value, weak = word.value, word.lower in WEAK or word.lower in ORDINALS
    spelled = word.kind == "word"
    after = at + 1
    part = words[after].lower if spelled and value >= 1 and after < total else ""
    if part in PARTS and (part.endswith("s") or (value == 1 and part != "half")):
        return value / PARTS[part], False, after  # two thirds, one quarter
    last = at
    whole = 0.0
    while after < total and starts[after] - ends[last] <= 6:
        follows = words[after]
        if follows.lower in MULTIPLIERS and text[ends[last] : starts[after]].strip() in ("", "-"):
            value, weak = value * MULTIPLIERS[follows.lower], False
            if value >= 1000 and spelled:
                whole, value = whole + value, 0.0
            last, after = after, after + 1
        elif spelled and follows.kind == "word" and follows.value is not None and follows.lower not in ORDINALS and (
            follows.value < 100 and value % 100 == 0 and (value or whole) and follows.value >= 1
            and text[ends[last] : starts[after]].strip() in ("", "-")
        ):  # fmt: skip
            value, weak, last, after = value + follows.value, False, after, after + 1
        elif spelled and follows.lower == "and" and (value + whole) % 100 == 0 and value + whole >= 100 and (
            after + 1 < total and words[after + 1].kind == "word" and 1 <= (words[after + 1].value or 0) < 100
        ):  # fmt: skip
            value, last, after = value + (words[after + 1].value or 0), after + 1, after + 2
        else:
            break
    return whole + value, weak, last


def _digits(written: str) -> float:
    written = written.translate(_SIGNS)
    if written[-1].isalpha():
        written = written[:-2]
    if "x" in written or "×" in written:
        mantissa, _, exponent = _SCALE.sub("\x00", written, count=1).partition("\x00")
        written = f"{mantissa}e{exponent}"
    value = float(written)
    return value if abs(value) != float("inf") else 0.0


def _unit(words: Sequence[Word], at: int, starts: Sequence[int], ends: Sequence[int], text: str) -> tuple[str, int]:
    """The unit that stands at token `at` behind a number, and its token; ("", −1) if none does."""
    if at >= len(words) or starts[at] - ends[at - 1] > 1:
        return "", -1
    written, attached = words[at].text, starts[at] == ends[at - 1]
    if written == "per" and at + 1 < len(words) and words[at + 1].lower == "cent":
        return "%", at + 1
    if text[ends[at - 1] : starts[at]] not in ("", " ", "-", "\u00a0", "\n"):
        return "", -1
    for name in (written, words[at].lower) if len(written) > 3 else (written,):
        if name in UNITS and (attached or len(name) > 1 or name in "%°mgs"):
            return name, at
    return "", -1


def _in_range(words: Sequence[Word], last: int, at: int, ends: Sequence[int], starts: Sequence[int], text: str) -> bool:
    between = text[ends[last] : starts[at]].strip()
    return between in ("-", "–", "—") or (at == last + 2 and words[last + 1].lower in _JOINS)


def dates(
    places: Sequence[int], words: Sequence[Word], starts: Sequence[int], ends: Sequence[int], text: str
) -> list[Date]:
    """Dates that name a month, and ISO dates, in order; `places`: the tokens that may be a year or a month."""
    found = []
    for at in places:
        word = words[at]
        if word.kind == "number":
            if at + 2 >= len(words) or text[ends[at]] != "-":
                continue
            month, day = words[at + 1].lower.lstrip("-"), words[at + 2].lower.lstrip("-")
            if ends[at + 2] - starts[at] == 10 and month.isdigit() and day.isdigit() and 1 <= int(month) <= 12:
                found.append(Date(int(word.lower), int(month), int(day), at, at + 2, starts[at], ends[at + 2]))
        elif (date := _month(words, at, starts, ends)) is not None:
            found.append(date)
    return found


def _month(words: Sequence[Word], at: int, starts: Sequence[int], ends: Sequence[int]) -> Date | None:
    first = last = at
    day = year = 0
    if at and (number := _whole(words[at - 1], 31)) and starts[at] - ends[at - 1] <= 1:
        day, first = number, at - 1
    elif at > 1 and words[at - 1].lower == "of" and (number := _whole(words[at - 2], 31)):
        day, first = number, at - 2
    if at + 1 < len(words) and starts[at + 1] - ends[at] <= 2:
        if not day and (number := _whole(words[at + 1], 31)):
            day, last = number, at + 1
        if last + 1 < len(words) and starts[last + 1] - ends[last] <= 2:
            number = _whole(words[last + 1], 2999)
            if number >= 1000:
                year, last = number, last + 1
    if (
        not day
        and not year
        and (not at or words[at - 1].lower not in ("in", "of", "since", "until", "by", "last", "early"))
    ):
        return None
    return Date(year, MONTHS[words[at].lower], day, first, last, starts[first], ends[last])


def _whole(word: Word, most: int) -> int:
    """The whole number up to `most` that a token stands for, or 0."""
    if word.kind != "number":
        return 0
    written = word.lower[:-2] if word.lower[-1].isalpha() else word.lower
    return int(written) if written.isdigit() and len(written) <= 4 and 1 <= int(written) <= most else 0
