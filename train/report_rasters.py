"""Pictures of a run for its page: decoded and encoded anew, so that nothing but pixels reaches it.

A path that leads out of the run's folder is not followed.
"""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path

from PIL import Image

_SIDE = 512


class Undrawable(Exception):
    """Why there is no picture, as words for the page."""


def opened(folder: Path, name: str) -> Image.Image:
    """At most 512 pixels wide and high. Raises Undrawable."""
    path = folder / name
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise Undrawable("a path that leads out of the run")
        with Image.open(path) as file:
            picture = file.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        # Pillow's ways of saying that this is no picture it can draw.
        missing = "is not there" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise Undrawable(f"{name} {missing}") from None
    picture.thumbnail((_SIDE, _SIDE))
    return picture


def data_url(picture: Image.Image) -> str:
    """As a PNG."""
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"


def raster(folder: Path, name: str) -> str:
    """An img element, or a sentence about why there is none."""
    try:
        picture = opened(folder, name)
    except Undrawable as problem:
        return f'<p class="nothing">{escape(str(problem))}</p>'
    return f'<img alt="" width="{picture.width}" height="{picture.height}" src="{data_url(picture)}">'
