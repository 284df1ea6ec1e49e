"""Chains of equalities within a formula: where they can be cut, and which operation leads from one side to the next."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

_OPEN = {"{": "}", "(": ")", "[": "]"}
_MARKS = (
    ("\\lim", "taking the limit"),
    ("\\int", "carrying out the integral"),
    ("\\sum", "carrying out the sum"),
    ("\\prod", "carrying out the product"),
)
_NUMERIC = re.compile(r"[\d\s+\-*/.^{}()]|\\(?:cdot|times|frac|left|right)")
_OTHER = re.compile(
    r"[<>,]|\\(?:le|ge|quad|text|ne|neq|leq|geq|sim|approx|in|to|Rightarrow|ldots|dots)(?![a-zA-Z])"
    r"|\.\.\."
)
_LETTERS = re.compile(r"(?<![\\A-Za-z])[A-Za-z]")


class Link(NamedTuple):
    """One equality of a chain: its sides, the piece of the formula that it is, and where in the whole chain it ends."""

    left: str
    right: str
    written: str
    chain: str
    end: int


def chain(formula: str) -> list[Link]:
    """The equalities of `$a = b = c$` in order; empty where there is none. Formulas of several lines are left whole."""
    inner = formula.strip("$").strip().rstrip(",.; ")
    if not formula.startswith("$") or "\\begin" in inner or "\\\\" in inner or "&" in inner:
        return []
    cuts, depth = [], 0
    for at, char in enumerate(inner):
        if char in _OPEN:
            depth += 1
        elif char in _OPEN.values():
            depth -= 1
        elif char == "=" and not depth and inner[at - 1 : at].isspace() and inner[at + 1 : at + 2].isspace():
            cuts.append(at)
    edges = [-1, *cuts, len(inner)]
    sides = [inner[low + 1 : high] for low, high in pairwise(edges)]
    if not cuts or depth or any(not side.strip() or _OTHER.search(side) for side in sides):
        return []
    return [
        Link(sides[at].strip(), sides[at + 1].strip(), inner[low + 1 : high].strip(), inner, len(inner[:high].rstrip()))
        for at, (low, high) in enumerate(zip(edges, edges[2:], strict=False))
    ]


def operation(left: str, right: str) -> str:
    """What turns one side into the other, where the signs themselves tell; otherwise ""."""
    for mark, name in _MARKS:
        if mark in left and mark not in right:
            return name
    if not _NUMERIC.sub("", left) and not _NUMERIC.sub("", right):
        return "by arithmetic"
    if set(_LETTERS.findall(left)) == set(_LETTERS.findall(right)):
        if re.search(r"\)\s*(?:\(|\^)|[\w}]\s*\(", left) and "(" not in right and "+" in right:
            return "multiplied out"
        if re.search(r"\)\s*(?:\(|\^)", right) and "(" not in left and "+" in left:
            return "factored"
    return ""
