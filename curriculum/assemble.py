"""The second phase of packing: one training sequence out of pieces of tokenised documents.

Each piece keeps its group (one document, or one whole window of scattered items), documents and proofs keep their
places within it, pictures are laid end to end. What the window has left is padding: a group of its own, without weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..pipelines.tokens import TokenSample


@dataclass(frozen=True)
class Piece:
    """Tokens `start:stop` of a sample, as the `part`-th piece of its `copy`-th copy."""

    sample: TokenSample
    start: int
    stop: int
    copy: int = 0
    part: int = 0


def assemble(pieces: Sequence[Piece], window: int, pad: int) -> TokenSample:
    """Lay pieces one after the other into a sequence of exactly `window` tokens, the rest filled with `pad`.

    Raises:
        ValueError: the pieces are longer than the window, or one cuts a picture or a proof.
    """
    used = sum(one.stop - one.start for one in pieces)
    if not 0 < used <= window:
        raise ValueError(f"pieces of {used} tokens for a window of {window}")
    tokens = np.full(window, pad, np.uint32)
    made = TokenSample(tokens, groups=[])
    media: list[bytes] = []
    at = 0
    for piece in pieces:
        length = piece.stop - piece.start
        tokens[at : at + length] = piece.sample.tokens[piece.start : piece.stop]
        _add(made, piece, at, media)
        at += length
    if at < window:
        made.groups.append({"start": at, "end": window})
        made.weights.append({"start": at, "end": window, "weight": 0.0})
    made.weights = _joined(made.weights)
    made.media = b"".join(media)
    return made


def _add(made: TokenSample, piece: Piece, at: int, media: list[bytes]) -> None:
    """Add what lies in a piece that begins at token `at` of the sequence."""
    sample, shift = piece.sample, at - piece.start
    made.groups += _clipped(sample.groups, piece, shift)
    made.docs += [{**one, "copy": piece.copy, "part": piece.part} for one in _clipped(sample.docs, piece, shift)]
    weights = _clipped(sample.weights, piece, shift)
    if piece.stop < len(sample.tokens):
        # The label of a piece's last token would lie in the next piece, which is another group.
        weights = _without_last(weights)
    made.weights += weights
    stored = sum(map(len, media))
    for number, one in enumerate(sample.images):
        start, end = one["start"], one["start"] + one["tokens"]
        if end <= piece.start or start >= piece.stop:
            continue
        if start < piece.start or end > piece.stop:
            raise ValueError(f"the piece {piece.start}..{piece.stop} cuts the picture at {start}..{end}")
        made.images.append({**one, "start": start + shift, "offset": stored})
        media.append(sample.picture(number))
        stored += one["bytes"]
    if sample.proofs:
        if (piece.start, piece.stop) != (0, len(sample.tokens)):
            raise ValueError("a sample with proofs must stay whole")
        made.proofs += [{**one, "start": one["start"] + shift} for one in sample.proofs]


def _clipped(spans: list[dict[str, Any]], piece: Piece, shift: int) -> list[dict[str, Any]]:
    """The spans within the piece, at their places in the sequence."""
    return [
        {**one, "start": max(one["start"], piece.start) + shift, "end": min(one["end"], piece.stop) + shift}
        for one in spans
        if one["start"] < piece.stop and one["end"] > piece.start
    ]


def _without_last(weights: list[dict[str, Any]]) -> list[dict[str, Any]]:
    *rest, last = weights
    end = last["end"]
    if last["end"] - last["start"] > 1:
        rest.append({**last, "end": end - 1})
    return [*rest, {"start": end - 1, "end": end, "weight": 0.0}]


def _joined(weights: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs with neighbours of the same weight made one."""
    joined: list[dict[str, Any]] = []
    for one in weights:
        if joined and joined[-1]["weight"] == one["weight"]:
            joined[-1]["end"] = one["end"]
        else:
            joined.append(dict(one))
    return joined
