"""Samples made of token ids: one tokenised document, or one packed training sequence. Both have the same form.

    <key>.tokens.npy   1-D uint32, little endian: numpy's format, one fixed header, so that ids lie 128 bytes in
    <key>.spans.json   what lies where: groups, documents, images, loss weights, proofs; and the sample's provenance
    <key>.media.bin    the bytes of its pictures, end to end

**Groups** are the unit of isolation: contiguous, from the first token to the last; nothing may be carried over from one
to the next. **Weights** belong to positions: the weight of position t is that of predicting token t + 1 at t. The label
of a group's last token would lie in the next group, so the last position of every group has weight 0.
`from_label_weights` turns the other convention (how much each token counts as a label) into this one.

This module is read on machines that train: it imports numpy and the standard library alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .errors import BrokenRecord

if TYPE_CHECKING:
    from datatrove.data import Document

TOKENS, SPANS, MEDIA = "tokens.npy", "spans.json", "media.bin"
SIGNATURE = f"{TOKENS}+{SPANS}+{MEDIA}"
"""The members of a token sample, in order, as a shard's signature."""

_HEADER = 128
_DIGESTS = re.compile(rb'\{"digests":\{"tokens":"([0-9a-f]{64})","media":"([0-9a-f]{64})","rest":"([0-9a-f]{64})"\},')
_LISTS = ("groups", "docs", "images", "weights")


@dataclass(eq=False)
class TokenSample:
    """Token ids and what lies where in them. All offsets count tokens from the start of the sample.

    Attributes:
        tokens: [T] uint32.
        groups: {start, end}, contiguous from 0 to T.
        docs: {start, end, id, domain, kind, copy, part}, in order; padding belongs to none. `copy` numbers the uses of
            an upsampled document, `part` the pieces of one that was split; both are 0 unless given.
        images: {start, tokens, grid: [rows, columns], frames, offset, bytes, mime, width, height}: `start` and `tokens`
            are the run of media_pad ids; `offset` and `bytes` say where its picture lies in `media`; `width` and
            `height` are those of the stored picture in pixels.
        weights: {start, end, weight}, contiguous from 0 to T; see the module's first lines.
        proofs: one dict an item, with `start`, the first token of its group; every other position in it counts from
            there.
        media: the pictures' bytes, end to end.
    """

    tokens: npt.NDArray[np.uint32]
    groups: list[dict[str, Any]]
    docs: list[dict[str, Any]] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    weights: list[dict[str, Any]] = field(default_factory=list)
    proofs: list[dict[str, Any]] = field(default_factory=list)
    media: bytes = b""

    def picture(self, number: int) -> bytes:
        """The bytes of one image."""
        one = self.images[number]
        return self.media[one["offset"] : one["offset"] + one["bytes"]]


def token_record(sample: TokenSample, *, like: Document | Mapping[str, Any]) -> Document:
    """The record that carries a token sample through the engine: no text, no media parts, `metadata["sample"]`.

    Args:
        like: a record, whose id is kept, or a metadata dict (then the engine gives the id). Provenance (source,
            licence, domain, kind, split, lineage, checks, extra) is taken from it; what belongs to its text is not.
    """
    from datatrove.data import Document  # not on machines that train

    given = like.metadata if isinstance(like, Document) else like
    metadata = {key: value for key, value in given.items() if key not in ("turns", "targets", "tasks", "scratch")}
    metadata.update(turns=[], targets=[], tasks=[], scratch={}, sample=sample)
    return Document(text="", id=like.id if isinstance(like, Document) else "", media=[], metadata=metadata)


def read_token_sample(members: Mapping[str, memoryview | bytes]) -> TokenSample:
    """The sample behind the members that `Dataset.raw` gives; its tokens are a view of the member's bytes.

    Raises:
        BrokenRecord: the members are not those of a token sample.
    """
    try:
        spans = json.loads(bytes(members[SPANS]))
        return _sample(spans, tokens_view(members[TOKENS]), bytes(members[MEDIA]))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, BrokenRecord):
            raise
        raise BrokenRecord("broken_spans", f"{type(error).__name__}: {error}") from None


def tokens_view(member: memoryview | bytes) -> npt.NDArray[np.uint32]:
    """The token ids in a `tokens.npy` member, without copying.

    Raises:
        BrokenRecord: the member is not an array in our fixed form.
    """
    count = (len(member) - _HEADER) // 4
    if count < 0 or member[:_HEADER] != npy_header(count) or len(member) != _HEADER + 4 * count:
        raise BrokenRecord("broken_tokens", f"{TOKENS} of {len(member)} bytes is not a 1-D uint32 array in our form")
    return np.frombuffer(member, "<u4", offset=_HEADER)


@lru_cache(maxsize=64)
def npy_header(count: int) -> bytes:
    """The header that `numpy.save` gives a 1-D uint32 array of `count` elements: 128 bytes."""
    text = f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({count},), }}"
    return b"\x93NUMPY\x01\x00" + (_HEADER - 10).to_bytes(2, "little") + text.ljust(_HEADER - 11).encode() + b"\n"


def tokens_member(tokens: npt.NDArray[np.uint32]) -> bytes:
    """The bytes of a `tokens.npy` member."""
    return npy_header(len(tokens)) + np.ascontiguousarray(tokens, "<u4").tobytes()


def summary(sample: TokenSample) -> str:
    """What lies in a sample, a line a document, for a person who has no tokenizer at hand."""
    count, groups, docs, images = len(sample.tokens), len(sample.groups), len(sample.docs), len(sample.images)
    weighed = int(sum(one["end"] - one["start"] for one in sample.weights if one["weight"]))
    lines = [
        f"{count:,} tokens, {weighed:,} with a loss weight; groups: {groups}, documents: {docs}, images: {images}, "
        f"proofs: {len(sample.proofs)}"
    ]
    lines += [f"{one['start']:>9,} … {one['end']:<9,} {one['domain']} {one['kind']} {one['id']}" for one in sample.docs]
    return "\n".join(lines)


def described(sample: TokenSample) -> dict[str, Any]:
    """The sample's part of `spans.json`. Proofs are stored as JSON strings: their keys differ from family to family,
    and a table of samples has no place for open keys."""
    return {
        **{name: getattr(sample, name) for name in _LISTS},
        "docs": [{**one, "copy": one.get("copy", 0), "part": one.get("part", 0)} for one in sample.docs],
        "proofs": [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in sample.proofs],
    }


def spans_member(body: bytes, sample: TokenSample) -> bytes:
    """The bytes of a `spans.json` member: a JSON object that begins with the digests of the sample's three members.

    The third is that of what follows the digests, so that damage anywhere is found without a look at the index, and
    the digests are found without parsing.

    Args:
        body: the object without digests.
    """
    tokens = np.ascontiguousarray(sample.tokens, "<u4").data
    digests = (hashlib.sha256(part).hexdigest().encode() for part in (tokens, sample.media, body[1:]))
    return b'{"digests":{"tokens":"%b","media":"%b","rest":"%b"},%b' % (*digests, body[1:])


def check_digest(members: Mapping[str, memoryview | bytes], *names: str) -> None:
    """Raise `BrokenRecord` unless these members (default: all) are those whose SHA-256 `spans.json` states."""
    found = _DIGESTS.match(members[SPANS])
    if found is None:
        raise BrokenRecord("digest", f"its {SPANS} does not begin with digests")
    starts = {TOKENS: _HEADER, MEDIA: 0, SPANS: found.end()}
    for name, stated in zip((TOKENS, MEDIA, SPANS), found.groups(), strict=True):
        if name in (names or starts) and hashlib.sha256(members[name][starts[name] :]).hexdigest().encode() != stated:
            raise BrokenRecord("digest", f"its {name} does not match its SHA-256")


def _sample(spans: dict[str, Any], tokens: npt.NDArray[np.uint32], media: bytes) -> TokenSample:
    proofs = [json.loads(one) for one in spans["proofs"]]
    return TokenSample(tokens, **{name: spans[name] for name in _LISTS}, proofs=proofs, media=media)


def check(sample: TokenSample) -> None:
    """Raise `BrokenRecord` unless the sample keeps what its class and this module's first lines promise."""
    total = len(sample.tokens)
    if sample.tokens.dtype != np.uint32 or sample.tokens.ndim != 1 or not total:
        raise BrokenRecord("broken_tokens", f"{sample.tokens.ndim}-D {sample.tokens.dtype} of {total}")
    _contiguous("groups", sample.groups, total)
    _contiguous("weights", sample.weights, total)
    starts, last = {one["start"] for one in sample.groups}, np.array([one["end"] for one in sample.groups]) - 1
    counted = spread(sample.weights)[last]
    if counted.any():
        at = int(last[counted != 0][0])
        raise BrokenRecord("broken_weights", f"position {at} ends a group and counts {counted[counted != 0][0]:g}")
    _ordered("docs", [(one["start"], one["end"]) for one in sample.docs], total)
    _ordered("images", [(one["start"], one["start"] + one["tokens"]) for one in sample.images], total)
    for one in sample.images:
        rows, columns = one["grid"]
        if one["tokens"] != rows * columns:
            raise BrokenRecord("broken_images", f"{one['tokens']} tokens for a grid of {rows} x {columns}")
        if not 0 <= one["offset"] <= one["offset"] + one["bytes"] <= len(sample.media):
            raise BrokenRecord("broken_images", f"a picture ends beyond the {len(sample.media)} bytes of media")
    for proof in sample.proofs:
        if proof.get("start") not in starts:
            raise BrokenRecord("broken_proofs", f"a proof starts at {proof.get('start')}, where no group does")


def _contiguous(name: str, spans: list[dict[str, Any]], total: int) -> None:
    at = 0
    for one in spans:
        if one["start"] != at or one["end"] <= at:
            raise BrokenRecord(f"broken_{name}", f"{one['start']}..{one['end']} where {at} was to begin")
        at = one["end"]
    if at != total:
        raise BrokenRecord(f"broken_{name}", f"they end at {at} of {total} tokens")


def _ordered(name: str, spans: Iterable[tuple[int, int]], total: int) -> None:
    at = 0
    for start, end in spans:
        if not at <= start < end <= total:
            raise BrokenRecord(f"broken_{name}", f"{start}..{end} after {at} in {total} tokens")
        at = end


def runs(weights: npt.NDArray[np.floating]) -> list[dict[str, Any]]:
    """Weights by position, as runs of equal ones."""
    if not len(weights):
        return []
    edges = [0, *(np.flatnonzero(np.diff(weights)) + 1).tolist(), len(weights)]
    return [{"start": start, "end": end, "weight": float(weights[start])} for start, end in pairwise(edges)]


def spread(weights: list[dict[str, Any]]) -> npt.NDArray[np.float32]:
    """Undo `runs`: [T] float32."""
    values = np.array([one["weight"] for one in weights], np.float32)
    return np.repeat(values, [one["end"] - one["start"] for one in weights])


def from_label_weights(labels: npt.NDArray[np.floating], groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Weight runs by position from how much each token counts as a label.

    Args:
        labels: [T], `labels[t]` is the weight of predicting token t (by whatever stands before it in its group; what
            the first token of a group has is therefore never used).
        groups: as in `TokenSample`.
    """
    shifted = np.zeros(len(labels), np.float32)
    shifted[:-1] = labels[1:]
    shifted[[one["end"] - 1 for one in groups]] = 0
    return runs(shifted)
