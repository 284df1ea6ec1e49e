"""The few pieces of Markdown that a card is made of. Text from the data is escaped, so that it stays text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; columns whose cells are all numbers are set to the right."""
    cells = [list(row) for row in rows]
    right = [all(isinstance(row[at], int | float) for row in cells) and bool(cells) for at in range(len(headers))]
    lines = [headers, ["---:" if one else "---" for one in right]]
    lines += [[_cell(one) for one in row] for row in cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def fence(code: str, language: str = "") -> str:
    """A code block, fenced by more backticks than the code has in a row."""
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{code.rstrip()}\n{marks}"


def inline(text: str) -> str:
    """Text that is shown as it is, on one line."""
    return re.sub(r"([\\`*\[\]|])", r"\\\1", html.escape(" ".join(text.split()), quote=False))


def size(count: int) -> str:
    """A number of bytes for people."""
    value, units = float(count), ["B", "kB", "MB", "GB", "TB", "PB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "B" else f"{value:.1f} {units[0]}"


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return inline(str(value))
