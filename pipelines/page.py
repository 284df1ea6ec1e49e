"""Self-contained HTML pages that show data written by strangers, so that nothing of it reaches a page as markup.

The data lies in the page as JSON in a script element that does not run, with every character that could end it escaped;
the page's own script puts it on screen as text only. Pictures are decoded and encoded anew, and shown as raster data:
URIs. A content security policy forbids everything else: it names the page's one script and one style by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
from pathlib import Path
from typing import Any

import orjson
from PIL import Image

_MAX_SIDE = 1280


def read(beside: str, name: str) -> str:
    """The text of a file that lies beside a module (its `__file__`)."""
    return Path(beside).with_name(name).read_text(encoding="utf-8")


SHARED_STYLE = read(__file__, "page.css")
"""Colours by day and by night, and how controls look."""
SHARED_SCRIPT = read(__file__, "page.js")
"""`data`, and `make`, which makes elements of text."""


_FRAME = read(__file__, "page.html")
"""What every page has around its body."""


def render(body: str, *, title: str, style: str, script: str, data: Any) -> str:
    """The page as HTML.

    Args:
        body: what stands in the page's body before its data and script; {{title}} stands for the title.
        data: JSON values for the page's script.
    """
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": html.escape(policy),
        "title": html.escape(title),
        "style": style,
        "script": script,
        "data": _inert(orjson.dumps(data).decode()),
    }
    # Cut the page at its placeholders, once: what is put in is never looked at again.
    first, *rest = _FRAME.replace("{{body}}", body).split("{{")
    return first + "".join(parts[name] + after for name, after in (piece.split("}}", 1) for piece in rest))


def raster(data: bytes, max_side: int = _MAX_SIDE) -> str:
    """A picture's bytes as a data: URI of pixels. Raises what Pillow raises for bytes that are no picture."""
    picture: Image.Image = Image.open(io.BytesIO(data))
    picture = picture.convert("RGBA" if "transparency" in picture.info or picture.mode in ("RGBA", "LA") else "RGB")
    picture.thumbnail((max_side, max_side))
    out = io.BytesIO()
    picture.save(out, "WEBP", lossless=True, quality=60, method=2)
    return f"data:image/webp;base64,{base64.b64encode(out.getvalue()).decode()}"


def _inert(json: str) -> str:
    """JSON that cannot end the script element it lies in, nor begin anything else."""
    for character in "<>&\u2028\u2029":
        json = json.replace(character, f"\\u{ord(character):04x}")
    return json


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
