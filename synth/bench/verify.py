"""How many planted errors the verifier finds in texts that it was not developed on, and how often it cries wolf.

Chunks of real prose of three fields are rewritten by fact-preserving edits. Each rewrite as it is, and each of the
edits by itself, must pass; each with one planted error must not. The fields, and those that the rules were developed on
instead, stand in `verify_texts`. Rewrites by edits keep most of the wording: figures on a model's rewrites differ, and
so there are `verify_real`'s and `verify_free`'s beside them. The style is `edit`, whose only difference is that near-
copies are not refused: otherwise nearly every pair would be, and each error count as found. That copies are refused is
measured apart.
"""

from __future__ import annotations

import random
import time
from itertools import islice
from typing import Any

from ..verify.result import Verdict
from ..verify.rules import rules_for
from ..verify.trials import WHOLE, Counts, Pair, count, rewrites
from ..verify.verify import verify
from . import verify_free, verify_real
from .verify_texts import SUITE, texts

NAME = "verify"
SUMMARY = "planted errors found and false alarms of the verifier on three fields of real prose, and rows a second"

_OTHERS = 5  # chunks of the same field that foreign claims and names come from


def run(quick: bool) -> dict[str, Any]:
    """Build the suite, judge it, and time the verifier over it."""
    made = {field: pairs(field, packages, 40 if quick else 150) for field, packages in SUITE.items()}
    passed = {field: [_judge(pair).verdict == "pass" for pair in own] for field, own in made.items()}
    every = [pair for own in made.values() for pair in own]
    found = count(every, [ok for own in passed.values() for ok in own])
    sources = list(dict.fromkeys(pair.source for pair in every))
    copies = sum("copy" in verify(source, source, rules=rules_for("paraphrase")).codes for source in sources)
    kinds = {kind: rate.share for kind, rate in found.found.items()}
    figures = {
        "pairs": len(every),
        "kinds": len(kinds),
        "detection": round(found.detection, 4),
        "detection_worst_kind": round(min(kinds.values()), 4),
        "false_alarms": round(found.false_alarms.share, 4),
        **{f"detected_{kind}": round(share, 4) for kind, share in kinds.items()},
        **{f"planted_{kind}": rate.of for kind, rate in found.found.items()},
        **{f"detected_in_{field}": round(_detected(count(own, passed[field])), 4) for field, own in made.items()},
        **{f"false_alarms_{name}": round(rate.share, 4) for name, rate in found.alarms.items()},
        "near_copies_refused": round(copies / len(sources), 4),
        "rows_per_s_per_core": round(_speed([pair for pair in every if pair.kind == WHOLE])),
        **verify_real.figures(),
        **verify_free.figures(),
    }
    return {"figures": figures, "peers": {}}


def pairs(field: str, packages: tuple[str, ...], chunks: int) -> list[Pair]:
    """Sound and damaged rewrites of so many chunks of a field."""
    sources = list(dict.fromkeys(texts(packages)))
    random.Random(field).shuffle(sources)
    made: list[Pair] = []
    for number, source in enumerate(islice(sources, chunks)):
        others = [sources[(number + 7 * step + 1) % len(sources)] for step in range(_OTHERS)]
        made += rewrites(source, others, random.Random(f"{field}:{number}"))
    return made


def _detected(counts: Counts) -> float:
    """Share of all errors of a field, of whatever kind."""
    rates = counts.found.values()
    return sum(rate.count for rate in rates) / max(1, sum(rate.of for rate in rates))


def _judge(pair: Pair) -> Verdict:
    return verify(pair.source, pair.text, "edit")


def _speed(rows: list[Pair]) -> float:
    """Rows a second of one core's time, with the sources' fact sheets made before."""
    for row in rows:
        _judge(row)
    best = float("inf")
    for _ in range(3):
        begun = time.process_time()
        for row in rows:
            _judge(row)
        best = min(best, time.process_time() - begun)
    return len(rows) / best
