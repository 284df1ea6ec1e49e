"""Who does what to whom: two words that changed places around the same verb or preposition.

"A calls B" and "B calls A" have the same words. Each verb, preposition or auxiliary has a run of content on its left
and one on its right; where a word from the right comes to stand on the left, and one from the left on the right, of the
same word, the roles are exchanged. "B is called by A" has the passive's *is* on the left of the verb and hurts nothing,
nor does "Y if X" for "If X, then Y", in which no run changes sides of a word between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from .facts import FactSheet
from .stems import stem

_RUN = 3  # words of content that count on either side
_ARTICLES = frozenset(
    str.split("a an the its their this that these those each every any some all both")
)
# What does not order its neighbours: lists of equals, and "X is Y", which may be said as "Y is X".
_NO_PIVOT = frozenset({"and", "or", "nor", "is", "are", "was", "were", "be", "been", "being", "both", "either",
    "as", "with",
                       "vs", "plus", "also", "not", "it", "they", "you", "we", "back", "out", "up", "off"})  # fmt: skip
# After these, *with* orders its neighbours as well.
_REPLACING = frozenset(map(stem, str.split("replace replacing overwrite substitute exchange swap")))
_Sides = tuple[tuple[str, ...], tuple[str, ...], int]
Pivots = list[tuple[str, _Sides]]
"""Of a sentence, each word that orders its neighbours, with the runs of content on its left and right and its token."""


def exchanged(
    source: FactSheet, known: dict[int, Pivots], rewrite: FactSheet, there: Sequence[int], here: Sequence[int]
) -> list[tuple[int, int]]:
    """Spans, in the rewrite, of words around which sentences `here` exchange what the source's sentences `there` have
    on either side. `known`: what was found in the source's sentences before, by number; it grows."""
    if not _reordered(_order(source, there), _order(rewrite, here)):
        return []  # most often: nothing moved
    for number in there:
        if number not in known:
            known[number] = _pivots(source, number)
    meant = _by_word([known[number] for number in there])
    now = _by_word([_pivots(rewrite, number) for number in here])
    found = []
    # A verb in the place of another, as `holds` for `contains`, is compared with those that are gone.
    gone = [sides for pivot, all_sides in meant.items() if pivot not in now for sides in all_sides]
    for pivot, all_sides in now.items():
        before_it = list(meant.get(pivot) or gone)
        for left, right, at in all_sides:
            # Between two words that it stands between in the source: nothing was exchanged here.
            same = [one for one in before_it if left[0] == one[0][0] and set(right) & set(one[1])]
            if same:
                before_it.remove(same[0])
                continue
            if any(_crossed(left, after, before) and _crossed(right, before, after) for before, after, _ in before_it):
                found.append((rewrite.starts[at], rewrite.ends[at]))
    return found


def _crossed(here: tuple[str, ...], there: tuple[str, ...], own: tuple[str, ...]) -> bool:
    """Whether a run has words of the other side that its own side had not."""
    return any(word in there and word not in own for word in here)


def _order(sheet: FactSheet, numbers: Sequence[int]) -> list[str]:
    # What stands between them counts as well.
    low, high = sheet.sentences[numbers[0]].low, sheet.sentences[numbers[-1]].high
    return [word.ordered for word in sheet.words[low:high] if word.ordered]


def _reordered(meant: list[str], said: list[str]) -> bool:
    """Whether words that both have come in another order, or more or less often."""
    least = min(len(meant), len(said))
    low = 0
    while low < least and meant[low] == said[low]:
        low += 1
    high = 0
    while high < least - low and meant[-1 - high] == said[-1 - high]:
        high += 1
    # Equal beginnings and ends change nothing of it.
    lost, gained = meant[low : len(meant) - high], said[low : len(said) - high]
    return [word for word in lost if word in said] != [word for word in gained if word in meant]


def _pivots(sheet: FactSheet, number: int) -> Pivots:
    found = []
    sentence, words = sheet.sentences[number], sheet.words
    for at in range(sentence.low + 1, sentence.high - 1):
        word = words[at]
        before, after = words[at - 1], words[at + 1]
        if not (before.ordered or before.lower in _ARTICLES) or not (after.ordered or after.lower in _ARTICLES):
            continue  # no run on one of its sides
        orders = word.lower not in _NO_PIVOT or word.lower == "with"
        if word.lower in _ARTICLES or not orders or word.kind in ("code", "number"):
            continue
        left = _run(sheet, range(at - 1, sentence.low - 1, -1))
        if word.lower == "with" and _REPLACING.isdisjoint(left):
            continue
        if left and (right := _run(sheet, range(at + 1, sentence.high))):
            found.append((word.ordered or word.lower, (left, right, at)))
    return found


def _by_word(several: list[Pivots]) -> dict[str, list[_Sides]]:
    found: dict[str, list[_Sides]] = {}
    for pivots in several:
        for word, sides in pivots:
            found.setdefault(word, []).append(sides)
    return found


def _run(sheet: FactSheet, places: range) -> tuple[str, ...]:
    """Words of content next to each other, nearest first."""
    found: list[str] = []
    near = places.start + (1 if places.step < 0 else -1)
    for at in places:
        word = sheet.words[at]
        low, high = (at, near) if at < near else (near, at)
        if not sheet.text[sheet.ends[low] : sheet.starts[high]].isspace() or len(found) == _RUN:
            break
        if word.ordered:
            found.append(word.ordered)
        elif word.lower not in _ARTICLES:
            break
        near = at
    return tuple(found)
