"""How far the verifier can be trusted on given texts: errors are planted into rewrites of them, before money is spent.

Rewrites by edits keep most of the wording, so the checks of form (copies, markup, length) are not judged here, and a
model's rewrites, which are freer, will raise more alarms.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...pipelines.errors import UserError
from .result import Check, Verdict
from .rules import Rules, rules_for
from .sentences import chunks
from .thresholds import suggest
from .trials import Counts, Pair, Rate, count, rewrites
from .verify import verify

_LEAST_WORDS = 40  # of a chunk
_MOST = 4000  # characters of a chunk
_READ = 50_000  # chunks, of which those judged are drawn
_OTHERS = 5  # other chunks that foreign claims and names come from


class Example(NamedTuple):
    """A missed error (`span`: where it stands in the text), or a false alarm (`checks`: what failed, with places)."""

    kind: str
    source: str
    text: str
    span: tuple[int, int]
    checks: tuple[Check, ...]

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "source": self.source, "text": self.text, "span": list(self.span),
                "checks": [check.as_json() for check in self.checks]}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """What was found.

    Attributes:
        style: whose rules were judged by.
        chunks, pairs: how many were judged.
        counts: with the rules as they are; `codes`: of the false alarms.
        wanted: the share of false alarms to be reached.
        thresholds: rules that differ in what is suggested, by name: now, then. Empty: nothing is to be gained.
        suggested: counts with these, measured; None without a suggestion.
        misses, alarms: examples.
    """

    style: str
    chunks: int
    pairs: int
    counts: Counts
    codes: dict[str, int]
    wanted: float
    thresholds: dict[str, tuple[Any, Any]]
    suggested: Counts | None
    misses: tuple[Example, ...]
    alarms: tuple[Example, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "style": self.style, "chunks": self.chunks, "pairs": self.pairs, **self.counts.as_json(),
            "codes": self.codes, "wanted": self.wanted,
            "thresholds": {name: {"now": now, "then": then} for name, (now, then) in self.thresholds.items()},
            "suggested": self.suggested.as_json() if self.suggested else None,
            "misses": [one.as_json() for one in self.misses], "alarms": [one.as_json() for one in self.alarms],
        }  # fmt: skip


def calibrate(
    texts: Iterable[str],
    style: str = "paraphrase",
    rules: Rules | None = None,
    pairs: int = 2000,
    seed: int = 0,
    *,
    wanted: float = 0.02,
    examples: int = 10,
) -> Report:
    """Plant errors into rewrites of texts and count those found, and false alarms.

    Args:
        texts: documents of any length.
        rules: instead of the style's.
        pairs: source and rewrite, judged at least; fewer if the texts give no more.
        seed: of what is drawn.
        wanted: share of false alarms that thresholds are suggested for.
        examples: of misses and of false alarms, at most, each.

    Raises:
        UserError: no such style, or texts without a chunk of prose.
    """
    judged_by = _without_form(rules or rules_for(style))
    sources = _sources(texts)
    if not sources:
        raise UserError(f"nothing to calibrate with: no text has {_LEAST_WORDS} words of prose in a row")
    random.Random(seed).shuffle(sources)
    made: list[Pair] = []
    used = 0
    for number, source in enumerate(sources):
        if len(made) >= pairs:
            break
        used = number + 1
        others = [sources[(number + 7 * step + 1) % len(sources)] for step in range(_OTHERS)]
        made += rewrites(source, others, random.Random(f"{seed}:{number}"))
    if not judged_by.recall:
        made = [pair for pair in made if pair.kind != "sentence_dropped"]  # such a style may leave out what it likes
    verdicts = [verify(pair.source, pair.text, rules=judged_by) for pair in made]
    changed = suggest(made, verdicts, judged_by, wanted)
    missed, alarmed = _examples(made, verdicts, seed, examples)
    return Report(
        style=style,
        chunks=used,
        pairs=len(made),
        counts=_counted(made, verdicts),
        codes=_codes(made, verdicts),
        wanted=wanted,
        thresholds={name: (getattr(judged_by, name), value) for name, value in changed.items()},
        suggested=_judged(made, judged_by.model_copy(update=changed)) if changed else None,
        misses=missed,
        alarms=alarmed,
    )


def _judged(pairs: Sequence[Pair], rules: Rules) -> Counts:
    return _counted(pairs, [verify(pair.source, pair.text, rules=rules) for pair in pairs])


def _counted(pairs: Sequence[Pair], verdicts: Sequence[Verdict]) -> Counts:
    return count(pairs, [told.verdict == "pass" for told in verdicts])


def _codes(pairs: Sequence[Pair], verdicts: Sequence[Verdict]) -> dict[str, int]:
    """Codes of the false alarms, the most frequent first."""
    told = zip(pairs, verdicts, strict=True)
    return dict(Counter(code for pair, verdict in told if pair.sound for code in set(verdict.codes)).most_common())


def _without_form(rules: Rules) -> Rules:
    return rules.model_copy(update={"copied": None, "markup": "any", "length": (0.1, 5.0)})


def _sources(texts: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for text in texts:
        for chunk in chunks(text):
            piece = text[chunk.start : chunk.end]
            if len(piece) <= _MOST and len(piece.split()) >= _LEAST_WORDS:
                found[piece] = None
        if len(found) >= _READ:
            break
    return list(found)


def _examples(
    pairs: Sequence[Pair], verdicts: Sequence[Verdict], seed: int, most: int
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Misses and false alarms, of as many kinds as possible."""
    found: dict[bool, list[Example]] = {True: [], False: []}
    for pair, told in zip(pairs, verdicts, strict=True):
        if pair.sound != (told.verdict == "pass"):
            failed = tuple(check for check in told.checks if not check.ok)
            found[pair.sound].append(Example(pair.kind, pair.source, pair.text, pair.span, failed))
    chosen = []
    for sound in (False, True):
        random.Random(seed).shuffle(found[sound])
        turn: Counter[str] = Counter()
        ranked = []
        for at, one in enumerate(found[sound]):
            turn[one.kind] += 1
            ranked.append((turn[one.kind], at, one))
        chosen.append(tuple(one for _, _, one in sorted(ranked, key=lambda each: each[:2])[:most]))
    return chosen[0], chosen[1]


def render(report: Report) -> str:
    """The report for a terminal."""
    counts = report.counts
    lines = [
        f"{report.pairs:,} pairs of {report.chunks:,} chunks, judged by the rules of {report.style}",
        "",
        f"errors found: {counts.detection:.1%} as the mean over kinds",
        *_table(counts.found),
        "",
        f"false alarms: {_rate(counts.false_alarms)}",
        *_table(counts.alarms),
    ]
    if report.codes:
        lines.append("  by code: " + ", ".join(f"{code} {number}" for code, number in report.codes.items()))
    lines += ["", f"for at most {report.wanted:.1%} false alarms:"]
    lines += [f"  {name}: {then} instead of {now}" for name, (now, then) in report.thresholds.items()]
    if report.suggested is None:
        reached = counts.false_alarms.share <= report.wanted
        lines.append("  the thresholds are fine as they are" if reached else "  no thresholds reach it")
    else:
        then = report.suggested
        lines.append(f"  then {then.detection:.1%} found, false alarms: {_rate(then.false_alarms)}")
    for title, examples in (("missed", report.misses), ("false alarm", report.alarms)):
        for one in examples:
            lines += ["", f"{title}: {one.kind}", *_places(one)]
    return "\n".join(lines)


def _table(rates: dict[str, Rate]) -> list[str]:
    return [f"  {name:<20} {_rate(rate)}" for name, rate in rates.items()]


def _rate(rate: Rate) -> str:
    low, high = rate.interval
    return f"{rate.share:6.1%} ({low:.1%} to {high:.1%}) of {rate.of:,}"


def _places(one: Example) -> list[str]:
    """What a missed error made of its sentence; of a false alarm, each place with its code."""
    if not one.checks:
        start, end = one.span
        return [f"  … {_line(one.text[max(0, start - 70) : end + 70])} …"]
    return [
        f"  {check.code}: {_line((one.source if check.of_source else one.text)[start:end])}"
        for check in one.checks
        for start, end in check.spans[:2]
    ]


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 200 else f"{text[:199]}…"
