"""The documents between the clues: token samples of earlier jobs, cut into pieces, permuted and laid end to end.

Which pieces a window gets is planned from lengths alone: all pieces are shuffled once by the recipe's seed and dealt to
the windows in turn, so no piece is used twice before all have been used once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...pipelines.errors import UserError
from ...pipelines.reader import Dataset
from ...pipelines.tokens import read_token_sample
from ...tokenizer import Tokenizer


@dataclass(frozen=True)
class Piece:
    """Tokens `start:stop` (before they are moved to line ends) of one document of one data set."""

    dataset: int
    document: int
    start: int
    stop: int


class Haystack:
    """The documents of one split.

    Args:
        datasets: complete data sets of token samples.
        split: only documents of this split are used, so that what was held out stays held out.
        seed: of the permutation.
        piece: documents longer than this many tokens are cut.
    """

    def __init__(self, datasets: Sequence[Dataset], split: str, seed: int, piece: int):
        self.datasets = datasets
        self._seed = seed
        self._table = _pieces(datasets, split, piece)
        self.tokens = int((self._table[:, 3] - self._table[:, 2]).sum())

    def deal(self, windows: int, window: int, reuse: bool) -> list[list[Piece]]:
        """Pieces of at least `window` tokens for each window.

        Raises:
            UserError: there are too few tokens, and `reuse` does not allow to go round again.
        """
        if not self.tokens:
            raise UserError("the documents hold no tokens of this split")
        table = self._table
        dealt: list[list[Piece]] = []
        at, turn, order = 0, 0, self._order(0)
        for _ in range(windows):
            mine: list[Piece] = []
            total = 0
            while total < window:
                if at == len(order):
                    if not reuse:
                        raise UserError(
                            f"the documents hold {self.tokens:,} tokens, {windows} windows of {window:,} need "
                            f"{windows * window:,}; add documents or allow `reuse: true`"
                        )
                    turn += 1
                    at, order = 0, self._order(turn)
                one = Piece(*table[order[at]].tolist())
                mine.append(one)
                total += one.stop - one.start
                at += 1
            dealt.append(mine)
        return dealt

    def _order(self, turn: int) -> np.ndarray:
        return np.random.Generator(np.random.PCG64([self._seed, turn])).permutation(len(self._table))


def _pieces(datasets: Sequence[Dataset], split: str, piece: int) -> np.ndarray:
    """[n, 4] int64: data set, document, start, stop of every piece."""
    rows = []
    for number, dataset in enumerate(datasets):
        index = dataset.samples
        lengths = index["tokens"].to_numpy(zero_copy_only=False)
        if np.isnan(lengths.astype(float)).any():
            raise UserError(
                f"{dataset.store.url} holds samples without tokens; end that job with `curriculum.tokenise`"
            )
        mine = np.flatnonzero(np.array(index["split"].to_pylist(), object) == split)
        lengths = lengths[mine].astype(np.int64)
        counts = -(-lengths // piece)
        document = np.repeat(mine, counts)
        part = np.arange(len(document)) - np.repeat(np.cumsum(counts) - counts, counts)
        size = np.repeat(-(-lengths // np.maximum(counts, 1)), counts)  # parts of one document are equally long
        stop = np.minimum((part + 1) * size, np.repeat(lengths, counts))
        rows.append(np.column_stack([np.full(len(document), number), document, part * size, stop]))
    return np.concatenate(rows) if rows else np.zeros((0, 4), np.int64)


@dataclass
class Filler:
    """Documents laid end to end.

    Attributes:
        tokens: [F] uint32.
        docs: spans {start, end, id, domain, kind}.
        images: as in `TokenSample`, offsets counting into `media`.
        breaks: positions, int64, where something may be inserted: after line ends, outside images; 0 and F among them.
        licences: of the documents used.
    """

    tokens: np.ndarray
    docs: list[dict[str, Any]]
    images: list[dict[str, Any]]
    media: bytes
    breaks: np.ndarray
    licences: list[dict[str, str]] = field(default_factory=list)


class Layer:
    """Lays pieces end to end, up to a number of tokens.

    Args:
        tokenizer: the one that the documents were tokenised with.
    """

    def __init__(self, tokenizer: Tokenizer):
        self.line_end = np.array([token.endswith(b"\n") for token in tokenizer.token_bytes])
        self._eos = tokenizer.special["eos"]
        self._between = tokenizer.encode("\n\n")

    def lay(self, datasets: Sequence[Dataset], pieces: Sequence[Piece], budget: int) -> Filler:
        """As many of the pieces' tokens as fit into `budget`, the last one cut at a line end."""
        parts: list[np.ndarray] = []
        docs: list[dict[str, Any]] = []
        images: list[dict[str, Any]] = []
        media: list[bytes] = []
        at = stored = 0
        licences: dict[str, dict[str, str]] = {}
        for piece in pieces:
            dataset = datasets[piece.dataset]
            sample = read_token_sample(dataset.raw(piece.document))
            start, stop = self._trim(sample.tokens, piece, budget - at - len(self._between))
            if stop <= start:
                if at > budget - _LEAST:
                    break
                continue
            row = _about(dataset, piece.document)
            docs.append({"start": at, "end": at + stop - start + len(self._between), **row})
            licence = _licence(dataset, piece.document)
            licences[str(licence)] = licence
            for image in sample.images:
                if start <= image["start"] - 1 and image["start"] + image["tokens"] < stop:
                    data = sample.media[image["offset"] : image["offset"] + image["bytes"]]
                    images.append({**image, "start": image["start"] - start + at, "offset": stored})
                    media.append(data)
                    stored += len(data)
            parts += [sample.tokens[start:stop], self._between]
            at += stop - start + len(self._between)
        tokens = np.concatenate(parts) if parts else np.zeros(0, np.uint32)
        parts.clear()
        for dataset in datasets:
            dataset.release()
        return Filler(tokens, docs, images, b"".join(media), self._breaks(tokens), list(licences.values()))

    def _trim(self, tokens: np.ndarray, piece: Piece, budget: int) -> tuple[int, int]:
        """The piece moved to line ends on both sides, without the document's EOS, at most `budget` long."""
        start = self._after_line(tokens, piece.start, piece.stop) if piece.start else 0
        stop = piece.stop
        if stop == len(tokens):
            stop -= int(tokens[-1] == self._eos)
        else:
            stop = self._after_line(tokens, stop, len(tokens))
        if stop - start > budget:
            ends = np.flatnonzero(self.line_end[tokens[start : start + max(budget, 0)]])
            stop = start + (int(ends[-1]) + 1 if len(ends) else 0)
        return start, stop

    def _after_line(self, tokens: np.ndarray, at: int, limit: int) -> int:
        """The first position from `at` on that follows a line end; `limit` if there is none before it."""
        ends = np.flatnonzero(self.line_end[tokens[at - 1 : limit]])
        return at + int(ends[0]) if len(ends) else limit

    def _breaks(self, tokens: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], np.flatnonzero(self.line_end[tokens]) + 1]).astype(np.int64)


_LEAST = 64
"""Tokens: a remainder smaller than this is left empty."""


def _about(dataset: Dataset, number: int) -> dict[str, Any]:
    index = dataset.samples
    return {name: index[name][number].as_py() for name in ("id", "domain", "kind")}


def _licence(dataset: Dataset, number: int) -> dict[str, str]:
    index = dataset.samples
    return {
        "spdx": index["spdx"][number].as_py(),
        "class": index["licence"][number].as_py(),
        "attribution": index["attribution"][number].as_py(),
    }
