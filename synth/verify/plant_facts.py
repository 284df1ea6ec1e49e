"""Planted errors of fact: numbers, units, dates, names, foreign and missing sentences."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from .number_style import spelled
from .sites import DATE, IDENTIFIER, MONTHS, NAME, NUMBER, NUMERAL, NUMERALS, Edit, Site, sentence_sites

_UNITS = [
    ("nanoseconds", "microseconds"), ("microseconds", "milliseconds"), ("milliseconds", "seconds"), ("seconds",
    "minutes"),
    ("second", "minute"), ("minutes", "hours"), ("minute", "hour"), ("hours", "days"), ("hour", "day"), ("days",
    "weeks"),
    ("day", "week"), ("weeks", "months"), ("months", "years"), ("month", "year"), ("bytes", "bits"), ("byte", "bit"),
    ("KB", "MB"), ("MB", "GB"), ("GB", "TB"), ("KiB", "MiB"), ("MiB", "GiB"), ("GiB", "TiB"), ("kilobytes",
    "megabytes"),
    ("megabytes", "gigabytes"), ("Kbps", "Mbps"), ("Mbps", "Gbps"), ("kHz", "MHz"), ("MHz", "GHz"), ("Hz", "kHz"),
    ("meters", "kilometers"), ("metres", "kilometres"), ("km", "m"), ("cm", "mm"), ("kilometers", "miles"), ("ms", "s"),
    ("inches", "feet"), ("kg", "g"), ("pixels", "inches"), ("degrees", "radians"), ("grams", "kilograms"), ("volts",
    "amperes"),
]  # fmt: skip
_OTHER_UNIT = dict(_UNITS) | {b: a for a, b in reversed(_UNITS)}
_UNIT = re.compile(
    rf"(?:\d[ -]?|\b(?:{'|'.join(NUMERALS)}|one|hundred|thousand|thirty|sixty|fifteen|twenty)[ -])"
    rf"(?P<unit>{'|'.join(sorted(_OTHER_UNIT, key=len, reverse=True))})\b"
)
_NAMES = str.split(
    "Bergström Okafor Lindqvist Tanaka Marrakesh Oslo Kepler Noether Fibonacci Amsterdam Zenith Halvorsen"
)
_CODE_NAMES = str.split("reset_buffer cache.flush() node_index parse_header() session.open() max_depth")
_LONG_WORD = re.compile(r"[a-z]{4,}")
_WORD = re.compile(r"[\w`]+")
_COORDINATION = re.compile(r"\s*(?:,|and|or|/|,\s*and|,\s*or|to|-|–)?\s*")
_NO_NAMES = frozenset(str.split("I A The This It If When In For Note See")) | frozenset(MONTHS)


def number_changed(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    sites = [*NUMBER.finditer(text), *NUMERAL.finditer(text)]
    if not sites:
        return []
    site = rng.choice(sites)
    return [Edit(*site.span(), _other_number(site[0], rng))]


def _other_number(written: str, rng: random.Random) -> str:
    if written in NUMERALS:
        return rng.choice([word for word in NUMERALS if word != written])
    digits = [at for at, char in enumerate(written) if char.isdigit()]
    if rng.random() < 0.3 and "," not in written and "." not in written and written != "0":
        return written + "0"
    at = rng.choice(digits)
    choices = [digit for digit in "123456789" if digit != written[at]]
    return written[:at] + rng.choice(choices) + written[at + 1 :]


def number_paraphrased(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    """A number written in another way and with another value: "a dozen" for 10, "three thousand" for 2,000."""
    edits = [Edit(*one.span(), wrong) for one in NUMBER.finditer(text) if (wrong := _wrongly(one[0], rng))]
    edits += [Edit(*one.span(), _other_digit(one[0], rng)) for one in NUMERAL.finditer(text)]
    return [rng.choice(edits)] if edits else []


def _wrongly(written: str, rng: random.Random) -> str:
    plain = written.replace(",", "")
    if not plain.isdigit() or (len(plain) > 1 and plain[0] == "0"):
        return ""
    value = int(plain)
    if value in (10, 11, 13, 14):
        return "a dozen"
    if 2 <= value < 90:
        return spelled(value + rng.choice((1, 2, 10)))
    return f"{value / 1000 + 1:g} thousand" if value >= 1000 and value % 100 == 0 else ""


def _other_digit(written: str, rng: random.Random) -> str:
    value = NUMERALS.index(written) + 2
    return str(rng.choice([other for other in range(2, 13) if other != value]))


def number_swapped(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    sites = list(NUMBER.finditer(text))
    pairs = [
        (a, b) for at, a in enumerate(sites) for b in sites[at + 1 :]
        if float(a[0].replace(",", "")) != float(b[0].replace(",", ""))
        and not _COORDINATION.fullmatch(text[a.end() : b.start()])
        and _around(text, a.start(), a.end()) != _around(text, b.start(), b.end())
    ]  # fmt: skip
    if not pairs:
        return []
    a, b = rng.choice(pairs)
    return [Edit(*a.span(), b[0]), Edit(*b.span(), a[0])]


def _around(text: str, start: int, end: int) -> tuple[list[str], list[str]]:
    """Two words on either side: numbers that share them may change places without harm."""
    return _WORD.findall(text[max(0, start - 60) : start])[-2:], _WORD.findall(text[end : end + 60])[:2]


def unit_changed(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    sites = list(_UNIT.finditer(text))
    if not sites:
        return []
    site = rng.choice(sites)
    return [Edit(*site.span("unit"), _OTHER_UNIT[site["unit"]])]


def date_changed(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    sites = [one for one in DATE.finditer(text) if one["iy"] or one["d1"] or one["d2"] or one["y"]]
    if not sites:
        return []
    site = rng.choice(sites)
    part = rng.choice([name for name, value in site.groupdict().items() if value])
    if part == "m":
        return [Edit(*site.span(part), rng.choice([month for month in MONTHS if month != site["m"]]))]
    if part in ("y", "iy"):
        return [Edit(*site.span(part), str(int(site[part]) + rng.choice((-10, -3, -1, 1, 2, 7))))]
    most = 12 if part == "im" else 28
    value = rng.choice([day for day in range(1, most + 1) if day != int(site[part])])
    return [Edit(*site.span(part), f"{value:02d}" if part in ("im", "id") else str(value))]


def _names(text: str) -> list[re.Match[str]]:
    found = [one for one in NAME.finditer(text) if one[0] not in _NO_NAMES and one[0].split()[0] not in _NO_NAMES]
    return [*found, *(one for one in IDENTIFIER.finditer(text) if one[0] not in ("e.g", "i.e", "a.k.a"))]


def _same(a: str, b: str) -> bool:
    """Whether one name is, or holds, the other."""
    bare, other = a.lower().strip("`()"), b.lower().strip("`()")
    return bare in other or other in bare


def name_swapped(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    sites = sorted(_names(text), key=lambda one: one.start())
    pairs = [
        (a, b) for at, a in enumerate(sites) for b in sites[at + 1 :]
        if not _same(a[0], b[0]) and a.end() < b.start()
        and ("_" in a[0] or "." in a[0] or "`" in a[0]) == ("_" in b[0] or "." in b[0] or "`" in b[0])
        and not set(a[0].lower().split()) & set(b[0].lower().split())
        and not _COORDINATION.fullmatch(text[a.end() : b.start()])
    ]  # fmt: skip
    if not pairs:
        return []
    a, b = rng.choice(pairs)
    return [Edit(*a.span(), b[0]), Edit(*b.span(), a[0])]


def name_replaced(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    """By the name of something else in the same field where there is one, else by an invented one."""
    sites = _names(text)
    if not sites:
        return []
    site = rng.choice(sites)
    code = IDENTIFIER.fullmatch(site[0]) is not None
    pool = [one[0] for other in others for one in (IDENTIFIER if code else NAME).finditer(other)]
    pool = [name for name in pool if name.lower().strip("`()") not in text.lower() and name.split()[0] not in _NO_NAMES]
    return [Edit(*site.span(), rng.choice(pool or (_CODE_NAMES if code else _NAMES)))]


def _sentences(text: str, words: int = 6) -> list[Site]:
    return [one for one in sentence_sites(text) if len(one.text.split()) >= words]


def claim_added(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    pool = [one.text for other in others for one in _sentences(other)]
    pool = [claim for claim in pool if claim not in text and "\n" not in claim]
    places = [one.end for one in sentence_sites(text)]
    if not pool or not places:
        return []
    place = rng.choice(places)
    return [Edit(place, place, " " + rng.choice(pool))]


def sentence_dropped(text: str, rng: random.Random, others: Sequence[str]) -> list[Edit]:
    sites = _sentences(text)
    if len(sites) < 3:
        return []
    site = rng.choice(sites)
    told = set(_LONG_WORD.findall(site.text.lower()))
    if any(len(told & set(_LONG_WORD.findall(one.text.lower()))) > 0.6 * len(told)
           for one in sentence_sites(text) if one.start != site.start):  # fmt: skip
        return []  # said twice: nothing would be lost
    return [Edit(site.start, site.end, "")]
