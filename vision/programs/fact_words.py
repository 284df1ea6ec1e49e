"""Facts for pictures that carry some: invented names, each with a whole number."""

from __future__ import annotations

import random

_ONSETS = (*"bdfghklmnprstvz", "br", "dr", "fl", "gr", "kl", "pl", "sk", "st", "tr")
_VOWELS = "aeiou"
_CODAS = ("", "", "", "l", "m", "n", "r", "s")


def name(rng: random.Random, longest: int) -> str:
    """A pronounceable word of two or three syllables and 4 to `longest` letters, capitalised."""
    while True:
        syllables = rng.choice((2, 2, 3))
        parts = [rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables)]
        word = "".join(parts) + rng.choice(_CODAS)
        if 4 <= len(word) <= longest:
            return word.capitalize()


def facts(rng: random.Random, least: int, most: int, longest: int = 9) -> dict[str, int]:
    """`least` to `most` names with numbers of two to four digits; names begin differently, numbers are all distinct."""
    count = rng.randint(least, most)
    found: dict[str, int] = {}
    while len(found) < count:
        label, value = name(rng, longest), number(rng)
        if value not in found.values() and all(label[:3] != other[:3] for other in found):
            found[label] = value
    return found


def number(rng: random.Random) -> int:
    """Two, three or four digits, each as likely."""
    digits = rng.choice((2, 3, 4))
    return rng.randrange(10 ** (digits - 1), 10**digits)
