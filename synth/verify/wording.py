"""What free wording does to numbers and names without a change of meaning: it counts what it lists, says *two* of a
pair, numbers its steps, names its speakers. And what it must not do although it looks small: *half*, *twice*."""

from __future__ import annotations

import re
from functools import lru_cache

from .concepts import concept
from .facts import FactSheet, Name
from .quantities import Quantity
from .stems import stem

_MARK = re.compile(r"(?:(?:^|(?<=[.:;,\n] )|(?<=\n))\d{1,2}\.(?= )|(?<![\w(.])\d{1,2}\)(?= ))")
_ITEM = r"[^,;:.()|\n]{1,60}?"
_LISTED = re.compile(rf"(?:{_ITEM}, )+{_ITEM},? (?:and|or) |(?:{_ITEM}, )+{_ITEM}")
_HEADING = 6  # words
_BOUNDS = frozenset(str.split("least most than exactly precisely only to until every"))
_MULTIPLES = {
    **dict.fromkeys(str.split("half halves"), 0.5), **dict.fromkeys(str.split("quarter quarters"), 0.25),
    **dict.fromkeys(str.split("twice double doubles doubled doubling"), 2.0),
    **dict.fromkeys(str.split("triple triples tripled thrice"), 3.0), "tenfold": 10.0,
}  # fmt: skip
_BEFORE_NAME = re.compile(r"(?:^|\n|[:|(\"“*])[ \t*_\"“-]*$")


def excused(number: Quantity, sheet: FactSheet) -> bool:
    """Whether a number that the source has not is a way of speaking: spelled out, and the count of what is listed."""
    if number.unit or sheet.words[number.first].kind == "number" or number.first != number.last:
        return False
    if number.first and sheet.words[number.first - 1].lower in _BOUNDS:
        return False
    if number.value in (0, 1, 2):
        return True
    sentence = sheet.of_sentence[number.first]
    low, high = sheet.sentences[sentence].low, sheet.sentences[sentence].high
    if number.first == low and high - low <= _HEADING:
        return True  # "Three helpers for images." counts the sentences behind it
    return number.value in lengths(sheet.text, sheet.sentences[sentence].start, sheet.sentences[sentence].end)


def spelled(number: Quantity, sheet: FactSheet) -> bool:
    """Whether it is a word for a few things, which other wording may do without."""
    return sheet.words[number.first].kind == "word" and number.value <= 12 and not number.unit


@lru_cache(maxsize=512)
def marks(text: str) -> frozenset[int]:
    """Where numbers stand that only count items or steps within a line."""
    return frozenset(found.start() for found in _MARK.finditer(text))


@lru_cache(maxsize=512)
def lengths(text: str, start: int, end: int) -> frozenset[int]:
    """How many things are listed in a row between two characters, or as items or rows in the whole text."""
    found = set()
    for line in _LISTED.finditer(text, start, end):
        count = line[0].count(", ") + 1
        found |= {count, count + 1}
    rows = text.count("\n- ") + text.startswith("- ")
    numbered = len(re.findall(r"^\d{1,2}[.)] ", text, re.MULTILINE))
    return frozenset(found | {rows, numbered} - {0})


def multiples(sheet: FactSheet, known: frozenset[str], values: frozenset[float]) -> list[tuple[int, int]]:
    """Words for multiples and parts that the source has no word for."""
    return [
        (sheet.starts[at], sheet.ends[at])
        for at, word in enumerate(sheet.words)
        if word.lower in _MULTIPLES and concept(stem(word.lower)) not in known and _MULTIPLES[word.lower] not in values
    ]


def strange(sheet: FactSheet, text: str) -> list[tuple[int, int]]:
    """Words with digits within, as *uint32*, that the source has not."""
    lower = text.lower()
    return [
        (sheet.starts[at], sheet.ends[at])
        for at, word in enumerate(sheet.words)
        if word.kind == "word" and word.text[0].isalpha() and any(map(str.isdigit, word.text))
        and word.lower not in lower
    ]  # fmt: skip


def opens(name: Name, sheet: FactSheet) -> bool:
    """Whether a name owes its capital to its place, behind a colon or at the head of a line; or is a speaker."""
    if len(name.parts) > 1 or name.kind != "name":
        return False
    return _BEFORE_NAME.search(sheet.text[: name.start]) is not None or sheet.text[name.end : name.end + 1] == ":"
