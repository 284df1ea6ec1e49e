"""Pages to text, for sources that hand over HTML as it was collected (WARC files, rows of a crawl)."""

from __future__ import annotations

from typing import ClassVar

from datatrove.data import Document

from ..sources.documents.html_text import TooDeep, to_text
from ..stage import InvalidInput, Stage


class Extract(Stage):
    """Replace a record's HTML by its text, as the source `documents` does for files. Spans over the page go."""

    version: ClassVar[int] = 1

    def process(self, record: Document) -> Document:
        try:
            text, title = to_text(record.text)
        except TooDeep as error:
            raise InvalidInput("too_deep", str(error)) from None
        if not text.strip():
            raise InvalidInput("no_text", "the page has no text of its own")
        record.text = text
        record.metadata.update({"format": "html", "title": title or None})
        for field in ("turns", "targets"):
            record.metadata.pop(field, None)
        return record
