"""Captions of programs that came without one: true statements read from the program and from what was drawn.

A generated program brings its generator's caption. A collected one is described by its own title or heading and by
counts over the renderer's layout.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from .types import Element

_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_SAID = 4
"""How many kinds of elements a caption counts."""

_COUNTED = {
    "button": "buttons", "link": "links", "heading": "headings", "image": "images", "table": "tables",
    "textbox": "text fields", "checkbox": "checkboxes", "list item": "list items", "paragraph": "paragraphs",
}  # fmt: skip


def derive(kind: str, program: str, layout: Sequence[Element], log: dict[str, Any], path: str = "") -> str:
    """A caption of one or two sentences; "" if nothing certain can be said.

    Args:
        kind: svg, web or cad.
        program: its source.
        layout: what the renderer placed.
        log: what else the renderer found out (`bbox_mm`, `faces`).
        path: path of the file it came from; a file named in words names the drawing.
    """
    if kind == "svg":
        return _svg(program, layout, _file_words(path))
    if kind == "web":
        return _web(program, layout)
    return _cad(layout, log)


def counted(count: int, noun: str) -> str:
    """ "1 red circle", "3 red circles"."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}{'es' if noun.endswith(('s', 'x', 'ch')) else 's'}"


def _svg(program: str, layout: Sequence[Element], name: str) -> str:
    title = _title(program)
    shapes = Counter(one.text for one in layout if one.role not in ("text", "group") and one.text)
    words = [one.text for one in layout if one.role == "text" and one.text]
    parts = [counted(count, noun) for noun, count in shapes.most_common(_SAID)]
    parts += [f'the words "{words[0]}"'] if words else []
    named = f'titled "{title}"' if title else f'named "{name}"' if name else ""
    opening = f"A drawing {named}".rstrip() if parts or named else ""
    others = sum(shapes.values()) - sum(count for _, count in shapes.most_common(_SAID))
    if others > 0:
        parts.append(counted(others, "other shape"))
    return f"{opening} with {_join(parts)}." if parts else f"{opening}." if opening else ""


def _web(program: str, layout: Sequence[Element]) -> str:
    title = _title(program)
    heading = next((one.text for one in layout if one.role == "heading" and one.text), "")
    roles = Counter(one.role for one in layout)
    parts = [
        f"{roles[role]} {many if roles[role] > 1 else many.removesuffix('s').replace('checkboxe', 'checkbox')}"
        for role, many in _COUNTED.items()
        if roles[role]
    ][: _SAID + 1]
    opening = f'A web page titled "{title}"' if title else "A web page" if layout else ""
    first = f', which opens with the heading "{heading}"' if heading and heading != title else ""
    second = f" It shows {_join(parts)}." if parts else ""
    return f"{opening}{first}.{second}" if opening else ""


def _cad(layout: Sequence[Element], log: dict[str, Any]) -> str:
    size = log.get("bbox_mm")
    if not size or len(size) != 3:
        return ""
    x, y, z = (f"{side:.1f}".rstrip("0").rstrip(".") for side in size)
    faces = f" and has {log['faces']} faces" if log.get("faces") else ""
    return f"A solid part that measures {x} × {y} × {z} mm{faces}."


def _title(program: str) -> str:
    found = _TITLE.search(program)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", found[1])).split())[:200] if found else ""


def _file_words(path: str) -> str:
    """The file's name as words, if it consists of words: `icons/coffee-cup.svg` is "coffee cup"."""
    stem = PurePosixPath(path).stem
    words = re.split(r"[-_ ]+", stem)
    return " ".join(words).lower() if all(word.isalpha() and len(word) > 1 for word in words) else ""


def _join(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
