"""Rules and lists: a spelling learned from examples, words noted under one heading, and lemmas that make a proof."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ..draw import Draw
from ..item import Fact, Item

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def many_shot(draw: Draw, size: int) -> Item:
    """How a script spells a word. Every letter of the word occurs in exactly one of the examples."""
    script, decoy = draw.names(2)
    count = min(max(size, 3), 12)
    alphabet = draw.rng.sample(_LETTERS, len(_LETTERS))
    asked, common = alphabet[:count], alphabet[count : count + 8]
    spelled = dict(zip(alphabet, draw.rng.sample("0123456789" + _LETTERS.upper(), len(alphabet)), strict=True))
    spare = [letter for letter in "0123456789" + _LETTERS.upper() if letter not in spelled.values()]
    clues = []
    for at, letter in enumerate(asked):
        word = [letter, *draw.rng.choices(common, k=3)]
        draw.rng.shuffle(word)
        coded = "".join(spelled[one] for one in word)
        edited = coded.replace(spelled[letter], spare[at % len(spare)])
        clues.append(draw.clue("pair", {"a": script, "b": "".join(word), "c": coded}, {"c": edited}))
    elsewhere = dict(zip(alphabet, draw.rng.sample(sorted(spelled.values()), len(alphabet)), strict=True))
    distractors = []
    for _ in range(max(count // 3, 2)):
        word = draw.rng.sample(asked, min(3, count))
        coded = "".join(elsewhere[one] for one in word)
        distractors.append(draw.clue("pair", {"a": decoy, "b": "".join(word), "c": coded}))
    query_word = draw.rng.sample(asked, count)
    question, query = draw.question("ask_spelling", {"a": script, "b": "".join(query_word)})
    answer = "".join(spelled[letter] for letter in query_word)
    return Item("many_shot", tuple(clues), tuple(distractors), question, query, answer, False, 36**count)


def solve_spelling(facts: Sequence[Fact], query: Fact) -> str | None:
    """The word in that script; None if a letter was never shown or shown in two spellings."""
    spelled: dict[str, set[str]] = {}
    for _, script, plain, coded in facts:
        if script == query[1] and len(plain) == len(coded):
            for letter, sign in zip(plain, coded, strict=True):
                spelled.setdefault(letter, set()).add(sign)
    signs = [spelled.get(letter, set()) for letter in query[2]]
    return "".join(next(iter(one)) for one in signs) if all(len(one) == 1 for one in signs) else None


def needles(draw: Draw, size: int) -> Item:
    """All words noted under a heading, in order; the same words stand under other headings, too."""
    topic, *others = draw.names(3)
    words = draw.names(max(size, 2))
    extra = draw.names(len(words))
    clues = [draw.clue("note", {"a": topic, "b": word}, {"b": other}) for word, other in zip(words, extra, strict=True)]
    lures = draw.rng.sample(words, min(2, len(words)))
    distractors = [draw.clue("note", {"a": other, "b": word}) for other in others for word in lures]
    question, query = draw.question("ask_notes", {"a": topic})
    return Item("needles", tuple(clues), tuple(distractors), question, query, ", ".join(words), True, 10**6)


def solve_notes(facts: Sequence[Fact], query: Fact) -> str | None:
    """The heading's words in the order of the window; None if there are none."""
    return ", ".join(word for _, topic, word in facts if topic == query[1]) or None


def lemma_use(draw: Draw, size: int) -> Item:
    """Which lemmas lead from one formula to another by modus ponens; side roads end nowhere."""
    formulas = draw.names(max(size, 2) + 1)
    labels = [name.lower() for name in draw.names(2 * (len(formulas) - 1))]
    clues = []
    for at, (one, other) in enumerate(itertools.pairwise(formulas)):
        clues.append(draw.clue("lemma", {"a": labels[2 * at], "b": one, "c": other}, {"a": labels[2 * at + 1]}))
    astray = draw.names(3)
    strays = [name.lower() for name in draw.names(3)]
    starts = [formulas[0], astray[0], formulas[len(formulas) // 2]]
    ends = [astray[0], astray[1], astray[2]]
    distractors = [
        draw.clue("lemma", {"a": label, "b": one, "c": other})
        for label, one, other in zip(strays, starts, ends, strict=True)
    ]
    question, query = draw.question("ask_proof", {"a": formulas[0], "b": formulas[-1]})
    answer = " ".join(labels[::2])
    return Item("lemma_use", tuple(clues), tuple(distractors), question, query, answer, False, 10**6)


def solve_proof(facts: Sequence[Fact], query: Fact) -> str | None:
    """The labels of the one path from hypothesis to conclusion; None if there is none or more than one."""
    steps: dict[str, set[tuple[str, str]]] = {}
    for _, label, one, other in facts:
        steps.setdefault(one, set()).add((label, other))
    found: list[list[str]] = []

    def walk(formula: str, path: list[str], seen: frozenset[str]) -> None:
        if formula == query[2]:
            found.append(path)
            return
        for label, other in sorted(steps.get(formula, ())):
            if other not in seen and len(found) < 2:
                walk(other, [*path, label], seen | {other})

    walk(query[1], [], frozenset({query[1]}))
    return " ".join(found[0]) if len(found) == 1 else None
