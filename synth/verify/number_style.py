"""Numbers written in another way with the same value: 1,200 and 1200, 3 and three, 50% and 50 percent."""

from __future__ import annotations

import random
import re

from .sites import MONTHS, NUMBER, NUMERAL, NUMERALS, Edit, apply, protected

_LONG = {"KB": "kilobytes", "MB": "megabytes", "GB": "gigabytes", "TB": "terabytes", "KiB": "kibibytes",
         "MiB": "mebibytes", "GiB": "gibibytes", "TiB": "tebibytes", "ms": "milliseconds", "kHz": "kilohertz",
         "MHz": "megahertz", "GHz": "gigahertz", "km": "kilometres", "kg": "kilograms",
         "cm": "centimetres"}  # fmt: skip
_BEHIND = re.compile(r"[  ]?(%|[A-Za-z]+\b)?")
_ITEM = re.compile(r"^[ \t]*$", re.MULTILINE)  # before the number of a list's item
_DAY = re.compile(rf"[-)]| (?:of )?(?:{'|'.join(MONTHS)})\b")
# Before a number that is a label and keeps its digits: a page, a figure, a day, an issue.
_LABEL = re.compile(r"(?:#|pp?\.|fig\.|no\.|eq\.|section|chapter|version|python|table|(?:jan|feb|mar|apr|may|"
    r"jun|jul|aug|"
                    r"sep|oct|nov|dec)[a-z]*\.?) ?$", re.IGNORECASE)  # fmt: skip
_TEENS = str.split("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
_ONES = str.split("zero one two three four five six seven eight nine")
_TENS = str.split("twenty thirty forty fifty sixty seventy eighty ninety")


def numbers_paraphrased(text: str, rng: random.Random) -> str:
    """Write numbers otherwise, wherever a rule allows it."""
    edits = []
    kept = protected(text)
    for one in NUMBER.finditer(text):
        if (
            kept(one.start())
            or _ITEM.match(text, text.rfind("\n", 0, one.start()) + 1, one.start())
            or _DAY.match(text, one.end())
            or _LABEL.search(text, max(0, one.start() - 12), one.start())
        ):
            continue
        behind = _BEHIND.match(text, one.end())
        unit = (behind and behind[1]) or ""
        if unit in _LONG:
            edits.append(Edit(one.start(), behind.end() if behind else one.end(), f"{one[0]} {_LONG[unit]}"))
        elif unit == "%" and behind:
            edits.append(Edit(one.start(), behind.end(), f"{one[0]} percent"))
        elif (other := _otherwise(one[0], rng)) and not text.startswith(("/", "^", "]"), one.end()):
            edits.append(Edit(*one.span(), other))
    for one in NUMERAL.finditer(text):
        if (
            one[1] != "two"
            and not kept(one.start())
            and not text.startswith((" hundred", " thousand", " million", "-"), one.end())
        ):
            edits.append(Edit(*one.span(), str(NUMERALS.index(one[1]) + 2)))
    return apply(text, edits)


def _otherwise(written: str, rng: random.Random) -> str:
    """Another spelling of a number, or "" where none is usual."""
    if "," in written:
        return written.replace(",", "")
    if "." in written or not written.isdigit() or (len(written) > 1 and written[0] == "0"):
        return ""
    value = int(written)
    if value in (0, 1):
        return ""
    if value < 100:
        return spelled(value) if value > 12 or value != 12 or rng.random() < 0.5 else "a dozen"
    if 1100 <= value < 2100:
        return ""  # it may be a year
    if value >= 10**6 and value % 10**5 == 0:
        return f"{value / 10**6:g} million"
    if value >= 1000 and value % 100 == 0 and value < 10**6:
        return f"{value / 1000:g} thousand" if rng.random() < 0.5 else f"{value:,}"
    return f"{value:,}" if value >= 1000 else ""


def spelled(value: int) -> str:
    """A whole number from 0 to 99 in words."""
    if value < 10:
        return _ONES[value]
    if value < 20:
        return _TEENS[value - 10]
    return _TENS[value // 10 - 2] + (f"-{_ONES[value % 10]}" if value % 10 else "")
