"""Where sentences and chunks begin and end, as exact offsets into the text.

A sentence never crosses a blank line, a heading, a list item, a table row or a code block; abbreviations, initials,
decimals, version numbers and code spans do not end one. A chunk is a run of whole sentences of about 256 tokens that
lies inside one excerpt of at most 4,096 tokens. What lies between sentences is white space and list marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Span(NamedTuple):
    """Characters start to end of a text."""

    start: int
    end: int


class Chunk(NamedTuple):
    """A run of sentences, and which excerpt of the document it belongs to."""

    start: int
    end: int
    excerpt: int


ABBREVIATIONS = frozenset(
    str.split(
        "e.g i.e cf vs etc al approx resp ca dr mr mrs ms prof st jr sr inc ltd co corp no nos fig figs eq "
        "eqs sec secs ch "
        "chap vol vols pp ed eds jan feb mar apr jun jul aug sep sept oct nov dec dept est univ ref refs def "
        "thm prop max "
        "min gen col lt sgt gov sen rep rev hon mt ft viz"
    )
)
_LONGEST = max(map(len, ABBREVIATIONS))
# An abbreviation of these ends a sentence as well when a capital follows: "… and so on, etc. The next …".
_MAY_END = frozenset(str.split("etc al inc ltd co corp jr sr"))
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_BREAK = re.compile(
    r"\n(?:[ \t]*\n\s*"  # a blank line
    r"|(?=[ \t]*(?:#{1,6} |[-*+•] |\d{1,3}[.)] |[>|]))"  # before a heading, an item, a quotation, a table row
    r"|(?<=[=\-~^]{3}\n))"  # under an underlined heading
)
_MARK = re.compile(r"\s*(?:#{1,6} +|(?:[-*+•]|\d{1,3}[.)]) +|[>|] *)?")
_HEADING = re.compile(r"\s*#{1,6} [^\n]*\n")
_MARKS = frozenset("#-*+•>|0123456789")  # what a mark, or the blanks before it, may begin with
_END = re.compile(r"[.!?…。！？](?:[\"'”’)\]*_]*(?=\s)|(?<=[。！？]))")
_LAST_WORD = re.compile(r"[\w.]*$")
_SPAN = re.compile(r"(`+)[^`\n]+?\1|\$[^$\n]+\$")
_NEXT = re.compile(r"\s+[\"'“‘(\[*_]*(\S)")


def sentences(text: str) -> list[Span]:
    """The sentences of a text in order. A fenced code block counts as one."""
    found: list[Span] = []
    place = 0
    for fence in _FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        _blocks(text, place, fence.start(), found)
        found.append(Span(fence.start(), len(text[: fence.end()].rstrip())))
        place = fence.end()
    _blocks(text, place, len(text), found)
    return found


def chunks(
    text: str, target: int = 256, excerpt: int = 4096, count: Callable[[str], int] | None = None
) -> Iterator[Chunk]:
    """Cut a text into chunks of about `target` tokens, inside excerpts of at most `excerpt` tokens.

    A sentence longer than the target is a chunk of its own: it is never cut.

    Args:
        count: tokens of a string; without it, words times 1.3.

    Raises:
        ValueError: a target below 1, or an excerpt smaller than the target.
    """
    if not 1 <= target <= excerpt:
        raise ValueError(f"chunks of {target} tokens in excerpts of {excerpt}: need 1 <= target <= excerpt")
    count = count or estimate
    start = end = -1
    held = used = number = 0
    for sentence in sentences(text):
        size = count(text[sentence.start : sentence.end])
        if start >= 0 and held + size > target and held + size - target > target - held:
            yield Chunk(start, end, number)
            used, held, start = used + held, 0, -1
        if used and used + held + size > excerpt:
            if start >= 0:
                yield Chunk(start, end, number)
            number, used, held, start = number + 1, 0, 0, -1
        start = sentence.start if start < 0 else start
        end, held = sentence.end, held + size
    if start >= 0:
        yield Chunk(start, end, number)


def estimate(text: str) -> int:
    """Tokens of an English text, roughly: 1.3 a word."""
    return round(1.3 * len(text.split()))


def _blocks(text: str, start: int, end: int, found: list[Span]) -> None:
    """Add the sentences between two offsets, block by block."""
    place = start
    for cut in _BREAK.finditer(text, start, end):
        _block(text, place, cut.start(), found)
        place = cut.end()
    _block(text, place, end, found)


def _block(text: str, start: int, end: int, found: list[Span]) -> None:
    """Add the sentences of one block: a paragraph, an item, a heading."""
    block = text[start:end]
    if "#" in block and (heading := _HEADING.match(text, start, end)):
        _add(text, start, heading.end(), found)
        start = heading.end()
    inside: list[tuple[int, int]] | None = None if "`" in block or "$" in block else []
    place = _unmarked(text, start, end)
    for match in _END.finditer(text, place, end):
        stop = match.start()
        if inside is None and match.end() < end:
            inside = [one.span() for one in _SPAN.finditer(text, start, end)]
        if inside and any(low <= stop < high for low, high in inside):
            continue
        if _ends(text, stop, match.end(), place):
            _add(text, place, match.end(), found)
            place = match.end()
    _add(text, place, end, found)


def _unmarked(text: str, start: int, end: int) -> int:
    """Where a sentence begins behind blanks and a list mark."""
    while start < end and text[start].isspace():
        start += 1
    if start < end and text[start] in _MARKS and (mark := _MARK.match(text, start, end)):
        return mark.end()
    return start


def _add(text: str, start: int, end: int, found: list[Span]) -> None:
    start = _unmarked(text, start, end)
    while end > start and text[end - 1].isspace():
        end -= 1
    if end > start:
        found.append(Span(start, end))


def _ends(text: str, stop: int, end: int, start: int) -> bool:
    """Whether the mark at `stop` ends a sentence that began at `start`."""
    if text[stop] != ".":
        return True
    after = text[end + 1 : end + 2]
    if not after.isalnum():  # several blanks, or an opening quotation mark
        following = _NEXT.match(text, end)
        if following is None:
            return True
        after = following[1]
    if after.islower():
        return False
    begin = text.rfind(" ", max(start, stop - 24), stop) + 1
    if stop - begin > _LONGEST and begin and text[begin:stop].isalpha():
        return True  # a word too long for an abbreviation
    last = _LAST_WORD.search(text, max(start, stop - 24), stop)
    word = last[0].lower() if last else ""
    if word in ABBREVIATIONS:
        # "No." is an abbreviation before a number only.
        return (word in _MAY_END and after.isupper()) or (
            word in ("no", "nos", "fig", "max", "min") and not after.isdigit()
        )
    if len(word) == 1 and word.isalpha() and text[stop - 1].isupper():
        return not after.isupper()  # an initial, as in "J. Smith"
    return not ("." in word and word.replace(".", "").isalpha() and len(word) <= 5 and not after.isupper())
