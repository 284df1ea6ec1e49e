"""What a text has said so far about its variables: where they live, what they are, which functions it has defined."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sympy import Expr, Function, Symbol
from sympy.core.function import AppliedUndef

from .decide import Domain

_SAID = re.compile(
    r"\b(?P<sign>positive|non-?negative|negative)?\s*(?P<kind>integers?|natural numbers?|whole numbers?|"
    r"reals?(?: numbers?)?|numbers?)?\s*\$?(?P<a>[A-Za-z])\$?(?:\s*(?:,|and)\s*\$?(?P<b>[A-Za-z])\$?)?(?=[\s,.;:]|$)"
)
_IS = re.compile(
    r"(?<![\w\\])\$?(?P<a>[A-Za-z])\$?(?:\s*(?:,|and)\s*\$?(?P<b>[A-Za-z])\$?)?\s+(?:is|are|be)\s+(?:an?\s+|any\s+)?"
    r"(?P<sign>positive|non-?negative|negative)?\s*(?P<kind>integers?|natural numbers?|whole numbers?)?"
)


@dataclass
class Context:
    """Facts in the order in which they were read; a later one replaces an earlier one that contradicts it."""

    domains: dict[str, Domain] = field(default_factory=dict)
    values: dict[Symbol, Expr] = field(default_factory=dict)
    contested: set[Symbol] = field(default_factory=set)
    letters: set[str] = field(default_factory=set)
    functions: dict[str, tuple[tuple[Expr, ...], Expr] | None] = field(default_factory=dict)

    def read_words(self, text: str) -> None:
        """`n is a positive integer`, `positive numbers a and b`."""
        for pattern in (_IS, _SAID):
            for found in pattern.finditer(text):
                if not found["sign"] and not found["kind"]:
                    continue
                for name in (found["a"], found["b"]):
                    if name and not (pattern is _SAID and name in ("a", "A", "I")):
                        self._say(name, found["sign"], found["kind"] or "")

    def _say(self, name: str, sign: str | None, kind: str) -> None:
        whole = kind.startswith(("integer", "natural", "whole"))
        low = Fraction(0) if sign == "positive" or kind.startswith("natural") else None
        low = Fraction(-1 if whole else 0) if sign and sign.startswith("non") else low
        high = Fraction(0) if sign == "negative" else None
        if whole or low is not None or high is not None:
            self.domains[name] = Domain(low, high, whole)

    def bound(self, name: str, op: str, value: Fraction) -> None:
        """`name op value`; an inclusive bound of an integer is moved by one, for bounds are open."""
        old = self.domains.get(name, Domain())
        step = 1 if old.integer and op in "≤≥" else 0
        new = replace(old, high=value + step) if op in "<≤" else replace(old, low=value - step)
        if new.low is not None and new.high is not None and new.low >= new.high:
            new = replace(new, low=None) if op in "<≤" else replace(new, high=None)
        self.domains[name] = new

    def inside(self, name: str, low: Fraction | None, high: Fraction | None, integer: bool) -> None:
        self.domains[name] = Domain(low, high, integer)

    def bind(self, symbol: Symbol, value: Expr, choice: bool) -> None:
        """`symbol = value`; one that has had another value, or that has a choice, may support but never refute."""
        if choice or (symbol in self.values and self.values[symbol] != value):
            self.contested.add(symbol)
        self.values[symbol] = value

    def define(self, left: Expr, right: Expr) -> bool:
        """Takes `f(x) = …` as a definition if f has none yet; says whether it did."""
        if not isinstance(left, AppliedUndef) or not all(one.is_Symbol for one in left.args):
            return False
        name = left.func.__name__
        if name in self.functions or right.has(left.func):
            return False
        self.functions[name] = (left.args, right)
        return True

    def unfold(self, expr: Expr) -> Expr:
        """The expression with the functions that are known put in."""
        for name, known in self.functions.items():
            if known is not None:
                names, body = known
                expr = expr.replace(
                    Function(name),
                    lambda *given, names=names, body=body: body.subs(dict(zip(names, given, strict=True))),
                )
        return expr
