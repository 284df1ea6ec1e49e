"""Styles of running text: encyclopedic, summary, and the numbered statements of a textbook."""

from __future__ import annotations

import random
import re

from . import wording
from .parts import clause, decapitalised, is_clause, weak_start
from .passage import Passage, copied
from .restate import paragraph, sentence
from .topics import label, topics

_TRIES = 3
_ASIDE = re.compile(
    r"\b(?:example|instance|later|now|see|below|above|following)\b"
    r"|\b(?:this|these|that)\b(?! (?:function|method|class|module|property)s?\b)",
    re.IGNORECASE,
)
COPIED = 0.53
"""What share of its 8-word runs a rewrite may have in common with its source: less than the verifier allows."""


def encyclopedic(passage: Passage, rng: random.Random) -> str | None:
    """The same statements as running text in other words and another order of clauses."""
    best = ""
    for attempt in range(_TRIES):
        parts = []
        for one in passage.paragraphs:
            if one.kind == "whole":
                parts.append(one.raw)
                continue
            said = paragraph(one.statements, rng, join=0.3 + 0.3 * attempt)
            if attempt and one.kind == "prose":
                said = _linked(said, rng)
            parts.append(f"{one.raw}{' '.join(said)}")
        best = _laid_out(parts, passage)
        shown = passage.mask.show(best)
        if copied(passage.source, shown) <= COPIED:
            return shown
    return None


def _laid_out(parts: list[str], passage: Passage) -> str:
    """Paragraphs with blank lines between them, items of one list without."""
    text = parts[0] if parts else ""
    for before, part, one in zip(passage.paragraphs, parts[1:], passage.paragraphs[1:], strict=False):
        text += ("\n" if one.kind == before.kind == "item" else "\n\n") + part
    return text


def _linked(said: list[str], rng: random.Random) -> list[str]:
    """A paragraph whose middle sentences are tied together by a word or two."""
    found = said[:1]
    for one in said[1:]:
        small = decapitalised(one) if is_clause(one) and not weak_start(one) and rng.random() < 0.5 else None
        found.append(
            f"{rng.choice(wording.GOING_ON)}, {small}" if small and not found[-1].startswith(wording.GOING_ON) else one
        )
    return found


def textbook(passage: Passage, rng: random.Random) -> str | None:
    """A line that names the topics, and the statements numbered, each under what it is: definition, rule, condition."""
    named = topics(passage)
    if len(passage.statements()) < 3:
        return None
    lines = [rng.choice(wording.TOPICS).format(wording.series(named))] if named else []
    kinds = rng.choice(wording.KINDS)
    number = 0
    for one in passage.paragraphs:
        if one.kind == "whole":
            lines.append(f"\n{one.raw}\n")
            continue
        at = 0
        while at < len(one.statements):
            group = [one.statements[at]]
            while at + 1 < len(one.statements) and weak_start(one.statements[at + 1].body):
                at += 1
                group.append(one.statements[at])
            at += 1
            number += 1
            said = " ".join(paragraph(tuple(group), rng))
            kind = kinds[label(group[0].body)]
            if kind.lower() in passage.source.lower():
                kind = ""  # the word would seem to mean what the source means by it
            lines.append(f"{number}. **{kind}.** {said}" if kind else f"{number}. {said}")
    text = passage.mask.show("\n".join(lines))
    return text if copied(passage.source, text) <= COPIED else None


def summary(passage: Passage, rng: random.Random) -> str | None:
    """The most central sentences, said otherwise."""
    statements = passage.statements()
    if len(statements) < 4:
        return None
    named = topics(passage, 6)
    words = {word for name in named for word in name.lower().split()}
    seen: dict[str, int] = {}
    for statement in statements:
        for word in set(re.findall(r"[a-z]{4,}", statement.body.lower())):
            seen[word] = seen.get(word, 0) + 1
    ranked = []
    for at, statement in enumerate(statements):
        if weak_start(statement.body) or clause(statement.body) is None or len(statement.body) > 260:
            continue
        said = " ".join(sentence(statement.body, rng, splits=False))
        own = set(re.findall(r"[a-z]{4,}", statement.body.lower()))
        central = sum(seen[word] - 1 for word in own) / (6 + len(own)) + 0.5 * len(own & words)
        central -= 0.7 * (_ASIDE.search(statement.body) is not None)
        ranked.append((central - 4 * copied(statement.body, said), at, said))
    wanted = max(2, round(0.4 * len(statements)))
    chosen: list[tuple[float, int, str]] = []
    for one in sorted(ranked, reverse=True):
        if len(chosen) < wanted and not any(alike(statements[one[1]].body, statements[at].body) for _, at, _ in chosen):
            chosen.append(one)
    chosen.sort(key=lambda one: one[1])
    if len(chosen) < 2:
        return None
    first = decapitalised(chosen[0][2])
    lead = rng.choice(wording.IN_SHORT)
    parts = [f"{lead}, {first}" if first else chosen[0][2], *(said for _, _, said in chosen[1:])]
    text = passage.mask.show(" ".join(parts))
    return text if copied(passage.source, text) <= COPIED and len(text) < 0.9 * len(passage.source) else None


def alike(first: str, second: str) -> bool:
    """Whether two sentences say nearly the same, or the same of two things."""
    one, other = set(re.findall(r"\w{3,}", first.lower())), set(re.findall(r"\w{3,}", second.lower()))
    return 4 * len(one & other) > 3 * min(len(one), len(other))
