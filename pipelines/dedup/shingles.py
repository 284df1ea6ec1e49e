"""Words and n-grams of a text as 64-bit hashes, computed on whole arrays: what MinHash and decontamination compare.

A word is a run of letters, digits and underscores of the lower-case text. Its hash is that of a polynomial over its
UTF-8 bytes, read off the running sum of the whole text (Rabin and Karp), so no word ever becomes a Python object. The
hashes are the same on every machine; they are for comparing, not for security.
"""

from __future__ import annotations

import re

import numpy as np

_CHUNK = 1 << 20  # characters; bounds the arrays for texts of any length
_NO_WORD = re.compile(r"[^\w]+")
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that it has an inverse modulo 2^64
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))
_STEP = np.uint64(0xD6E8FEB86659FD93)  # base of the polynomial over words
_IS_WORD = np.zeros(256, dtype=bool)
_IS_WORD[[*range(48, 58), *range(65, 91), 95, *range(97, 123), *range(128, 256)]] = True


def word_hashes(text: str) -> np.ndarray:
    """uint64 `[words]`: the hashes of a text's words, in order."""
    found = [_hashes(part) for part in _parts(text.lower())]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.uint64)


def ngram_hashes(words: np.ndarray, n: int) -> np.ndarray:
    """uint64 `[max(words - n + 1, 0)]`: a hash for each run of n words."""
    count = len(words) - n + 1
    if count <= 0:
        return np.zeros(0, dtype=np.uint64)
    total = words[:count].copy()
    for at in range(1, n):
        total *= _STEP
        total += words[at : at + count]
    return mix(total)


def mix(values: np.ndarray) -> np.ndarray:
    """Spread the bits of uint64 values (the finaliser of splitmix64)."""
    values = values ^ (values >> np.uint64(30))
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def _parts(text: str) -> list[str]:
    """The text in pieces of bounded length that do not cut a word; without punctuation beyond ASCII."""
    if not text.isascii():
        text = _NO_WORD.sub(" ", text)
    parts, start = [], 0
    while start < len(text):
        stop = start + _CHUNK
        while stop < len(text) and (text[stop - 1].isalnum() or text[stop - 1] == "_"):
            stop += 1
        parts.append(text[start:stop])
        start = stop
    return parts


def _hashes(text: str) -> np.ndarray:
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    inside = _IS_WORD[data]
    edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
    starts, stops = edges[0::2], edges[1::2]
    if not len(starts):
        return np.zeros(0, dtype=np.uint64)
    powers = np.full(len(data) + 1, _BASE, dtype=np.uint64)
    powers[0] = 1
    np.cumprod(powers, out=powers)
    sums = np.zeros(len(data) + 1, dtype=np.uint64)
    np.cumsum((data.astype(np.uint64) + np.uint64(1)) * powers[:-1], out=sums[1:])
    # The word's own polynomial is its part of the sum, shifted down to where it would be at the start of the text.
    lengths = (stops - starts).astype(np.uint64)
    shifted = (sums[stops] - sums[starts]) * _inverse_powers(len(data))[starts]
    return mix(shifted + lengths)


def _inverse_powers(count: int) -> np.ndarray:
    powers = np.full(count, _INVERSE, dtype=np.uint64)
    powers[0] = 1
    return np.cumprod(powers, out=powers)
