"""One packed training sequence as the reader gives it: token ids at once, everything else when it is asked for."""

from __future__ import annotations

import io
import json
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..pipelines.tokens import TokenSample, read_token_sample, spread, tokens_view

MEMBERS = ("tokens.npy", "spans.json", "media.bin")


class Place(NamedTuple):
    """Where a sequence stands: the epoch and its position in it, and the number of the sequence in the data set."""

    epoch: int
    position: int
    number: int


class PackedSequence:
    """One sequence of the window's length.

    Attributes:
        tokens: [T] uint32, a view of the shard.
        place: where it stands in the order of training.
    """

    def __init__(self, members: tuple[memoryview, memoryview, memoryview], place: Place):
        self.tokens = tokens_view(members[0])
        self.place = place
        self._members = members

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def spans(self) -> dict[str, Any]:
        """The content of `spans.json`: groups, docs, images, weights, proofs (JSON strings), provenance."""
        return json.loads(bytes(self._members[1]))

    @property
    def images(self) -> list[dict[str, Any]]:
        """{start, tokens, grid, frames, offset, bytes, mime, width, height} of each picture, in order."""
        return self.spans["images"]

    @cached_property
    def cu_seqlens(self) -> npt.NDArray[np.int32]:
        """[groups + 1] where each group starts, and T: what resets state and attention."""
        return np.array([0, *(one["end"] for one in self.spans["groups"])], np.int32)

    @cached_property
    def weights(self) -> npt.NDArray[np.float32]:
        """[T] the weight of predicting token t + 1 at position t; 0 at the last position of every group."""
        return spread(self.spans["weights"])

    def picture(self, number: int) -> memoryview:
        """The stored bytes of a picture."""
        one = self.images[number]
        return self._members[2][one["offset"] : one["offset"] + one["bytes"]]

    def pixels(self, number: int) -> npt.NDArray[np.uint8]:
        """[height, width, 3] a decoded picture, as stored: not yet scaled to the model's grid."""
        from PIL import Image

        with Image.open(io.BytesIO(self.picture(number))) as image:
            return np.asarray(image.convert("RGB"))

    def sample(self) -> TokenSample:
        """Everything, as the engine knows it."""
        return read_token_sample(dict(zip(MEMBERS, self._members, strict=True)))
