"""The words around a number or a name, and how well two surroundings agree: who stands in whose place."""

from __future__ import annotations

from typing import NamedTuple

from .cues import ARTICLES
from .facts import FactSheet
from .quantities import Quantity

BEST = 8.0  # agreement of equal surroundings
MARGIN = 1.5  # of agreement by which another fits better in a place than the one that stands there
_SKIPPED = ARTICLES - {"no", "some", "every", "each"}
_REACH = 8


class Place(NamedTuple):
    """The words next to it, the nearest of content, and all of content around; "" where the sentence ends."""

    left: str
    right: str
    left_content: str
    right_content: str
    around: frozenset[str]


def place_of(sheet: FactSheet, first: int, last: int) -> Place:
    """The surroundings of tokens `first` to `last` within their sentence. Numbers around look alike."""
    sentence = sheet.sentences[sheet.of_sentence[first]]
    around: set[str] = set()
    left, left_content = _side(sheet, range(first - 1, max(sentence.low, first - _REACH) - 1, -1), around)
    right, right_content = _side(sheet, range(last + 1, min(sentence.high, last + 1 + _REACH)), around)
    return Place(left, right, left_content, right_content, frozenset(around))


def _side(sheet: FactSheet, places: range, around: set[str]) -> tuple[str, str]:
    near = content = ""
    for at in places:
        word = sheet.words[at]
        if word.kind == "number" or word.value is not None:
            near, content = near or "#", content or "#"
        elif word.lower not in _SKIPPED:
            near = near or word.lower
            if word.content:
                content = content or word.stem
                around.add(word.stem)
    return near, content


def fit(here: Place, there: Place) -> float:
    """How well two surroundings agree, from 0 to 8."""
    value = 0.0
    if here.left and here.left == there.left:
        value += 1.0
    if here.right and here.right == there.right:
        value += 1.0
    if here.left_content and here.left_content == there.left_content:
        value += 2.0
    if here.right_content and here.right_content == there.right_content:
        value += 2.0
    if here.around:
        value += 2.0 * len(here.around & there.around) / max(len(here.around), len(there.around))
    return value


def last_of(sheet: FactSheet, number: Quantity) -> int:
    """The last token of a number with its unit."""
    last = number.last
    while last + 1 < len(sheet.starts) and sheet.starts[last + 1] < number.end:
        last += 1
    return last
