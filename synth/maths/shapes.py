"""Answers that are more than one number: points, lists, sets, intervals, equations, systems and alternatives.

A point is never a set, and an interval is never a set of two. A value with its variable (`x = 3`) may stand for the
value alone, and a list with `or` between its values for their set.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy
from sympy import Expr
from sympy.core.function import AppliedUndef

from . import decide
from .errors import UNREADABLE, Ambiguous, Degenerate
from .sets import real_set, same
from .values import Both, Either, Interval, Member, Number, Relation, Sequence, Value

Outcome = tuple[str, str, str]
CompareNumbers = Callable[[Number, Number], Outcome]

_EQUAL: Outcome = ("equal", "", "")
_MAX_ITEMS = 12


def _different(reason: str) -> Outcome:
    return "different", "ans_diff", reason


def _undecided(reason: str, code: str = "ans_undecided") -> Outcome:
    return "undecided", code, reason


def compare_shapes(gold: Value, answer: Value, ordered: bool | None, numbers: CompareNumbers) -> Outcome:
    """(verdict, code, reason) of two values of which one at least is no plain number."""
    try:
        return _compare(_settled(gold), _settled(answer), ordered, numbers)
    except Degenerate as error:
        return _undecided(str(error), "degenerate")
    except UNREADABLE as error:
        return _undecided(str(error))


def _compare(gold: Value, answer: Value, ordered: bool | None, numbers: CompareNumbers) -> Outcome:
    (gold_name, gold), (answer_name, answer) = _named(gold), _named(answer)
    if gold_name is not None and answer_name is not None and gold_name != answer_name:
        return _equations(_equation(gold_name, gold), _equation(answer_name, answer))
    if isinstance(gold, Relation) and isinstance(answer, Number) and answer_name is not None:
        answer = _equation(answer_name, answer)
    if isinstance(answer, Relation) and isinstance(gold, Number) and gold_name is not None:
        gold = _equation(gold_name, gold)
    if isinstance(gold, Number) and isinstance(answer, Number):
        return numbers(gold, answer)
    systems = [_system(one) for one in (gold, answer)]
    if systems[0] is not None and systems[1] is not None:
        return _systems(systems[0], systems[1], numbers)
    if (systems[0] is None) != (systems[1] is None):
        return _undecided("values with their variables on one side only")
    items = [_items(one) for one in (gold, answer)]
    if items[0] is not None and items[1] is not None:
        return _sequences(items[0], items[1], ordered, numbers)
    if _is_equation(gold) and _is_equation(answer):
        return _equations(gold, answer)  # type: ignore[arg-type]
    return _sets(gold, answer)


# ---- what a value amounts to ---------------------------------------------------------------------------------------


def _settled(value: Value) -> Value:
    """`2 + 3 = 5` as 5 and `x = 10/2 = 5` as x = 5, where the equations hold.

    Raises:
        Degenerate: an equation without variables that is false, or one that says nothing (x = x).
    """
    if isinstance(value, Either):
        return Either(tuple(map(_settled, value.options)))
    if not isinstance(value, Relation) or set(value.ops) != {"="}:
        if isinstance(value, Relation) and not any(side.expr.free_symbols for side in value.sides):
            raise Degenerate("a statement about numbers, not a value")
        return value
    sides = value.sides
    if len(sides) > 2 or not any(side.expr.free_symbols for side in sides):
        first = 1 if sides[0].expr.is_Symbol else 0
        for left, right in zip(sides[first:], sides[first + 1 :], strict=False):
            if not decide.equal(left.expr, right.expr).holds:
                raise Degenerate("a chain of equations that does not hold")
        return Relation((sides[0], sides[-1]), ("=",)) if first else sides[-1]
    if decide.equal(sides[0].expr, sides[1].expr).holds:
        raise Degenerate("an equation that says nothing")
    return value


def _named(value: Value) -> tuple[Expr | None, Value]:
    """(name, value) of `x = 3`, `f(x) = x^2`, `3 = x`, `x ∈ {1, 2}` and `x = 1 or x = 2`; (None, value) of the rest."""
    if isinstance(value, Member):
        return value.name, value.inside
    if isinstance(value, Relation) and value.ops == ("=",):
        left, right = value.sides
        for name, other in ((left, right), (right, left)):
            single = name.expr.is_Symbol or isinstance(name.expr, AppliedUndef)
            if single and not name.marks and not other.expr.has(name.expr):
                return name.expr, other
    several = value.options if isinstance(value, Either) else value.items if _is(value, "list") else ()  # type: ignore[union-attr]
    if several:
        found = [_named(one) for one in several]
        names = [name for name, _ in found if name is not None]
        # "x = 1, 2": the first value has the name, for the others too.
        if (
            names
            and names[0] == found[0][0]
            and set(names) == {names[0]}
            and all(isinstance(one, Number) for _, one in found)
        ):
            return names[0], Sequence("set", tuple(one for _, one in found))
    return None, value


def _is(value: Value, kind: str) -> bool:
    return isinstance(value, Sequence) and value.kind == kind


def _is_equation(value: Value) -> bool:
    return isinstance(value, Relation) and value.ops == ("=",)


def _system(value: Value) -> dict[Expr, Number] | None:
    """Values by variable, of `x = 1, y = 2` and `(x, y) = (1, 2)`."""
    parts = value.parts if isinstance(value, Both) else value.items if _is(value, "list") else ()  # type: ignore[union-attr]
    found = [_named(one) for one in parts]
    if not found or any(name is None or not isinstance(one, Number) for name, one in found):
        return None
    system = {name: one for name, one in found if name is not None and isinstance(one, Number)}
    return system if len(system) == len(found) else None


def _items(value: Value) -> tuple[str, list[Value]] | None:
    """(kind, values) of what is a collection of values; a choice between numbers is their set."""
    if isinstance(value, Sequence):
        return value.kind, list(value.items)
    if isinstance(value, Either) and all(isinstance(one, Number | Sequence) for one in value.options):
        flat = [item for one in value.options for item in (one.items if _is(one, "list") else (one,))]  # type: ignore[union-attr]
        return "set", list(flat)
    if isinstance(value, Number):
        return "value", [value]
    return None


def _equation(name: Expr, value: Value) -> Relation:
    if not isinstance(value, Number):
        raise Ambiguous("values of different variables")
    return Relation((Number(name), value), ("=",))


# ---- comparisons ---------------------------------------------------------------------------------------------------


def _sequences(
    gold: tuple[str, list[Value]], answer: tuple[str, list[Value]], ordered: bool | None, numbers: CompareNumbers
) -> Outcome:
    (kind, items), (other, others) = gold, answer
    if max(len(items), len(others)) > _MAX_ITEMS:
        return _undecided("more values than are compared")
    kinds = {kind, other}
    if kind == "set":
        items = _distinct(items, numbers)
    if other == "set":
        others = _distinct(others, numbers)
    if kinds == {"tuple", "set"} or kinds == {"bracket", "set"}:
        return _different("a set is not a point or an interval")
    if "value" in kinds:
        if len(items) == len(others) == 1:
            return _undecided("a value and a collection of one value")
        return _different("one value and several")
    if len(items) != len(others):
        return _different("another number of values")
    in_order = _all([_compare(a, b, ordered, numbers) for a, b in zip(items, others, strict=True)])
    if kinds in ({"tuple"}, {"bracket"}):
        return in_order
    if kinds == {"tuple", "bracket"} or "tuple" in kinds or "bracket" in kinds:
        return in_order if in_order[0] == "different" else _undecided("another kind of brackets")
    if in_order[0] == "equal":
        return in_order
    free = "set" in kinds or ordered is False
    found = _matched(items, others, ordered, numbers)
    if ordered and kinds == {"list"}:
        return _different("another order") if found[0] == "equal" else in_order
    return found if free or found[0] != "equal" else _undecided("the same values in another order")


def _distinct(items: list[Value], numbers: CompareNumbers) -> list[Value]:
    kept: list[Value] = []
    for one in items:
        if not any(_compare(one, other, None, numbers)[0] == "equal" for other in kept):
            kept.append(one)
    return kept


def _all(found: list[Outcome]) -> Outcome:
    """Equal if all are, different if one is."""
    for verdict in ("different", "undecided"):
        for one in found:
            if one[0] == verdict:
                return one
    return _EQUAL


def _matched(items: list[Value], others: list[Value], ordered: bool | None, numbers: CompareNumbers) -> Outcome:
    """Whether the values are the same in some order."""
    table = [[_compare(a, b, ordered, numbers)[0] for b in others] for a in items]
    rows = [{at for at, verdict in enumerate(row) if verdict != "different"} for row in table]
    sure = [{at for at, verdict in enumerate(row) if verdict == "equal"} for row in table]
    if _assignment(sure):
        return _EQUAL
    return _undecided("some values cannot be compared") if _assignment(rows) else _different("other values")


def _assignment(rows: list[set[int]]) -> bool:
    """Whether each row can have a column of its own."""
    owner: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column in rows[row] - seen:
            seen.add(column)
            if column not in owner or place(owner[column], seen):
                owner[column] = row
                return True
        return False

    return all(place(row, set()) for row in range(len(rows)))


def _systems(gold: dict[Expr, Number], answer: dict[Expr, Number], numbers: CompareNumbers) -> Outcome:
    if gold.keys() != answer.keys():
        return _different("values of other variables")
    return _all([numbers(value, answer[name]) for name, value in gold.items()])


def _sets(gold: Value, answer: Value) -> Outcome:
    """Sets of real numbers, from whatever describes them."""
    if isinstance(gold, Number) or isinstance(answer, Number):
        return _different("a value is not a condition or a set") if not _is_equation(gold) and not _is_equation(
            answer) else _undecided("an equation and a value")  # fmt: skip
    if _is_equation(gold) and isinstance(answer, Sequence) and answer.kind == "list":
        answer = Sequence("set", answer.items)  # the roots of the equation
    if _is(gold, "list") or _is(answer, "list"):
        return _undecided("a list and a set")
    for one, other in ((gold, answer), (answer, gold)):
        if _is(one, "set") and isinstance(other, Interval):
            return _different("a set of single values is not an interval")
    if isinstance(gold, Relation) and isinstance(answer, Relation) and (found := _inequalities(gold, answer)):
        return found
    (first, left), (second, right) = real_set(gold), real_set(answer)
    if first is not None and second is not None and first != second:
        return _different("conditions on different variables")
    verdict = same(left, right)
    if verdict is None:
        return _undecided("sets that cannot be compared")
    return _EQUAL if verdict else _different("other sets")


def _inequalities(gold: Relation, answer: Relation) -> Outcome | None:
    """Two inequalities in several variables, which must be the same up to a positive factor; None for other ones."""
    if len(gold.ops) != 1 or len(answer.ops) != 1 or "≡" in gold.ops + answer.ops or "≈" in gold.ops + answer.ops:
        return _undecided("relations that cannot be compared") if {"≡", "≈"} & {*gold.ops, *answer.ops} else None
    symbols = {s for one in (gold, answer) for side in one.sides for s in side.expr.free_symbols}
    single = [len({s for side in one.sides for s in side.expr.free_symbols}) < 2 for one in (gold, answer)]
    if len(symbols) < 2 or all(single):
        return None
    f, g = (one.sides[0].expr - one.sides[1].expr for one in (gold, answer))
    ops = [one.ops[0] for one in (gold, answer)]
    if ops[0] in ">≥":
        f, ops[0] = -f, {">": "<", "≥": "≤"}[ops[0]]
    if ops[1] in ">≥":
        g, ops[1] = -g, {">": "<", "≥": "≤"}[ops[1]]
    ratio = sympy.cancel(f / g)
    if not ratio.is_number:
        return _undecided("conditions in several variables")
    if ops[0] != ops[1]:
        return _different("another kind of relation")
    return _EQUAL if ratio.is_positive or ops[0] == "≠" else _different("the relation the other way round")


def _equations(gold: Relation, answer: Relation) -> Outcome:
    """Equations with the same solutions: proportional ones; different if a solution of one is none of the other."""
    f, g = (sympy.together(one.sides[0].expr - one.sides[1].expr) for one in (gold, answer))
    if f.atoms(AppliedUndef) or g.atoms(AppliedUndef):
        return _undecided("equations about unknown functions")
    if decide.equal(f, sympy.S.Zero).holds or decide.equal(g, sympy.S.Zero).holds:
        raise Degenerate("an equation that says nothing")
    ratio = sympy.simplify(f / g)
    if ratio.is_number and ratio.is_finite and not ratio.is_zero:
        return _EQUAL
    if len(f.free_symbols | g.free_symbols) == 1:
        return _sets_of_roots(gold, answer)
    for first, second in ((f, g), (g, f)):
        top = sympy.fraction(first)[0]
        for symbol in sorted(top.free_symbols, key=str):
            if sympy.degree(top, symbol) == 1 if top.is_polynomial(symbol) else False:
                slope = sympy.Poly(top, symbol).all_coeffs()
                solved = -slope[1] / slope[0]
                if decide.equal(second.subs(symbol, solved), sympy.S.Zero).holds is False:
                    return _different("a solution of one is none of the other")
    return _undecided("equations that cannot be compared")


def _sets_of_roots(gold: Relation, answer: Relation) -> Outcome:
    verdict = same(real_set(gold)[1], real_set(answer)[1])
    if verdict is None:
        return _undecided("roots that cannot be compared")
    return _EQUAL if verdict else _different("other roots")
