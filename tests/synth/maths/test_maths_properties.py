"""Random identities, made by sympy's rewriting, are never false; the same ones with a change in them are never true."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from k3data.synth.maths.answers import Pair, judge
from k3data.synth.maths.chains import steps
from k3data.synth.maths.errors import UNREADABLE
from k3data.synth.maths.parse import parse, parse_number

_X, _Y = sympy.symbols("x y")
_WAYS = (
    sympy.expand, sympy.factor, sympy.together, sympy.apart, sympy.expand_trig, sympy.trigsimp, sympy.powsimp,
    sympy.cancel, lambda expr: sympy.collect(expr, _X),
)  # fmt: skip


def _grown(inner: st.SearchStrategy[sympy.Expr]) -> st.SearchStrategy[sympy.Expr]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda two: two[0] + two[1]),
        pairs.map(lambda two: two[0] * two[1]),
        st.tuples(inner, st.integers(2, 3)).map(lambda two: two[0] ** two[1]),
        st.tuples(inner, st.sampled_from((sympy.sin, sympy.cos))).map(lambda two: two[1](two[0])),
        st.tuples(inner, inner).map(lambda two: two[0] / (two[1] ** 2 + 1)),
    )


_NUMBERS = st.fractions(-9, 9, max_denominator=6).map(sympy.Rational)
_EXPRESSIONS = st.recursive(st.sampled_from((_X, _Y)) | _NUMBERS, _grown, max_leaves=5)


def latex(expr: sympy.Expr) -> str:
    return sympy.latex(expr, ln_notation=True)


def rewritten(expr: sympy.Expr, way: int) -> sympy.Expr:
    try:
        return _WAYS[way](expr)
    except (sympy.PolynomialError, NotImplementedError):
        return expr + 0  # apart knows one variable only


@settings(max_examples=60, deadline=None)
@given(_EXPRESSIONS, st.integers(0, len(_WAYS) - 1))
def test_true_identities_are_never_false(expr: sympy.Expr, way: int) -> None:
    assume(expr.is_finite is not False)
    left, right = latex(expr), latex(rewritten(expr, way))
    for step in steps(f"For all $x$ and $y$: ${left} = {right} = {left}$."):
        assert step.verdict != "false", (left, right, step.reason)
    assert judge(Pair(left, right)).verdict != "different", (left, right)


@settings(max_examples=60, deadline=None)
@given(_EXPRESSIONS, st.integers(0, len(_WAYS) - 1), st.sampled_from((1, -1, sympy.Rational(1, 7), _X, _X * _Y)))
def test_perturbed_identities_are_never_true(expr: sympy.Expr, way: int, change: sympy.Expr) -> None:
    right = rewritten(expr, way) + change
    first, second = latex(expr), latex(right)
    assert [step.verdict for step in steps(f"For all $x$: ${first} = {second}$.") if step.verdict == "true"] == []
    assert judge(Pair(first, second)).verdict != "equal", (first, second)


@settings(max_examples=60, deadline=None)
@given(_EXPRESSIONS)
def test_latex_is_read_as_what_sympy_wrote(expr: sympy.Expr) -> None:
    assert sympy.simplify(parse_number(latex(expr)).expr - expr) == 0


@settings(max_examples=300, deadline=None)
@given(st.text("0123456789xyei+-*/^=<>(){}[]|,.!%$_ \\", max_size=25) | st.text(max_size=12))
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    try:
        parse(text)
    except UNREADABLE as error:
        assert str(error)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 99), st.integers(1, 99), st.sampled_from(["?", "@", "\\foo", ")", "}", "??", "+", "^"]))
def test_a_formula_with_a_sign_too_many_is_refused(a: int, b: int, more: str) -> None:
    for text in (f"{a} + {b} {more}", f"{a} {more} ) {b}", f"{a} + {b} {more} {more}"):
        with pytest.raises(UNREADABLE):
            parse(text)


@settings(max_examples=100, deadline=None)
@given(st.integers(-999, 999), st.integers(-999, 999))
def test_answers_agree_with_arithmetic(a: int, b: int) -> None:
    assert (judge(Pair(str(a), str(b))).verdict == "equal") == (a == b)
    assert judge(Pair(f"{a} + ({b})", f"${a + b}$")).verdict == "equal"
    assert judge(Pair(str(a + b), str(a + b + 1))).verdict == "different"
