"""What a trainer reads: the packed sequences of a stage, in an order that is a function and never a list.

    reader = PackedReader.open("out/curriculum", "8k")
    for sequence in reader.iter(rank=0, world=8, cursor=reader.start(seed=7)):
        sequence.tokens, sequence.cu_seqlens, sequence.weights, sequence.images

The sequence at position p of epoch e is `Permutation(n, digest, seed, stage, e)[p]`. Ranks take positions in turn, so
the order over all of them is the same however many there are. A cursor is five integers; to go on from one costs no
more than to begin. Runs on machines that train: numpy, pyarrow, pillow, fsspec, and torch where `PackedLoader` is used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from ..pipelines.errors import UserError
from ..pipelines.store import open_store
from .order import Permutation
from .sequence import PackedSequence, Place
from .shard_files import ShardFiles

_BLOCK = 4096
_AHEAD = 16


class Cursor(NamedTuple):
    """Where training stands: everything before it has been seen, by all ranks together.

    Attributes:
        digest: of the packed data that it counts in.
        seed: of the order.
        stage: the window of the stage.
        epoch: from 0.
        position: in the epoch, from 0.
    """

    digest: int
    seed: int
    stage: int
    epoch: int
    position: int


class PackedReader:
    """The sequences of one stage and split.

    Attributes:
        window: tokens of a sequence.
        about: the content of `curriculum.json`.
        files: where the sequences lie.
    """

    def __init__(self, files: ShardFiles):
        self.files = files
        self.about = files.about
        self.window = int(files.about["stage"]["window"])

    @classmethod
    def open(
        cls, url: str, stage: str | None = None, *, split: str = "train", check: bool = True, **options: Any
    ) -> PackedReader:
        """Open a packed stage.

        Args:
            url: an output, or the folder of one of its jobs; a path or any fsspec URL.
            stage: the name of a stage or of the job that packed it; may be left out if url is the job's folder.
            split: train, val or test.
            check: compare every sequence with its SHA-256 as it is read.
            **options: passed to fsspec.

        Raises:
            UserError: there is no such stage, or it is not complete, or has no sequences of that split.
        """
        store = open_store(url, **options)
        if stage is not None:
            store = store.sub(_job_of(store, stage))
        return cls(ShardFiles(store, split, check))

    def __len__(self) -> int:
        return len(self.files)

    def start(self, seed: int = 0) -> Cursor:
        """The beginning of the first epoch."""
        return Cursor(self.files.digest, seed, self.window, 0, 0)

    def advance(self, cursor: Cursor, sequences: int) -> Cursor:
        """The cursor after so many more sequences, over all ranks."""
        epochs, position = divmod(cursor.position + sequences, len(self))
        return cursor._replace(epoch=cursor.epoch + epochs, position=position)

    def between(self, earlier: Cursor, later: Cursor) -> int:
        """How many sequences lie between two cursors."""
        return (later.epoch - earlier.epoch) * len(self) + later.position - earlier.position

    def places(self, cursor: Cursor, rank: int = 0, world: int = 1) -> Iterator[Place]:
        """The places that a rank reads from a cursor on, every `world`-th, without end: epoch follows epoch.

        Raises:
            UserError: the cursor belongs to other data or another stage, or there is no such rank.
        """
        self._check_cursor(cursor)
        if not 0 <= rank < world:
            raise UserError(f"rank {rank} of {world}: ranks count from 0")
        epoch, at = divmod(cursor.epoch * len(self) + cursor.position + rank, len(self))
        while True:
            order = Permutation(len(self), cursor.digest, cursor.seed, cursor.stage, epoch)
            while at < len(self):
                found = order.block(at, min(at + _BLOCK, len(self)))[::world].tolist()
                for number in found:
                    yield Place(epoch, at, number)
                    at += world
            epochs, at = divmod(at, len(self))
            epoch += epochs

    def iter(self, rank: int = 0, world: int = 1, cursor: Cursor | None = None) -> Iterator[PackedSequence]:
        """The sequences that a rank reads from a cursor on, without end.

        Raises:
            UserError: see `places`.
            DataError: a shard is missing or damaged, also when fetched again.
        """
        yield from self.read(self.places(cursor or self.start(), rank, world))

    def read(self, places: Iterator[Place]) -> Iterator[PackedSequence]:
        """The sequences at these places. From an object store some are fetched ahead."""
        if self.files.mapped:
            for place in places:
                yield PackedSequence(self.files, place)
            return
        waiting: deque[Future[PackedSequence]] = deque()
        with ThreadPoolExecutor(_AHEAD, "k3data-read") as pool:
            for place in places:
                waiting.append(pool.submit(PackedSequence, self.files, place))
                if len(waiting) >= _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _check_cursor(self, cursor: Cursor) -> None:
        if cursor.digest != self.files.digest:
            raise UserError(f"the cursor counts in other data than {self.files.store.url}: it was packed anew")
        if cursor.stage != self.window:
            raise UserError(f"the cursor belongs to a stage of {cursor.stage:,} tokens, this one has {self.window:,}")


def _job_of(store: Any, stage: str) -> str:
    """The job that packed a stage, by its own name or by the stage's."""
    import json

    if store.exists(f"{stage}/curriculum.json"):
        return stage
    try:
        jobs = json.loads(store.read("k3data.json"))["jobs"]
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{store.url} is not an output of k3data: it has no k3data.json") from None
    packed = {}
    for job in jobs:
        if store.exists(f"{job}/curriculum.json"):
            packed[job] = json.loads(store.read(f"{job}/curriculum.json"))["name"]
    found = [job for job, name in packed.items() if name == stage]
    if len(found) != 1:
        there = ", ".join(f"{name} (job {job})" for job, name in packed.items()) or "none that is complete"
        raise UserError(f"{store.url} has {len(found) or 'no'} stages called {stage!r}; there are: {there}")
    return found[0]
