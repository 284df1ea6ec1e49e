"""Formulas of textbooks, in LaTeX or plain signs, to sympy: strict, by a small parser of our own, without `eval`.

    answer   := list (('or' | 'and') list)*
    list     := relation ((',' | ';') relation)*
    relation := sets (REL sets)*
    sets     := sum (('∪' | '∩' | '∖') sum)*
    sum, product, power: below

What reads in two ways (`1/2x`, `a ± b ± c`) is refused, and so is a value that does not exist (1/0). `\\log` without
a base stands for either base: its expression holds the symbol `LOG_BASE`.
"""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr, I, Integer, S, Symbol, oo
from sympy import Number as SympyNumber

from . import build
from .errors import Ambiguous, Degenerate
from .lexer import Token, is_latex, tokens
from .parse_structures import Structures
from .parse_units import Units
from .values import Both, Either, Interval, Member, Number, Relation, Sequence, SetExpr, Value

_MAX_DEPTH = 60


def parse(text: str, variables: frozenset[str] = frozenset(), unit_one: bool = False) -> Value:
    """The value of a whole text.

    Args:
        variables: names that are variables here though they have another meaning (`e`, `i`).
        unit_one: read every unit, % and ° as 1.

    Raises:
        Degenerate: some of the text has no meaning here, or no value.
        Ambiguous: it can be read in two ways.
        TooLarge: its value is too large to be computed.
    """
    return Parser(tokens(text), is_latex(text), variables, unit_one).answer()


def parse_number(text: str, variables: frozenset[str] = frozenset()) -> Number:
    """The value of a text that must be one expression. Raises as `parse` does."""
    value = parse(text, variables)
    if not isinstance(value, Number):
        raise Degenerate(f"{text.strip()[:60]!r} is not one expression")
    return value


class Parser(Structures, Units):
    """One pass over tokens; `at` is the place of the next."""

    def __init__(self, found: list[Token], latex: bool, variables: frozenset[str], unit_one: bool) -> None:
        self.tokens, self.latex, self.variables, self.unit_one = found, latex, set(variables), unit_one
        self.at = self.depth = 0
        self.marks: set[str] = set()
        self.sign = 0  # what ± stands for in this pass; 0 says that it must not occur
        self.bars = 0
        self.unit_end = -1  # where the last unit ended

    # ---- structure -------------------------------------------------------------------------------------------------

    def answer(self) -> Value:
        value = self.joined()
        if self.peek().kind != "end":
            raise Degenerate(f"{self.peek().text!r} where nothing more can be read")
        return value

    def joined(self) -> Value:
        parts, words = [self.listed()], set()
        while self.peek().kind == "join":
            words.add(self.next().text)
            parts.append(self.listed())
        if len(parts) == 1:
            return parts[0]
        if words == {"or"}:
            return Either(tuple(parts))
        if words == {"and"}:
            numbers = all(isinstance(one, Number | Sequence) for one in parts)
            flat = [item for one in parts for item in (one.items if _is_list(one) else (one,))]  # type: ignore[union-attr]
            return Sequence("list", tuple(flat)) if numbers else Both(tuple(parts))
        raise Ambiguous("and/or without brackets")

    def listed(self) -> Value:
        items = [self.relation()]
        while self.peek().kind == "sep":
            self.next()
            if self.peek().kind == "join":  # "1, 2, and 3"
                word = self.next().text
                items.append(self.relation())
                if word == "or":
                    return Either(tuple(items))
                break
            items.append(self.relation())
        return items[0] if len(items) == 1 else Sequence("list", tuple(items))

    def relation(self) -> Value:
        start = self.at
        try:
            return self._relation()
        except _PlusMinus:
            return Either(tuple(self._again(start, sign) for sign in (1, -1)))

    def _again(self, start: int, sign: int) -> Value:
        """Reads from `start` with ± standing for one sign. Raises Ambiguous where two ± are independent."""
        if self.sign:
            raise Ambiguous("± inside ±")
        self.at, self.sign = start, sign
        value = self._relation()
        if sum(one.text == "±" for one in self.tokens[start : self.at]) > 1:
            raise Ambiguous("two ± that may or may not go together")
        self.sign = 0
        return value

    def _relation(self) -> Value:
        if self.peek().text == "≈":
            self.next()
            value = self.sets()
            if not isinstance(value, Number):
                raise Degenerate("≈ before what is not a number")
            return Number(value.expr, value.marks, value.places, True)
        first = self.sets()
        if self.peek().kind != "rel":
            return first
        sides, ops = [first], []
        while self.peek().kind == "rel":
            ops.append(self.next().text)
            sides.append(self.sets())
        if ops == ["∈"] and isinstance(first, Number):
            return Member(first.expr, sides[1])
        if ops == ["="] and isinstance(first, Number) and not isinstance(sides[1], Number):
            return Member(first.expr, sides[1])  # x = {1, 2}, (x, y) = (1, 2) is below
        if ops == ["="] and isinstance(first, Sequence) and isinstance(sides[1], Sequence):
            return _pairwise(first, sides[1])
        numbers = tuple(one for one in sides if isinstance(one, Number))
        if len(numbers) < len(sides) or "∈" in ops:
            raise Degenerate("a relation between what are not numbers")
        return Relation(numbers, tuple("=" if op == ":=" else op for op in ops), self.modulus(ops))

    def sets(self) -> Value:
        value = self.bracketed()
        while self.peek().kind == "set" and self.peek().text in "∪∩∖":
            op = self.next().text
            right = self.bracketed()
            if isinstance(value, Number) or isinstance(right, Number):
                raise Degenerate(f"{op} of a number")
            value = SetExpr(op, (value, right))
        return value

    def bracketed(self) -> Value:
        """A bracketed collection, a named set, or a sum."""
        token = self.peek()
        if token.kind == "set" and token.text in "∅RZNQ":
            self.next()
            return SetExpr(token.text)
        if token.kind == "cmd" and token.text == "mathbb":
            self.next()
            name = self.group_text()
            if name not in ("R", "Z", "N", "Q"):
                raise Degenerate(f"the set {name} is not known")
            return SetExpr(name)
        if token.kind == "cmd" and token.text == "boxed":
            return self.boxed()
        if token.kind == "open" and (found := self.collection()) is not None:
            return found
        first = self.at
        self.marks = set()
        expr = self.sum()
        if expr.has(S.NaN, S.ComplexInfinity):
            raise Degenerate("a value that does not exist")
        only = self.tokens[first]
        # A decimal number with only a sign before it and marks behind it keeps its places.
        decimal = self.tokens[first + 1] if only.text in "+-" and only.kind == "op" else only
        digits = sum(one.kind in ("num", "sym", "func", "cmd") for one in self.tokens[first : self.at])
        places = decimal.places if decimal.kind == "num" and digits == 1 else None
        return Number(expr, frozenset(self.marks), places)

    def collection(self) -> Value | None:
        """(a, b), [a, b), {a, b}: None, with nothing read, if what is open is a mere grouping."""
        start, opener = self.at, self.next()
        if opener.text in "⌊⌈" or (opener.text == "{" and self.latex and not self._comma_inside(start)):
            self.at = start
            return None
        if opener.text == "\\{" and self.peek().text in ("\\}", "}"):
            self.next()
            return SetExpr("∅")
        if opener.text in ("(", "[") and not self._comma_inside(start):
            self.at = start
            return None
        items: list[Value] = [self.relation()]
        while self.peek().kind == "sep":
            self.next()
            items.append(self.relation())
        closer = self.next()
        if closer.kind != "close":
            raise Degenerate(f"{opener.text} is never closed")
        pair = opener.text + closer.text
        if pair in ("\\{\\}", "{}"):
            return Sequence("set", tuple(items))
        if pair not in ("()", "[]", "(]", "[)"):
            raise Degenerate(f"{opener.text} closed by {closer.text}")
        return _interval_or_tuple(pair, items)

    def _comma_inside(self, start: int) -> bool:
        """Whether the bracket at `start` holds a comma of its own, and is not the start of a longer term."""
        depth = 0
        comma = False
        for at in range(start, len(self.tokens)):
            token = self.tokens[at]
            depth += (token.kind == "open") - (token.kind == "close")
            comma |= token.kind == "sep" and depth == 1
            if depth == 0:
                return comma
        raise Degenerate(f"{self.tokens[start].text} is never closed")

    # ---- sums, products, powers ------------------------------------------------------------------------------------

    def sum(self) -> Expr:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise Degenerate("nested too deeply")
        value = self.signed(self.product)
        while self.peek().text in ("+", "-", "±", "∓") and self.peek().kind == "op":
            value = build.add(value, self.signed(self.product))
        self.depth -= 1
        return value

    def signed(self, inner: Callable[[], Expr]) -> Expr:
        negative = False
        while self.peek().kind == "op" and self.peek().text in ("+", "-", "±", "∓"):
            op = self.next().text
            if op in "±∓":
                if not self.sign:
                    raise _PlusMinus
                negative ^= (self.sign < 0) == (op == "±")
            else:
                negative ^= op == "-"
        value = inner()
        return build.multiply(Integer(-1), value) if negative else value

    def product(self) -> Expr:
        value = self.power()
        slash = False  # whether the last sign was a slash, after which a product without a sign is read in two ways
        while True:
            token = self.peek()
            if token.kind == "op" and token.text in ("*", "/"):
                after_unit = self.unit_end == self.at
                self.next()
                after_unit |= self.peek().kind in ("text", "word")
                right = (self.lone_unit() if after_unit else None) or self.signed(self.power)
                slash = token.text == "/"
                value = build.divide(value, right) if slash else build.multiply(value, right)
            elif token.kind == "num" and self.unit_end == self.at:
                return self.compound(value)
            elif token.kind == "op" and token.text == "mod":
                self.next()
                value = build.modulo(value, self.power())
            elif (found := self.unit_here()) is not None:
                value, slash = build.multiply(value, found), False
            elif token.kind == "text" and self.tokens[self.at - 1].kind == "num":
                raise Degenerate(f"the words {token.text!r} behind a number")
            elif self.starts_factor(token):
                before = self.tokens[self.at - 1]
                if token.kind == "num" and before.kind in ("num", "close", "sym") and before.text != "}":
                    found = self.mixed(value, before)
                    if found is None:
                        raise Ambiguous("a number after a value without a sign between them")
                    value = found
                    continue
                if slash and before.kind != "close":
                    raise Ambiguous("a product without a sign after a slash")
                mixed = self.mixed(value, before) if token.text == "frac" and before.kind == "num" else None
                value = mixed if mixed is not None else build.multiply(value, self.power())
            else:
                return value

    def starts_factor(self, token: Token) -> bool:
        if token.kind == "bar":
            return self.bars == 0
        if token.kind == "cmd":
            return token.text not in ("pmod", "mathbb")
        return token.kind in ("num", "sym", "func", "word") or (
            (token.kind == "open" and token.text not in ("\\{",)) or token.kind == "text"
        )

    def power(self) -> Expr:
        base = self.postfix(self.primary())
        if self.peek().text == "^" and self.peek().kind == "op":
            self.next()
            if self.degree_sign():
                return self.mark("°", base)
            return self.postfix(build.power(base, self.exponent()))
        return base

    def exponent(self) -> Expr:
        """What stands behind ^: a group, one factor, or a signed factor; powers bind to the right."""
        return self.signed(self.power)

    def postfix(self, value: Expr) -> Expr:
        while self.peek().kind == "op" and self.peek().text in ("!", "%", "°"):
            op = self.next().text
            if op == "!":
                if self.peek().text == "!":
                    raise Ambiguous("!! is a double factorial or a factorial twice")
                value = build.factorial(value)
            else:
                value = self.mark(op, value)
        return value

    def degree_sign(self) -> bool:
        """Whether `\\circ` or `{\\circ}` comes, which is then read."""
        group = self.tokens[self.at : self.at + 3]
        if group[0].text in ("∘", "°"):
            self.next()
            return True
        if len(group) == 3 and group[0].text == "{" and group[1].text in ("∘", "°"):
            self.at += 3
            return True
        return False

    # ---- tokens ----------------------------------------------------------------------------------------------------

    def peek(self) -> Token:
        return self.tokens[self.at]

    def next(self) -> Token:
        token = self.tokens[self.at]
        if token.kind == "end":
            raise Degenerate("the formula stops in the middle")
        self.at += 1
        return token

    def expect(self, text: str) -> None:
        token = self.next()
        if token.text != text:
            raise Degenerate(f"{token.text!r} where {text!r} belongs")

    def symbol(self, name: str) -> Expr:
        """A letter's meaning: a constant, unless it is a variable here."""
        if name in self.variables:
            return Symbol(name)
        return {"π": S.Pi, "e": S.Exp1, "i": I, "∞": oo}.get(name) or Symbol(name)


class _PlusMinus(Exception):
    """± was met while nothing said which sign it stands for."""


def _is_list(value: Value) -> bool:
    return isinstance(value, Sequence) and value.kind == "list"


def _pairwise(names: Sequence, values: Sequence) -> Value:
    """(x, y) = (1, 2) as x = 1 and y = 2."""
    if len(names.items) != len(values.items) or names.kind != values.kind:
        raise Degenerate("tuples of different lengths")
    parts = []
    for name, value in zip(names.items, values.items, strict=True):
        if not isinstance(name, Number) or not isinstance(value, Number):
            raise Degenerate("a tuple of tuples in an equation")
        parts.append(Relation((name, value), ("=",)))
    return Both(tuple(parts))


def _interval_or_tuple(pair: str, items: list[Value]) -> Value:
    numbers = [one for one in items if isinstance(one, Number)]
    if len(items) == len(numbers) == 2:
        low, high = numbers[0].expr, numbers[1].expr
        infinite = low == -oo or high == oo
        mixed = pair in ("(]", "[)")
        if mixed or infinite:
            return Interval(low, high, pair[0] == "(" or low == -oo, pair[1] == ")" or high == oo)
    elif pair in ("(]", "[)"):
        raise Degenerate("an interval has two ends")
    if any(isinstance(one, Number) and isinstance(one.expr, SympyNumber) and one.expr.is_infinite for one in items):
        raise Degenerate("infinity as a coordinate")
    return Sequence("tuple" if pair == "()" else "bracket", tuple(items))
