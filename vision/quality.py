"""The stage that judges pictures: nearly blank, too small, too long or clipped ones are dropped, the rest is measured.

Every judgement is recorded as a check with its score, so that a data set can be cut more strictly later.
"""

from __future__ import annotations

import io
from typing import ClassVar

import numpy as np
from datatrove.data import Document
from PIL import Image

from ..pipelines.record import OBJECT, add_check
from ..pipelines.stage import Filtered, Stage

_SAMPLE = 512
"""Pixels a side that colours are counted on; larger pictures are thinned out."""

_INK = 24
"""A pixel is ink if a channel differs from the background by more than this."""


class Quality(Stage):
    """Keep pictures that show something.

    Attributes:
        dominant: largest share of the picture that one colour may have.
        dominant_svg: the same for line art (drawings, and the sheet of a part), where an icon may be a few strokes.
        border: largest share of the border that ink may touch on a plain background (drawings and parts only: art that
            fills its sheet has no plain background).
        aspect: largest ratio of the sides.
        side: smallest side in pixels.
        side_svg: the same for drawings.
        characters_min: shortest program.
        characters_max: longest program.
    """

    version: ClassVar[int] = 1

    dominant: float = 0.98
    dominant_svg: float = 0.995
    border: float = 0.6
    aspect: float = 5.0
    side: int = 128
    side_svg: int = 64
    characters_min: int = 64
    characters_max: int = 64_000

    def process(self, record: Document) -> Document:
        if not record.media:
            raise Filtered("no_picture", "the record has no picture to judge")
        kind = record.metadata.get("kind", "")
        self._size_of_program(record)
        pictures = []
        for part in record.media:
            with Image.open(io.BytesIO(part.media_bytes)) as picture:
                pictures.append(np.asarray(picture.convert("RGB")))
        self._shapes(record, kind, pictures)
        self._contents(record, kind, pictures)
        self._log(record, kind)
        return record

    def _size_of_program(self, record: Document) -> None:
        length = len(record.text.replace(OBJECT, "").strip())
        _keep(record, "program_length", self.characters_min <= length <= self.characters_max, length,
              f"{length} characters, not {self.characters_min} to {self.characters_max}")  # fmt: skip

    def _shapes(self, record: Document, kind: str, pictures: list[np.ndarray]) -> None:
        sizes = [(pixels.shape[1], pixels.shape[0]) for pixels in pictures]
        narrow = min(sizes, key=min)
        least = self.side_svg if kind == "svg" else self.side
        _keep(record, "too_small", min(narrow) >= least, min(narrow), f"{narrow[0]} × {narrow[1]} pixels")
        ratio, long = max((max(size) / min(size), size) for size in sizes)
        _keep(record, "aspect", ratio <= self.aspect, ratio, f"{long[0]} × {long[1]} pixels")

    def _contents(self, record: Document, kind: str, pictures: list[np.ndarray]) -> None:
        """The emptiest and the most clipped of the pictures decide."""
        found = [dominant_colour(pixels) for pixels in pictures]
        excess = []
        for part, (_, share) in zip(record.media, found, strict=True):
            lines = kind == "svg" or part.metadata.get("name") == "drawing"
            excess.append((share - (self.dominant_svg if lines else self.dominant), share))
        over, share = max(excess)
        _keep(record, "nearly_blank", over <= 0, share, f"{share:.2%} of the picture has one colour")
        if kind in ("svg", "cad"):
            touched = max(ink_on_border(pixels, *one) for pixels, one in zip(pictures, found, strict=True))
            _keep(record, "clipped", touched <= self.border, touched, f"ink on {touched:.0%} of the border")

    def _log(self, record: Document, kind: str) -> None:
        """What the renderer noticed about a page is recorded; it does not drop the page."""
        log = record.metadata.get("scratch", {}).get("render_log") or {}
        if kind == "web":
            if "overflow_x" in log:
                overflow = bool(log["overflow_x"])
                add_check(
                    record, "horizontal_overflow", not overflow, None, "wider than the viewport" if overflow else ""
                )
            blocked = int(log.get("blocked_requests", 0))
            add_check(
                record, "blocked_requests", blocked == 0, blocked, "asked for resources outside" if blocked else ""
            )


def dominant_colour(pixels: np.ndarray) -> tuple[np.ndarray, float]:
    """The commonest colour of a picture and its share, counted on at most `_SAMPLE` × `_SAMPLE` pixels."""
    rows, columns = (max(1, -(-side // _SAMPLE)) for side in pixels.shape[:2])
    sample = pixels[::rows, ::columns].astype(np.uint32)
    packed = (sample[..., 0] << 16) | (sample[..., 1] << 8) | sample[..., 2]
    values, counts = np.unique(packed, return_counts=True)
    value = int(values[counts.argmax()])
    return np.array([value >> 16, value >> 8 & 255, value & 255]), float(counts.max() / packed.size)


def ink_on_border(pixels: np.ndarray, background: np.ndarray, share: float) -> float:
    """Share of the border that is not background; 0 unless the background is plain: a third of the picture and at
    least three of its corners have that colour."""
    border = np.concatenate([pixels[0], pixels[-1], pixels[1:-1, 0], pixels[1:-1, -1]]).astype(int)
    ink = (np.abs(border - background) > _INK).any(axis=1)
    corners = pixels[[0, 0, -1, -1], [0, -1, 0, -1]].astype(int)
    plain = (np.abs(corners - background) <= _INK).all(axis=1).sum() >= 3
    return float(ink.mean()) if plain and share > 1 / 3 else 0.0


def _keep(record: Document, name: str, passed: bool, score: float, reason: str) -> None:
    """Record the check; a failed one drops the record."""
    add_check(record, name, passed, round(float(score), 4), "" if passed else reason)
    if not passed:
        raise Filtered(name, reason)
