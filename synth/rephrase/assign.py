"""Who is to write what: style, perspective and length of every rewrite, drawn by a hash of what is rewritten.

The draw is a function of (recipe seed, document, excerpt, number of the rewrite): neither the order of the work nor the
styles of other documents change it, and a style added to a recipe changes only the excerpts that draw it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

PERSPECTIVES = {
    "general": "a careful writer for readers who know little of the subject",
    "student": "a student who explains to a fellow student what the text says",
    "teacher": "a teacher who puts the text into clear words for a class",
    "practitioner": "an experienced practitioner writing for colleagues",
    "expert": "an expert who values precision above all",
    "reference": "the editor of a work of reference",
}
"""Name → who writes, as prompts say it."""

LENGTHS = {
    "shorter": ("Be more concise than the source without leaving out any fact.", 0.8),
    "same": ("Write about as much as the source.", 1.1),
    "fuller": ("Spell out what the source leaves implicit in its own statements, without adding facts.", 1.5),
}
"""Name → the instruction, and how many tokens are expected for one of the source."""


class Assignment(NamedTuple):
    """One rewrite that is asked for; `seed` is for what the back end draws."""

    style: str
    perspective: str
    length: str
    seed: int


def assignments(
    key: Sequence[object], styles: Mapping[str, float], perspectives: Sequence[str], lengths: Sequence[str]
) -> list[Assignment]:
    """All styles in the order in which they are to be tried for one excerpt.

    A style comes before another with a probability given by their weights, so the first is a weighted draw, and the
    second the draw among the others, for a second rewrite or where the first does not suit the text.

    Args:
        key: what the draw depends on: seed, document, excerpt.
        styles: weights, all above 0.
    """
    drawn = []
    for style, weight in styles.items():
        digest = hashlib.sha256("\x1f".join(map(str, (*key, style))).encode()).digest()
        # The least of exponential times with these rates is each style's with probability weight / total.
        share = (int.from_bytes(digest[:8], "big") + 1) / 2**64
        perspective = perspectives[int.from_bytes(digest[8:12], "big") % len(perspectives)]
        length = lengths[int.from_bytes(digest[12:16], "big") % len(lengths)]
        drawn.append((-math.log(share) / weight, Assignment(style, perspective, length,
                                                             int.from_bytes(digest[16:20], "big") >> 1)))  # fmt: skip
    return [assignment for _, assignment in sorted(drawn)]
