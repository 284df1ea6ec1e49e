"""Sums, products, integrals and limits, with the variable that each of them binds."""

from __future__ import annotations

from collections.abc import Callable

import sympy
from sympy import Expr, Integer, S, Symbol

from .errors import Ambiguous, Degenerate, TooLarge
from .lexer import Token

_MAX_TERMS = 300


class Limits:
    """Part of the parser; what it takes from there is declared here."""

    tokens: list[Token]
    at: int
    variables: set[str]
    peek: Callable[[], Token]
    next: Callable[[], Token]
    expect: Callable[[str], None]
    sum: Callable[[], Expr]
    product: Callable[[], Expr]
    signed: Callable[[Callable[[], Expr]], Expr]
    group: Callable[[], Expr]

    def _bounds(self) -> tuple[Expr | None, Expr | None, str | None]:
        """Lower and upper bound, and the name bound by `k=` below."""
        low = high = name = None
        while self.peek().kind == "op" and self.peek().text in ("^", "_"):
            if self.next().text == "^":
                high = self.signed(self.group)
                continue
            if self.peek().text == "{" and self.tokens[self.at + 2].text == "=":
                self.next()
                name = self.next().text
                self.next()
                self.variables.add(name)
                low = self.sum()
                self.expect("}")
            else:
                low = self.signed(self.group)
        return low, high, name

    def _summed(self, kind: str) -> Expr:
        low, high, name = self._bounds()
        if low is None or high is None or name is None:
            raise Degenerate("a sum without both bounds")
        inner = self.product()
        index = Symbol(name)
        if low.is_Integer and high.is_Integer:
            if high - low > _MAX_TERMS:
                if not inner.is_polynomial(index):
                    raise TooLarge(f"a sum or product of more than {_MAX_TERMS} terms")
                return sympy.Sum(inner, (index, low, high))
            terms = [inner.subs(index, value) for value in range(int(low), int(high) + 1)]
            return sympy.Add(*terms) if kind == "sum" else sympy.Mul(*terms)
        return (sympy.Sum if kind == "sum" else sympy.Product)(inner, (index, low, high))

    def _integral(self) -> Expr:
        low, high, _ = self._bounds()
        end, depth = self.at, 0
        while not (depth == 0 and (name := _differential(self.tokens[end : end + 2]))):
            depth += (self.tokens[end].kind == "open") - (self.tokens[end].kind == "close")
            if self.tokens[end].kind == "end" or depth < 0:
                raise Degenerate("an integral without its dx")
            end += 1
        if low is None or high is None:
            raise Degenerate("an integral without bounds stands for many functions")
        hidden, self.tokens = self.tokens, [*self.tokens[:end], Token("end", "", end, end)]
        inner = self.sum() if self.at < end else Integer(1)
        if self.at != end:
            raise Degenerate("an integrand that cannot be read")
        self.tokens = hidden
        self.at = end + (1 if self.tokens[end].kind == "word" else 2)
        return sympy.Integral(inner, (Symbol(name), low, high))

    def _limit(self) -> Expr:
        self.expect("_")
        self.expect("{")
        name = self.next().text
        self.expect("→")
        self.variables.add(name)
        point = self.sum()
        if self.peek().text == "^":
            raise Ambiguous("a limit from one side")
        self.expect("}")
        return sympy.Limit(
            self.product(), Symbol(name), point, "+" if point in (S.Infinity, S.NegativeInfinity) else "+-"
        )


def _differential(pair: list[Token]) -> str:
    """The x of dx, where that is what comes; else nothing."""
    first = pair[0]
    if first.kind == "word" and len(first.text) == 2 and first.text[0] == "d":
        return first.text[1]
    if first.text == "d" and len(pair) == 2 and pair[1].kind == "sym":
        return pair[1].text
    return ""
