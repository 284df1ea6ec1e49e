"""One self-contained HTML page that shows packed sequences: which documents, where pictures and clues lie, and how far
every answer has to reach back for them.

For the data set: the mixture wanted and got, how far dependencies reach, padding by stage. For a sequence: a bar over
the window, documents by domain, an arc from every clue to the answer that needs it; and every item's words, pictures
and counterfactuals, decoded from the token ids. How the page keeps what it shows from acting: see `pipelines.page`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from PIL import Image

from ..pipelines import page
from ..pipelines.errors import UserError
from ..pipelines.reader import RUN_FILE, Dataset
from ..pipelines.store import Store, open_store
from ..pipelines.tokens import SPANS, TokenSample
from ..tokenizer import Tokenizer, TokenizerError
from .report import FILE, TOKENIZER

LIMIT = 12
_LOOKED_AT = 12
"""Sequences looked at for each one shown, to find some with items."""
_WORDS, _BEGINNING = 2_400, 160
"""Characters of a clue and of a document's beginning that the page holds."""
_PICTURES, _SIDE = 40, 448


def write_view(
    dataset: Dataset,
    out_html: str | Path,
    *,
    stages: Sequence[dict[str, Any]] = (),
    limit: int = LIMIT,
    seed: int = 0,
    tokenizer: str | Path | None = None,
) -> int:
    """Write the page and return the number of sequences in it.

    Args:
        dataset: samples made of token ids: packed, scattered, or single documents.
        stages: the contents of `curriculum.json` of all stages that the page compares; see `packed_stages`.
        limit: at most so many sequences, most of them with items where there are some.
        seed: which sequences.
        tokenizer: file or folder; else the one that lies in the output. Without any the page has no words.

    Raises:
        UserError: no samples, samples that are not made of token ids, or a tokenizer that cannot be read.
    """
    if not len(dataset):
        raise UserError(f"{dataset.store.url} has no samples to show")
    if SPANS not in dataset.raw(0):
        raise UserError(f"{dataset.store.url} is not made of token ids")
    words = _tokenizer(dataset.store, tokenizer)
    shown = _choose(dataset, limit, seed)
    sequences = [_sequence(dataset, number, words) for number in shown]
    values = {
        "sequences": sequences,
        "total": len(dataset),
        "tokens": dataset.samples["tokens"].to_numpy().sum().item(),
        "words": words is not None,
        "stage": _json(dataset.store, FILE),
        "stages": list(stages),
    }
    text = page.render(
        page.read(__file__, "view.html"),
        title=str(dataset.info.get("name") or "sequences"),
        style=page.SHARED_STYLE + page.read(__file__, "view.css"),
        script=page.SHARED_SCRIPT + "".join(page.read(__file__, f"view_{part}.js") for part in ("charts", "window"))
        + page.read(__file__, "view.js"),
        data=values,
    )  # fmt: skip
    Path(out_html).write_text(text, encoding="utf-8")
    return len(sequences)


def packed_stages(url: str) -> list[dict[str, Any]]:
    """What every packed job of an output says of itself, in the order of its jobs."""
    root = open_store(url)
    run = _json(root, RUN_FILE)
    places = [root.sub(name) for name in run["jobs"]] if run else [root]
    return [found for place in places if (found := _json(place, FILE))]


def _choose(dataset: Dataset, limit: int, seed: int) -> list[int]:
    """Row numbers: in an order that depends on the seed alone, three of four with items if so many are found."""
    rows = dataset.connection.execute(
        "select number from (select id, row_number() over () - 1 as number from samples) order by md5(id || ?) limit ?",
        [str(seed), limit * _LOOKED_AT],
    ).fetchall()
    bare: list[int] = []
    busy: list[int] = []
    for (number,) in rows:
        spans = orjson.loads(dataset.raw(number)[SPANS])
        (busy if spans["proofs"] else bare).append(number)
    busy = busy[: max(limit - len(bare), -(-limit * 3 // 4))]
    return busy + bare[: limit - len(busy)]


def _sequence(dataset: Dataset, number: int, words: Tokenizer | None) -> dict[str, Any]:
    record = dataset[number]
    sample: TokenSample = record.metadata["sample"]
    reader = _Reader(sample, words)
    domains = sorted({one["domain"] for one in sample.docs})
    kinds = sorted({one["kind"] for one in sample.docs})
    pictures = _Pictures(sample)
    items = [_item(proof, reader, pictures) for proof in sample.proofs]
    weighed = sum(one["end"] - one["start"] for one in sample.weights if one["weight"])
    return {
        "id": record.id,
        "split": record.metadata["split"],
        "licence": record.metadata["licence"]["spdx"],
        "length": len(sample.tokens),
        "padding": len(sample.tokens) - sum(one["end"] - one["start"] for one in sample.docs),
        "weighed": weighed,
        "domains": domains,
        "kinds": kinds,
        "docs": [
            [one["start"], one["end"], domains.index(one["domain"]), kinds.index(one["kind"]), one["id"],
             reader.words(one["start"], min(one["end"], one["start"] + _BEGINNING // 2), _BEGINNING)]
            for one in sample.docs
        ],
        "groups": [[one["start"], one["end"]] for one in sample.groups],
        "images": [
            {"start": one["start"], "tokens": one["tokens"], "size": [one["width"], one["height"]]}
            for one in sample.images
        ],
        "items": items,
        "pictures": pictures.sources,
    }  # fmt: skip


def _item(proof: dict[str, Any], reader: _Reader, pictures: _Pictures) -> dict[str, Any]:
    """An item with its words; positions counted from the start of the sequence."""
    first = proof["start"]

    def place(span: dict[str, Any]) -> dict[str, Any]:
        start, end = first + span["start"], first + span["end"]
        return {"start": start, "end": end, "words": reader.words(start, end, _WORDS)}

    clues = []
    for clue in proof["clues"]:
        edit = clue.get("edit") or {}
        told = edit.get("text") or (f"{edit['label']} is {edit['value']} in the picture" if "label" in edit else "")
        clues.append({
            **place(clue), "edited": told, "then": edit.get("answer"),
            "picture": pictures.within(first + clue["start"], first + clue["end"]) if "picture" in clue else None,
        })  # fmt: skip
    return {
        "family": proof["family"],
        "start": first,
        "end": first + proof["length"],
        "question": place(proof["question"]),
        "answer": {**place(proof["answer"]), "text": proof["answer"]["text"]},
        "clues": clues,
        "distractors": [[first + one["start"], first + one["end"]] for one in proof.get("distractors", [])],
        "span": proof.get("span"),
        "lexical": (proof.get("lexical") or {}).get("solved"),
    }


class _Reader:
    """Words of a stretch of tokens; none without a tokenizer."""

    def __init__(self, sample: TokenSample, tokenizer: Tokenizer | None):
        self._sample, self._tokenizer = sample, tokenizer

    def words(self, start: int, end: int, most: int) -> str:
        """The text of `start:end`, cut to `most` characters, what announces a picture as [picture]."""
        if self._tokenizer is None:
            return ""
        ids = self._sample.tokens[start : min(end, start + 4 * most)]
        special, parts, at = self._tokenizer.special, [], 0
        for begin in np.flatnonzero(ids == special["media_begin"]):
            parts += [self._plain(ids[at:begin]), "[picture]"]
            ends = np.flatnonzero(ids[begin:] == special["media_end"])
            at = int(begin + ends[0] + 1) if len(ends) else len(ids)
        text = "".join([*parts, self._plain(ids[at:])]).strip()
        return text if len(text) <= most else text[:most] + "…"

    def _plain(self, ids: np.ndarray) -> str:
        assert self._tokenizer is not None
        return self._tokenizer.decode_bytes(ids).decode("utf-8", "replace")


class _Pictures:
    """The pictures of clues, as data: URIs, each once and not more than `_PICTURES` of them."""

    def __init__(self, sample: TokenSample):
        self._sample = sample
        self._numbers: dict[int, int] = {}
        self.sources: list[dict[str, Any]] = []

    def within(self, start: int, end: int) -> int | None:
        """The number in `sources` of the first picture in a stretch of tokens, if the page holds it."""
        for number, one in enumerate(self._sample.images):
            if start <= one["start"] < end:
                return self._number(number, one)
        return None

    def _number(self, number: int, one: dict[str, Any]) -> int | None:
        if number not in self._numbers:
            if len(self.sources) >= _PICTURES:
                return None
            self._numbers[number] = len(self.sources)
            self.sources.append({"width": one["width"], "height": one["height"], **self._drawn(number)})
        return self._numbers[number]

    def _drawn(self, number: int) -> dict[str, Any]:
        try:
            return {"src": page.raster(self._sample.picture(number), _SIDE)}
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            # Pillow's ways of saying that these bytes are no picture it can draw; the page says so in its place.
            return {"src": None, "why": str(error)[:200]}


def _tokenizer(store: Store, given: str | Path | None) -> Tokenizer | None:
    try:
        if given is not None:
            return Tokenizer.load(given)
        return Tokenizer(store.read(TOKENIZER), f"{store.url}/{TOKENIZER}")
    except FileNotFoundError:
        return None
    except TokenizerError as error:
        raise UserError(str(error)) from None


def _json(store: Store, name: str) -> dict[str, Any] | None:
    try:
        return json.loads(store.read(name))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise UserError(f"{store.url}/{name} is damaged: {error}") from None
