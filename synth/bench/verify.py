"""How many planted errors the verifier finds in texts that it was not developed on, and how often it cries wolf.

Chunks of real prose of three fields are rewritten by fact-preserving edits. Each rewrite as it is, and each of the
edits by itself, must pass; each with one planted error must not. The fields, and those that the rules were developed
on instead, stand in `verify_texts`. Rewrites by edits keep most of the wording: figures on a model's rewrites will
differ. The style is `edit`, whose only difference is that near-copies are not refused: otherwise nearly every pair
would be, and each error count as found. That copies are refused is measured apart.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from itertools import islice
from typing import Any

from ..verify.edits import EDITORS, rewritten
from ..verify.plant import KINDS, plant
from ..verify.rules import rules_for
from ..verify.verify import verify
from .verify_texts import SUITE, texts

NAME = "verify"
SUMMARY = "planted errors found and false alarms of the verifier on three fields of real prose, and rows a second"

_OTHERS = 5  # chunks of the same field that foreign claims and names come from


def run(quick: bool) -> dict[str, Any]:
    """Build the suite, judge it, and time the verifier over it."""
    found = measure(SUITE, 40 if quick else 150)
    kinds = {kind: found["caught"][kind] / count for kind, count in sorted(found["planted"].items())}
    fields = {
        f"detected_in_{field}": round(found["caught_in"][field] / count, 4)
        for field, count in found["planted_in"].items()
    }
    figures = {
        "pairs": sum(found["planted"].values()) + sum(found["sound"].values()),
        "kinds": len(kinds),
        "detection": round(sum(kinds.values()) / len(kinds), 4),
        "detection_worst_kind": round(min(kinds.values()), 4),
        "false_alarms": round(sum(found["alarms"].values()) / sum(found["sound"].values()), 4),
        **{f"detected_{kind}": round(share, 4) for kind, share in kinds.items()},
        **{f"planted_{kind}": found["planted"][kind] for kind in kinds},
        **fields,
        **{f"false_alarms_{name}": round(found["alarms"][name] / n, 4) for name, n in sorted(found["sound"].items())},
        "near_copies_refused": round(found["copies_refused"] / found["copies"], 4),
        "rows_per_s_per_core": round(_speed(found["rows"])),
    }
    return {"figures": figures, "peers": {}}


def measure(fields: dict[str, tuple[str, ...]], chunks: int) -> dict[str, Any]:
    """Judge sound and damaged rewrites of so many chunks a field, and count.

    A sound rewrite that does not pass is a false alarm, whatever the check. An error counts as found if the rewrite
    does not pass, and did before the error was planted: a false alarm finds nothing.
    """
    count: dict[str, Counter[str]] = {
        name: Counter() for name in ("planted", "caught", "planted_in", "caught_in", "sound", "alarms")
    }
    rows: list[tuple[str, str]] = []
    refused = copies = 0
    for field, packages in fields.items():
        sources = list(dict.fromkeys(texts(packages)))
        random.Random(field).shuffle(sources)
        for number, source in enumerate(islice(sources, chunks)):
            rng = random.Random(f"{field}:{number}")
            whole = rewritten(source, rng)
            passed = _passes(source, whole)
            _sound(source, {"combined": whole, **_variants(source, rng)}, count)
            rows.append((source, whole))
            copies += 1
            refused += "copy" in verify(source, source, rules=rules_for("paraphrase")).codes
            others = [sources[(number + 7 * step + 1) % len(sources)] for step in range(_OTHERS)]
            for kind in KINDS:
                damaged = plant(whole, kind, rng, others)
                if damaged is None:
                    continue
                caught = passed and not _passes(source, damaged.text)
                count["planted"][kind] += 1
                count["planted_in"][field] += 1
                count["caught"][kind] += caught
                count["caught_in"][field] += caught
    return {**count, "rows": rows, "copies": copies, "copies_refused": refused}


def _variants(source: str, rng: random.Random) -> dict[str, str]:
    """Each edit by itself, among synonyms and connectives, where it changes anything."""
    found = {}
    for name, editor in EDITORS.items():
        text = editor(source, rng)
        if text != source:
            found[name] = (
                text if name in ("synonyms", "connectives") else rewritten(text, rng, ("synonyms", "connectives"))
            )
    return found


def _sound(source: str, variants: dict[str, str], count: dict[str, Counter[str]]) -> None:
    for name, text in variants.items():
        count["sound"][name] += 1
        count["alarms"][name] += not _passes(source, text)


def _passes(source: str, text: str) -> bool:
    return verify(source, text, "edit").verdict == "pass"


def _speed(rows: list[tuple[str, str]]) -> float:
    """Rows a second of one core's time, with the sources' fact sheets made before."""
    for source, text in rows:
        verify(source, text, "edit")
    best = float("inf")
    for _ in range(3):
        begun = time.process_time()
        for source, text in rows:
            verify(source, text, "edit")
        best = min(best, time.process_time() - begun)
    return len(rows) / best
