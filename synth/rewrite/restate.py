"""Says the sentences of a paragraph in another way: clauses moved, split and joined, then phrases, then single forms.

Every step keeps what is hidden (code, formulas) in number and kind; a step that would not is left out.
"""

from __future__ import annotations

import random
import re

from .clauses import MOVES, SPLITS, joined, order_to_passive, present
from .nominal import adverbs, forms, genitive, numerals, relative
from .parts import clause
from .passage import Statement, letters
from .phrases import exchanged

_SHARE, _SHORT = 0.85, 8
_DIGITS = re.compile(r"\d+")


def sentence(body: str, rng: random.Random, splits: bool = True) -> list[str]:
    """One sentence without its full stop, said otherwise: one sentence or two, each with its full stop."""
    parts = [body]
    if splits:
        for split in SPLITS:
            halves = split(body, rng) if rng.random() < 0.9 else None
            if halves and _kept([body], halves):
                parts = halves
                break
    return [f"{polished(moved(part, rng), rng)}." for part in parts]


def moved(body: str, rng: random.Random) -> str:
    """The sentence with one clause moved, or made passive or active."""
    simple = present(body, rng) if rng.random() < 0.7 else None
    if simple and _kept([body], simple):
        body = simple[0]
    for rule in rng.sample(MOVES, len(MOVES)):
        found = rule(body, rng)
        if found and _kept([body], found):
            return found[0]
    if clause(body) is None:
        found = order_to_passive(body, rng)
        if found and _kept([body], found):
            return found[0]
    return body


def polished(body: str, rng: random.Random) -> str:
    """The sentence with phrases and small forms exchanged."""
    new = body
    for step in (relative, adverbs, forms, genitive, numerals):
        tried = step(new, rng)
        if letters(tried) == letters(new):
            new = tried
    # Of a short sentence too little would be left that ties it to its source.
    return exchanged(new, rng, _SHARE if len(new.split()) > _SHORT else _SHARE / 2)


def condition_polished(text: str, rng: random.Random) -> str:
    """A clause behind `if` or `when`, whose first words have to stay next to it."""
    return exchanged(adverbs(text, rng), rng, _SHARE)


def paragraph(statements: tuple[Statement, ...], rng: random.Random, join: float = 0.6) -> list[str]:
    """The sentences of a paragraph, said otherwise. What no rule may touch stays as it is."""
    found: list[str] = []
    at = 0
    while at < len(statements):
        one = statements[at]
        if not one.free:
            found.append(one.text)
            at += 1
            continue
        if at + 1 < len(statements) and statements[at + 1].free and rng.random() < join:
            both = joined(one.body, statements[at + 1].body, rng)
            if both and _kept([one.body, statements[at + 1].body], [both]):
                found.append(f"{polished(both, rng)}.")
                at += 2
                continue
        found += sentence(one.body, rng)
        at += 1
    return found


def _kept(old: list[str], new: list[str]) -> bool:
    """Whether nothing hidden and no number got lost or was added."""
    before, after = " ".join(old), " ".join(new)
    return letters(before) == letters(after) and sorted(_DIGITS.findall(before)) == sorted(_DIGITS.findall(after))
