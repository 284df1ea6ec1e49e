"""Shards: the tar files that a unit's records go into, and the index rows that say where each sample lies.

A shard holds samples of one split, one licence class and one member signature (the suffixes of its members), because
readers of webdataset folders expect that of a file. A record with exactly one picture becomes `<key>.json` and
`<key>.png` (or jpg, webp); one with none, with several or with another type of media becomes `<key>.json` and
`<key>.media.bin`, the parts laid end to end, with their offsets, lengths and types in the JSON. A record made of token
ids has three members of its own, see `tokens`.

A unit's records are its shards' alone, so that one reject changes no other unit's; compaction makes large shards of
small ones. Shards are named by what is in them: the same records give the same files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datatrove.data import Document, MediaType

from . import record as records
from . import tokens
from .tar import SampleLocation, TarWriter

SUFFIX_BY_MIME = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}
MEDIA_BIN = "media.bin"


@dataclass(frozen=True)
class Shard:
    """One finished tar file.

    Attributes:
        name: `<split>-<licence class>-<unit>-<n>-<first 16 digits of sha256>.tar`.
        path: where it lies in scratch.
        signature: suffixes of every sample's members, joined by `+`.
        rows: one index row per sample, in the order of the file; see `index.SAMPLES`.
    """

    name: str
    path: Path
    sha256: str
    bytes: int
    samples: int
    split: str
    licence: str
    unit: str
    signature: str
    rows: list[dict[str, Any]]


class ShardSet:
    """The shards of one unit, written side by side in a scratch folder."""

    def __init__(self, folder: Path, unit: str):
        self._folder = folder
        self._unit = unit
        self._writing: dict[tuple[str, str, str], _Writing] = {}

    def add(self, record: Document) -> None:
        """Append a record to the shard of its split, licence class and signature, which is opened if need be."""
        split, licence = record.metadata["split"], record.metadata["licence"]["class"]
        sample = records.to_sample(record)
        members = _members(record, sample)
        group = (split, licence, "+".join(suffix for suffix, _ in members))
        writing = self._writing.get(group)
        if writing is None:
            tar = TarWriter(self._folder / f"{len(self._writing)}.tar.part")
            writing = self._writing[group] = _Writing(tar, *group, rows=[])
        writing.rows.append(_row(sample, writing.tar.add(record.id, members)))

    def finish(self) -> list[Shard]:
        """End every shard and return them in the order in which they were begun."""
        return [writing.finish(self._unit, number) for number, writing in enumerate(self._writing.values())]

    def discard(self) -> None:
        """Close and delete what has been written."""
        for writing in self._writing.values():
            writing.tar.discard()


def _members(record: Document, sample: dict[str, Any]) -> list[tuple[str, bytes]]:
    """A record's members in order; `sample` is its JSON."""
    stored: tokens.TokenSample | None = record.metadata.get("sample")
    if stored is None:
        return [("json", records.dumps(sample)), media_member(record)]
    return [
        (tokens.TOKENS, tokens.tokens_member(stored.tokens)),
        (tokens.SPANS, tokens.spans_member(records.dumps(sample), stored)),
        (tokens.MEDIA, stored.media),
    ]


def media_member(record: Document) -> tuple[str, bytes]:
    """The member that holds a record's media: its suffix and content."""
    if len(record.media) == 1 and record.media[0].type == MediaType.IMAGE:
        part = record.media[0]
        suffix = SUFFIX_BY_MIME.get(part.metadata["mime"])
        if suffix:
            return suffix, part.media_bytes or b""
    return MEDIA_BIN, b"".join(part.media_bytes or b"" for part in record.media)


def split_media(sample: dict[str, Any], content: Sequence[int] | memoryview | bytes) -> list[bytes]:
    """Undo `media_member`: the parts of a sample, given its JSON and the content of its media member."""
    return [bytes(content[one["offset"] : one["offset"] + one["bytes"]]) for one in sample["media"]]


@dataclass
class _Writing:
    tar: TarWriter
    split: str
    licence: str
    signature: str
    rows: list[dict[str, Any]]

    def finish(self, unit: str, number: int) -> Shard:
        size, sha256 = self.tar.close()
        name = f"{self.split}-{self.licence}-{unit}-{number:03d}-{sha256[:16]}.tar"
        path = self.tar.path.rename(self.tar.path.with_name(name))
        for row in self.rows:
            row["shard"] = name
        return Shard(
            name, path, sha256, size, self.tar.samples, self.split, self.licence, unit, self.signature, self.rows
        )


def _row(sample: dict[str, Any], location: SampleLocation) -> dict[str, Any]:
    media, uri = sample["images"] if "images" in sample else sample["media"], sample["source"]["uri"]
    return {
        "id": sample["id"],
        "key": sample["id"],
        "offset": location.offset,
        "size": location.size,
        "members": [{"name": one.suffix, "offset": one.offset, "size": one.size} for one in location.members],
        "kind": sample["kind"],
        "domain": sample["domain"],
        "split": sample["split"],
        "licence": sample["licence"]["class"],
        "spdx": sample["licence"]["spdx"],
        "attribution": sample["licence"]["attribution"],
        "source": uri,
        "item": sample["source"]["item"],
        "text_chars": len(sample.get("text", "")),
        "tokens": sample["groups"][-1]["end"] if "groups" in sample else None,
        "media": len(media),
        "width": media[0]["width"] if media else None,
        "height": media[0]["height"] if media else None,
        "tasks": [task["name"] for task in sample.get("tasks", [])],
        "template": uri.partition("/")[2] if uri.startswith("programs:") else None,
        "checks": [{name: check[name] for name in ("name", "passed", "score")} for check in sample["checks"]],
    }
