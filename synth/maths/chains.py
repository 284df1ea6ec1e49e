"""Equality and inequality chains (M1): is every step of `a = b = c` true?

Not every equation is a claim. `Let x = 3` and `f(x) = …` define, `2x + 3 = 7` asks for x; such a step is `given`. An
equation that is no identity is false only where the text cannot mean it as a condition: when nothing in it is variable
(or all of it has stated values), or when it is a step of a longer chain, or called an identity, with the same variables
on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from sympy import Expr, Rational, Symbol
from sympy.core.function import AppliedUndef

from ..verify.result import Check
from . import decide
from .context import Context
from .errors import UNREADABLE
from .find import Chain, chains
from .parse import parse
from .units import dimensions
from .values import Interval, Number, SetExpr, Value

MAX_UNDECIDED = 0.5
_CONDITION = re.compile(
    r"\b(?:let|set|define[sd]?|suppose|assum\w+|given|if|when\w*|where|with|for which|such that|put|denote|take|choose|"
    r"consider|solv\w+|satisf\w+|equation|substitut\w+|plug\w*|until|unless|would|should|try|claims?)\b"
    r"[^.$=]*$",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|wrong\w*|mistak\w*|error\w*|incorrect\w*|false\w*|never)\b[^.]*$|\b(?:suppose|assum\w+|if)\b[^.$=]*$",
    re.IGNORECASE,
)
_IDENTITY = re.compile(
    r"\b(?:identit\w+|expand\w*|factor\w*|simplif\w+|for (?:all|every|any)|rewrit\w+)\b", re.IGNORECASE
)


class Step(NamedTuple):
    """One relation. `verdict`: true, false, undecided, or given where nothing is claimed."""

    start: int
    stop: int
    verdict: str
    reason: str = ""


def steps(text: str) -> list[Step]:
    """Every step of every chain, in the order of the text."""
    return [step for judge in pending(text) for step in judge(None)]


def pending(text: str) -> Iterator[Callable[[str | None], list[Step]]]:
    """The chains of a text, to be judged one by one in their order, as `steps` does.

    Each is a function. Called with a reason it judges nothing, and its steps are undecided for that reason.
    """
    context, read = Context(), 0
    for chain in chains(text):
        start = chain.sides[0].start
        context.read_words(text[read:start])
        read = max(read, start)
        yield partial(_judge, chain, context)


def _judge(chain: Chain, context: Context, skip: str | None) -> list[Step]:
    if skip is None:
        return _chain(chain, context)
    pairs = zip(chain.sides, chain.sides[1:], strict=False)
    return [Step(left.start, right.stop, "undecided", skip) for left, right in pairs]


def checks(text: str) -> list[Check]:
    """`eq_false`: how many steps are false, none allowed. `eq_undecided`: which share of the claims is undecided."""
    return summary(steps(text))


def summary(found: list[Step]) -> list[Check]:
    """The two checks of steps that were judged already."""
    spans = {
        name: tuple((s.start, s.stop) for s in found if s.verdict == name) for name in ("true", "false", "undecided")
    }
    claims = sum(map(len, spans.values()))
    share = len(spans["undecided"]) / max(claims, 1)
    wrong, open_ = spans["false"], spans["undecided"]
    return [
        Check("equations", float(len(wrong)), 0.0, not wrong, "eq_false" if wrong else "", wrong),
        Check(
            "equations_undecided", share, MAX_UNDECIDED, share <= MAX_UNDECIDED, "eq_undecided" if open_ else "", open_
        ),
    ]


def _chain(chain: Chain, context: Context) -> list[Step]:
    values: list[Value | str] = []
    # `i = 3` and `e > 0` say that the letter is a variable of this text.
    context.letters |= {side.text for side in chain.sides if side.text in ("i", "e")}
    for side in chain.sides:
        try:
            values.append(parse(side.text, frozenset(context.letters)))
        except UNREADABLE as error:
            values.append(f"{side.text[:40]!r}: {error}")
    _learn(chain, values, context)
    out = []
    for at, op in enumerate(chain.ops):
        left, right = values[at], values[at + 1]
        lone = at == 0 and "and" in chain.broken and re.fullmatch(r"[\d.,]+", chain.sides[0].text) is not None
        cut = lone or ("left" in chain.broken and at == 0) or ("right" in chain.broken and at == len(chain.ops) - 1)
        verdict, reason = _step(chain, at, op, left, right, context)
        if cut and verdict in ("true", "false"):
            verdict, reason = "undecided", "words beside it belong to it"
        if verdict == "false" and _DENIED.search(chain.before):
            verdict, reason = "given", "the text does not claim it"
        out.append(Step(chain.sides[at].start, chain.sides[at + 1].stop, verdict, reason))
    return out


def _step(chain: Chain, at: int, op: str, left: Value | str, right: Value | str, context: Context) -> tuple[str, str]:
    if op == ":=":
        return "given", "a definition"
    if isinstance(left, str) or isinstance(right, str):
        return "undecided", left if isinstance(left, str) else str(right)
    if op == "∈" or not isinstance(left, Number) or not isinstance(right, Number):
        return "given", "not a relation between numbers"
    a, b = context.unfold(left.expr), context.unfold(right.expr)
    if at == 0 and op == "=" and "goes on" not in chain.broken:
        if context.define(left.expr, right.expr):
            return "given", "a definition"
        if left.expr.is_Symbol and left.expr not in right.expr.free_symbols and not _holds(a, b, context):
            return "given", "it says what the variable is"
    if chain.modulus is not None or op == "≡":
        return _congruence(a, b, chain.modulus)
    if op == "≈":
        return _about(a, b, left.places, right.places, context)
    claimed = (len(chain.ops) > 1 or "goes on" in chain.broken) or bool(_IDENTITY.search(chain.before))
    if op == "=":
        texts = chain.sides[at].text, chain.sides[at + 1].text
        return _equality(a, b, (left, right), texts, claimed and not _condition(chain), context)
    if left.expr.has(AppliedUndef) or right.expr.has(AppliedUndef):
        return "given", "a condition"
    return _inequality(a, op, b, claimed, context)


def _condition(chain: Chain) -> bool:
    return bool(_CONDITION.search(chain.before)) and not _IDENTITY.search(chain.before)


def _equality(
    a: Expr, b: Expr, sides: tuple[Number, Number], texts: tuple[str, str], claimed: bool, context: Context
) -> tuple[str, str]:
    verdict = decide.equal(a, b, context.domains)
    names = [_variables(one) for one in (a, b)]
    if verdict.holds:
        return "true", ""
    if not names[0] | names[1]:
        if verdict.holds is None:
            return "undecided", verdict.reason
        if sides[0].marks and sides[1].marks and dimensions(a) != dimensions(b):
            return "false", "units of different kinds"
        if bool(sides[0].marks) != bool(sides[1].marks) and _same_bare(texts):
            return "undecided", "a unit on one side only"
        if _rounds(a, b, sides):
            return "undecided", "true when rounded"
        return "false", verdict.reason
    known = {name: context.values[name] for name in names[0] | names[1] if name in context.values}
    if known:
        with_values = decide.equal(a.subs(known), b.subs(known), context.domains)
        if with_values.holds:
            return "true", ""
        open_ = (names[0] | names[1]) - known.keys()
        if claimed and with_values.holds is False and not open_ and not known.keys() & context.contested:
            return ("undecided", "true when rounded") if _rounds(a.subs(known), b.subs(known), sides) else (
                "false", with_values.reason)  # fmt: skip
    if verdict.holds is None:
        return "undecided", verdict.reason
    if claimed and names[0] == names[1] and not known:
        return "false", verdict.reason
    return ("undecided", "its variables have no stated values") if claimed else ("given", "an equation")


def _inequality(a: Expr, op: str, b: Expr, claimed: bool, context: Context) -> tuple[str, str]:
    names = _variables(a) | _variables(b)
    if a.is_Symbol or b.is_Symbol:
        return "given", "a condition"
    known = {name: context.values[name] for name in names if name in context.values}
    verdict = decide.compare(a, op, b, context.domains)
    if verdict.holds is not True and known and not known.keys() & context.contested:
        verdict = decide.compare(a.subs(known), op, b.subs(known), context.domains)
        names -= known.keys()
    if not names:
        return {True: ("true", ""), False: ("false", verdict.reason), None: ("undecided", verdict.reason)}[
            verdict.holds
        ]
    if verdict.holds:
        return "true", ""
    if verdict.holds is False and claimed:
        return "false", verdict.reason
    return ("undecided", verdict.reason) if claimed else ("given", "a condition")


def _about(a: Expr, b: Expr, first: int | None, second: int | None, context: Context) -> tuple[str, str]:
    """`≈`: within half a unit of the last place that the coarser side gives."""
    known = {name: context.values[name] for name in _variables(a) | _variables(b) if name in context.values}
    a, b = a.subs(known), b.subs(known)
    places = [one for one in (first, second) if one is not None]
    off = (a - b).evalf(20)
    if not off.is_Float and not off.is_Rational:
        return ("given" if _variables(a) | _variables(b) else "undecided"), "its sides have no stated values"
    if not places:
        return "undecided", "no side says how exact it is"
    bound = Rational(1, 10 ** min(places))
    if abs(off) <= bound * Rational(51, 100):
        return "true", ""
    if abs(off) <= bound:
        return "undecided", "within one unit of the last place, but not rounded to the nearest"
    size = max(abs(a.evalf(10)), abs(b.evalf(10)))
    if min(places) == 0 and abs(off) < size / 50:
        return "undecided", "a whole number may be rounded more coarsely"
    return "false", f"off by {float(off):.3g}"


def _same_bare(texts: tuple[str, str]) -> bool:
    """Whether the sides are equal with every unit read as 1: 3 · 4 = 12 cm²."""
    left, right = (parse(text, unit_one=True) for text in texts)
    return isinstance(left, Number) and isinstance(right, Number) and decide.equal(left.expr, right.expr).holds is True


def _rounds(a: Expr, b: Expr, sides: tuple[Number, Number]) -> bool:
    """Whether the sides are equal when one is rounded to the decimals that the other gives."""
    for number in sides:
        if number.places:
            off = abs((a - b).evalf(20))
            if off.is_number and off.is_real and off <= Rational(51, 100) / 10**number.places:
                return True
    return False


def _congruence(a: Expr, b: Expr, modulus: str | None) -> tuple[str, str]:
    if modulus is None:
        return "undecided", "≡ without a modulus"
    try:
        n = parse(modulus)
    except UNREADABLE as error:
        return "undecided", str(error)
    if not isinstance(n, Number) or not all(one.is_Integer for one in (a, b, n.expr)) or n.expr == 0:
        return "undecided", "a congruence of what are not numbers"
    rest = (a - b) % n.expr
    return ("true", "") if rest == 0 else ("false", f"the difference leaves {rest}")


def _learn(chain: Chain, values: list[Value | str], context: Context) -> None:
    """Bounds and values of variables that the chain states."""
    for at, op in enumerate(chain.ops):
        left, right = values[at], values[at + 1]
        if isinstance(left, Number) and op == "∈" and left.expr.is_Symbol:
            _learn_set(left.expr.name, right, context)
        if not isinstance(left, Number) or not isinstance(right, Number) or left.marks or right.marks:
            continue
        for name, number, sign in (
            (left, right, op),
            (right, left, {"<": ">", ">": "<", "≤": "≥", "≥": "≤"}.get(op, op)),
        ):
            if name.expr.is_Symbol and number.expr.is_Rational and sign in "<≤>≥":
                context.bound(name.expr.name, sign, Fraction(int(number.expr.p), int(number.expr.q)))
    first, last = values[0], values[-1]
    if isinstance(first, Number) and first.expr.is_Symbol and set(chain.ops) <= {"=", ":=", "≈"}:
        second = values[1]
        for value in (second, last):
            if isinstance(value, Number) and value.expr.is_number:
                context.bind(first.expr, value.expr, chain.choice)
                break


def _learn_set(name: str, value: Value | str, context: Context) -> None:
    if isinstance(value, Interval):
        ends = [Fraction(int(e.p), int(e.q)) if e.is_Rational else None for e in (value.low, value.high)]
        context.inside(name, ends[0], ends[1], False)
    elif isinstance(value, SetExpr) and value.op in ("Z", "N"):
        context.inside(name, Fraction(0) if value.op == "N" else None, None, True)


def _holds(a: Expr, b: Expr, context: Context) -> bool:
    return decide.equal(a, b, context.domains).holds is True


def _variables(expr: Expr) -> set[Symbol]:
    return {one for one in expr.free_symbols if isinstance(one, Symbol) and one.name[0] != "[" and not one.is_Dummy}
