"""The styles that the rules offer, and the one call that rewrites: same text, style and seed, same rewrite."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from ...pipelines.errors import UserError
from .formal import formal_reading, is_formal
from .lists import notes, table
from .maths import learning_note, proof_outline, worked_example
from .passage import Passage, drawn, read
from .prose import encyclopedic, summary, textbook
from .talk import dialogue, faq

VERSION = 1
"""Raise it when the same text, style and seed may give another rewrite."""


class Style(NamedTuple):
    """A way of rewriting.

    Attributes:
        verifier: the style of `synth/verify/rules.py` that its rewrites are judged by.
        kind: knowledge or maths: which texts it is for.
        summary: what it does, in one line.
        write: gives the rewrite of a passage, or None where the style cannot say it.
    """

    verifier: str
    kind: str
    summary: str
    write: Callable[[Passage, random.Random], str | None]


FORMAL = "formal_reading"
STYLES: dict[str, Style] = {
    "encyclopedic": Style("paraphrase", "knowledge", "the same in other words, clauses in another order", encyclopedic),
    "textbook": Style("tutorial", "knowledge", "numbered statements, headed by definition, rule, condition", textbook),
    "faq": Style("qa", "knowledge", "questions, with answers from sentences that define, explain or act", faq),
    "dialogue": Style("qa", "knowledge", "a student asks, a teacher answers and goes on", dialogue),
    "table": Style("table", "knowledge", "facts as rows: subject, statement, condition", table),
    "notes": Style("notes", "knowledge", "a nested list in the short style of notes", notes),
    "summary": Style("summary", "knowledge", "the most central sentences, restated", summary),
    "learning_note": Style("tutorial", "maths", "what is given, what is meant, what follows and why", learning_note),
    "worked_example": Style("table", "maths", "chains of equalities as tables, with their operations", worked_example),
    "proof_outline": Style("tutorial", "maths", "claims in order, each with the reason given for it", proof_outline),
    FORMAL: Style(
        "formal",
        "maths",
        "records of formal mathematics as notes or outlines",
        lambda passage, rng: formal_reading(passage.source, rng),
    ),
}


def rewrite(source: str, style: str, seed: int) -> str | None:
    """Rewrite a chunk of text.

    Args:
        style: a name of `STYLES`.
        seed: draws the wording; other seeds word the same statements otherwise.

    Returns:
        None where this style cannot say this chunk: no English prose, nothing of the kind the style is made of, or the
        result would be too near a copy.

    Raises:
        UserError: there is no such style.
    """
    if style not in STYLES:
        raise UserError(f"no style {style!r} of rules; there are: {', '.join(STYLES)}")
    rng = drawn(source, style, seed)
    if style == FORMAL:  # its records are no sentences
        return formal_reading(source, rng)
    passage = None if is_formal(source) else read(source)
    return None if passage is None else STYLES[style].write(passage, rng)
