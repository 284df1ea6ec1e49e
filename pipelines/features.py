"""The types of a stored sample, for readers that would otherwise guess them from the first few rows.

The Hugging Face loader takes its types from five samples: a list that happens to be empty in those has no type, and the
first row that fills it ends the load. So a data set's card states all types, and every member that a sample may have:
the loader then reads shards of different signatures as one table, with null for what a sample does not have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

PLACE = {
    "label": "string",
    "media": "int64",
    "pixels": ["float64"],
    "normalised": ["float64"],
    "per_mille": ["float64"],
}
"""A place in one of the sample's media parts, which `media` numbers from 0."""

SAMPLE: dict[str, Any] = {
    "schema": "int64",
    "id": "string",
    "text": "string",
    "media": [
        {
            "id": "string",
            "type": "int64",
            "offset": "int64",
            "bytes": "int64",
            "name": "string",
            "mime": "string",
            "width": "int64",
            "height": "int64",
            "frames": "int64",
            "sha256": "string",
        }
    ],
    "source": {"uri": "string", "item": "string", "sha256": "string"},
    "licence": {"spdx": "string", "class": "string", "attribution": "string"},
    "domain": "string",
    "kind": "string",
    "split": "string",
    "lineage": {
        "recipe": "string",
        "unit": "string",
        "item": "string",
        "seed": "int64",
        "stages": [{"name": "string", "version": "int64"}],
        "parents": ["string"],
    },
    "checks": [{"name": "string", "passed": "bool", "score": "float64", "reason": "string"}],
    "turns": [{"role": "string", "channel": "string", "start": "int64", "end": "int64"}],
    "targets": [{"start": "int64", "end": "int64", "weight": "float64"}],
    "tasks": [{"name": "string", "prompt": "string", "answer": "string", "boxes": [PLACE], "points": [PLACE]}],
    "extra": "string",
}
"""The JSON member: a dict is a struct, a list of one type is a list of it."""

_SPAN = {"start": "int64", "end": "int64"}
SPANS: dict[str, Any] = {
    **{name: SAMPLE[name] for name in ("schema", "id", "source", "licence", "domain", "kind", "split", "lineage")},
    **{name: SAMPLE[name] for name in ("checks", "extra")},
    "digests": {"tokens": "string", "media": "string", "rest": "string"},
    "groups": [_SPAN],
    "docs": [{**_SPAN, "id": "string", "domain": "string", "kind": "string", "copy": "int64", "part": "int64"}],
    "images": [
        {
            "start": "int64",
            "tokens": "int64",
            "grid": ["int64"],
            "frames": "int64",
            "offset": "int64",
            "bytes": "int64",
            "mime": "string",
            "width": "int64",
            "height": "int64",
        }
    ],
    "weights": [{**_SPAN, "weight": "float64"}],
    "proofs": ["string"],
}
"""The JSON member of a sample made of token ids, see `tokens`."""

MEMBERS: dict[str, Any] = {"json": SAMPLE, "png": "image", "jpg": "image", "webp": "image", "tokens.npy": ["uint32"],
           "spans.json": SPANS, "media.bin": "binary"}  # fmt: skip


def hugging_face(signatures: Iterable[str]) -> list[dict[str, Any]]:
    """The `features` of a card's `dataset_info`, for a data set whose shards have these signatures."""
    suffixes = {suffix for signature in signatures for suffix in signature.split("+")}
    members = {suffix: types for suffix, types in MEMBERS.items() if suffix in suffixes}
    return _struct({**members, "__key__": "string", "__url__": "string"})


def _struct(types: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, **_type(one)} for name, one in types.items()]


def _type(one: Any) -> dict[str, Any]:
    if isinstance(one, dict):
        return {"struct": _struct(one)}
    if isinstance(one, list):
        (item,) = one
        return {"list": _struct(item) if isinstance(item, dict) else item}
    return {"dtype": one}
