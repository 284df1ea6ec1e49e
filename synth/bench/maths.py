"""The mathematics gate on pairs and chains whose truth is known because they were made: no hand-written case is here.

Expressions are drawn at random, written in another way by sympy (expanded, factored, put over one denominator), and
changed so that they say something else: terms, fractions turned over, units, points turned round, ends of intervals,
decimals. An accept of a changed one or a reject of a rewritten one is an error; undecided ones are counted by
themselves. All goes through the worker process, on one core.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import sympy
from sympy import Expr, Integer, Rational

from ..maths.answers import Pair
from ..maths.worker import Worker

NAME = "maths"
SUMMARY = "the mathematics gate: false accepts and rejects of planted errors in answers and chains, checks a second"

_X, _Y = sympy.symbols("x y")
_WAYS: tuple[Callable[[Expr], Expr], ...] = (sympy.expand, sympy.factor, sympy.together, sympy.trigsimp)
_UNITS = (("cm", "m"), ("kg", "g"), ("km/h", "m/s"), ("m^2", "m"), ("hours", "minutes"), ("dollars", "cents"))


def run(quick: bool) -> dict[str, Any]:
    """Counts of verdicts on true and on changed pairs, by kind of change, and checks a second."""
    rng = random.Random(7)
    pairs = list(_pairs(rng, 300 if quick else 3000))
    texts = list(_chains(rng, 100 if quick else 1000))
    seen: Counter[tuple[bool, str]] = Counter()
    wrong: Counter[str] = Counter()
    with Worker() as worker:
        worker.judge(pairs[0][1])
        start = time.perf_counter()
        for kind, pair, true in pairs:
            verdict = worker.judge(pair).verdict
            seen[true, verdict] += 1
            wrong[kind] += verdict == ("different" if true else "equal")
        rate = len(pairs) / (time.perf_counter() - start)
        steps = Counter((true, step.verdict) for text, true in texts for step in worker.steps(text))
        kills = worker.kills
    figures = {
        "pairs": len(pairs),
        "false_accepts": seen[False, "equal"],
        "false_rejects": seen[True, "different"],
        "undecided_share": round((seen[True, "undecided"] + seen[False, "undecided"]) / len(pairs), 4),
        **{f"wrong_{kind.replace(' ', '_')}": count for kind, count in wrong.items() if count},
        "chains": len(texts),
        "false_steps_found": round(steps[False, "false"] / max(sum(n for (t, _), n in steps.items() if not t), 1), 4),
        "false_steps_accepted": steps[False, "true"],
        "true_steps_rejected": steps[True, "false"],
        "checks_per_s": round(rate),
        "killed": kills,
    }
    return {"figures": figures, "peers": {}}


def _expression(rng: random.Random, depth: int = 2) -> Expr:
    if depth == 0:
        return rng.choice((_X, _Y, Integer(rng.randint(2, 9)), Rational(rng.randint(1, 9), rng.randint(2, 7))))
    a, b = _expression(rng, depth - 1), _expression(rng, depth - 1)
    return rng.choice((a + b, a * b, a - b, a**2 + b, sympy.sin(a) + b, a / (b**2 + 1)))


def _written(expr: Expr) -> str:
    return sympy.latex(expr, ln_notation=True)


def _pairs(rng: random.Random, count: int) -> Iterator[tuple[str, Pair, bool]]:
    """(kind, pair, whether the answer is right)."""
    for _ in range(count // 10):
        expr = _expression(rng)
        gold = _written(expr)
        yield "rewritten", Pair(gold, _written(rng.choice(_WAYS)(expr))), True
        yield "term added", Pair(gold, _written(sympy.expand(expr) + rng.choice((1, _X, Rational(1, 9))))), False
        yield "factor", Pair(gold, _written(sympy.expand(expr * 2 + 1))), sympy.expand(expr + 1) == 0
        a, b = rng.sample(range(2, 99), 2)
        yield "fraction", Pair(f"{a}/{b}", f"\\frac{{{3 * a}}}{{{3 * b}}}"), True
        yield "fraction turned", Pair(f"{a}/{b}", f"\\frac{{{b}}}{{{a}}}"), False
        unit, other = rng.choice(_UNITS)
        yield "unit", Pair(f"{a} {unit}", f"{a} {other}"), False
        yield "point turned", Pair(f"({a}, {b})", f"({b}, {a})"), False
        yield "end of an interval", Pair(f"x > {a}", f"[{a}, \\infty)"), False
        yield "interval", Pair(f"{a} < x \\le {a + b}", f"({a}, {a + b}]"), True
        yield "decimals", Pair(f"{a / 8}", f"{a / 8 + 0.001:.4f}"), False


def _chains(rng: random.Random, count: int) -> Iterator[tuple[str, bool]]:
    """(text with one claim, whether it is true)."""
    for number in range(count):
        a, b = rng.randint(11, 99), rng.randint(11, 99)
        off = 0 if number % 2 else rng.choice((-10, -1, 1, 2, 10))
        if number % 4 < 2:
            yield f"The total is {a} * {b} = {a * b + off} in all.", off == 0
        else:
            expr = _expression(rng)
            yield f"Expanding, ${_written(expr)} = {_written(sympy.expand(expr) + off)}$.", off == 0
