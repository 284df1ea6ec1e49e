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
_TAIL_WORDS = 90


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
    last, first = sentences(before)[-1:], sentences(text)[:1]
    if last and first and _same(before[last[0].start : last[0].end], text[first[0].start : first[0].end]):
        return text[first[0].end :].lstrip()
    return text


def seam(before: str, source: str, text: str, headings: bool) -> list[Check]:
    """The checks of a chunk's beginning.

    Args:
        before: the rewrite so far, empty for a first chunk.
        source: the chunk as the source has it.
        headings: whether the style keeps headings.
    """
    begin = _MARKUP.match(text)
    at = begin.end() if begin else 0
    told = {_plain(before[one.start : one.end]) for one in sentences(before)[-3:]}
    firsts = sentences(text)[:2]
    again = [(one.start, one.end) for one in firsts if len(_plain(text[one.start : one.end])) > 20
             and _plain(text[one.start : one.end]) in told]  # fmt: skip
    pronoun = _PRONOUN.match(text, at)
    of_source = _MARKUP.match(source)
    borrowed = pronoun is not None and not before and not _PRONOUN.match(source, of_source.end() if of_source else 0)
    lost = headings and len(_HEADING.findall(source)) > len(_HEADING.findall(text))
    return [
        at_most("seam_repeat", "seam_repeat", again, 0),
        at_most("seam_pronoun", "seam_pronoun", [pronoun.span()] if pronoun and borrowed else [], 0),
        at_most("seam_heading", "seam_heading", [(0, 0)] if lost else [], 0),
    ]


def _same(one: str, other: str) -> bool:
    return _plain(one) == _plain(other) != ""


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
