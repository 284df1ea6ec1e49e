"""A document as token ids, part by part: text, pictures, and how much each token counts as a label."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from datatrove.data import Document, Media

from ..pipelines.stage import InvalidInput
from ..pipelines.tokens import TokenSample, from_label_weights
from ..tokenizer import Tokenizer
from ..tokenizer.images import image_grid, image_tokens

_STEP = 1000
"""Characters between places where a long text may be cut."""


class DocumentWriter:
    """Collects the parts of one document; `finish` makes a token sample of one group of them."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int):
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.length = 0
        self.breaks: list[int] = []
        self._ids: list[np.ndarray] = []
        self._labels: list[np.ndarray] = []
        self._images: list[dict[str, Any]] = []
        self._media: list[bytes] = []

    def text(self, text: str, weight: float = 1.0) -> None:
        """Append text; where it may be cut, at paragraphs or else at lines, is noted in `breaks`."""
        if not text:
            return
        pieces = self.tokenizer.encode_batch(_paragraphs(text))
        starts = accumulate((len(one) for one in pieces[:-1]), initial=self.length)
        self.breaks += [at for at in starts if at]
        for ids in pieces:
            self.ids(ids, np.full(len(ids), weight, np.float32))

    def ids(self, ids: np.ndarray, labels: np.ndarray) -> None:
        """Append ids with their label weights."""
        self._ids.append(ids)
        self._labels.append(labels)
        self.length += len(ids)

    def picture(self, part: Media) -> None:
        """Append a picture: the run of ids that stands for it, whose `media_pad` carry no loss."""
        width, height = part.metadata["width"], part.metadata["height"]
        ids = image_tokens(self.tokenizer, width, height, self.max_tokens)
        grid = image_grid(width, height, self.max_tokens)
        is_pad = ids == self.tokenizer.special["media_pad"]
        self.image({"start": int(np.argmax(is_pad)), "tokens": grid.tokens, "grid": [grid.rows, grid.columns],
                    "width": width, "height": height}, part)  # fmt: skip
        self.ids(ids, np.where(is_pad, 0, 1).astype(np.float32))

    def image(self, place: dict[str, Any], part: Media) -> None:
        """Note a picture whose ids are the next to be appended; `place["start"]` counts from there."""
        if not str(part.metadata["mime"]).startswith("image/"):
            raise InvalidInput("unsupported_media", f"{part.metadata['mime']} has no place in a sequence of tokens yet")
        data = part.media_bytes or b""
        offset = sum(map(len, self._media))
        self._images.append({
            "start": self.length + place["start"], "tokens": place["tokens"], "grid": place["grid"], "frames": 1,
            "offset": offset, "bytes": len(data), "mime": part.metadata["mime"],
            "width": place["width"], "height": place["height"],
        })  # fmt: skip
        self._media.append(data)

    def finish(self, record: Document) -> TokenSample:
        """End the document with its one EOS."""
        self.ids(np.array([self.tokenizer.special["eos"]], np.uint32), np.ones(1, np.float32))
        groups = [{"start": 0, "end": self.length}]
        meta = record.metadata
        return TokenSample(
            tokens=np.concatenate(self._ids).astype(np.uint32, copy=False),
            groups=groups,
            docs=[{**groups[0], "id": record.id, "domain": meta["domain"], "kind": meta["kind"]}],
            images=self._images,
            weights=from_label_weights(np.concatenate(self._labels), groups),
            media=b"".join(self._media),
        )


def _paragraphs(text: str) -> Sequence[str]:
    """Pieces of about a thousand characters, cut after an empty line where there is one and else after a line; always
    before a character that is not white space, so that the pieces' ids are those of the whole."""
    pieces, start = [], 0
    while len(text) - start > 2 * _STEP:
        at = _after(text, "\n\n", start + _STEP, start + 2 * _STEP) or _after(text, "\n", start + _STEP, len(text))
        if not at:
            break
        pieces.append(text[start:at])
        start = at
    return [*pieces, text[start:]]


def _after(text: str, mark: str, start: int, stop: int) -> int:
    """Where the first line after a `mark` in `start:stop` begins with something visible; 0 if nowhere."""
    at = text.find(mark, start, stop)
    while at >= 0:
        at += len(mark)
        if at < len(text) and not text[at].isspace():
            return at
        at = text.find(mark, at, stop)
    return 0
