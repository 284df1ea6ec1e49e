"""What a worker had in the air when it died: a small file that it writes before it touches an item."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any


class Flight:
    """A small file that says which item a worker is at, so that its death can be laid at the right door.

    It is written without fsync: it has to survive the process, not the machine.
    """

    def __init__(self, path: Path):
        self.path = path
        self._file = path.open("wb", buffering=0)

    def at(self, unit: str, item: str) -> None:
        self._file.seek(0)
        self._file.write(json.dumps({"unit": unit, "item": item, "since": time.time()}).encode() + b"\n")
        self._file.truncate()

    def land(self) -> None:
        """Nothing is in the air."""
        self._file.seek(0)
        self._file.truncate()

    @staticmethod
    def read(path: Path) -> dict[str, Any] | None:
        """What `at` wrote last, or None."""
        try:
            return json.loads(path.read_bytes().splitlines()[0])
        except (FileNotFoundError, IndexError, ValueError):
            return None
