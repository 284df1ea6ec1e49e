"""Batches for torch: a `DataLoader` over a `PackedReader`, which can be stopped and gone on with anywhere.

    loader = PackedLoader(reader, rank=rank, world=world, batch=4, workers=2)
    loader.load_state_dict(state)          # from a checkpoint of any number of ranks
    for batch in loader:                   # without end
        step(batch); state = loader.state_dict()

The state is the cursor after the last batch that was given out, the same on all ranks. Worker processes of a rank take
its batches in turn, so the order does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ..pipelines.errors import UserError
from .reader import Cursor, PackedReader
from .sequence import PackedSequence, Place

try:
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info
except ModuleNotFoundError:
    raise UserError("PackedLoader needs torch, which is not installed: pip install 'k3data[train]'") from None


@dataclass
class Batch:
    """B sequences of T tokens.

    Attributes:
        tokens: [B, T] int64.
        weights: [B, T] float32, the weight of predicting token t + 1 at t.
        cu_seqlens: for each sequence [groups + 1] int32.
        images: for each sequence its pictures: the fields of `TokenSample.images`, and `data`, the stored bytes, or
            `pixels`, [height, width, 3] uint8, if they were to be decoded.
        places: where each sequence stands in the order.
    """

    tokens: torch.Tensor
    weights: torch.Tensor
    cu_seqlens: list[torch.Tensor]
    images: list[list[dict[str, Any]]]
    places: list[Place]


class PackedLoader:
    """An endless iterable of batches; one iteration at a time.

    Args:
        reader: what to read.
        rank, world: this process among all that train.
        batch: sequences a batch, of this rank.
        workers: processes that read; 0 = this one.
        cursor: where to begin; the start of the first epoch unless given.
        decode: decode pictures to pixels.
    """

    def __init__(
        self,
        reader: PackedReader,
        *,
        rank: int = 0,
        world: int = 1,
        batch: int = 1,
        workers: int = 0,
        cursor: Cursor | None = None,
        decode: bool = False,
    ):
        if batch < 1:
            raise UserError(f"a batch of {batch} sequences")
        self.reader, self.rank, self.world, self.batch, self.workers = reader, rank, world, batch, workers
        self.decode = decode
        self.cursor = cursor or reader.start()

    def __iter__(self) -> Iterator[Batch]:
        batches = DataLoader(
            _Batches(self),
            batch_size=None,
            num_workers=self.workers,
            # Clients of object stores have threads, which do not survive a fork.
            multiprocessing_context=None if self.reader.files.mapped or not self.workers else "spawn",
        )
        for batch in batches:
            self.cursor = self.reader.advance(self.cursor, self.batch * self.world)
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """Where this loader stands: five integers."""
        return {"cursor": list(self.cursor)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of any number of ranks and workers; takes effect with the next iteration."""
        self.cursor = Cursor(*state["cursor"])


class _Batches(IterableDataset[Batch]):
    """The loader's batches from its cursor on; in a worker process, every `num_workers`-th of them."""

    def __init__(self, loader: PackedLoader):
        self._loader = loader

    def __iter__(self) -> Iterator[Batch]:
        loader, worker = self._loader, get_worker_info()
        number, of = (worker.id, worker.num_workers) if worker else (0, 1)
        places = loader.reader.places(loader.cursor, loader.rank, loader.world)

        def mine() -> Iterator[Place]:
            _drop(places, number * loader.batch)
            while True:
                yield from islice(places, loader.batch)
                _drop(places, (of - 1) * loader.batch)

        sequences = loader.reader.read(mine())
        while True:
            yield _collated(list(islice(sequences, loader.batch)), loader.decode)


def _drop(places: Iterator[Place], count: int) -> None:
    for _ in islice(places, count):
        pass


def _collated(sequences: list[PackedSequence], decode: bool) -> Batch:
    return Batch(
        tokens=torch.from_numpy(np.stack([one.tokens for one in sequences]).astype(np.int64)),
        weights=torch.from_numpy(np.stack([one.weights for one in sequences])),
        cu_seqlens=[torch.from_numpy(one.cu_seqlens) for one in sequences],
        images=[_images(one, decode) for one in sequences],
        places=[one.place for one in sequences],
    )


def _images(sequence: PackedSequence, decode: bool) -> list[dict[str, Any]]:
    return [
        {**one, **({"pixels": torch.from_numpy(sequence.pixels(at).copy())} if decode
                   else {"data": bytes(sequence.picture(at))})}
        for at, one in enumerate(sequence.images)
    ]  # fmt: skip
