"""Heads of the backward pass in groups, so that what kernels hand to each other fits a budget.

What is held for the heads of a group, in bytes of one head:

    walk      k° and γ_last, later freed; the gradients of the states that leave chunks, until the group's end; with
              segments also what they carry and are passed
    inner     dA, dP and the rows' own products

A group of the walk is worked on in as many groups of the inner kernels as the rest of the budget asks for. Groups are
large, for the walk has one program a sequence and head; they give bit for bit the results of one group, since no
program knows of another head.

Letters: M chunks, Z segments, H heads, K key channels, V value channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from .chunks import CHUNK

BUDGET = 2**30
"""Bytes. One head always runs, whatever it takes."""


@dataclass(frozen=True)
class HeadBytes:
    """Of one head."""

    rows: int
    """k° and γ_last, which the walk reads."""
    segments: int
    """What segments carry and are passed."""
    leaving: int
    inner: int

    @staticmethod
    def of(chunks: int, segments: int, key_dim: int, value_dim: int, activation: int) -> HeadBytes:
        """`activation` is the bytes of one number of q; no segments where nothing is cut."""
        return HeadBytes(
            rows=chunks * key_dim * (CHUNK * activation + 4),
            segments=2 * segments * value_dim * key_dim * 4,
            leaving=chunks * value_dim * key_dim * activation,
            inner=chunks * CHUNK * (2 * CHUNK * activation + 2 * 4),
        )

    @property
    def walk(self) -> int:
        return self.rows + self.segments + self.leaving


def head_groups(
    chunks: int, segments: int, heads: int, key_dim: int, value_dim: int, activation: int
) -> list[tuple[int, int, list[tuple[int, int]]]]:  # fmt: skip
    """For each group of the walk its first head, how many, and the same of each of its inner groups."""
    one = HeadBytes.of(chunks, segments, key_dim, value_dim, activation)
    walk = min(BUDGET // one.walk, (BUDGET - one.inner) // one.leaving)
    found = []
    for first, count in _even(0, heads, walk):
        found.append((first, count, _even(first, count, (BUDGET - count * one.leaving) // one.inner)))
    return found


def workspace_bytes(
    chunks: int, segments: int, heads: int, key_dim: int, value_dim: int, activation: int
) -> int:  # fmt: skip
    """The most that groups hold at one time."""
    one = HeadBytes.of(chunks, segments, key_dim, value_dim, activation)
    groups = head_groups(chunks, segments, heads, key_dim, value_dim, activation)
    return max(
        max(count * one.walk, count * one.leaving + max(own for _, own in inner) * one.inner)
        for _, count, inner in groups
    )


def _even(first: int, count: int, most: int) -> list[tuple[int, int]]:
    """The fewest groups of at most `most` heads, at least one each, and as even as they can be."""
    groups = -(-count // max(1, most))
    edges = [first + count * n // groups for n in range(groups + 1)]
    return [(start, end - start) for start, end in pairwise(edges)]
