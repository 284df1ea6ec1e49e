"""Sums, powers and functions as sympy builds them, but for what would not fit into memory or does not exist."""

from __future__ import annotations

import sympy
from sympy import Expr, Integer, Symbol

from .errors import Ambiguous, Degenerate, TooLarge

# Stands for the base of a `log` that names none: e for some authors, 10 for others.
LOG_BASE = Symbol("log base", positive=True)

_MAX_BITS = 20_000
_MAX_FACTORIAL = 1_000
_PLAIN = {
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "cot": sympy.cot, "sec": sympy.sec, "csc": sympy.csc,
    "arcsin": sympy.asin, "arccos": sympy.acos, "arctan": sympy.atan, "asin": sympy.asin, "acos": sympy.acos,
    "atan": sympy.atan, "sinh": sympy.sinh, "cosh": sympy.cosh, "tanh": sympy.tanh, "exp": sympy.exp, "ln": sympy.log,
    "abs": sympy.Abs, "floor": sympy.floor, "ceil": sympy.ceiling, "ceiling": sympy.ceiling, "sqrt": sympy.sqrt,
    "cbrt": sympy.cbrt, "re": sympy.re, "im": sympy.im, "arg": sympy.arg,
}  # fmt: skip
_INVERSE = {"sin": "arcsin", "cos": "arccos", "tan": "arctan"}
_MANY = {"max": sympy.Max, "min": sympy.Min, "gcd": sympy.gcd, "lcm": sympy.lcm}


def add(left: Expr, right: Expr) -> Expr:
    return left + right


def multiply(left: Expr, right: Expr) -> Expr:
    return left * right


def divide(left: Expr, right: Expr) -> Expr:
    """Raises Degenerate for a division by zero."""
    if right.is_zero:
        raise Degenerate("division by zero")
    return left / right


def power(base: Expr, exponent: Expr) -> Expr:
    """Raises TooLarge for a number of more than 20,000 bits, Degenerate for 0⁰ and 1/0."""
    if base.is_zero and not exponent.is_positive and exponent.is_number:
        raise Degenerate("zero to a power that is not positive")
    if exponent.is_Rational and base.is_Rational:
        bits = max(int(base.p).bit_length(), int(base.q).bit_length())
        if base not in (-1, 0, 1) and bits * abs(exponent) > _MAX_BITS:
            raise TooLarge(f"a power of more than {_MAX_BITS} bits")
    elif exponent.is_Integer and not base.is_Symbol and abs(exponent) > 200 and not base.is_Atom:
        raise TooLarge("a high power of a sum or product")
    elif exponent.is_number and base.is_number and abs(exponent.evalf(5)) > _MAX_BITS:
        raise TooLarge("a power of numbers with a huge exponent")
    return base**exponent


def factorial(value: Expr) -> Expr:
    """Raises TooLarge above 1000!, Degenerate for what has no factorial."""
    if value.is_Integer and value > _MAX_FACTORIAL:
        raise TooLarge(f"a factorial above {_MAX_FACTORIAL}")
    if value.is_number and not (value.is_integer and value.is_nonnegative):
        raise Degenerate("factorial of what is not a natural number")
    return sympy.factorial(value)


def binomial(top: Expr, below: Expr) -> Expr:
    """Raises TooLarge for numbers above 10,000."""
    if any(one.is_number and abs(one) > 10_000 for one in (top, below)):
        raise TooLarge("a binomial coefficient of numbers above 10,000")
    return sympy.binomial(top, below)


def modulo(left: Expr, right: Expr) -> Expr:
    if right.is_zero:
        raise Degenerate("modulo zero")
    return sympy.Mod(left, right)


def root(degree: Expr, value: Expr) -> Expr:
    """The real root where there is one: the cube root of −8 is −2, as in textbooks."""
    if degree.is_Integer and degree % 2 == 1 and degree > 0:
        if value.is_number and value.is_negative:
            return -((-value) ** (1 / degree))
        if value.is_number or value.is_nonnegative:
            return power(value, 1 / degree)
        return sympy.sign(value) * sympy.Abs(value) ** (1 / degree)
    if degree.is_zero:
        raise Degenerate("the zeroth root")
    return power(value, 1 / degree)


def log(value: Expr, base: Expr = LOG_BASE) -> Expr:
    """Raises Degenerate for the logarithm of zero and for base one."""
    if value.is_zero or base in (0, 1):
        raise Degenerate("a logarithm that does not exist")
    return sympy.log(value) / sympy.log(base)


def call(name: str, arguments: list[Expr]) -> Expr:
    """A function of values. Raises Degenerate for the wrong number of them."""
    if name in _MANY:
        if name in ("gcd", "lcm") and not all(one.is_Integer for one in arguments):
            raise Ambiguous(f"{name} of what are not numbers")
        result = arguments[0]
        for one in arguments[1:]:
            result = _MANY[name](result, one)
        return result
    if len(arguments) != 1:
        raise Degenerate(f"{name} of {len(arguments)} values")
    value = arguments[0]
    if name in ("log", "lg"):
        return log(value, LOG_BASE if name == "log" else Integer(10))
    if name == "ln":
        return log(value, sympy.E)
    if name == "exp":
        return power(sympy.E, value)
    result = _PLAIN[name](value)
    if result.has(sympy.zoo, sympy.nan):
        raise Degenerate(f"{name} has no value here")
    return result


def inverse(name: str) -> str:
    """sin⁻¹ is arcsin. Raises Degenerate for functions without a named inverse."""
    if name not in _INVERSE:
        raise Degenerate(f"{name}⁻¹ is not known")
    return _INVERSE[name]
