"""What sources of text rows share: how one JSON object or Parquet row becomes a record."""

from __future__ import annotations

from typing import Any

from datatrove.data import Document

from ..record import FIELDS, new_record
from ..stage import InvalidInput, Source
from .folder import Folder, licence_of


class Rows(Source):
    """Parameters of sources whose items are rows with a text column.

    Attributes:
        glob: patterns below the root.
        root, package: as for `files`.
        text_key: the column that holds the text.
        kind, domain: what the rows are.
        licence: SPDX identifier of all rows; `licence_key` names a column that gives it per row.
        attribution: whom to credit.
    """

    glob: list[str] | str
    root: str | None = None
    package: str | None = None
    text_key: str = "text"
    kind: str = "text"
    domain: str = "knowledge"
    licence: str | None = None
    licence_key: str | None = None
    attribution: str = ""

    def globs(self) -> list[str]:
        return [self.glob] if isinstance(self.glob, str) else list(self.glob)

    def record(self, row: Any, content: bytes, uri: str, key: str, folder: Folder) -> Document:
        """The record of one row; columns besides the text travel in `extra`.

        Raises:
            InvalidInput: the row is no mapping, or its text is missing, not a string, or empty.
        """
        if not isinstance(row, dict):
            raise InvalidInput("not_an_object", f"a {type(row).__name__} where a row was expected")
        text = row.get(self.text_key)
        if not isinstance(text, str):
            raise InvalidInput("no_text", f"{self.text_key!r} is {'missing' if text is None else type(text).__name__}")
        if not text:
            raise InvalidInput("empty", f"{self.text_key!r} is empty")
        spdx = row.get(self.licence_key) if self.licence_key else self.licence
        credit = licence_of(folder, spdx, self.attribution)
        record = new_record(
            text, kind=self.kind, domain=self.domain, uri=uri, item=key, content=content, licence=credit
        )
        kept = {name: value for name, value in row.items() if name not in (self.text_key, self.licence_key)}
        record.metadata.update({f"row_{name}" if name in FIELDS else name: value for name, value in kept.items()})
        return record
