"""What a check found and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

Outcome = Literal["pass", "repair", "quarantine"]


class Check(NamedTuple):
    """One check of one rewrite.

    Attributes:
        name: the check.
        value: what was measured: a count of faults, or a share.
        threshold: the value that is still allowed.
        ok: whether it passed.
        code: the stable identifier that statistics count by, or "" when it passed.
        spans: the places concerned, as (start, end): of the rewrite, or of the source where `of_source`.
        of_source: something is missing from the rewrite, so that only the source has the place.
    """

    name: str
    value: float
    threshold: float
    ok: bool
    code: str
    spans: tuple[tuple[int, int], ...] = ()
    of_source: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "value": self.value, "threshold": self.threshold, "ok": self.ok, "code": self.code,
            "spans": [list(span) for span in self.spans], "of_source": self.of_source,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """`pass`; `repair`: asking once more, with the reasons, may help; `quarantine`: kept apart."""

    verdict: Outcome
    checks: tuple[Check, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the checks that failed, in order."""
        return tuple(check.code for check in self.checks if not check.ok)

    def as_json(self) -> dict[str, Any]:
        return {"verdict": self.verdict, "checks": [check.as_json() for check in self.checks]}


# Faults of the call, or a text that is no rewrite at all: the same request would bring the same.
HOPELESS = frozenset({"encoding", "refusal", "template"})


def judge(checks: Sequence[Check], attempt: int, attempts: int) -> Verdict:
    """The verdict on a rewrite that is the `attempt`-th of at most `attempts`, counted from one."""
    failed = [check.code for check in checks if not check.ok]
    outcome: Outcome = "pass"
    if failed:
        outcome = "quarantine" if attempt >= attempts or HOPELESS.intersection(failed) else "repair"
    return Verdict(outcome, tuple(checks))


def at_most(name: str, code: str, spans: Sequence[tuple[int, int]], limit: float, of_source: bool = False) -> Check:
    """A check that counts faults, each at a place, and allows so many."""
    if not spans and limit >= 0:
        return _without_fault(name, limit, of_source)
    ok = len(spans) <= limit
    return Check(name, len(spans), limit, ok, "" if ok else code, tuple(spans), of_source)


@lru_cache(maxsize=1024)
def _without_fault(name: str, limit: float, of_source: bool) -> Check:
    return Check(name, 0, limit, True, "", (), of_source)


def at_least(
    name: str, code: str, shares: Sequence[float], limit: float, sentences: Sequence[Any], of_source: bool
) -> Check:
    """A check of a share of each sentence, all of which must reach the limit; its value is the least.

    Args:
        sentences: with `start` and `end`, as many as shares.
    """
    least = min(shares, default=1.0)
    if least >= limit:
        return Check(name, round(least, 3), limit, True, "", (), of_source)
    spans = tuple((one.start, one.end) for one, share in zip(sentences, shares, strict=True) if share < limit)
    return Check(name, round(least, 3), limit, False, code, spans, of_source)
