"""The verifier's agreement with a reader on rewrites by a model.

SmolLM2-135M-Instruct rewrote, summarised and asked about chunks of the suite's packages. Each answer was read beside
its source, before any verdict was known, and labelled: `faithful` (says nothing that the source does not say, and in a
paraphrase leaves out nothing of weight), `unfaithful`, or `no_answer` (not what was asked for: loops, continuations,
talk). The sources are not stored but found again in the installed packages, by file and characters, and checked by
their hash: rows whose package has changed since are left out and counted.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ...pipelines.errors import UserError
from ..verify.verify import verify
from .verify_texts import document

LABELS = Path(__file__).with_suffix(".jsonl")
FORM = frozenset({"copy", "ratio", "format", "length", "loop", "lang", "template", "meta", "echo"})
"""Codes of what is no matter of truth."""


class Labelled(NamedTuple):
    """A rewrite as it was read: its source's characters, the style asked for, the server's reason for stopping."""

    package: str
    file: str
    span: tuple[int, int]
    sha256: str
    style: str
    finish: str
    text: str
    label: str
    note: str


def labelled() -> list[Labelled]:
    """All rewrites, in the order in which they were read."""
    rows = [orjson.loads(line) for line in LABELS.read_bytes().splitlines()]
    return [Labelled(**{**row, "span": tuple(row["span"])}) for row in rows]


def figures() -> dict[str, Any]:
    """Counts by style, label and verdict; the share of agreement; how many sources were not found again."""
    seen: Counter[str] = Counter()
    agreed = passed_truth = faithful = total = 0
    for row, source in _with_sources():
        if source is None:
            seen["real_sources_changed"] += 1
            continue
        codes = verify(source, row.text, row.style, finish=row.finish).codes
        total += 1
        agreed += (row.label == "faithful") == (not codes)
        seen[f"real_{row.style}_{row.label}_{'refused' if codes else 'passed'}"] += 1
        if row.label == "faithful":
            faithful += 1
            passed_truth += not set(codes) - FORM
    return {
        "real_rewrites": total,
        "real_agreement": round(agreed / max(1, total), 4),
        "real_faithful_and_true_by_the_checks": round(passed_truth / max(1, faithful), 4),
        **dict(sorted(seen.items())),
    }


def _with_sources() -> Iterator[tuple[Labelled, str | None]]:
    find = cache(_prose)
    for row in labelled():
        text = find(row.package, row.file)[slice(*row.span)]
        same = hashlib.sha256(text.encode()).hexdigest().startswith(row.sha256)
        yield row, text if same else None


def _prose(package: str, file: str) -> str:
    try:
        return document(package, file).text
    except UserError:
        return ""
