"""Runs of eight words: what a text copies, and what it repeats."""

from __future__ import annotations

from collections.abc import Sequence

from .facts import FactSheet

_GRAM = 8


def grams(sheet: FactSheet) -> list[int]:
    """Hashes of all runs of eight words."""
    lower = [word.lower for word in sheet.words]
    return list(map(hash, zip(*(lower[at:] for at in range(_GRAM)), strict=False)))


def copy_rate(rewrite: Sequence[int], source: frozenset[int]) -> float:
    """Share of the rewrite's 8-grams that the source has."""
    return sum(map(source.__contains__, rewrite)) / len(rewrite) if rewrite else 0.0


def loop_rate(rewrite: Sequence[int]) -> float:
    """Share of the 8-grams that stood before in the same text."""
    return 1 - len(set(rewrite)) / len(rewrite) if rewrite else 0.0
