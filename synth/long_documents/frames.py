"""Pictures that show the same: perceptual hashes over a record's media, such as the frames of a recording.

Frames that differ by little from one before are dropped together with their places in the text. A perceptual hash
(pHash: the signs of the low frequencies of a small grey copy) survives scaling, noise and compression; the distance of
two is the number of bits that differ.
"""

from __future__ import annotations

import io
from functools import lru_cache
from importlib.metadata import version as package_version
from typing import Any, ClassVar

from datatrove.data import Document, MediaType
from pydantic import Field

from ...pipelines.record import OBJECT, add_check
from ...pipelines.stage import Context, Filtered, InvalidInput, Stage


class Frames(Stage):
    """Drop pictures of a record that look like one before them.

    Attributes:
        distance: pictures whose 64-bit hashes differ in so many bits or fewer look alike.
        window: compare with so many pictures that were kept last; null: with all of the record.
        max_share: of pictures that may look alike; above it the record is `filtered` as `static`.
    """

    version: ClassVar[int] = 1

    distance: int = Field(default=4, ge=0, le=64)
    window: int | None = Field(default=None, ge=1)
    max_share: float = Field(default=1.0, gt=0, le=1)

    def environment(self) -> dict[str, str]:
        return {"imagehash": package_version("imagehash")}

    def open(self, context: Context) -> None:
        _imagehash()

    def process(self, record: Document) -> Document:
        pictures = [part for part in record.media if part.type == MediaType.IMAGE]
        if len(pictures) < 2:
            return record
        kept: list[Any] = []
        dropped: set[int] = set()
        for at, part in enumerate(record.media):
            if part.type != MediaType.IMAGE:
                continue
            seen = _hash(part.media_bytes or b"")
            recent = kept if self.window is None else kept[-self.window :]
            if any(seen - other <= self.distance for other in recent):
                dropped.add(at)
            else:
                kept.append(seen)
        share = len(dropped) / len(pictures)
        if share > self.max_share:
            raise Filtered("static", f"{len(dropped)} of {len(pictures)} pictures look like one before")
        if dropped:
            _drop(record, dropped)
        add_check(record, "frames", True, share, f"{len(dropped)} dropped" if dropped else "")
        return record


def _drop(record: Document, dropped: set[int]) -> None:
    """Remove media parts and their placeholders; spans over the text lose their meaning and go."""
    pieces = record.text.split(OBJECT)
    text = pieces[0]
    for at, piece in enumerate(pieces[1:]):
        text += piece if at in dropped else OBJECT + piece
    record.text = text
    record.media = [part for at, part in enumerate(record.media) if at not in dropped]
    for field in ("turns", "targets", "tasks"):
        if record.metadata.pop(field, None):
            add_check(record, f"{field}_kept", False, reason="pictures were dropped")


def _hash(data: bytes) -> Any:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as picture:
            return _imagehash().phash(picture)
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise InvalidInput("picture", str(error)) from None


@lru_cache(maxsize=1)
def _imagehash() -> Any:
    import imagehash

    return imagehash
