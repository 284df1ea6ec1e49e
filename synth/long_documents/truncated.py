"""Truncated files: a document that ends before it is over.

Signs, each with a code of its own: a mark that says so, an open code fence, an open string, bracket or block in source
code, a page, drawing or TeX document without its end, prose that stops in the middle of a sentence.
"""

from __future__ import annotations

import ast
import re
from typing import ClassVar

from datatrove.data import Document

from ...pipelines.record import add_check
from ...pipelines.stage import Filtered, Stage
from .facts import fact

_MARK = re.compile(
    r"(\[(truncated|continued|cut|snip|to be continued)[^\]]*\]|<snip>|\(continued( on next page)?\)|"
    r"\.\.\. ?(read|show) more|to be continued\.*|file too large to display)\s*$",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t>]*`{3,}", re.MULTILINE)
_ENDS_WELL = re.compile(r"""[.!?:;…。！？)\]}>"'”’»*_`|=\-+~#/\\$%&©]$|\d$""")
_NOT_PROSE = re.compile(r"^\s*([-*+|#>]|\d+[.)]\s|\[|`|\$|\S+\s*[:=]|\w+\()")
_UNFINISHED = re.compile(
    r"(never closed|unterminated|unexpected EOF|expected an indented block|EOF while scanning|was never)", re.IGNORECASE
)
_CONNECTIVES = re.compile(r"(the|an?|of|to|and|or|in|for|with|by|is|are|was|that|which|as|from|on|at|be|not),?$", re.I)
_WHOLES = (("\\begin{document}", "\\end{document}"), ("<html", "</html>"), ("<svg", "</svg>"))


class Truncated(Stage):
    """Drop records that end before they are over."""

    version: ClassVar[int] = 1

    def process(self, record: Document) -> Document:
        found = sign(record.text, fact(record, "format"), fact(record, "language"))
        if found is not None:
            raise Filtered(f"truncated_{found[0]}", found[1])
        add_check(record, "complete", True)
        return record


def sign(text: str, form: str | None = None, language: str | None = None) -> tuple[str, str] | None:
    """(code, detail) of a sign that the text is cut, or None.

    Args:
        form: what it was read from (`html`, `code`, …), as the source `documents` notes it.
        language: of source code.
    """
    end = text.rstrip()
    last = end[-200:].rpartition("\n")[2]
    if match := _MARK.search(end[-200:]):
        return "mark", f"ends with {match[0].strip()!r}"
    if form == "code":
        return _code(text, language)
    for start, stop in _WHOLES:
        if form is None and start in text[:20_000] and stop not in text:
            return "open", f"{start} without {stop}"
    if len(_FENCE.findall(text)) % 2:
        return "fence", "a code block is not closed"
    return _prose(end, last)


def _code(text: str, language: str | None) -> tuple[str, str] | None:
    if language != "python":
        return None
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", 0) or 0
        # Python says where the open bracket is; only an error at the end says that something is missing there.
        if _UNFINISHED.search(str(error)) and (line >= text.count("\n") - 1 or "never closed" in str(error)
                                               or "unterminated triple" in str(error)):  # fmt: skip
            return "code", str(error)[:200]
    return None


def _prose(end: str, last: str) -> tuple[str, str] | None:
    """Prose that stops mid-sentence: the last line is a long sentence without an end, or ends in a connective."""
    words = last.split()
    if not words or _ENDS_WELL.search(last) or _NOT_PROSE.match(last) or "://" in words[-1]:
        return None
    if len(words) < 4:
        return None
    if _CONNECTIVES.match(words[-1]) or last.endswith(","):
        return "sentence", f"ends with {' '.join(words[-5:])!r}"
    ended = len(re.findall(r"[.!?][\"'”’)]?\s", end[-3000:]))
    paragraph = end.rpartition("\n\n")[2]
    if len(words) >= 12 and ended >= 3 and not paragraph.startswith((" ", "\t")):
        return "sentence", f"ends with {' '.join(words[-5:])!r}"
    return None
