"""The order of training, as a pure function: which sequence stands at a position of an epoch.

A keyed permutation of 0..n-1 that is computed at a point, without a list: a Feistel network over the next power of two,
walked along its cycle until it lands below n (Black and Rogaway, 2002). The key is a hash of what the order may depend
on and of nothing else.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

_ROUNDS = 10
_Words = npt.NDArray[np.uint64]


class Permutation:
    """A permutation of 0..n-1, the same on every machine for the same key.

    Args:
        n: how many; at least 1.
        key: integers and words that it depends on.
    """

    def __init__(self, n: int, *key: object):
        if n < 1:
            raise ValueError(f"a permutation of {n} elements")
        self.n = n
        bits = max(2, (n - 1).bit_length())
        self._low_bits = np.uint64(bits // 2)
        self._low = np.uint64((1 << (bits // 2)) - 1)
        self._high = np.uint64((1 << (bits - bits // 2)) - 1)
        digest = hashlib.shake_256("\x1f".join(map(str, key)).encode()).digest(8 * _ROUNDS)
        self._keys = np.frombuffer(digest, "<u8")

    def block(self, start: int, stop: int) -> npt.NDArray[np.int64]:
        """[stop - start] the elements at the positions `start:stop`, 0 ≤ start ≤ stop ≤ n."""
        if not 0 <= start <= stop <= self.n:
            raise IndexError(f"positions {start}:{stop} of {self.n}")
        found = self._network(np.arange(start, stop, dtype=np.uint64))
        while len(outside := np.flatnonzero(found >= self.n)):
            found[outside] = self._network(found[outside])
        return found.astype(np.int64)

    def __getitem__(self, position: int) -> int:
        return int(self.block(position, position + 1)[0])

    def _network(self, words: _Words) -> _Words:
        low, high = words & self._low, words >> self._low_bits
        for number in range(0, _ROUNDS, 2):
            high = high ^ (_mixed(low + self._keys[number]) & self._high)
            low = low ^ (_mixed(high + self._keys[number + 1]) & self._low)
        return (high << self._low_bits) | low


def _mixed(words: _Words) -> _Words:
    """SplitMix64's finaliser."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
