"""What is counted of rewrites: who passed, why others did not, how alike their openings are, how much they copy."""

from __future__ import annotations

import difflib
import heapq
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from datatrove.data import Document

from ...pipelines.markdown import table
from ...pipelines.stage import seeded_rng
from ..verify.facts import fact_sheet
from ..verify.grams import copy_rate, grams
from ..verify.sentences import estimate
from .reasons import REASONS
from .rows import codes_of, rewrite_of

OPENING = 8
"""Words of an opening: more than one in two hundred that begin alike is a template (see FinePhrase's study, which found
115 of 1,000 answers of one model with the same beginning)."""

_LETTERS = re.compile(r"\w+(?:['’]\w+)?")
_WORD = re.compile(r"\w+(?:[-'’.]\w+)*|[^\w\s]")


@dataclass
class StyleFacts:
    """Of one style by one model; counts are of answers, except where they say tokens (estimated)."""

    answers: int = 0
    passed: int = 0
    repaired: int = 0
    tokens: int = 0
    copied: float = 0.0
    edited: float = 0.0
    edits: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    openings: Counter[tuple[str, ...]] = field(default_factory=Counter)

    @property
    def commonest_opening(self) -> tuple[str, float]:
        """The opening that most accepted texts share, and its share."""
        if not self.openings:
            return "", 0.0
        words, count = max(self.openings.items(), key=lambda one: (one[1], one[0]))
        return " ".join(words), count / max(self.passed, 1)

    def as_json(self) -> dict[str, Any]:
        opening, share = self.commonest_opening
        return {
            "answers": self.answers, "passed": self.passed, "repaired": self.repaired, "tokens": self.tokens,
            "pass_rate": round(self.passed / max(self.answers, 1), 4),
            "copied": round(self.copied / max(self.passed, 1), 4),
            "edited": round(self.edited / max(self.edits, 1), 4) if self.edits else None,
            "commonest_opening": opening, "commonest_opening_share": round(share, 4),
            "distinct_openings": round(len(self.openings) / max(self.passed, 1), 4),
            "reasons": dict(self.reasons.most_common()),
        }  # fmt: skip


@dataclass
class Measures:
    """Of a data set of `synth.rephrase`. `left_out`: chunks without an answer, by reason; `shown`: rows for people."""

    documents: int = 0
    chunks: int = 0
    styles: dict[tuple[str, str], StyleFacts] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    shown: list[dict[str, Any]] = field(default_factory=list)

    @property
    def answers(self) -> int:
        return sum(one.answers for one in self.styles.values())

    @property
    def passed(self) -> int:
        return sum(one.passed for one in self.styles.values())

    @property
    def tokens(self) -> int:
        return sum(one.tokens for one in self.styles.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "documents": self.documents, "chunks": self.chunks, "answers": self.answers, "passed": self.passed,
            "pass_rate": round(self.passed / max(self.answers, 1), 4), "accepted_tokens": self.tokens,
            "left_out": dict(self.left_out.most_common()),
            "styles": [{"style": style, "model": model, **facts.as_json()}
                       for (style, model), facts in sorted(self.styles.items())],
        }  # fmt: skip


def measure(records: Iterable[Document], *, shown: int = 20, edits: int = 400, seed: int = 0) -> Measures:
    """Count over the records of a job of `synth.rephrase`.

    Args:
        shown: so many rewrites, drawn by `seed`, are kept for reading.
        edits: so many texts a style have their edit distance measured, which is slow.
    """
    found = Measures()
    drawn: list[tuple[float, str, dict[str, Any]]] = []
    for record in records:
        rewrite = rewrite_of(record)
        if not rewrite:
            continue
        if document := rewrite["document"]:
            found.documents += 1
            found.chunks += document["chunks"]
            found.left_out.update(document["left_out"])
        facts = found.styles.setdefault((rewrite["style"], rewrite["model"]), StyleFacts())
        for chunk in rewrite["chunks"]:
            text = record.text[slice(*chunk["text"])]
            _count(facts, chunk, text, rewrite["source"][slice(*chunk["source"])], edits)
        facts.reasons.update(codes_of(rewrite))
        place = seeded_rng(seed, record.id).random()
        if shown and (len(drawn) < shown or -place > drawn[0][0]):
            heapq.heappush(drawn, (-place, record.id, {"id": record.id, "text": record.text, **rewrite}))
            if len(drawn) > shown:
                heapq.heappop(drawn)
    found.shown = [row for _, _, row in sorted(drawn, reverse=True)]
    return found


def in_words(found: Measures) -> str:
    """The measures as Markdown."""
    rows = []
    reasons: Counter[str] = Counter()
    for (style, model), facts in sorted(found.styles.items()):
        one = facts.as_json()
        _, share = facts.commonest_opening
        rows.append([style, model, one["answers"], f"{one['pass_rate']:.1%}", one["tokens"], f"{one['copied']:.1%}",
                     "" if one["edited"] is None else f"{one['edited']:.1%}", f"{share:.2%}"])  # fmt: skip
        reasons.update(facts.reasons)
    columns = ["style", "by", "answers", "passed", "tokens", "copied", "edited", "commonest opening"]
    parts = [
        f"{found.passed:,} of {found.answers:,} answers passed the checks, {found.tokens:,} tokens, estimated. Copied: "
        "the share of runs of eight words that stand in the source; edited: the share of words that differ; an opening "
        "is the first eight words.",
        table(columns, rows),
    ]
    if reasons:
        told = [[code, REASONS.get(code, code).rstrip("."), count] for code, count in reasons.most_common()]
        parts += ["Why answers were refused (one may fail several checks):", table(["code", "reason", "answers"], told)]
    if found.left_out:
        left = ", ".join(f"{count:,} {code.replace('_', ' ')}" for code, count in found.left_out.most_common())
        parts.append(f"Chunks without an answer, of documents that have one: {left}.")
    return "\n\n".join(parts)


def _count(facts: StyleFacts, chunk: dict[str, Any], text: str, source: str, edits: int) -> None:
    facts.answers += 1
    if chunk["verdict"] != "pass":
        return
    facts.passed += 1
    facts.repaired += chunk["attempts"] > 1
    facts.tokens += estimate(text)
    values = {name: value for name, value, *_ in chunk["checks"]}
    facts.copied += values["copied"] if "copied" in values else copied(source, text)
    facts.openings[opening(text)] += 1
    if facts.edits < edits:
        facts.edits += 1
        facts.edited += edit_distance(source, text)


def opening(text: str) -> tuple[str, ...]:
    """The first words of a text, in small letters; those of a table's head do not count, which is its style's."""
    lines = text.lstrip().splitlines()
    if lines and lines[0].startswith("|"):
        lines = [line for line in lines if line.startswith("|")][2:] or lines
    return tuple(_LETTERS.findall(" ".join(lines[:12]).lower())[:OPENING])


def copied(source: str, text: str) -> float:
    """Which share of the text's runs of eight words stands in the source, as the verifier counts it."""
    return copy_rate(grams(fact_sheet(text)), frozenset(grams(fact_sheet(source))))


def edit_distance(source: str, text: str) -> float:
    """Words to take out, put in or exchange, as a share of the longer text (matching blocks, so an upper bound)."""
    ours, theirs = _WORD.findall(text.lower()), _WORD.findall(source.lower())
    matcher = difflib.SequenceMatcher(None, theirs, ours, autojunk=False)
    kept = sum(block.size for block in matcher.get_matching_blocks())
    return 1 - kept / max(len(ours), len(theirs), 1)


def differences(source: str, text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Places of words that only the source has, and that only the text has."""
    theirs, ours = list(_WORD.finditer(source)), list(_WORD.finditer(text))
    matcher = difflib.SequenceMatcher(
        None, [one[0].lower() for one in theirs], [one[0].lower() for one in ours], autojunk=False
    )
    gone: list[tuple[int, int]] = []
    new: list[tuple[int, int]] = []
    for kind, low, high, start, end in matcher.get_opcodes():
        if kind != "equal":
            gone += [(theirs[low].start(), theirs[high - 1].end())] if high > low else []
            new += [(ours[start].start(), ours[end - 1].end())] if end > start else []
    return gone, new
