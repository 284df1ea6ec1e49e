"""Values of expressions at a point, in arithmetic of a chosen precision, with a look-out for what numbers can hide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy
from mpmath import mp, mpc, mpf
from sympy import Expr

_FUNCTIONS: dict[type, Callable[..., Any]] = {
    sympy.sin: mp.sin, sympy.cos: mp.cos, sympy.tan: mp.tan, sympy.cot: mp.cot, sympy.sec: mp.sec, sympy.csc: mp.csc,
    sympy.asin: mp.asin, sympy.acos: mp.acos, sympy.atan: mp.atan, sympy.sinh: mp.sinh, sympy.cosh: mp.cosh,
    sympy.tanh: mp.tanh, sympy.exp: mp.exp, sympy.log: mp.log, sympy.Abs: abs, sympy.re: mp.re, sympy.im: mp.im,
    sympy.sign: mp.sign,
}  # fmt: skip
_EXACT = (sympy.floor, sympy.ceiling)
_CONSTANTS = {sympy.pi: lambda: mp.pi, sympy.E: lambda: mp.e, sympy.I: lambda: mpc(0, 1),
              sympy.GoldenRatio: lambda: mp.phi, sympy.EulerGamma: lambda: mp.euler}  # fmt: skip
_MAX_EXPONENT = 400
_MAX_TERMS = 200


class Unknown(ValueError):
    """The expression has no value here, or none that this arithmetic can find."""


class Evaluation:
    """Computes at one point; afterwards `least` and `greatest` bound the sizes of all values met on the way."""

    def __init__(self, point: Mapping[Expr, Any]) -> None:
        self.point = dict(point)
        self.least, self.greatest = mpf(1), mpf(1)
        self.pinched = False  # something near a jump: floor or sign of what is nearly an integer or zero

    def value(self, expr: Expr) -> Any:
        """Raises Unknown."""
        try:
            result = self._value(expr)
        except (ZeroDivisionError, OverflowError, ValueError, TypeError, mp.NoConvergence) as error:
            raise Unknown(str(error)) from error
        if not mp.isfinite(result):
            raise Unknown("not finite")
        size = abs(result)
        if size:
            self.least, self.greatest = min(self.least, size), max(self.greatest, size)
        return result

    def _value(self, expr: Expr) -> Any:
        if expr in self.point:
            return self.point[expr]
        if expr.is_Rational:
            return mpf(int(expr.p)) / int(expr.q)
        if expr in _CONSTANTS:
            return _CONSTANTS[expr]()
        if expr.is_Add:
            return mp.fsum(self.value(part) for part in expr.args)
        if expr.is_Mul:
            return mp.fprod(self.value(part) for part in expr.args)
        if expr.is_Pow:
            return self._power(expr)
        if isinstance(expr, _EXACT):
            inner = mp.re(self.value(expr.args[0]))
            self.pinched |= abs(inner - mp.nint(inner)) < mpf(10) ** -15 and not expr.args[0].is_Rational
            return mp.floor(inner) if isinstance(expr, sympy.floor) else mp.ceil(inner)
        if type(expr) in _FUNCTIONS:
            inner = self.value(expr.args[0])
            if isinstance(expr, sympy.exp) and abs(inner) > _MAX_EXPONENT:
                raise Unknown("exponent too large")
            return _FUNCTIONS[type(expr)](inner)
        return self._rarer(expr)

    def _power(self, expr: Expr) -> Any:
        base, exponent = self.value(expr.base), self.value(expr.exp)
        if abs(exponent) > _MAX_EXPONENT:
            raise Unknown("exponent too large")
        if expr.exp.is_Integer:
            return base ** int(expr.exp)
        if mp.im(exponent) == 0 and exponent == mp.nint(exponent):
            return base ** int(mp.re(exponent))
        return mp.power(base, exponent)

    def _rarer(self, expr: Expr) -> Any:
        values = [self.value(part) for part in expr.args] if not isinstance(expr, sympy.Sum | sympy.Product) else []
        if isinstance(expr, sympy.factorial):
            return mp.factorial(_natural(values[0]))
        if isinstance(expr, sympy.binomial):
            return mp.binomial(_natural(values[0]), _natural(values[1]))
        if isinstance(expr, sympy.Max | sympy.Min) and all(mp.im(one) == 0 for one in values):
            return (max if isinstance(expr, sympy.Max) else min)(mp.re(one) for one in values)
        if isinstance(expr, sympy.Mod):
            return mpf(_integer(values[0]) % _integer(values[1]))
        if isinstance(expr, sympy.Sum | sympy.Product) and len(expr.limits) == 1:
            return self._terms(expr)
        raise Unknown(f"{type(expr).__name__} has no value here")

    def _terms(self, expr: Any) -> Any:
        index, low, high = expr.limits[0]
        first, last = _integer(self.value(low)), _integer(self.value(high))
        if last - first > _MAX_TERMS or last < first - 1:
            raise Unknown("too many terms")
        saved = self.point.get(index)
        values = []
        for at in range(first, last + 1):
            self.point[index] = mpf(at)
            values.append(self.value(expr.function))
        self.point.pop(index, None)
        if saved is not None:
            self.point[index] = saved
        return mp.fsum(values) if isinstance(expr, sympy.Sum) else mp.fprod(values)


def _integer(value: Any) -> int:
    if mp.im(value) != 0 or mp.re(value) != mp.nint(mp.re(value)):
        raise Unknown("not an integer")
    return int(mp.re(value))


def _natural(value: Any) -> int:
    found = _integer(value)
    if not 0 <= found <= 500:
        raise Unknown("not a small natural number")
    return found
