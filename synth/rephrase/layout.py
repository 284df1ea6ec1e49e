"""What of a document is asked for: excerpts, their chunks, and the title and outline that every call carries.

A chunk is a run of whole sentences; what cannot be rewritten sensibly (a heading alone, code without prose, a line of
megabytes) is left out, with a reason that the statistics count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..verify.sentences import Chunk, chunks, estimate

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(\S[^\n]*?)[ \t]*#*[ \t]*$", re.MULTILINE)
_MARK = re.compile(r"(?:[ \t]*(?:#{1,6}|[-*+•]|\d{1,3}[.)]|[>|]))?[ \t]*\Z")
_CODE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)|^[ \t]*\|.*\|[ \t]*$",
                   re.MULTILINE | re.DOTALL)  # fmt: skip
_PARAGRAPH = re.compile(r"\S(?:[^\n]|\n(?![ \t]*\n))*")
_WORD = re.compile(r"[^\W\d_]{2,}")
_OUTLINE = 24  # headings
_TITLE = 120  # characters


class Part(NamedTuple):
    """Characters `start` to `end` of the document; `skipped` says why it is no chunk to rewrite, or is empty."""

    start: int
    end: int
    skipped: str = ""


class Layout(NamedTuple):
    """A document as it is asked about: `excerpts` are runs of parts that are rewritten one after another."""

    title: str
    outline: str
    excerpts: tuple[tuple[Part, ...], ...]


def lay_out(
    text: str, chunk_tokens: int = 256, excerpt_tokens: int = 4096, least_words: int = 25, paragraphs: bool = False
) -> Layout:  # fmt: skip
    """Cut a document.

    Args:
        paragraphs: cut only between paragraphs, as suits texts whose paragraphs are records.
        chunk_tokens, excerpt_tokens: sizes wanted, in tokens estimated from words (see `verify.sentences.estimate`).
        least_words: a part with fewer words of prose is not worth a call (`too_short`; `no_prose` if code or a table
            makes up most of it). Parts of more than four times `chunk_tokens` are `too_long`.
    """
    excerpts: list[list[Part]] = []
    cuts = _records(text, chunk_tokens, excerpt_tokens) if paragraphs else chunks(text, chunk_tokens, excerpt_tokens)
    for chunk in cuts:
        while len(excerpts) <= chunk.excerpt:
            excerpts.append([])
        start = _with_mark(text, chunk.start)
        skipped = _unfit(text[start : chunk.end], chunk_tokens, least_words)
        excerpts[chunk.excerpt].append(Part(start, chunk.end, skipped))
    headings = _HEADING.findall(_CODE.sub("", text)) if len(text) < 4_000_000 else []
    top = min((len(marks) for marks, _ in headings), default=1)
    outline = [f"{'  ' * (len(marks) - top)}{words[:_TITLE]}" for marks, words in headings[:_OUTLINE]]
    title = headings[0][1][:_TITLE] if headings else ""
    return Layout(title, "\n".join(outline) if len(outline) > 1 else "", tuple(map(tuple, excerpts)))


def _records(text: str, target: int, excerpt: int) -> Iterator[Chunk]:
    """Runs of whole paragraphs of about `target` tokens, inside excerpts."""
    start = end = -1
    held = used = number = 0
    for paragraph in _PARAGRAPH.finditer(text):
        size = estimate(paragraph[0])
        if start >= 0 and held + size > target:
            yield Chunk(start, end, number)
            used, held, start = used + held, 0, -1
        if used and used + held + size > excerpt:
            number, used = number + 1, 0
        start = paragraph.start() if start < 0 else start
        end, held = paragraph.end(), held + size
    if start >= 0:
        yield Chunk(start, end, number)


def _with_mark(text: str, start: int) -> int:
    """Where the line begins, if only the mark of a list item stands before."""
    line = text.rfind("\n", max(0, start - 12), start) + 1
    return line if (line or start < 12) and _MARK.match(text, line, start) else start


def _unfit(text: str, chunk_tokens: int, least_words: int) -> str:
    if estimate(text) > 4 * chunk_tokens or len(text) > 40 * chunk_tokens:
        return "too_long"
    prose = _CODE.sub(" ", text)
    if len(_WORD.findall(prose)) >= least_words:
        return ""
    return "no_prose" if len(prose) < len(text) / 2 else "too_short"
