"""From packed shards to what a step eats: sequences of one global order, pictures decoded, made ready ahead.

A step of a stage takes the next `batch_tokens / window` sequences of the order, whatever the number of ranks; rank r of
w takes the r-th, the (r + w)-th … of them. So the state of the data is the number of the step: the cursor of step s is
the start plus s · batch, and the same sequences make the same step on one rank and on eight.

Decoding runs in threads, a few microbatches ahead of the model.

Letters: T tokens of a microbatch (all its sequences in one row), K kinds of labels that losses are told apart by.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..curriculum.reader import Cursor, PackedReader
from ..curriculum.sequence import PackedSequence, Place
from ..model.attention import Groups
from ..model.config import ConfigError
from ..model.inputs import next_next_weights
from ..model.vision.preprocess import Patches, preprocess_image
from .config import StageConfig

OTHER = "other"
BUCKETS = (0, 256, 1024, 4096, 16384, 65536, 262144)
"""Lower bounds of the positions in a group by which losses are told apart."""


@dataclass
class Microbatch:
    """The sequences of one forward, end to end in one row.

    Attributes:
        tokens_1T: int64. weights_1T: float32, 0 at the end of every group. real_1T: false for padding.
        images: pictures in the order of their places.
        groups: the bounds of all groups.
        labels: for each of `domain`, `kind` and `position` an int64 [T] that counts in `LabelNames`; −1 for padding.
        places: where each sequence stands in the order.
        weight, next_next_weight: sums of the weights of the next token, and of the one after it.
    """

    tokens_1T: Tensor
    weights_1T: Tensor
    real_1T: Tensor
    images: list[Patches]
    groups: Groups
    labels: dict[str, Tensor]
    places: list[Place]
    weight: float
    next_next_weight: float


class LabelNames(NamedTuple):
    """What the labels of a stage's microbatches count in; the same on all ranks.

    A packed stage states the domains and kinds of what was packed. Inside a window that was packed whole lie documents
    of others, which are `OTHER`.
    """

    domain: list[str]
    kind: list[str]
    position: list[str]

    @staticmethod
    def of(reader: PackedReader) -> LabelNames:
        domains, kinds = ([*sorted(reader.about[name]), OTHER] for name in ("by_domain", "by_kind"))
        return LabelNames(domains, kinds, [bucket_name(bucket) for bucket in range(len(BUCKETS))])


def _number(names: list[str], name: str) -> int:
    return names.index(name) if name in names else len(names) - 1


def bucket_name(bucket: int) -> str:
    last = bucket + 1 == len(BUCKETS)
    return f"{BUCKETS[bucket]}+" if last else f"{BUCKETS[bucket]}-{BUCKETS[bucket + 1] - 1}"


class StageData:
    """One stage of a plan on one rank.

    Attributes:
        reader: of the packed stage.
        batch: sequences of a step, over all ranks.
        steps: of the stage.
        last_wait: seconds that the last step stood still for data.
    """

    def __init__(
        self, config: StageConfig, reader: PackedReader, *, seed: int, rank: int = 0, world: int = 1, threads: int = 4
    ) -> None:
        """Raises ConfigError when a step is no whole number of sequences, or these do not divide among the ranks."""
        window = reader.window
        if config.batch_tokens % window:
            raise ConfigError(
                f"stage {config.stage}: batch_tokens is {config.batch_tokens}, not a multiple of the window of {window}"
            )
        self.batch = config.batch_tokens // window
        share = world * config.micro_sequences
        if self.batch % share:
            raise ConfigError(
                f"stage {config.stage}: a step has {self.batch} sequences, which do not divide among {world} ranks of "
                f"{config.micro_sequences} sequences at once"
            )
        self.config, self.reader, self.rank, self.world, self.threads = config, reader, rank, world, threads
        self.steps = -(-config.tokens // config.batch_tokens)
        self.microbatches = self.batch // share
        self.last_wait = 0.0
        self.labels = LabelNames.of(reader)
        self._max_tokens = int(reader.about["images"]["max_tokens"])
        self._start = reader.start(seed)

    def tokenizer_file(self) -> str:
        """The content of the tokenizer's file that the stage was packed with, which lies beside it."""
        return bytes(self.reader.files.store.read(self.reader.about["tokenizer"]["file"])).decode()

    def cursor(self, step: int) -> Cursor:
        """Where the step of this number begins."""
        return self.reader.advance(self._start, step * self.batch)

    def from_step(self, step: int) -> Iterator[list[Microbatch]]:
        """The microbatches of this rank for each step from this one to the stage's last."""
        places = self.reader.places(self.cursor(step), self.rank, self.world)
        wanted = islice(places, (self.steps - step) * self.batch // self.world)
        made = _ahead(self._microbatches(self.reader.read(wanted)), self.threads, 2 * self.microbatches + 1)
        for _ in range(step, self.steps):
            started = time.perf_counter()
            microbatches = list(islice(made, self.microbatches))
            self.last_wait = time.perf_counter() - started
            yield microbatches

    def _microbatches(self, sequences: Iterator[PackedSequence]) -> Iterator[tuple]:  # type: ignore[type-arg]
        while several := list(islice(sequences, self.config.micro_sequences)):
            yield make_microbatch, several, self._max_tokens, self.labels


def make_microbatch(sequences: Sequence[PackedSequence], max_tokens: int, names: LabelNames) -> Microbatch:
    """Raises ValueError for a picture that cannot be read or has other tokens than its places."""
    tokens, weights, bounds, images = [], [], [0], []
    labels: dict[str, list[np.ndarray]] = {what: [] for what in LabelNames._fields}
    for sequence in sequences:
        at = bounds[-1]
        bounds += (sequence.cu_seqlens[1:].astype(np.int64) + at).tolist()
        tokens.append(sequence.tokens)
        weights.append(sequence.weights)
        for number, one in enumerate(sequence.images):
            image = preprocess_image(bytes(sequence.picture(number)), max_tokens)
            if image.tokens != one["tokens"]:
                raise ValueError(
                    f"picture {number} of sequence {sequence.place.number} has {image.tokens} tokens, but was packed "
                    f"for {one['tokens']}: the data was prepared for another image preprocessing"
                )
            images.append(image)
        for what, values in _labels(sequence, names).items():
            labels[what].append(values)
    tokens_1T = torch.from_numpy(np.concatenate(tokens).astype(np.int64))[None]
    groups = Groups(1, tokens_1T.shape[1], torch.tensor(bounds))
    inner_1T = groups.inner(torch.device("cpu"))
    weights_1T = torch.from_numpy(np.concatenate(weights))[None] * inner_1T
    domain_T = torch.from_numpy(np.concatenate(labels["domain"]))
    return Microbatch(
        tokens_1T=tokens_1T,
        weights_1T=weights_1T,
        real_1T=(domain_T >= 0)[None],
        images=images,
        groups=groups,
        labels={what: torch.from_numpy(np.concatenate(parts)) for what, parts in labels.items()},
        places=[sequence.place for sequence in sequences],
        weight=float(weights_1T.sum(dtype=torch.float64)),
        next_next_weight=float(next_next_weights(weights_1T, groups).sum(dtype=torch.float64)),
    )


def _labels(sequence: PackedSequence, names: LabelNames) -> dict[str, np.ndarray]:
    """Domain and kind of the document that each token is of, and the bucket of its place in its group."""
    length = len(sequence)
    domain, kind = np.full(length, -1, np.int64), np.full(length, -1, np.int64)
    for one in sequence.spans["docs"]:
        domain[one["start"] : one["end"]] = _number(names.domain, one["domain"])
        kind[one["start"] : one["end"]] = _number(names.kind, one["kind"])
    starts = sequence.cu_seqlens[:-1].astype(np.int64)
    place = np.arange(length) - np.repeat(starts, np.diff(sequence.cu_seqlens))
    position = np.searchsorted(BUCKETS, place, side="right") - 1
    return {"domain": domain, "kind": kind, "position": np.where(domain < 0, -1, position)}


def _ahead(calls: Iterator[tuple], threads: int, depth: int) -> Iterator[Microbatch]:  # type: ignore[type-arg]
    """The results of the calls, in order, `depth` of them under way."""
    waiting: deque[Future[Microbatch]] = deque()
    with ThreadPoolExecutor(max(1, threads), "k3data-decode") as pool:
        for function, *arguments in calls:
            waiting.append(pool.submit(function, *arguments))
            if len(waiting) >= depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
