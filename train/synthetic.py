"""A stage without data: documents and pictures drawn at random, to measure and to count steps where no shards are.

Every microbatch has the same number of tokens and other groups than the one before, as packed data has.
"""

from __future__ import annotations

from itertools import pairwise

import torch

from ..model.attention import Groups
from ..model.config import ModelConfig
from ..model.inputs import next_next_weights
from ..model.vision.preprocess import Patches
from .config import StageConfig
from .data import BUCKETS, LabelNames, Microbatch, bucket_name

_PICTURE = (8, 8)
"""Rows and columns of a picture's patches."""


class SyntheticStage:
    """What `Trainer.step` asks of a stage. Documents have from a quarter to one and a half times `document` tokens."""

    def __init__(
        self, model: ModelConfig, config: StageConfig, *, window: int, document: int, pictures: int = 0, seed: int = 0
    ) -> None:
        """`pictures` of each microbatch, which stand at the beginning of as many documents, or of fewer."""
        self.model, self.config, self.window, self.document, self.pictures = model, config, window, document, pictures
        self.steps = -(-config.tokens // config.batch_tokens)
        self.microbatches = config.batch_tokens // (window * config.micro_sequences)
        self.labels = LabelNames(["text", "vision"], ["text", "svg"], [bucket_name(n) for n in range(len(BUCKETS))])
        self.last_wait = 0.0
        self._rng = torch.Generator().manual_seed(seed)

    def step(self) -> list[Microbatch]:
        """The microbatches of one step."""
        return [self._microbatch() for _ in range(self.microbatches)]

    def _microbatch(self) -> Microbatch:
        T = self.window * self.config.micro_sequences
        bounds = self._bounds(T)
        groups = Groups(1, T, torch.tensor(bounds))
        tokens_T = torch.randint(0, self.model.media_pad_id - 1, (T,), generator=self._rng)
        rows, columns = _PICTURE
        places = rows * columns // 4
        images: list[Patches] = []
        for start, end in pairwise(bounds):
            if self.model.vision and len(images) < self.pictures and end - start > places + 1:
                tokens_T[start + 1 : start + 1 + places] = self.model.media_pad_id
                side = self.model.vision.patch
                pixels = torch.rand(rows * columns, 3, side, side, generator=self._rng) * 2 - 1
                images.append(Patches(pixels, (1, rows, columns), places))
        weights_1T = (tokens_T != self.model.media_pad_id).float()[None] * groups.inner(torch.device("cpu"))
        edges = torch.tensor(bounds)
        place_T = torch.arange(T) - torch.repeat_interleave(edges[:-1], edges.diff())
        position_T = torch.bucketize(place_T, torch.tensor(BUCKETS), right=True) - 1
        half_T = (torch.arange(T) >= T // 2).long()
        return Microbatch(
            tokens_1T=tokens_T[None], weights_1T=weights_1T, real_1T=torch.ones(1, T, dtype=torch.bool), images=images,
            groups=groups, labels={"domain": half_T, "kind": half_T, "position": position_T}, places=[],
            weight=float(weights_1T.sum(dtype=torch.float64)),
            next_next_weight=float(next_next_weights(weights_1T, groups).sum(dtype=torch.float64)),
        )  # fmt: skip

    def _bounds(self, tokens: int) -> list[int]:
        bounds = [0]
        while bounds[-1] < tokens:
            low, high = max(1, self.document // 4), self.document * 3 // 2
            length = int(torch.randint(low, high + 1, (), generator=self._rng))
            window_end = (bounds[-1] // self.window + 1) * self.window
            bounds.append(min(bounds[-1] + length, window_end))
        return bounds
