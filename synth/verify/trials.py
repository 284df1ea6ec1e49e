"""Rewrites whose truth is known because they were made, and counts of what the verifier says of them.

A chunk is rewritten by edits that leave what it says as it is; each such rewrite must pass. Then one error of each kind
that has a place there is planted; none must pass. An error counts as found if the rewrite passed without it: a false
alarm finds nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

from .edits import EDITORS, rewritten
from .plant import KINDS, plant

WHOLE = "combined"
_Z = 1.96  # of the normal distribution, for 95 of 100


class Pair(NamedTuple):
    """A rewrite of a source: sound, made by the edit `kind`, or with a planted error of that kind at `span`."""

    source: str
    text: str
    kind: str
    sound: bool
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rate:
    """So many of so many."""

    count: int
    of: int

    @property
    def share(self) -> float:
        return self.count / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval, in which the true share lies 95 times of 100."""
        if not self.of:
            return 0.0, 1.0
        share, n = self.share, self.of
        middle = share + _Z**2 / (2 * n)
        reach = _Z * sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n))
        return max(0.0, (middle - reach) / (1 + _Z**2 / n)), min(1.0, (middle + reach) / (1 + _Z**2 / n))

    def as_json(self) -> dict[str, Any]:
        low, high = self.interval
        return {"count": self.count, "of": self.of, "share": round(self.share, 4),
                "interval": [round(low, 4), round(high, 4)]}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Counts:
    """Errors found by kind, false alarms by edit."""

    found: dict[str, Rate]
    alarms: dict[str, Rate]

    @property
    def detection(self) -> float:
        """Mean share over the kinds of error."""
        return sum(rate.share for rate in self.found.values()) / len(self.found) if self.found else 0.0

    @property
    def false_alarms(self) -> Rate:
        """Over all sound rewrites."""
        return Rate(sum(rate.count for rate in self.alarms.values()), sum(rate.of for rate in self.alarms.values()))

    def as_json(self) -> dict[str, Any]:
        return {
            "detection": round(self.detection, 4), "false_alarms": self.false_alarms.as_json(),
            "by_kind": {kind: rate.as_json() for kind, rate in self.found.items()},
            "by_edit": {name: rate.as_json() for name, rate in self.alarms.items()},
        }  # fmt: skip


def rewrites(source: str, others: Sequence[str], rng: random.Random) -> Iterator[Pair]:
    """Sound rewrites of a chunk, the first of which is the one that errors are planted into, and those with errors."""
    whole = rewritten(source, rng)
    yield Pair(source, whole, WHOLE, True, (0, 0))
    for name, editor in EDITORS.items():
        text = editor(source, rng)
        if text != source:
            alone = name in ("synonyms", "connectives")
            yield Pair(source, text if alone else rewritten(text, rng, ("synonyms", "connectives")), name, True, (0, 0))
    for kind in KINDS:
        planted = plant(whole, kind, rng, others)
        if planted is not None:
            yield Pair(source, planted.text, kind, False, (planted.start, planted.end))


def count(pairs: Sequence[Pair], passed: Sequence[bool]) -> Counts:
    """Count over pairs in the order of `rewrites`, of which it is known whether they passed."""
    seen: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    failed: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    whole_passed = False
    for pair, ok in zip(pairs, passed, strict=True):
        if pair.kind == WHOLE:
            whole_passed = ok
        seen[pair.sound][pair.kind] += 1
        failed[pair.sound][pair.kind] += not ok and (pair.sound or whole_passed)
    rates = {sound: {kind: Rate(failed[sound][kind], of) for kind, of in sorted(seen[sound].items())} for sound in seen}
    return Counts(rates[False], rates[True])
