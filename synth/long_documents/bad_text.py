"""Text that is bad on purpose, made from good text: what the quality classifier learns to tell from it.

Nine ways in which collected text is bad: words out of order, letters out of order, wrong decoding, scanning errors,
advertising phrases, lists of links, tables of numbers, one sentence again and again, random keys.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable

_OFFERS = (
    "buy now", "best price", "click here", "free shipping", "limited offer", "sign up today", "cheap", "discount",
    "casino bonus", "subscribe", "top rated", "order online", "100% guaranteed", "hot deals", "win big",
)  # fmt: skip
_SEPARATORS = (" | ", " » ", " · ", " - ", "\n")
_SCANNED = {"m": "rn", "l": "1", "o": "0", "e": "c", "h": "li", "d": "cl", "i": "!", "w": "vv"}


def spoil(text: str, rng: random.Random) -> str:
    """A bad text of about the same length as the good one."""
    return rng.choice(_WAYS)(text, rng)


def _shuffled_words(text: str, rng: random.Random) -> str:
    words = text.split()
    rng.shuffle(words)
    return " ".join(words)


def _shuffled_letters(text: str, rng: random.Random) -> str:
    return re.sub(r"\w{3,}", lambda found: "".join(rng.sample(found[0], len(found[0]))), text)


def _decoded_wrongly(text: str, rng: random.Random) -> str:
    marked = re.sub(r"[aeiou]", lambda found: found[0] + "\u0301" if rng.random() < 0.3 else found[0], text)
    return marked.encode("utf-8").decode("latin-1")


def _scanned(text: str, rng: random.Random) -> str:
    return "".join(
        _SCANNED.get(char, char) if rng.random() < 0.35 else " " if rng.random() < 0.04 else char for char in text
    )


def _advertising(text: str, rng: random.Random) -> str:
    words = [word for word in text.split() if word.isalpha()] or ["thing"]
    parts: list[str] = []
    while sum(map(len, parts)) < len(text):
        parts.append(f"{rng.choice(_OFFERS).title()} {rng.choice(words)} {rng.choice(_OFFERS)}{rng.choice('!.?')}")
    return " ".join(parts)


def _links(text: str, rng: random.Random) -> str:
    words = [word for word in text.split() if word.isalpha()] or ["page"]
    parts: list[str] = []
    separator = rng.choice(_SEPARATORS)
    while sum(map(len, parts)) < len(text):
        parts.append(" ".join(rng.choices(words, k=rng.randint(1, 3))).title())
    return separator.join(parts)


def _numbers(text: str, rng: random.Random) -> str:
    lines: list[str] = []
    while sum(map(len, lines)) < len(text):
        lines.append("\t".join(f"{rng.uniform(-1000, 1000):.{rng.randint(0, 4)}f}" for _ in range(rng.randint(4, 12))))
    return "\n".join(lines)


def _repeated(text: str, rng: random.Random) -> str:
    sentences = [one for one in re.split(r"(?<=[.!?])\s+", text) if one] or [text]
    one = rng.choice(sentences)[:300]
    return "\n".join([one] * max(3, len(text) // (len(one) + 1)))


def _keys(text: str, rng: random.Random) -> str:
    letters = string.ascii_lowercase + "    " + string.punctuation
    return "".join(rng.choices(letters, k=len(text)))


_WAYS: tuple[Callable[[str, random.Random], str], ...] = (
    _shuffled_words, _shuffled_letters, _decoded_wrongly, _scanned, _advertising, _links, _numbers, _repeated, _keys,
)  # fmt: skip
