"""Machine-generated logs: many lines that are one template with other numbers in it.

Each line is reduced to its template: numbers, addresses, hashes, times, quoted strings and paths become a sign. A log
has lines that begin with a time or a level, or a few templates that make up most of its lines. Tables and code repeat
too, but their lines have few words, or no field that changes.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import ClassVar

from datatrove.data import Document
from pydantic import Field

from ...pipelines.record import add_check
from ...pipelines.stage import Filtered, Stage

_FIELDS = re.compile(
    r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b"
    r"|\"[^\"]*\"|'[^']*'|(?:/[\w.+-]+){2,}/?|\d+(?:[.:,_-]\d+)*"
)
_STAMP = re.compile(
    r"^\W{0,2}(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d\b|"
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d\d:\d\d:\d\d|"
    r"\d{10}\.\d+|\[ *\d+\.\d+\]|(?:\d{1,3}\.){3}\d{1,3} \S+ \S+ \[|"
    r"(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|TRACE)[\s:\]])"
)
_WORD = re.compile(r"[A-Za-z]{2,}")
_LINES = 20_000  # of a long document are looked at


class Logs(Stage):
    """Drop records that are logs.

    Attributes:
        max_stamped: share of lines that may begin with a time or level.
        max_templated: share of lines that may be repeats of a template with changing fields.
        repeats: from so many lines on, a template counts.
        min_lines: shorter texts are not judged.
    """

    version: ClassVar[int] = 1

    max_stamped: float = Field(default=0.3, gt=0, le=1)
    max_templated: float = Field(default=0.6, gt=0, le=1)
    repeats: int = Field(default=5, ge=2)
    min_lines: int = Field(default=20, ge=1)

    def process(self, record: Document) -> Document:
        stamped, templated = rates(record.text, self.repeats, self.min_lines)
        if stamped > self.max_stamped:
            raise Filtered("log_stamped", f"{stamped:.0%} of the lines begin with a time or level")
        if templated > self.max_templated:
            raise Filtered("log_templated", f"{templated:.0%} of the lines are repeats of a template")
        add_check(record, "log", True, max(stamped, templated))
        return record


def rates(text: str, repeats: int = 5, min_lines: int = 20) -> tuple[float, float]:
    """(share of lines that begin with a time or level, share that repeat a template with changing fields)."""
    lines = list(islice((line for line in text.splitlines() if line.strip()), _LINES))
    if len(lines) < min_lines:
        return 0.0, 0.0
    stamped = sum(_STAMP.match(line) is not None for line in lines)
    templates: Counter[str] = Counter()
    distinct: dict[str, set[str]] = {}
    for line in lines:
        template, fields = _FIELDS.subn("\x00", line.strip())
        if fields and len(_WORD.findall(template)) >= 2:
            templates[template] += 1
            distinct.setdefault(template, set()).add(line)
    # The same line again and again is no log: something in it has to change.
    templated = sum(count for one, count in templates.items() if count >= repeats and len(distinct[one]) > count / 2)
    return stamped / len(lines), templated / len(lines)
