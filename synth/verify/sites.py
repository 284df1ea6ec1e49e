"""Places in a text where an edit may be made, found by patterns of their own.

They share nothing with the fact sheets: an error planted only where the verifier looks would always be found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .sentences import sentences


class Edit(NamedTuple):
    """Replace the characters start to end."""

    start: int
    end: int
    text: str


NUMBER = re.compile(
    r"(?<![\w.,\-/:=_^])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w.,]*\d)\b|(?<![\w.,\-/:=_^])\d+(?:\.\d+)?(?=[\s,.;:)%\]?!-]|$)(?![.,]\d)"
)
NUMERALS = str.split("two three four five six seven eight nine ten eleven twelve")
NUMERAL = re.compile(r"\b(" + "|".join(NUMERALS) + r")\b(?!-)")
MONTHS = str.split("January February March April May June July August September October November December")
_MONTH = "|".join(MONTHS)
DATE = re.compile(
    rf"\b(?:(?P<d1>\d{{1,2}}) )?(?P<m>{_MONTH})(?: (?P<d2>\d{{1,2}})(?!\d))?(?:,? (?P<y>[12]\d{{3}}))?\b"
    r"|\b(?P<iy>[12]\d{3})-(?P<im>[01]\d)-(?P<id>[0-3]\d)\b"
)
NAME = re.compile(r"(?<=[a-z,;] )(?:[A-Z][A-Za-z]+(?: [A-Z][a-z]+)*)(?=[\s,.;:)'’])")
IDENTIFIER = re.compile(
    r"(?<![\w`./])(?:`[^`\s]+`|[A-Za-z]\w*(?:\.[A-Za-z]\w*)+(?:\(\))?|[A-Za-z]+(?:_\w+)+(?:\(\))?|[A-Za-z]\w*\(\))(?![\w`/])"
)
AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|should|must|will|would|may|might|does|do|did|has been|have been)\b(?= "
    r"[a-z]+)(?! (?:not|never|no|only|also not)\b)",
    re.I,
)
NOUN = re.compile(
    r"\b(?:[Tt]he|[Aa]|[Aa]n|[Tt]his|[Ee]ach) ((?!same|first|last|other|following|next|above|below|new|given|default|"
    r"second|most|use|only|form|case|value|name|type|example|number)[a-z]{4,})(?=[.,;:]| (?:of|is|are|in|to|"
    r"and|for|from|by|on|with|that|which|was|has|"
    r"can|must|will|may|should)\b)"
)


_PROTECTED = re.compile(
    r"`+[^`\n]+`+|\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|(?<!\w)'[^'\n]{1,60}'(?!\w)|https?://\S+|\$[^$\n]+\$"
)


def protected(text: str) -> Callable[[int], bool]:
    """Whether a place lies in code, a formula or a quotation, which no paraphrase touches."""
    spans = [one.span() for one in _PROTECTED.finditer(text)]
    return lambda place: any(start <= place < end for start, end in spans)


def apply(text: str, edits: list[Edit]) -> str:
    """The text with all edits made; they must not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


class Site(NamedTuple):
    """A sentence and where it stands."""

    start: int
    end: int
    text: str


def sentence_sites(text: str) -> list[Site]:
    """The whole sentences of a text: those that end as sentences do."""
    spans = sentences(text)
    return [
        Site(*one, text[one.start : one.end]) for one in spans if text[one.end - 1] in ".!?" and one.end - one.start > 3
    ]


def sentence_of(text: str, place: int) -> tuple[int, int]:
    """Start and end of the sentence around a place."""
    for one in sentence_sites(text):
        if one.start <= place < one.end:
            return one.start, one.end
    return 0, len(text)


def cased(model: str, text: str) -> str:
    """The text with a capital where the model has one."""
    return text[0].upper() + text[1:] if model[:1].isupper() and text else text
