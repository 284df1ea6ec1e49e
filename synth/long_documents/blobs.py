"""Binary data inside text: base64, hexadecimal dumps, `data:` URLs and control characters are cut out.

A blob is a run that no person reads: at least `min_chars` characters of one encoding without a space, or at least four
full lines of it, whose characters are spread as those of encoded bytes are. Words and long identifiers repeat their
letters; encoded bytes use all of them about equally often, which is what the entropy tells apart.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import ClassVar

from datatrove.data import Document
from pydantic import Field

from ...pipelines.record import OBJECT, add_check
from ...pipelines.stage import Filtered, Stage

_DATA_URL = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]{40,}")
_LINES = re.compile(
    r"(?:^[ \t>#|*]*[A-Za-z0-9+/]{60,128}[ \t]*\n){3,}^[ \t>#|*]*[A-Za-z0-9+/]{4,128}={0,2}[ \t]*$", re.MULTILINE
)
_HEX_DUMP = re.compile(
    r"(?:^[ \t]*(?:[0-9a-fA-F]{4,16}:?[ \t]+)?(?:[0-9a-fA-F]{2,8}[ \t]+){7,}[^\n]*\n?){4,}"
    r"|(?:^[ \t]*(?:0x[0-9a-fA-F]{2},?[ \t]*){8,}\n?){4,}", re.MULTILINE)  # fmt: skip
_RUN = re.compile(r"[A-Za-z0-9+/_=-]{64,}")
_CONTROL = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f\ufffd]")
_HEX = frozenset("0123456789abcdefABCDEF")


class Blobs(Stage):
    """Cut blobs out of the text; drop the record if they are most of it.

    Attributes:
        min_chars: shorter runs stay.
        max_share: of the text that may be blobs; above it the record is `filtered` as `blob`.
        max_control: share of control and replacement characters above which it is `filtered` as `binary`.
        mark: what stands where a blob was; `{}` becomes its length.
    """

    version: ClassVar[int] = 1

    min_chars: int = Field(default=200, ge=64)
    max_share: float = Field(default=0.3, gt=0, le=1)
    max_control: float = Field(default=0.002, ge=0, le=1)
    mark: str = "[{} characters of binary data]"

    def process(self, record: Document) -> Document:
        text = record.text
        control = len(_CONTROL.findall(text)) / max(len(text), 1)
        if control > self.max_control:
            raise Filtered("binary", f"{control:.1%} control or replacement characters")
        found = spans(text, self.min_chars)
        share = sum(stop - start for start, stop in found) / max(len(text), 1)
        if share > self.max_share:
            raise Filtered("blob", f"{share:.0%} of the text is {len(found)} blobs")
        if found:
            record.text = self._cut(text, found)
            for field in ("turns", "targets"):  # their offsets are those of the text as it was
                if record.metadata.pop(field, None):
                    add_check(record, f"{field}_kept", False, reason="the text was edited")
        add_check(record, "blobs", True, share, f"{len(found)} cut" if found else "")
        return record

    def _cut(self, text: str, found: list[tuple[int, int]]) -> str:
        parts, at = [], 0
        for start, stop in found:
            # Media parts stay where they are: their placeholders are never inside a blob.
            parts += [text[at:start], self.mark.format(stop - start), "\n" if text[start:stop].endswith("\n") else ""]
            at = stop
        return "".join([*parts, text[at:]])


def spans(text: str, min_chars: int = 200) -> list[tuple[int, int]]:
    """(start, stop) of every blob, in order, not overlapping."""
    candidates = [found.span() for found in _DATA_URL.finditer(text)]
    candidates += [found.span() for found in _LINES.finditer(text) if _encoded(found[0])]
    candidates += [found.span() for found in _HEX_DUMP.finditer(text)]
    candidates += [found.span() for found in _RUN.finditer(text) if len(found[0]) >= min_chars and _encoded(found[0])]
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(candidates):
        if stop - start < min_chars or OBJECT in text[start:stop]:
            continue
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _encoded(run: str) -> bool:
    """Whether the characters are spread as those of encoded bytes are, in hexadecimal or base64."""
    signs = [char for char in run if char.isalnum() or char in "+/"]
    count = Counter(signs)
    entropy = -sum(n / len(signs) * math.log2(n / len(signs)) for n in count.values())
    if _HEX.issuperset(count):
        return entropy > 3.3 and sum(count[digit] for digit in "0123456789") > 0.3 * len(signs)
    cases = sum(char.isupper() for char in signs) / len(signs)
    return entropy > 4.9 and 0.15 < cases < 0.75 and sum(map(str.isdigit, signs)) > 0.03 * len(signs)
