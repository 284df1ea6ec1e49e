"""The ledger: one record a finished unit, written after everything the unit published. Readers see only what it lists.

A record is put-if-absent, so a second finisher of the same unit loses harmlessly. Once there are many, `compact` folds
them into one snapshot file, so that a run of a million units does not end in a million small reads. A crash between
the snapshot and the removal of what it holds leaves both, which reads the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from .errors import StoreError
from .store import Store

FOLDER = "ledger"
COMPACT_AT = 1000


@dataclass(frozen=True)
class PublishedFile:
    """A file a unit published, by name, with what `verify` needs to recognise it."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class PublishedShard(PublishedFile):
    """A shard, with what the shard index says of it."""

    samples: int
    split: str
    licence: str
    signature: str


@dataclass(frozen=True)
class UnitRecord:
    """What one unit did.

    Attributes:
        unit: the unit's id.
        items: how many planned items it had.
        item_digest: `digest_of_items` over their keys.
        outcomes: items by fate: published, filtered, invalid_input, error, merged.
        samples: published samples (an item may give several).
        shards: tar files, in order.
        index: the unit's rows of the sample index.
        rejects: the fates of items that were not published, or None if all were.
        stages: per stage its name and the counts in, out, filtered, rejected, merged, added, and seconds.
        codes: `stage/code` → count, over everything not published.
        seconds: wall time.
        passthrough: the items are samples of an earlier job, known by their own ids.
    """

    unit: str
    items: int
    item_digest: str
    outcomes: dict[str, int]
    samples: int
    shards: list[PublishedShard]
    index: PublishedFile
    rejects: PublishedFile | None
    stages: list[dict[str, Any]]
    codes: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    passthrough: bool = False

    def dumps(self) -> bytes:
        """One line of JSON that carries its own digest."""
        values = asdict(self)
        return orjson.dumps({**values, "digest": _digest(values)})

    @classmethod
    def loads(cls, line: bytes) -> UnitRecord:
        """Raises ValueError if the line is not what `dumps` wrote."""
        values = orjson.loads(line)
        digest = values.pop("digest", None)
        if digest != _digest(values):
            raise ValueError("its content does not match its digest")
        for name in ("index", "rejects"):
            values[name] = PublishedFile(**values[name]) if values[name] else None
        values["shards"] = [PublishedShard(**one) for one in values["shards"]]
        return cls(**values)

    def files(self) -> Iterator[PublishedFile]:
        """Everything the unit published."""
        yield from self.shards
        yield self.index
        if self.rejects:
            yield self.rejects


def digest_of_items(keys: list[str]) -> str:
    """Order-free digest of a unit's item keys; a doubled or missing key changes it."""
    return hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()


class LedgerDamage(StoreError):
    """A ledger file that does not hold what was written."""


class Ledger:
    """The unit records of one job."""

    def __init__(self, store: Store):
        self.store = store

    def record(self, unit: UnitRecord) -> bool:
        """Commit a unit. False if another finisher was first."""
        return self.store.put_bytes(f"{FOLDER}/{unit.unit}.json", unit.dumps(), if_absent=True)

    def records(self) -> dict[str, UnitRecord]:
        """All finished units by id. Where snapshot and single file both hold one, the snapshot is the earlier.

        Raises:
            LedgerDamage: a file is not what was written; the message names it.
        """
        found: dict[str, UnitRecord] = {}
        for entry in sorted(self.store.list(FOLDER), key=lambda one: (not one.path.endswith(".jsonl"), one.path)):
            try:
                lines = self.store.read(entry.path).splitlines()
            except FileNotFoundError:  # compacted since it was listed: the newer snapshot is read on the next call
                return self.records()
            for line in lines:
                try:
                    unit = UnitRecord.loads(line)
                except (ValueError, TypeError, KeyError) as error:
                    raise LedgerDamage(f"{self.store.url}/{entry.path} is damaged: {error}") from None
                found.setdefault(unit.unit, unit)
        return found

    def compact(self, at_least: int = COMPACT_AT) -> int:
        """Fold single records into a snapshot if there are that many. Call it under the run's lease.

        Returns:
            How many files were folded.
        """
        entries = list(self.store.list(FOLDER))
        singles = [one for one in entries if one.path.endswith(".json")]
        if len(singles) < at_least:
            return 0
        records = self.records()
        body = b"\n".join(records[unit].dumps() for unit in sorted(records)) + b"\n"
        name = f"{FOLDER}/snapshot-{hashlib.sha256(body).hexdigest()[:16]}.jsonl"
        self.store.put_bytes(name, body)
        for entry in entries:
            if entry.path != name:
                self.store.delete(entry.path)
        return len(singles)


def _digest(values: dict[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)).hexdigest()
