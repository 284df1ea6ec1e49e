"""MinHash signatures, and the pairs of documents that share a band of theirs.

A signature holds, for each of `bands * rows` hash functions, the smallest value over the document's word n-grams; two
signatures agree in a share of places that estimates the Jaccard similarity J of the two sets of n-grams (Broder 1997).
Documents are candidates when all rows of a band agree, which happens with probability 1 - (1 - J^rows)^bands: at 14
bands of 8 rows that is one half near J = 0.72. A candidate pair counts when its signatures agree in at least
`threshold` of their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from .shingles import mix, ngram_hashes, word_hashes

_BLOCK = 2048  # n-grams at a time, so that what is worked on stays in the cache


class MinHash(BaseModel):
    """Parameters of near-duplicate search.

    Attributes:
        ngram: words an n-gram.
        bands, rows: see the module's first lines.
        threshold: the share of signature places that must agree.
        seed: of the hash functions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ignored_types=(cached_property,))

    ngram: int = Field(default=5, ge=1)
    bands: int = Field(default=14, ge=1)
    rows: int = Field(default=8, ge=1)
    threshold: float = Field(default=0.7, ge=0, le=1)
    seed: int = 1

    @property
    def width(self) -> int:
        """Places a signature."""
        return self.bands * self.rows

    @cached_property
    def _functions(self) -> tuple[np.ndarray, np.ndarray]:
        """Odd multipliers and offsets, uint32 `[width, 1]`: each pair permutes the numbers below 2^32."""
        numbers = mix(np.arange(1, 2 * self.width + 1, dtype=np.uint64) + (np.uint64(self.seed) << np.uint64(32)))
        numbers = (numbers >> np.uint64(32)).astype(np.uint32)
        return numbers[: self.width, None] | np.uint32(1), numbers[self.width :, None]

    def signature(self, text: str) -> np.ndarray | None:
        """uint32 `[width]`, or None for a text without words. A text shorter than an n-gram is one n-gram."""
        words = word_hashes(text)
        if not len(words):
            return None
        grams = (ngram_hashes(words, min(self.ngram, len(words))) >> np.uint64(32)).astype(np.uint32)
        multipliers, offsets = self._functions
        smallest = np.full(self.width, np.iinfo(np.uint32).max, dtype=np.uint32)
        buffer = np.empty((self.width, _BLOCK), dtype=np.uint32)
        for start in range(0, len(grams), _BLOCK):
            block = grams[None, start : start + _BLOCK]
            values = buffer[:, : block.shape[1]]
            np.multiply(multipliers, block, out=values)
            values += offsets
            np.minimum(smallest, values.min(axis=1), out=smallest)
        return smallest

    def band_keys(self, signatures: np.ndarray, band: int) -> np.ndarray:
        """uint64 `[documents]`: equal where the rows of that band agree."""
        rows = signatures[:, band * self.rows : (band + 1) * self.rows]
        return ngram_hashes_of_rows(np.ascontiguousarray(rows))

    def pairs(self, signatures: np.ndarray, numbers: np.ndarray) -> Iterator[tuple[int, int]]:
        """(earlier, later) of candidate pairs among the rows `numbers` (ascending) that reach the threshold.

        In a group that shares a band each document is compared with the group's first alone: pairs are for joining,
        and comparing all with all would be quadratic in the size of a group.
        """
        for band in range(self.bands):
            keys = self.band_keys(signatures, band)[numbers]
            by_key = np.argsort(keys, kind="stable")
            same = keys[by_key[1:]] == keys[by_key[:-1]]
            order = numbers[by_key]
            edges = np.flatnonzero(np.diff(same, prepend=False, append=False))
            for start, stop in zip(edges[0::2], edges[1::2] + 1, strict=True):
                first, others = int(order[start]), order[start + 1 : stop]
                agreeing = (signatures[others] == signatures[first]).mean(axis=1)
                for other in others[agreeing >= self.threshold]:
                    yield first, int(other)


def ngram_hashes_of_rows(rows: np.ndarray) -> np.ndarray:
    """uint64 `[documents]`: one hash for each row of a uint32 `[documents, columns]` array."""
    total = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        total = mix(total * np.uint64(31) + column.astype(np.uint64) + np.uint64(1))
    return total
