"""V1: the shape of a rewrite: language, length, loops, copies, openings that a whole batch shares, markup."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ...pipelines.text_stages.language import detect
from .align import Source
from .cues import ENGLISH
from .facts import FactSheet
from .grams import copy_rate, grams, loop_rate
from .result import Check, at_most
from .rules import Rules

_LANGUAGE = 160  # characters of either end that the language is told by
_WORDS = 25  # of either end that must show English by themselves
_FREQUENT = 0.12  # share of them
_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*$", re.MULTILINE)
_QUESTION = re.compile(r"^[^\n]*\?[*_\"”]*[ \t]*$", re.MULTILINE)


def form(source: Source, rewrite: FactSheet, rules: Rules) -> list[Check]:
    """The checks of this level that look at one rewrite."""
    whole = ((0, len(rewrite.text)),)
    checks = []
    if rules.language is not None:
        ok = (rules.language == "en" and _english(rewrite)) or _in_language(source.sheet, rewrite, rules.language)
        checks.append(Check("language", float(not ok), 0, ok, "" if ok else "lang", () if ok else whole))
    ratio = len(rewrite.text) / max(1, len(source.sheet.text))
    low, high = rules.length
    ok = low <= ratio <= high
    checks.append(
        Check("length", round(ratio, 3), low if ratio < low else high, ok, "" if ok else "ratio", () if ok else whole)
    )
    mine = grams(rewrite)
    if rules.loop is not None:
        # A source that repeats itself may be said as it is.
        loop = max(0.0, loop_rate(mine) - source.loop)
        checks.append(_share("loop", "loop", loop, rules.loop, whole))
    if rules.copied is not None:
        checks.append(_share("copied", "copy", copy_rate(mine, source.grams), rules.copied, whole))
    checks.append(at_most("markup", "format", [] if _fits(source.sheet.text, rewrite.text, rules.markup) else whole, 0))
    return checks


def _english(sheet: FactSheet) -> bool:
    """Whether words that only English has are as frequent as in English: it saves most texts the detector."""
    found = [word.lower for word in (*sheet.words[:_WORDS], *sheet.words[-_WORDS:]) if word.lower in ENGLISH]
    return len(found) >= _FREQUENT * 2 * _WORDS and len(set(found)) > 2 and len(sheet.words) >= 2 * _WORDS


def _in_language(source: FactSheet, rewrite: FactSheet, wanted: str) -> bool:
    """Whether a rewrite is in a language, or in its source's. Too few letters say nothing of the language."""
    language, _ = detect(_ends(rewrite.text))
    return language in (wanted, None) or detect(_ends(source.text))[0] == language


def _ends(text: str) -> str:
    """The beginning and the end of a text, where a model that slips into another language starts and stops."""
    return text if len(text) <= 2 * _LANGUAGE else f"{text[:_LANGUAGE]}\n{text[-_LANGUAGE:]}"


def collapsed(texts: Sequence[str], words: int = 8, share: float = 0.005, least: int = 3) -> dict[int, Check]:
    """Openings that too many texts of a batch have in common: a failed check by the number of each text concerned.

    Args:
        words: of an opening.
        share: of the batch that may begin alike.
        least: texts that may do so in any case.
    """
    openings = [tuple(text.lower().split()[:words]) for text in texts]
    counts = Counter(openings)
    limit = max(least, int(share * len(texts)))
    found = {}
    for number, opening in enumerate(openings):
        if len(opening) == words and counts[opening] > limit:
            end = min(len(texts[number]), len(" ".join(opening)))
            found[number] = Check("opening", counts[opening], limit, False, "template", ((0, end),))
    return found


def _share(name: str, code: str, value: float, limit: float, whole: tuple[tuple[int, int], ...]) -> Check:
    ok = value <= limit
    return Check(name, round(value, 3), limit, ok, "" if ok else code, () if ok else whole)


def _fits(source: str, rewrite: str, markup: str) -> bool:
    """Whether the rewrite has the markup that its style promises, and all of its fences closed."""
    if rewrite.count("```") % 2 > source.count("```") % 2:
        return False
    if markup == "table":
        return len(_ROW.findall(rewrite)) >= 3 and _RULE.search(rewrite) is not None
    if markup == "qa":
        return "?" in rewrite and _QUESTION.search(rewrite) is not None
    if markup == "prose":
        return "|" not in rewrite or not _RULE.search(rewrite) or _RULE.search(source) is not None
    return True
