"""Pictures as PNG bytes: one way of encoding, so that the same pixels are the same bytes everywhere."""

from __future__ import annotations

import io

from PIL import Image as Picture

from .types import Failure, Image


def encode(name: str, picture: Picture.Image) -> Image:
    """An opaque picture as a PNG of fixed settings."""
    buffer = io.BytesIO()
    picture.convert("RGB").save(buffer, "PNG", compress_level=6)
    return Image(name, buffer.getvalue(), picture.width, picture.height)


def blank(picture: Picture.Image) -> Failure | None:
    """A failure if every pixel has the same colour."""
    if all(low == high for low, high in picture.convert("RGB").getextrema()):  # type: ignore[misc]
        return Failure("blank", "render", "every pixel has the same colour")
    return None
