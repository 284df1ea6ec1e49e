"""Held-out pictures beside what the model drew of them, at a glance: one column a picture, one row a way of asking.

The rows below the answers show what the same questions gave with a blank picture or another's: a model that does not
look would draw the same there. The first pictures of the held-out set are shown, not the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .report_answers import CONTROLS
from .report_rasters import Undrawable, data_url, opened

COUNT = 8
_SIDE, _GAP, _LEFT, _TOP, _BELOW = 104, 10, 124, 8, 22
"""Pixels: of a picture, between pictures, for the names of rows, above, and below answers for a word on each."""


def sheet(
    folder: Path, lines: Sequence[dict[str, Any]], items: Mapping[int, dict[str, Any]], count: int = COUNT,
    alone: bool = False,
) -> str:  # fmt: skip
    """An SVG with its pictures inside; "" where no picture was asked for as code, or no answer has been drawn.

    Args:
        folder: of the run, in which pictures lie.
        lines: of the predictions.
        items: number of a line → its scores.
        count: of pictures, the first that there are.
        alone: for a file of its own, on white.
    """
    columns = _columns(lines, items, count)
    if not columns:
        return ""
    controls = [name for name in CONTROLS if any(name in column for column in columns)]
    rows = ["picture", "", *controls]
    height, width = _top(len(rows)) + _TOP - _GAP, _LEFT + len(columns) * (_SIDE + _GAP)
    parts = [f'<rect width="{width}" height="{height}" fill="white"/>'] if alone else []
    for row, what in enumerate(rows):
        for line, words in enumerate(_name(what)):
            y = _top(row) + _SIDE / 2 - 3 + 15 * line
            parts.append(f'<text class="y" text-anchor="end" x="{_LEFT - 12}" y="{y:.0f}" fill="#555">{words}</text>')
        parts += [_cell(folder, column.get(what), n, row) for n, column in enumerate(columns)]
    parts += [_word(column[""], n) for n, column in enumerate(columns)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart sheet" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="Held-out pictures and what the answers draw" font-family="sans-serif" font-size="12">'
        f"{''.join(parts)}</svg>"
    )


def _columns(
    lines: Sequence[dict[str, Any]], items: Mapping[int, dict[str, Any]], count: int
) -> list[dict[str, dict[str, Any]]]:
    """Of each picture: "picture" and the name of each control ("" for none) → what is to be drawn there."""
    columns: dict[object, dict[str, dict[str, Any]]] = {}
    for n, line in enumerate(lines):
        item = items.get(n)
        if line.get("task") != "to_code" or not line.get("image") or item is None:
            continue
        if not line.get("control"):
            columns[line.get("id")] = {"picture": {"png": line["image"].get("png")}}
        if line.get("id") in columns:
            columns[line.get("id")][str(line.get("control") or "")] = item
    return [one for one in columns.values() if "" in one][:count]


def _top(row: int) -> int:
    return _TOP + row * (_SIDE + _GAP) + _BELOW * (row > 1)


def _name(what: str) -> Sequence[str]:
    """Of a row, in lines."""
    if what == "picture":
        return ("the picture",)
    return ("the answer,", "drawn") if not what else ("asked with", escape(CONTROLS[what]))


def _cell(folder: Path, drawn: dict[str, Any] | None, column: int, row: int) -> str:
    x, y = _LEFT + column * (_SIDE + _GAP), _top(row)
    frame = f'x="{x}" y="{y}" width="{_SIDE}" height="{_SIDE}"'
    words = "draws nothing" if drawn else "not asked"
    try:
        url = data_url(opened(folder, str(drawn["png"]))) if drawn and drawn.get("png") else ""
    except Undrawable:
        url, words = "", "cannot be shown"
    if not url:
        middle = f'x="{x + _SIDE / 2:.0f}" y="{y + _SIDE / 2 + 4:.0f}"'
        missing = f'<text class="x" text-anchor="middle" {middle} fill="#555">{words}</text>'
        return f'<rect {frame} fill="none" stroke="#999" stroke-dasharray="4 4"/>{missing}'
    return f'<image {frame} href="{url}"/><rect {frame} fill="none" stroke="#999" stroke-opacity="0.6"/>'


def _word(item: dict[str, Any], column: int) -> str:
    exact = bool(item.get("exact"))
    x, y = _LEFT + column * (_SIDE + _GAP) + _SIDE / 2, _top(1) + _SIDE + 16
    kind, colour, words = ("yes", "#2b8a5a", "exact") if exact else ("no", "#b3364b", "not exact")
    return f'<text class="x {kind}" text-anchor="middle" x="{x:.0f}" y="{y}" fill="{colour}">{words}</text>'
