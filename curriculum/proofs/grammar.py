"""Reads statements and questions: patterns that turn a passage into facts and a question into a query.

A passage that no pattern of its family reads, or that two read differently, is `Unreadable`: what cannot be read cannot
be proved.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from .patterns import ASKED, LEAD, READERS

Fact = tuple[Any, ...]


class Unreadable(ValueError):
    """A passage that says nothing in any known form, or more than one thing."""


FAMILIES = frozenset(ASKED)
_NUMBERS = frozenset("nm")


def read_facts(family: str, text: str) -> list[Fact]:
    """The facts that a passage of the family states. Raises `Unreadable`."""
    for reader in _SPECIAL.get(family, ()):
        if (facts := reader(text)) is not None:
            return facts
    bare = text[lead.end() :] if (lead := LEAD.match(text)) else text
    found = {
        (kind, *(int(match[name]) if name in _NUMBERS else match[name] for name in names))
        for kind, names, pattern in READERS[family]
        if (match := pattern.fullmatch(bare))
    }
    if len(found) != 1:
        raise Unreadable(f"{text[:80]!r} reads as {len(found)} statements of {family}")
    return list(found)


def read_question(family: str, text: str) -> Fact:
    """What a question asks: the arguments of the family's query. Raises `Unreadable`."""
    for pattern in ASKED[family]:
        match = pattern.fullmatch(text)
        if match:
            groups = match.groupdict()
            if "list" in groups:
                return tuple(one.strip() for one in groups["list"].split(","))
            return tuple(int(groups[name]) if name in _NUMBERS else groups[name] for name in "abxn" if name in groups)
    raise Unreadable(f"{text[:80]!r} asks nothing known of {family}")


def names_in(facts: list[Fact], query: Fact) -> set[str]:
    """The invented names among the arguments, in lower case: capitalised words, and the labels of code and lemmas."""
    words = {one for fact in [*facts, ("", *query)] for one in fact[1:] if isinstance(one, str)}
    labels = {one[1] for one in facts if one[0] in ("def", "patch", "lemma")}
    return {one.lower() for one in words if re.fullmatch("[A-Z][a-z]+", one)} | labels


_COLUMNS = ("product", "supplier", "port", "tariff")


def _rows(text: str) -> list[Fact] | None:
    """A fragment of a table: two columns, in Markdown, comma or tab separated, or as `column: value` lines."""
    lines = text.split("\n")
    if all(line.count(": ") == 2 and "; " in line for line in lines):
        cells = [[part.split(": ", 1) for part in line.split("; ")] for line in lines]
        table = [[name for name, _ in cells[0]], *([value for _, value in row] for row in cells)]
    elif lines[0].startswith("|"):
        table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if set(line) - set("|-")]
    else:
        table = [line.split("\t" if "\t" in lines[0] else ",") for line in lines]
    if any(len(row) != 2 for row in table) or tuple(table[0]) not in {*itertools.pairwise(_COLUMNS)}:
        return None
    return [("row", table[0][1], key, int(value) if value.isdecimal() else value) for key, value in table[1:]]


def _function(text: str) -> list[Fact] | None:
    """A Python function: `(factor * inner + constant) % 997`, the inner call written in place or on a line before."""
    try:
        tree = ast.parse(text).body
    except SyntaxError:
        return None
    if len(tree) != 1:
        return None
    node = tree[0]
    if isinstance(node, ast.FunctionDef):
        name, bound = node.name, {}
        for line in node.body[:-1]:
            assert isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)
            bound[line.targets[0].id] = line.value
        last = node.body[-1]
        value = last.value if isinstance(last, ast.Return) else None
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and isinstance(node.targets[0], ast.Name):
        name, value, bound = node.targets[0].id, node.value.body, {}
    else:
        return None
    match value:
        case ast.BinOp(
            ast.BinOp(ast.BinOp(ast.Constant(factor), ast.Mult(), inner), ast.Add(), ast.Constant(constant)),
            ast.Mod(),
            ast.Constant(997),
        ):
            inner = bound.get(inner.id, inner) if isinstance(inner, ast.Name) else inner
            match inner:
                case ast.Call(ast.Name(called), [ast.Name("n")]):
                    return [("def", name, called, factor, constant)]
                case ast.Name("n"):
                    return [("def", name, None, factor, constant)]
    return None


_LOG = [
    re.compile(r"(?P<t>\S+ \S+) (?P<a>[A-Z][a-z]+) kernel: (?P<b>[A-Z][a-z]+) begins"),
    re.compile(r"\[(?P<t>[^\]]+)\] host=(?P<a>[A-Z][a-z]+) msg=\"(?P<b>[A-Z][a-z]+) begins\""),
    re.compile(r"(?P<t>\S+ \S+) INFO (?P<a>[A-Z][a-z]+) - (?P<b>[A-Z][a-z]+) begins"),
    re.compile(r"(?P<a>[A-Z][a-z]+) \| (?P<t>\S+ \S+) \| (?P<b>[A-Z][a-z]+) begins"),
]


def _log_line(text: str) -> list[Fact] | None:
    for pattern in _LOG:
        match = pattern.fullmatch(text)
        if match:
            return [("event", datetime.fromisoformat(match["t"]), match["a"], match["b"])]
    return None


_SPECIAL: dict[str, tuple[Callable[[str], list[Fact] | None], ...]] = {
    "table_join": (_rows,),
    "code": (_function,),
    "timeline": (_log_line,),
}
