"""Structural validation by kind: code that parses, JSON that loads, markup whose elements and environments balance."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from html.parser import HTMLParser
from typing import ClassVar

import orjson
from datatrove.data import Document

from ...pipelines.record import add_check
from ...pipelines.stage import Filtered, Stage
from .facts import fact

_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_OPTIONAL = frozenset({"p", "li", "dt", "dd", "tr", "td", "th", "tbody", "thead", "tfoot", "option", "colgroup", "body",
                       "html", "head", "rp", "rt"})  # fmt: skip
_ENVIRONMENT = re.compile(r"(?<!\\)(?:\\\\)*\\(begin|end)\s*\{([^}]*)\}")
_BRACKETED = frozenset({"c", "c++", "c#", "java", "javascript", "typescript", "go", "rust", "swift", "kotlin", "scala",
                        "dart", "php", "css", "cuda", "json"})  # fmt: skip
_STRINGS = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`")
_PAIRS = {")": "(", "]": "[", "}": "{"}


class Structure(Stage):
    """Drop records whose structure is broken; what has none passes.

    Attributes:
        kinds: judge records of these kinds only; others pass.
    """

    version: ClassVar[int] = 1

    kinds: list[str] | None = None

    def process(self, record: Document) -> Document:
        meta = record.metadata
        if self.kinds is not None and meta["kind"] not in self.kinds:
            return record
        name = structure_of(meta["kind"], fact(record, "format"), fact(record, "language"))
        if name is None:
            return record
        fault = _CHECKS[name](record.text)
        if fault:
            raise Filtered(f"structure_{name}", fault[:300])
        add_check(record, f"structure_{name}", True)
        return record


def structure_of(kind: str, form: str | None, language: str | None) -> str | None:
    """Which check fits: by the language of code, else by what the text is."""
    if form == "code" or language:
        return "python" if language == "python" else "brackets" if language in _BRACKETED else None
    if kind in ("web", "html"):
        return "html"
    if kind == "json":
        return "json"
    return "tex" if kind == "tex" else "text"


def python(text: str) -> str | None:
    """What keeps the source from parsing, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return str(error)
    except (RecursionError, MemoryError):
        return "nested too deeply to parse"
    return None


def json(text: str) -> str | None:
    """What keeps the text from being JSON or JSON Lines, or None."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) > 1:
            try:
                for line in lines:
                    orjson.loads(line)
            except orjson.JSONDecodeError:
                return str(error)
            return None
        return str(error)
    return None


def html(text: str) -> str | None:
    """The first element that is not closed or not open, or None; those that HTML lets one leave open do not count."""
    parser = _Balance()
    parser.feed(text)
    parser.close()
    if parser.fault is None and parser.open:
        return f"<{parser.open[-1]}> is not closed"
    return parser.fault


class _Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fault: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID and tag not in _OPTIONAL:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID or tag in _OPTIONAL or self.fault:
            return
        if not self.open or self.open[-1] != tag:
            self.fault = f"</{tag}> closes nothing" if tag not in self.open else f"<{self.open[-1]}> is not closed"
        else:
            self.open.pop()


def tex(text: str) -> str | None:
    """The first environment that is not closed or not open, or None."""
    opened: list[str] = []
    for found in _ENVIRONMENT.finditer(text):
        if found[1] == "begin":
            opened.append(found[2])
        elif not opened or opened.pop() != found[2]:
            return f"\\end{{{found[2]}}} closes nothing"
    return f"\\begin{{{opened[-1]}}} is not closed" if opened else None


def brackets(text: str) -> str | None:
    """The first bracket outside strings and comments that has no partner, or None."""
    opened: list[str] = []
    for char in re.findall(r"[()\[\]{}]", _STRINGS.sub("", text)):
        if char in "([{":
            opened.append(char)
        elif not opened or opened.pop() != _PAIRS[char]:
            return f"{char!r} closes nothing"
    return f"{opened[-1]!r} is not closed" if opened else None


def text(value: str) -> str | None:
    """A code fence or a TeX environment that is not closed, or None."""
    if len(re.findall(r"^[ \t>]*`{3,}", value, re.MULTILINE)) % 2:
        return "a code block is not closed"
    formulas = re.findall(r"\$\$([\s\S]*?)\$\$", value)
    return next((fault for fault in map(tex, formulas) if fault), None)


_CHECKS: dict[str, Callable[[str], str | None]] = {
    "python": python, "json": json, "html": html, "tex": tex, "brackets": brackets, "text": text}  # fmt: skip
