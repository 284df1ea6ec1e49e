"""Whether two expressions are equal, or one is less: by values at several points, and then by algebra.

A difference that stays as it is when the precision doubles is real: one such point refutes. Equality needs more: the
difference vanishes at every point, and either algebra proves it, or nothing in the expressions could make values
deceive (no tiny or huge value on the way, no jump, no digit string long enough to hide in).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy
from mpmath import mp, mpf
from sympy import Expr, Symbol

from .build import LOG_BASE
from .evaluate import Evaluation, Unknown

_LOW, _HIGH = 50, 100  # decimal digits of the two precisions
_POINTS = 10
_JUMPS = (sympy.Abs, sympy.sign, sympy.floor, sympy.ceiling, sympy.Mod, sympy.Max, sympy.Min, sympy.re, sympy.im)
_DISCRETE = (sympy.Sum, sympy.Product, sympy.factorial, sympy.binomial, sympy.Mod)


@dataclass(frozen=True)
class Domain:
    """Where a variable lives. The ends are open where it matters, for points are drawn from the inside."""

    low: Fraction | None = None
    high: Fraction | None = None
    integer: bool = False


_UNIT = Domain(low=Fraction(2))  # the size of a base unit: any number but 1, which would hide that it is missing
Domains = Mapping[str, Domain]


@dataclass(frozen=True)
class Verdict:
    """`holds` is true, false or None for undecided; `reason` says why it is not true."""

    holds: bool | None
    reason: str = ""


def equal(left: Expr, right: Expr, domains: Domains | None = None) -> Verdict:
    """Whether two expressions have the same value wherever both have one (over the reals, unless i occurs)."""
    domains = domains or {}
    if left.has(sympy.Integral, sympy.Limit) or right.has(sympy.Integral, sympy.Limit):
        left, right = left.doit(), right.doit()
        if left.has(sympy.AccumBounds, sympy.Integral, sympy.Limit) or right.has(sympy.Integral, sympy.Limit):
            return Verdict(None, "a limit or an integral that was not found")
    difference = left - right
    if difference.is_zero:
        return Verdict(True)
    if {left, right} & {sympy.oo, -sympy.oo}:
        return (
            Verdict(left == right, "one side is infinite") if left.is_number and right.is_number else Verdict(None, "∞")
        )
    if difference.has(sympy.zoo, sympy.nan):
        return Verdict(None, "a value that does not exist")
    if LOG_BASE in difference.free_symbols:
        verdicts = [
            equal(left.subs(LOG_BASE, b), right.subs(LOG_BASE, b), domains) for b in (sympy.E, sympy.Integer(10))
        ]
        return verdicts[0] if verdicts[0].holds == verdicts[1].holds else Verdict(None, "depends on the base of log")
    if difference.is_Rational:
        return Verdict(False, f"they differ by {_short(difference)}")
    agreed, refuted, safe = _probe(left, right, domains)
    if refuted:
        mixed = agreed and not any(name.name in domains for name in _symbols(difference))
        return Verdict(None, "holds at some points only") if mixed else Verdict(False, refuted)
    if _prove_zero(difference, domains):
        return Verdict(True)
    if agreed >= (1 if difference.is_number else 5) and safe and not difference.has(*_JUMPS):
        return Verdict(True)
    return Verdict(
        None, "values agree, but nothing proves it" if agreed else "no point at which both sides have a value"
    )


def compare(left: Expr, op: str, right: Expr, domains: Domains | None = None) -> Verdict:
    """Whether `left op right` holds at all points, for < ≤ > ≥ and ≠. False says that it holds nowhere."""
    if op in "≠":
        verdict = equal(left, right, domains)
        return Verdict(None if verdict.holds is None else not verdict.holds, verdict.reason or "the sides are equal")
    if op in ">≥":
        left, right, op = right, left, "<" if op == ">" else "≤"
    domains = domains or {}
    same = equal(left, right, domains)
    if same.holds:
        return Verdict(op == "≤", "the sides are equal")
    found = [sign for sign in _signs(right - left, domains) if sign is not None]
    if not found:
        return Verdict(None, "no point at which both sides have a value")
    if all(sign < 0 for sign in found):
        return Verdict(False, "it is the other way round")
    if any(sign < 0 for sign in found):
        return Verdict(None, "holds at some points only")
    difference = right - left
    if difference.is_number:
        return Verdict(True) if found[0] > 0 else Verdict(None, "too close to tell")
    assumed = sympy.factor(_assume(difference, domains))
    proved = assumed.is_positive if op == "<" else assumed.is_nonnegative
    return Verdict(True) if proved else Verdict(None, "holds at every point tried, but nothing proves it")


def _signs(difference: Expr, domains: Domains) -> Iterator[int | None]:
    if LOG_BASE in difference.free_symbols:
        yield None
        return
    for point in _points((difference,), domains):
        with mp.workdps(_HIGH):
            try:
                value = Evaluation(_numbers(point)).value(difference)
            except Unknown:
                yield None
                continue
            tiny = abs(value) < mpf(10) ** -(_HIGH // 2)
            yield None if abs(mp.im(value)) > mpf(10) ** -_LOW or tiny else int(mp.sign(mp.re(value)))


def _probe(left: Expr, right: Expr, domains: Domains) -> tuple[int, str, bool]:
    """Points that agree, a refutation or nothing, and whether values alone may be believed."""
    agreed, refuted, safe = 0, "", _short_literals(left) and _short_literals(right)
    complex_ = left.has(sympy.I) or right.has(sympy.I)
    for point in _points((left, right), domains):
        found = []
        for digits in (_LOW, _HIGH):
            with mp.workdps(digits):
                run = Evaluation(_numbers(point))
                try:
                    a, b = run.value(left), run.value(right)
                except Unknown:
                    break
                if not complex_ and max(abs(mp.im(a)), abs(mp.im(b))) > mpf(10) ** -(digits - 10):
                    break
                found.append((abs(a - b), run))
        if len(found) < 2:
            continue
        (coarse, _), (fine, run) = found
        if fine == 0 or fine < mpf(10) ** -(_LOW + 15) * run.greatest:
            agreed += 1
            safe &= not run.pinched and run.least > mpf(10) ** -12 and run.greatest < mpf(10) ** 12
        elif abs(coarse - fine) < fine / 100 and not run.pinched:
            refuted = (
                f"at {_told(point)} they differ by {mp.nstr(fine, 3)}" if point else f"differ by {mp.nstr(fine, 3)}"
            )
            if agreed or not point:
                break
    return agreed, refuted, safe


def _prove_zero(difference: Expr, domains: Domains) -> bool:
    """Whether algebra reduces the difference to zero."""
    assumed = _assume(difference, domains)
    if assumed.has(sympy.Sum, sympy.Product, sympy.Integral, sympy.Limit):
        assumed = assumed.doit()
        if assumed.has(sympy.Integral, sympy.Limit, sympy.AccumBounds, sympy.nan):
            return False
    for way in (sympy.expand, sympy.cancel, sympy.simplify):
        assumed = way(assumed)
        if assumed == 0:
            return True
    return assumed.is_number and assumed.equals(0) is True


def _assume(expr: Expr, domains: Domains) -> Expr:
    """The expression with its variables known to be real, positive or integer, as they are."""
    swap = {}
    for symbol in _symbols(expr):
        domain = domains.get(symbol.name, Domain())
        known: dict[str, bool] = {"integer": True} if domain.integer else {"real": True}
        if domain.low is not None and domain.low >= 0:
            known["positive"] = True
        if domain.high is not None and domain.high <= 0:
            known["negative"] = True
        swap[symbol] = symbol if symbol.is_positive else Symbol(symbol.name, **known)
    return expr.xreplace(swap)


def _points(exprs: tuple[Expr, ...], domains: Domains) -> Iterator[dict[Symbol, Fraction]]:
    """Points inside the domains: positive ones first, then of all signs. One, empty, where nothing is variable."""
    symbols = sorted({one for expr in exprs for one in expr.free_symbols}, key=str)
    if not symbols:
        yield {}
        return
    discrete = {one for expr in exprs for part in expr.atoms(*_DISCRETE) for one in part.free_symbols}
    powers = [part for expr in exprs for part in expr.atoms(sympy.Pow) if part.base.is_negative]
    discrete |= {one for part in powers for one in part.exp.free_symbols}
    rng = random.Random(str(sorted(one.name for one in symbols)))
    for number in range(_POINTS):
        yield {
            one: _draw(
                rng,
                _UNIT if one.name[0] == "[" else domains.get(one.name, Domain()),
                one in discrete,
                number < 6 or bool(one.is_positive),
            )
            for one in symbols
        }


def _draw(rng: random.Random, domain: Domain, discrete: bool, positive: bool) -> Fraction:
    low, high = domain.low, domain.high
    if domain.integer or discrete:
        first = int(low) + 1 if low is not None else 1 if high is None or discrete else int(high) - 12
        last = int(high) - 1 if high is not None else first + 11
        return Fraction(rng.randint(first, max(first, last)))
    if low is None and high is None:
        size = Fraction(rng.randint(20, 299), 97)
        return size if positive or rng.random() < 0.5 else -size
    if low is None or high is None:
        size = Fraction(rng.randint(20, 399), 97)
        return low + size if low is not None else high - size  # type: ignore[operator]
    return low + (high - low) * Fraction(rng.randint(1, 96), 97)


def _numbers(point: Mapping[Symbol, Fraction]) -> dict[Any, Any]:
    return {symbol: mpf(value.numerator) / value.denominator for symbol, value in point.items()}


def _symbols(expr: Expr) -> list[Any]:
    return sorted(expr.free_symbols, key=str)


def _short_literals(expr: Expr) -> bool:
    """No number is long enough to hide a tiny term in."""
    return all(max(abs(int(one.p)), int(one.q)).bit_length() <= 40 for one in expr.atoms(sympy.Rational))


def _told(point: Mapping[Symbol, Fraction]) -> str:
    return ", ".join(f"{symbol.name} = {float(value):.3g}" for symbol, value in point.items())


def _short(expr: Expr) -> str:
    text = str(expr)
    return text if len(text) < 30 else f"{float(expr):.3g}"
