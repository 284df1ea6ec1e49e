"""The record that flows through every stage: datatrove's `Document` with one fixed metadata schema.

    text      the sample's text; each U+FFFC stands for one media part, in order
    media     the parts, bytes attached
    metadata  scalars and lists of structs only (no maps with open keys), see `FIELDS`

The schema is the same for every kind of sample, so that tools which infer types from the first few rows read all of
them. What a datatrove step adds under keys of its own travels as one JSON string in `extra`. `metadata["scratch"]`
carries what one stage hands to the next (a layout, a caption) and never reaches a shard.

A record that has been tokenised has no text: its content is `metadata["sample"]`, see `tokens`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from datatrove.data import Document, Media, MediaType

from . import tokens
from .errors import BrokenRecord

SCHEMA_VERSION = 1
OBJECT = "\ufffc"

LICENCE_CLASSES = ("public", "permissive", "attribution", "share-alike", "copyleft", "unknown")
"""From the least to the most demanding; a sample made from several parents takes the last of theirs."""

_SPDX_CLASS = {
    "public": ["CC0-1.0", "Unlicense", "0BSD", "PDDL-1.0", "CC-PDDC"],
    "permissive": ["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "PostgreSQL", "PSF-2.0", "Zlib",
                   "OFL-1.1", "WordNet"],
    "attribution": ["CC-BY-4.0", "CC-BY-3.0", "ODC-By-1.0"],
    "share-alike": ["CC-BY-SA-4.0", "CC-BY-SA-3.0", "ODbL-1.0", "GFDL-1.3-or-later"],
    "copyleft": ["GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-only", "GPL-3.0-or-later", "LGPL-2.1-or-later",
                 "LGPL-3.0-or-later", "MPL-2.0", "AGPL-3.0-or-later"],
}  # fmt: skip
_CLASS_BY_SPDX = {spdx.lower(): name for name, ids in _SPDX_CLASS.items() for spdx in ids}
_SPELLING = {spdx.lower(): spdx for ids in _SPDX_CLASS.values() for spdx in ids}

# Field → members of its struct (a dict with these keys) or, in a list, of each of its structs.
_STRUCTS: dict[str, tuple[str, ...]] = {
    "source": ("uri", "item", "sha256"),
    "licence": ("spdx", "class", "attribution"),
}
_LISTS: dict[str, tuple[str, ...]] = {
    "checks": ("name", "passed", "score", "reason"),
    "turns": ("role", "channel", "start", "end"),
    "targets": ("start", "end", "weight"),
}
_PLACE = ("label", "media", "pixels", "normalised", "per_mille")
FIELDS = ("source", "licence", "domain", "kind", "split", "lineage", "checks", "turns", "targets", "tasks", "extra")


def licence(spdx: str | None, attribution: str = "") -> dict[str, str]:
    """The `licence` struct for an SPDX identifier or expression; what is not in the table has class `unknown`.

    Of licences joined by AND the most demanding class counts, of those joined by OR the least demanding.
    """
    words = re.findall(r"[()]|[^\s()]+", spdx or "NOASSERTION")
    spelled = " ".join(_SPELLING.get(word.lower(), word) for word in words).replace("( ", "(").replace(" )", ")")
    return {"spdx": spelled, "class": LICENCE_CLASSES[_rank(words)], "attribution": attribution}


def _rank(words: list[str]) -> int:
    """Place in `LICENCE_CLASSES` of an SPDX expression, read from the front of `words`; AND binds before OR."""
    ways = [_rank_of_all(words)]
    while words and words[0].upper() == "OR":
        words.pop(0)
        ways.append(_rank_of_all(words))
    return min(ways)


def _rank_of_all(words: list[str]) -> int:
    ranks = []
    while words and words[0] != ")" and words[0].upper() != "OR":
        word = words.pop(0)
        if word == "(":
            ranks.append(_rank(words))
            del words[:1]
        elif word.upper() == "WITH":  # an exception only ever permits more
            del words[:1]
        elif word.upper() != "AND":
            ranks.append(LICENCE_CLASSES.index(_CLASS_BY_SPDX.get(word.lower(), "unknown")))
    return max(ranks, default=len(LICENCE_CLASSES) - 1)


def strictest(licences: Iterable[dict[str, str]]) -> dict[str, str]:
    """The licence of something made from all of these: the most demanding class, the SPDX expression that all of them
    apply, and every attribution, a line each."""
    found = list(licences)
    credits = {line for one in found for line in one["attribution"].splitlines() if line}
    return {
        "spdx": " AND ".join(sorted({part for one in found for part in one["spdx"].split(" AND ")})),
        "class": max((one["class"] for one in found), key=LICENCE_CLASSES.index),
        "attribution": "\n".join(sorted(credits)),
    }


def new_record(
    text: str,
    *,
    kind: str,
    domain: str,
    uri: str,
    item: str,
    content: bytes | str,
    licence: dict[str, str],
    scratch: dict[str, Any] | None = None,
) -> Document:
    """A source's fresh record, without an id: the engine gives it one, with its split and lineage.

    Args:
        text: the content; U+FFFC in it is removed, since it stands for media parts.
        kind: what the content is (`svg`, `web`, `cad`, `text`, …).
        domain: one of web, code, maths, knowledge, vision.
        uri: where it comes from, free of absolute paths (`programs:svg`, `package:foo/icons/a.svg`).
        item: the item's key within its source.
        content: the raw content, for `source.sha256`.
        licence: see `licence()`.
        scratch: what later stages of the same unit may use and no shard stores.
    """
    raw = content.encode() if isinstance(content, str) else content
    metadata = {
        "source": {"uri": uri, "item": item, "sha256": hashlib.sha256(raw).hexdigest()},
        "licence": licence,
        "domain": domain,
        "kind": kind,
        "scratch": scratch or {},
    }
    return Document(text=text.replace(OBJECT, ""), id="", media=[], metadata=metadata)


def image(data: bytes, *, mime: str, width: int, height: int, name: str = "") -> Media:
    """One picture as a media part. Its id is its content hash, so the same picture has the same id everywhere."""
    digest = hashlib.sha256(data).hexdigest()
    metadata = {"name": name, "mime": mime, "width": width, "height": height, "frames": 1, "sha256": digest}
    return Media(id=digest[:32], type=MediaType.IMAGE, url="", media_bytes=data, metadata=metadata)


def add_check(record: Document, name: str, passed: bool, score: float | None = None, reason: str = "") -> None:
    """Append one check's verdict to the record."""
    record.metadata.setdefault("checks", []).append(
        {"name": name, "passed": passed, "score": None if score is None else float(score), "reason": reason}
    )


def validate(record: Document) -> None:
    """Raise `BrokenRecord` unless placeholders match media and every span lies inside the text."""
    if "sample" in record.metadata:
        tokens.check(record.metadata["sample"])
    placeholders = record.text.count(OBJECT)
    if placeholders != len(record.media):
        raise BrokenRecord("media_mismatch", f"{placeholders} placeholders, {len(record.media)} media parts")
    length = len(record.text)
    for field in ("turns", "targets"):
        for span in record.metadata.get(field) or []:
            if not 0 <= span["start"] <= span["end"] <= length:
                raise BrokenRecord("broken_span", f"{field} {span['start']}..{span['end']} in a text of {length}")


def to_sample(record: Document) -> dict[str, Any]:
    """The record as the JSON object a shard stores: every field present, media described but without bytes."""
    meta = record.metadata
    about = _provenance(record)
    if "sample" in meta:
        return {**about, "checks": _list(meta, "checks"), "extra": _extra(meta), **tokens.described(meta["sample"])}
    return {
        "schema": about.pop("schema"),
        "id": about.pop("id"),
        "text": record.text,
        "media": _media(record.media),
        **about,
        **{field: _list(meta, field) for field in _LISTS},
        "tasks": [
            {
                "name": task["name"],
                "prompt": task["prompt"],
                "answer": task["answer"],
                "boxes": [_struct(box, _PLACE) for box in task.get("boxes") or []],
                "points": [_struct(point, _PLACE) for point in task.get("points") or []],
            }
            for task in meta.get("tasks") or []
        ],
        "extra": _extra(meta),
    }


def _provenance(record: Document) -> dict[str, Any]:
    """The fields that every stored sample has, whatever it is made of."""
    meta = record.metadata
    lineage = meta.get("lineage") or {}
    return {
        "schema": SCHEMA_VERSION,
        "id": record.id,
        **{field: _struct(meta.get(field) or {}, names) for field, names in _STRUCTS.items()},
        **{field: meta.get(field) for field in ("domain", "kind", "split")},
        "lineage": {
            "recipe": lineage.get("recipe"),
            "unit": lineage.get("unit"),
            "item": lineage.get("item"),
            "seed": lineage.get("seed"),
            "stages": [_struct(stage, ("name", "version")) for stage in lineage.get("stages") or []],
            "parents": list(lineage.get("parents") or []),
        },
    }


def _list(meta: dict[str, Any], field: str) -> list[dict[str, Any]]:
    return [_struct(one, _LISTS[field]) for one in meta.get(field) or []]


def from_sample(sample: dict[str, Any], parts: list[bytes]) -> Document:
    """The record that `to_sample` described, `parts` being the media bytes in order."""
    media = [
        Media(
            id=one["id"],
            type=one["type"],
            url="",
            media_bytes=data,
            metadata={key: one[key] for key in ("name", "mime", "width", "height", "frames", "sha256")},
        )
        for one, data in zip(sample["media"], parts, strict=True)
    ]
    metadata = {field: sample[field] for field in FIELDS}
    metadata["scratch"] = {}
    return Document(text=sample["text"], id=sample["id"], media=media, metadata=metadata)


def from_token_members(members: Mapping[str, memoryview | bytes]) -> Document:
    """The record of a token sample, given its members.

    Raises:
        BrokenRecord: the members are not those of a token sample.
    """
    sample = tokens.read_token_sample(members)
    spans = orjson.loads(members[tokens.SPANS])
    record = tokens.token_record(sample, like={field: spans[field] for field in FIELDS if field in spans})
    record.id = spans["id"]
    return record


def dumps(sample: dict[str, Any]) -> bytes:
    """Canonical JSON bytes: the same sample, the same bytes, on every machine."""
    return orjson.dumps(sample)


def _struct(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: values.get(name) for name in names}


def _media(parts: list[Media]) -> list[dict[str, Any]]:
    # `offset` is where a part begins when all parts are laid end to end, as `<key>.media.bin` stores them.
    described, offset = [], 0
    for part in parts:
        size = len(part.media_bytes or b"")
        facts = _struct(part.metadata, ("name", "mime", "width", "height", "frames", "sha256"))
        described.append({"id": part.id, "type": part.type, "offset": offset, "bytes": size, **facts})
        offset += size
    return described


def _extra(meta: dict[str, Any]) -> str:
    kept = orjson.loads(meta.get("extra") or "{}")
    kept.update({key: value for key, value in meta.items() if key not in (*FIELDS, "scratch", "sample")})
    return orjson.dumps(kept, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY).decode()
