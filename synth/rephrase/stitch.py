"""Joining rewritten chunks: what goes wrong at the seams, where each call saw only the end of the text before.

A seam is faulty when the new chunk says the last sentence again, when it begins with a pronoun that the source does not
begin with, or when a heading of the source has got lost in a style that keeps headings.
"""

from __future__ import annotations

import re

from ..verify.result import Check, at_most
from ..verify.sentences import sentences

_PRONOUN = re.compile(
    r"(?:it|he|she|they|its|his|her|their|this|these|those|that|such)\b(?! (?:is|was) (?:a|an|the)\b)", re.IGNORECASE
)
_MARKUP = re.compile(r"[\s#>*_\-\d.)|]*")
_HEADING = re.compile(r"^#{1,6} +\S", re.MULTILINE)
_WORD = re.compile(r"\w+")
_TAIL_WORDS = 90
_NEAR = 1200
"""Characters on either side of a seam that are looked at: a longer sentence is not said twice by accident."""


def tail(text: str, words: int = _TAIL_WORDS) -> str:
    """The last whole sentences of a text, about so many words."""
    if len(text) > 12 * words:
        text = text[-12 * words :]
        spans = sentences(text)[1:]  # the first may be cut
    else:
        spans = sentences(text)
    held, start = 0, len(text)
    for span in reversed(spans):
        held += len(text[span.start : span.end].split())
        if held > words and start < len(text):
            break
        start = span.start
    return text[start:].strip()


def without_repeat(before: str, text: str) -> str:
    """The chunk without a first sentence that is, word for word, the last one before it, as models pick up a thread."""
    if not before:
        return text
    last, first = _lasts(before, 1), _firsts(text, 1)
    return text[first[0][1] :].lstrip() if last and first and last[0] == first[0][2] else text


def seam(before: str, source: str, text: str, headings: bool) -> list[Check]:
    """The checks of a chunk's beginning.

    Args:
        before: the rewrite so far, empty for a first chunk.
        source: the chunk as the source has it.
        headings: whether the style keeps headings.
    """
    again: list[tuple[int, int]] = []
    pronoun = None
    if before:
        told = _lasts(before, 3)
        again = [(start, end) for start, end, plain in _firsts(text, 2) if len(plain) > 20 and plain in told]
    else:
        pronoun = _pronoun(text) if not _pronoun(source) else None
    lost = headings and len(_HEADING.findall(source)) > len(_HEADING.findall(text))
    return [
        at_most("seam_repeat", "seam_repeat", again, 0),
        at_most("seam_pronoun", "seam_pronoun", [pronoun.span()] if pronoun else [], 0),
        at_most("seam_heading", "seam_heading", [(0, 0)] if lost else [], 0),
    ]


def _pronoun(text: str) -> re.Match[str] | None:
    """The pronoun that a text begins with."""
    markup = _MARKUP.match(text)
    return _PRONOUN.match(text, markup.end() if markup else 0)


def _lasts(text: str, count: int) -> list[str]:
    """The last sentences, plain."""
    end = text[-_NEAR:]
    return [_plain(end[one.start : one.end]) for one in sentences(end)[-count:]]


def _firsts(text: str, count: int) -> list[tuple[int, int, str]]:
    """Places and words of the first sentences."""
    spans = sentences(text[:_NEAR])[:count]
    return [(one.start, one.end, _plain(text[one.start : one.end])) for one in spans]


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))
