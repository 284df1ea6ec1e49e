"""Looks at a page before the browser does, and takes out what must not or cannot act: scripts and page changes.

Scripts never run here, so a sample whose text still held them would not be the text that was drawn. Taking them out
is a plain cut: everything else stays as it was written.
"""

from __future__ import annotations

import base64
import mimetypes
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .text_lint import text_fault
from .types import Failure

MAX_CHARACTERS = 4 << 20
MAX_TAGS = 30_000
MAX_INLINED_BYTES = 4 << 20

_SCRIPT = re.compile(r"<script\b[^>]*>.*?</script\s*>|<script\b[^>]*/?>(?!.*</script)", re.IGNORECASE | re.DOTALL)
_REFRESH = re.compile(r"""<meta\b(?=[^>]*http-equiv\s*=\s*["']?\s*refresh\b)[^>]*>""", re.IGNORECASE)
_TAG = re.compile(r"<[a-zA-Z][^\s>/]*")
_LINK = re.compile(
    r"""<link\b(?=[^>]*\brel\s*=\s*["']?stylesheet\b)[^>]*\bhref\s*=\s*["']?([^"'\s>]+)[^>]*>""", re.IGNORECASE
)
_SOURCE = re.compile(r"""(<img\b[^>]*?\bsrc\s*=\s*["'])([^"']+)(["'])""", re.IGNORECASE)


def normalise(program: str) -> str | Failure:
    """The page as it will be drawn, or why it will not be."""
    fault = text_fault(program, MAX_CHARACTERS)
    if fault is not None:
        return fault
    tags = sum(1 for _ in _TAG.finditer(program))
    if tags == 0:
        return Failure("parse", "lint", "no tag in it")
    if tags > MAX_TAGS:
        return Failure("too_large", "lint", f"{tags} tags, at most {MAX_TAGS}")
    return _REFRESH.sub("", _SCRIPT.sub("", program))


def inline_resources(page: str, folder: Path) -> str:
    """The page with local style sheets and pictures put into its text, as far as they lie under `folder`."""
    root = folder.resolve()

    def style(match: re.Match[str]) -> str:
        data = _local(match[1], root)
        return match[0] if data is None else f"<style>\n{data.decode('utf-8', 'replace')}\n</style>"

    def picture(match: re.Match[str]) -> str:
        data = _local(match[2], root)
        mime = mimetypes.guess_type(match[2])[0] or "application/octet-stream"
        if data is None:
            return match[0]
        return f"{match[1]}data:{mime};base64,{base64.b64encode(data).decode()}{match[3]}"

    return _SOURCE.sub(picture, _LINK.sub(style, page))


def _local(reference: str, root: Path) -> bytes | None:
    """A referenced file's bytes, if it lies under `root`."""
    address = urlsplit(reference)
    if address.scheme or address.netloc or not address.path:
        return None
    path = (root / unquote(address.path).lstrip("/")).resolve()
    if not path.is_relative_to(root) or not path.is_file() or path.stat().st_size > MAX_INLINED_BYTES:
        return None
    return path.read_bytes()
