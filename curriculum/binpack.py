"""Best-fit decreasing packing on lengths alone: the longest item first, each into the fullest bin that still holds it.

Items of one length are alike, and so are bins with the same space left. So we pack lengths, not items: `c` bins with
space `r` take `r // length` items each in one step, and what comes of it is written down as one row. A million
documents need some hundred thousand steps, and no object a document. The result is that of the textbook algorithm.

Fewer truncations (Ding et al., 2024, arXiv:2404.10830) made it the way to pack for language models.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def best_fit_decreasing(lengths: Ints, capacity: int) -> Ints:
    """Put every item into a bin.

    Args:
        lengths: [N], each from 1 to `capacity`.
        capacity: what a bin holds.

    Returns:
        [N] the number of each item's bin; bins are numbered from 0 in the order in which they were opened.

    Raises:
        ValueError: a length out of range.
    """
    if len(lengths) == 0:
        return np.zeros(0, np.int64)
    if lengths.min() < 1 or lengths.max() > capacity:
        raise ValueError(f"lengths {lengths.min()}..{lengths.max()} do not fit into bins of {capacity}")
    order = np.argsort(-lengths, kind="stable")
    counts = np.bincount(lengths)
    values = np.flatnonzero(counts)[::-1]
    steps = _Bins(capacity).pack(values.tolist(), counts[values].tolist())
    first, bins, each = np.array(steps, np.int64).T
    amount = bins * each
    step = np.repeat(np.arange(len(amount)), amount)
    within = np.arange(len(lengths)) - np.repeat(np.cumsum(amount) - amount, amount)
    found = np.empty(len(lengths), np.int64)
    found[order] = first[step] + within // each[step]
    return found


class _Bins:
    """Open bins by the space they have left; bins with the same space are kept as ranges of numbers."""

    def __init__(self, capacity: int):
        self.capacity = capacity
        self.opened = 0
        self.ranges: dict[int, list[tuple[int, int]]] = {}
        self.spaces: list[int] = []  # the keys of `ranges`, sorted

    def pack(self, lengths: list[int], counts: list[int]) -> list[tuple[int, int, int]]:
        """Steps (first bin, number of bins, items a bin) in the order of the items."""
        steps: list[tuple[int, int, int]] = []
        for length, count in zip(lengths, counts, strict=True):
            while count:
                at = bisect_left(self.spaces, length)
                if at == len(self.spaces):
                    per = self.capacity // length
                    new = max(1, count // per)
                    self._add(self.capacity, self.opened, self.opened + new)
                    self.opened += new
                    continue
                space = self.spaces[at]
                per = min(space // length, count)
                start, stop = self._take(at, space, count // per)
                steps.append((start, stop - start, per))
                count -= (stop - start) * per
                self._add(space - per * length, start, stop)
        return steps

    def _take(self, at: int, space: int, most: int) -> tuple[int, int]:
        """Remove up to `most` bins with that space, as one range."""
        ranges = self.ranges[space]
        start, stop = ranges.pop()
        if stop - start > most:
            ranges.append((start + most, stop))
            stop = start + most
        if not ranges:
            del self.ranges[space], self.spaces[at]
        return start, stop

    def _add(self, space: int, start: int, stop: int) -> None:
        if not space:
            return
        if space not in self.ranges:
            insort(self.spaces, space)
            self.ranges[space] = []
        self.ranges[space].append((start, stop))
