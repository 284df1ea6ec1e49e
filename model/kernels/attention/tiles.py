"""Which tokens each program works on: a table made once for a batch, on the CPU, and given to all layers.

A tile is a run of tokens of one group, of at most 64 or 128 of them. Tiles begin where their group begins, so what a
group's tokens get does not depend, by a bit, on what else is in the batch. An entry is [first token, start of the
group, end of the group, group]; a tile ends at the end of its group at the latest. The programs with most to do come
first. Four numbers are 16 bytes: so every table is aligned, which is part of what a kernel is compiled for.

Letters: G groups, M tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ...kda.inputs import to_device

SIZES = (64, 128)
"""Tokens of a tile."""

Integers = npt.NDArray[np.int64]


class TileTable:
    def __init__(self, tokens: int, whole: dict[int, Tensor], earlier: dict[int, Tensor], later: dict[int, Tensor]):
        """Tables [M, 4] in int32 by the size of their tiles: of tiles that meet their whole group, what comes before
        them, and what comes after them."""
        self.tokens = tokens
        self._whole, self._earlier, self._later = whole, earlier, later

    @staticmethod
    def of(bounds: Sequence[int], device: torch.device | str) -> TileTable:
        """Of groups that lie one after the other: group g has the tokens from bounds[g] up to bounds[g + 1].

        For a batch of rows tokens are counted through it. Raises ValueError unless bounds are two numbers or more that
        start at 0 and never fall.
        """
        if len(bounds) < 2 or bounds[0] != 0 or any(end < start for start, end in pairwise(bounds)):
            raise ValueError(f"bounds must be two or more numbers that start at 0 and never fall, not {list(bounds)}")
        made = [table for size in SIZES for table in _ordered(np.asarray(bounds, dtype=np.int64), size)]
        with torch.inference_mode(False):  # whoever trains with it keeps it for the backward pass
            together = to_device(torch.from_numpy(np.concatenate(made, dtype=np.int32)), device)
            parts = iter(together.split([len(table) for table in made]))
        tables = {size: [next(parts) for _ in range(3)] for size in SIZES}
        whole, earlier, later = ({size: tables[size][way] for size in SIZES} for way in range(3))
        return TileTable(bounds[-1], whole, earlier, later)

    @property
    def device(self) -> torch.device:
        return self._whole[SIZES[0]].device

    def queries(self, size: int, causal: bool) -> Tensor:
        """[M, 4] int32, for tiles of queries."""
        return (self._earlier if causal else self._whole)[size]

    def keys(self, size: int, causal: bool) -> Tensor:
        """[M, 4] int32, for tiles of keys."""
        return (self._later if causal else self._whole)[size]


def _ordered(edges_G: Integers, size: int) -> list[Integers]:
    """The tiles three times: those of long groups first, those late in their group first, those early in it first.

    In NumPy: torch spreads such work over all cores, which then takes it several times as long.
    """
    starts_G, ends_G = edges_G[:-1], edges_G[1:]
    tiles_G = (ends_G - starts_G + size - 1) // size
    group_M = np.repeat(np.arange(len(tiles_G)), tiles_G)
    start_M, end_M, before_M = (x_G[group_M] for x_G in (starts_G, ends_G, tiles_G.cumsum() - tiles_G))
    first_M = start_M + (np.arange(len(group_M)) - before_M) * size
    table_M4 = np.stack([first_M, start_M, end_M, group_M], axis=1)
    works = (end_M - start_M, first_M - start_M, end_M - first_M)
    return [table_M4[np.argsort(-work_M, kind="stable")] for work_M in works]
