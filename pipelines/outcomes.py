"""Outcomes that another attempt might not repeat (a timeout, a memory limit, a signal): stored once, replayed after.

Without this a second run of the same unit could publish what the first rejected, and the same recipe would make other
bytes. Each is one small file, put-if-absent, written before it is used.
"""

from __future__ import annotations

import hashlib

import orjson

from .stage import Failed, Filtered, InvalidInput, Rejected
from .store import Store

FOLDER = "outcomes"
_CLASSES = {one.outcome: one for one in (Filtered, InvalidInput, Failed)}


class Outcomes:
    """The settled outcomes of one unit."""

    def __init__(self, store: Store, unit: str):
        self._store = store
        self._folder = f"{FOLDER}/{unit}"
        self._known: dict[tuple[str, str], Rejected] = {}
        for entry in store.list(self._folder):
            stored = orjson.loads(store.read(entry.path))
            self._known[stored["stage"], stored["key"]] = _rejection(stored)

    def get(self, stage: str, key: str) -> Rejected | None:
        """How that stage's work on that record (or, for the source, item) ended, if it was settled."""
        return self._known.get((stage, key))

    def settle(self, stage: str, key: str, why: Rejected) -> Rejected:
        """Store an outcome and return the one that holds: the stored one, if another attempt was first."""
        if (stage, key) in self._known:
            return self._known[stage, key]
        path = f"{self._folder}/{hashlib.sha256(f'{stage}:{key}'.encode()).hexdigest()[:24]}.json"
        told = {"stage": stage, "key": key, "outcome": why.outcome, "code": why.code, "detail": why.detail}
        if not self._store.put_bytes(path, orjson.dumps(told), if_absent=True):
            told = orjson.loads(self._store.read(path))
        self._known[stage, key] = _rejection(told)
        return self._known[stage, key]


def _rejection(told: dict) -> Rejected:
    return _CLASSES[told["outcome"]](told["code"], told["detail"], fickle=True)
