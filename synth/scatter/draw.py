"""What generators draw from: fresh names, numbers, phrasings and pictures, all from one seeded source of randomness."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from .item import Clue, Edit, Fact, Picture
from .phrasings import LEAD_INS, QUESTIONS, STATEMENTS

_ONSETS = ["b", "bl", "br", "d", "dr", "f", "fl", "g", "gl", "gr", "h", "j", "k", "kl", "kr", "l", "m", "n", "p", "pl",
           "pr", "qu", "r", "s", "sk", "sl", "sn", "st", "t", "tr", "v", "vr", "w", "y", "z", "zh"]  # fmt: skip
_VOWELS = ["a", "e", "i", "o", "u", "aa", "ei", "ou"]
_CODAS = ["", "l", "m", "n", "r", "s", "t", "k", "x", "nd", "rk", "lt", "sk", "mp"]


class OutOfPictures(LookupError):
    """A family asked for a picture and none is left."""


class Draw:
    """Randomness and vocabulary of one window.

    Args:
        rng: all choices come from it.
        pictures: pictures that facts may be taken from, each used once in a window.
    """

    def __init__(self, rng: random.Random, pictures: Iterable[Picture] = ()):
        self.rng = rng
        self._used: set[str] = set()
        self._pictures = iter(pictures)

    def name(self) -> str:
        """A pronounceable word of two or three syllables, capitalised, not used before in this window."""
        while True:
            syllables = [
                self.rng.choice(_ONSETS) + self.rng.choice(_VOWELS) + self.rng.choice(_CODAS)
                for _ in range(self.rng.choice((2, 3, 3)))
            ]
            word = "".join(syllables)
            if 6 <= len(word) <= 12 and word not in self._used:
                self._used.add(word)
                return word.capitalize()

    def names(self, count: int) -> list[str]:
        return [self.name() for _ in range(count)]

    @property
    def used(self) -> frozenset[str]:
        """All names drawn so far, in lower case."""
        return frozenset(self._used)

    def numbers(self, count: int, low: int, high: int) -> list[int]:
        """Distinct integers of the closed range."""
        return self.rng.sample(range(low, high + 1), count)

    def other(self, number: int, low: int, high: int) -> int:
        """An integer of the range that is not `number`."""
        return self.rng.choice([low + (number - low + step) % (high - low + 1) for step in range(1, high - low + 1)])

    def say(self, kind: str, fields: Mapping[str, Any], phrasing: int | None = None) -> str:
        """A statement of that kind in words, in one of its phrasings."""
        forms = STATEMENTS[kind]
        return forms[self.rng.randrange(len(forms)) if phrasing is None else phrasing].format(**fields)

    def clue(self, kind: str, fields: dict[str, Any], edit: dict[str, Any] | None = None) -> Clue:
        """A clue that states one fact, the fields in the order given; `edit` names those that its edit changes.

        `edit` may name another statement of the same fields under the key `kind`.
        """
        phrasing = self.rng.randrange(len(STATEMENTS[kind]))
        lead = self.rng.choice(LEAD_INS) if kind not in _FORMAL else "{}"
        text = lead.format(self.say(kind, fields, phrasing))
        changed = None
        if edit is not None:
            edit = dict(edit)
            other = edit.pop("kind", kind)
            now = {**fields, **edit}
            said = self.say(other, now, phrasing if other == kind else None)
            changed = Edit(lead.format(said), (_fact(other, now),))
        return Clue(text, (_fact(kind, fields),), changed)

    def question(self, kind: str, fields: dict[str, Any]) -> tuple[str, Fact]:
        """A question in words and as a query."""
        return self.rng.choice(QUESTIONS[kind]).format(**fields), _fact(kind, fields)

    def picture(self) -> Picture:
        """The next picture whose labels are new to this window.

        Raises:
            OutOfPictures: there is none.
        """
        for picture in self._pictures:
            labels = {label.lower() for label in picture.facts}
            if not labels & self._used:
                self._used |= labels
                return picture
        raise OutOfPictures("no picture is left whose labels are new")


_FORMAL = frozenset({"def", "def_base", "patch", "lemma", "event", "chapter", "chapter_first", "pair"})
"""Statements with a syntax of their own, which no lead-in may precede."""


def _fact(kind: str, fields: Mapping[str, Any]) -> Fact:
    return (kind, *fields.values())
