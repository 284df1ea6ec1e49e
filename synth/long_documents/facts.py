"""What a source noted of a document beyond the fixed fields: once published, it travels in `extra`."""

from __future__ import annotations

from typing import Any

import orjson
from datatrove.data import Document


def fact(record: Document, name: str) -> Any:
    """The value noted under that name (`format`, `language`, …) by this job or an earlier one, or None."""
    if name in record.metadata:
        return record.metadata[name]
    return orjson.loads(record.metadata.get("extra") or "{}").get(name)
