"""What a scattered task is made of: facts, the clues that state them, and the question that needs them all.

A fact is a tuple `(kind, argument, …)` of names and integers: what solvers compute on. A clue is one paragraph of text
(and perhaps one picture) that states one fact or several. An item is a question with the clues that its answer needs,
each of which is necessary, and distractors of the same form that it does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Fact = tuple[Any, ...]
Solver = Callable[[Sequence[Fact], Fact], "str | None"]
"""(facts in the order of the window, query) → the answer, or None when the facts do not determine one."""


@dataclass(frozen=True)
class Picture:
    """A rendered program that shows facts.

    Attributes:
        program, kind: what it was rendered from, so that a verifier can render it again.
        facts: label → value, as it shows them.
        data, mime, width, height: the picture as stored.
    """

    program: str
    kind: str
    facts: dict[str, int]
    data: bytes = field(repr=False)
    mime: str
    width: int
    height: int


@dataclass(frozen=True)
class Edit:
    """A counterfactual: the clue as it might have been.

    Attributes:
        text: the clue's other text; a picture's clue keeps its text and states another value instead.
        facts: what it then says.
        changed: for a picture, the label and the value it would show.
    """

    text: str
    facts: tuple[Fact, ...]
    changed: tuple[str, int] | None = None


@dataclass(frozen=True)
class Clue:
    """One paragraph that states facts; U+FFFC in its text stands for its picture. Distractors have no edit."""

    text: str
    facts: tuple[Fact, ...]
    edit: Edit | None = None
    picture: Picture | None = None


@dataclass(frozen=True)
class Item:
    """One question and everything that it rests on.

    Attributes:
        family: which generator made it.
        clues: all are needed; in the order that they must keep, if `ordered`.
        distractors: say things of the same form that the answer does not depend on.
        question: its surface; `query` is what it asks, for solvers.
        answer: what follows from the clues, and from nothing less.
        ordered: the clues mean something else in another order.
        answers: about how many answers of this form there are; guessing hits one in so many.
    """

    family: str
    clues: tuple[Clue, ...]
    distractors: tuple[Clue, ...]
    question: str
    query: Fact
    answer: str
    ordered: bool
    answers: int
