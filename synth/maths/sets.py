"""Sets of real numbers from intervals, inequalities and equations in one variable."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import sympy
from sympy import Expr, S, Symbol

from .errors import Ambiguous, Degenerate
from .values import Both, Either, Interval, Member, Number, Relation, Sequence, SetExpr, Value

_NAMED = {"∅": S.EmptySet, "R": S.Reals, "Z": S.Integers, "N": S.Naturals, "Q": S.Rationals}
_OPS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "<": sympy.Lt, "≤": sympy.Le, ">": sympy.Gt, "≥": sympy.Ge, "=": sympy.Eq, "≠": sympy.Ne,
}  # fmt: skip


def real_set(value: Value) -> tuple[Expr | None, sympy.Set]:
    """(variable, set of real numbers); the variable is None for a set that names none.

    A pair in brackets is an interval.

    Raises:
        Degenerate: the value is no set of real numbers.
        Ambiguous: no set was found though there may be one.
    """
    if isinstance(value, Interval):
        return None, _interval(value.low, value.high, value.low_open, value.high_open)
    if isinstance(value, Sequence):
        return None, _of_sequence(value)
    if isinstance(value, SetExpr):
        return None, _of_set_expr(value)
    if isinstance(value, Member):
        return value.name, real_set(value.inside)[1]
    if isinstance(value, Relation):
        return _of_relation(value)
    if isinstance(value, Either | Both):
        parts = [real_set(one) for one in (value.options if isinstance(value, Either) else value.parts)]
        names = {name for name, _ in parts}
        if len(names) > 1:
            raise Degenerate("conditions on several variables")
        found = [one for _, one in parts]
        return names.pop(), sympy.Union(*found) if isinstance(value, Either) else sympy.Intersection(*found)
    if isinstance(value, Number) and value.expr.is_number:
        return None, sympy.FiniteSet(value.expr)
    raise Degenerate("not a set of real numbers")


def _interval(low: Expr, high: Expr, low_open: bool, high_open: bool) -> sympy.Set:
    if not all(one.is_number and one.is_extended_real for one in (low, high)):
        raise Ambiguous("an interval between what are not numbers")
    if bool(low > high):
        raise Degenerate("an interval whose ends are the wrong way round")
    return sympy.Interval(low, high, low_open, high_open)


def _of_sequence(value: Sequence) -> sympy.Set:
    numbers = [one.expr for one in value.items if isinstance(one, Number)]
    if len(numbers) < len(value.items):
        raise Degenerate("not a set of real numbers")
    if value.kind in ("tuple", "bracket"):
        if len(numbers) != 2:
            raise Degenerate("an interval has two ends")
        return _interval(numbers[0], numbers[1], value.kind == "tuple", value.kind == "tuple")
    return sympy.FiniteSet(*numbers)


def _of_set_expr(value: SetExpr) -> sympy.Set:
    if not value.parts:
        return _NAMED[value.op]
    left, right = (real_set(one)[1] for one in value.parts)
    return {"∪": sympy.Union, "∩": sympy.Intersection, "∖": sympy.Complement}[value.op](left, right)


def _of_relation(value: Relation) -> tuple[Expr, sympy.Set]:
    symbols = sorted({s for side in value.sides for s in side.expr.free_symbols}, key=str)
    if len(symbols) != 1 or any(op not in _OPS for op in value.ops) or any(side.marks for side in value.sides):
        raise Degenerate("not a condition on one variable")
    x = Symbol(str(symbols[0]), real=True)
    found: sympy.Set = S.Reals
    for op, left, right in zip(value.ops, value.sides, value.sides[1:], strict=False):
        a, b = (one.expr.subs(symbols[0], x) for one in (left, right))
        found = sympy.Intersection(found, _solved(op, a, b, x))
    return symbols[0], found


def _solved(op: str, a: Expr, b: Expr, x: Symbol) -> sympy.Set:
    if {a, b} & {S.Infinity, S.NegativeInfinity}:
        return S.Reals if op in "<>" else S.EmptySet
    if op == "≠":
        return sympy.Complement(S.Reals, _solved("=", a, b, x))
    if (a == x and b.is_number) or (b == x and a.is_number):
        flip = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "="}
        number, op = (b, op) if a == x else (a, flip[op])
        return {
            "<": sympy.Interval.open(S.NegativeInfinity, number), "≤": sympy.Interval(S.NegativeInfinity, number),
            ">": sympy.Interval.open(number, S.Infinity), "≥": sympy.Interval(number, S.Infinity),
            "=": sympy.FiniteSet(number),
        }[op]  # fmt: skip
    condition = _OPS[op](a, b)
    if condition in (S.true, S.false):
        raise Degenerate("a condition that says nothing")
    difference = a - b
    if not (difference.is_polynomial(x) or difference.replace(sympy.Abs, lambda inner: inner).is_rational_function(x)):
        raise Ambiguous("an equation that is not solved here")
    try:
        if op == "=":
            found = sympy.solveset(condition, x, S.Reals)
        else:
            found = sympy.solve_univariate_inequality(condition, x, relational=False)
    except (NotImplementedError, ValueError, TypeError) as error:
        raise Ambiguous(f"not solved: {error}") from error
    if found.has(sympy.ConditionSet):
        raise Ambiguous("an equation that is not solved here")
    return found


def same(left: sympy.Set, right: sympy.Set) -> bool | None:
    """Whether two sets have the same members; None where sympy cannot tell."""
    if left == right:
        return True
    rest = sympy.SymmetricDifference(left, right)
    if rest.is_empty is True:
        return True
    if left.is_empty is not right.is_empty and None not in (left.is_empty, right.is_empty):
        return False
    inside = [left.boundary, right.boundary]
    if all(isinstance(one, sympy.FiniteSet) for one in inside):
        edges = sorted({float(one) for edge in inside for one in edge if one.is_real})
        between = [(a + b) / 2 for a, b in pairwise(edges) if b - a > 1e-9]
        beyond = [edges[0] - 1, edges[-1] + 1] if edges else [0.0]
        exact = [one for edge in inside for one in edge if one.is_rational]
        for at in [*map(sympy.nsimplify, between + beyond), *exact]:
            first, second = left.contains(at), right.contains(at)
            if {first, second} == {S.true, S.false}:
                return False
    return None
