"""One packed training sequence as the reader gives it: token ids at once, everything else when it is asked for.

Checksums are compared when a member is first used: of token ids and spans at once, of pictures when one is asked for
(from an object store, where all has been fetched, at once too).
"""

from __future__ import annotations

import io
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..pipelines.tokens import MEDIA, SPANS, TOKENS, TokenSample, read_token_sample, spread, tokens_view

if TYPE_CHECKING:
    from .shard_files import ShardFiles


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

    def __init__(self, files: ShardFiles, place: Place):
        self._files = files
        self._members = files.members(place.number, TOKENS, SPANS, *([] if files.mapped else [MEDIA]))
        self.tokens = tokens_view(self._members[TOKENS])
        self.place = place

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def spans(self) -> dict[str, Any]:
        """The content of `spans.json`: groups, docs, images, weights, proofs (JSON strings), provenance."""
        return json.loads(bytes(self._members[SPANS]))

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
        return self._media[one["offset"] : one["offset"] + one["bytes"]]

    def pixels(self, number: int) -> npt.NDArray[np.uint8]:
        """[height, width, 3] a decoded picture, as stored: not yet scaled to the model's grid."""
        from PIL import Image

        with Image.open(io.BytesIO(self.picture(number))) as image:
            return np.asarray(image.convert("RGB"))

    def sample(self) -> TokenSample:
        """Everything, as the engine knows it."""
        return read_token_sample({**self._members, MEDIA: self._media})

    @cached_property
    def _media(self) -> memoryview:
        return self._files.members(self.place.number, MEDIA)[MEDIA] if self._files.mapped else self._members[MEDIA]
