"""Which thresholds reach a wanted share of false alarms at the least cost in errors found.

What each check measured on each pair is known, so that other thresholds can be tried without judging again. Alarms that
are too many are bought off step by step, each time by the threshold that frees most sound rewrites for the fewest
errors let through. Are they few enough, support and coverage are raised as long as they stay so and more errors are
found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .result import Verdict
from .rules import Rules
from .trials import Counts, Pair, count

_COUNTED = ("number_new", "number_lost", "number_context", "unit", "date", "name_new", "name_lost", "name_context",
            "negation", "modal", "quantifier", "comparator", "role", "scope", "reference")  # fmt: skip
_SHARES = ("support", "coverage", "embedding_support", "embedding_coverage")
_RULE = {name: name for name in (*_COUNTED, *_SHARES)} | {"date_lost": "date"}  # by the name of the check
_STEP = 0.05
_FREE = 0.002  # of detection, at which a step counts as costing nothing much
_STEPS = 20

Limits = dict[str, Any]


class _Measured(NamedTuple):
    """What a pair's checks measured, by rule; `otherwise`: whether all checks that no threshold here moves passed."""

    values: tuple[tuple[str, float], ...]
    otherwise: bool


def suggest(pairs: Sequence[Pair], verdicts: Sequence[Verdict], rules: Rules, wanted: float) -> Limits:
    """The rules that should be set otherwise, with their new values (None: off)."""
    rows = [_measured(verdict) for verdict in verdicts]
    start = {name: getattr(rules, name) for name in (*_COUNTED, *_SHARES)}
    limits = dict(start)
    now = _counts(pairs, rows, limits)
    for _ in range(_STEPS):
        if now.false_alarms.share <= wanted:
            break
        tried = [(one, _counts(pairs, rows, {**limits, **one})) for one in _looser(pairs, rows, limits)]
        tried = [(one, then) for one, then in tried if then.false_alarms.count < now.false_alarms.count]
        if not tried:
            break
        change, now = max(tried, key=lambda one: _worth(now, one[1]))
        limits |= change
    for name in _SHARES:
        while limits[name] is not None and limits[name] + _STEP < 1:
            tighter = {**limits, name: round(limits[name] + _STEP, 2)}
            then = _counts(pairs, rows, tighter)
            if then.false_alarms.share > wanted or then.detection <= now.detection:
                break
            limits, now = tighter, then
    return {name: limit for name, limit in limits.items() if limit != start[name]}


def _measured(verdict: Verdict) -> _Measured:
    values = tuple((_RULE[check.name], check.value) for check in verdict.checks if check.name in _RULE)
    return _Measured(values, all(check.ok for check in verdict.checks if check.name not in _RULE))


def _counts(pairs: Sequence[Pair], rows: Sequence[_Measured], limits: Limits) -> Counts:
    return count(pairs, [row.otherwise and not any(_fails(limits, *one) for one in row.values) for row in rows])


def _fails(limits: Limits, name: str, value: float) -> bool:
    limit = limits[name]
    return limit is not None and (value < limit if name in _SHARES else value > limit)


def _looser(pairs: Sequence[Pair], rows: Sequence[_Measured], limits: Limits) -> Iterator[Limits]:
    """Looser thresholds of each rule that some sound rewrite fails by."""
    failing = {
        name for pair, row in zip(pairs, rows, strict=True) if pair.sound and row.otherwise
        for name, value in row.values if _fails(limits, name, value)
    }  # fmt: skip
    for name in sorted(failing):
        if name in _SHARES:
            steps = [round(limits[name] - _STEP * step, 2) for step in range(1, int(limits[name] / _STEP) + 1)]
        else:
            steps = [limits[name] + more for more in (1, 2, 3)]
        yield from ({name: limit} for limit in (*steps, None))


def _worth(now: Counts, then: Counts) -> float:
    freed = now.false_alarms.count - then.false_alarms.count
    return freed / (max(0.0, now.detection - then.detection) + _FREE)
