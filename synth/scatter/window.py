"""One window: several items braided into real documents, every token accounted for, every item proved.

Clues lie in strata over the whole window, the first in its first twentieth and the last in its last; items overlap, so
that no region is idle. Questions stand at the beginning, in the middle or at the end; all answers are given on the last
lines, since each depends on a clue that comes just before them. The whole window is one group: nothing in it is reset.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...pipelines.record import OBJECT
from ...pipelines.tokens import TokenSample, from_label_weights
from ...tokenizer import Tokenizer
from ...tokenizer.images import image_grid, image_tokens
from ...tokenizer.words import Words
from .draw import Draw
from .haystack import Filler
from .item import Clue, Item, Picture
from .prove import Placed, Retriever, Unproved, prove

FIRST, LAST = (0.0, 0.05), (0.93, 0.99)
"""Where an item's first and last clue go, as fractions of the documents."""

_ASKED = ("end", "end", "start", "middle")


@dataclass
class Insert:
    """Something to be placed among the documents.

    Attributes:
        ids: its token ids, uint32 [n].
        at: where, as a fraction of the documents.
        item: number of its item.
        clue: the clue or distractor it states; None for a question.
        number: the clue's place among those that the item needs.
        pads: where in `ids` the picture's features go.
    """

    ids: np.ndarray
    at: float
    item: int
    clue: Clue | None = None
    number: int | None = None
    pads: int = 0


@dataclass
class Closing:
    """The last lines of an item: what stands before the answer, and the answer."""

    before: np.ndarray
    answer: np.ndarray
    asks: bool


@dataclass
class Braid:
    """The items of a window in token ids, before documents are known.

    Attributes:
        length: tokens of all inserts and closings, and the EOS.
    """

    items: list[Item]
    inserts: list[Insert]
    closings: list[Closing]
    asked: list[str]
    length: int
    names: frozenset[str]


class WindowBuilder:
    """Builds windows with one tokenizer.

    Args:
        tokenizer: the documents' own.
        max_image_tokens: bound on a picture's tokens; see `tokenizer.images`.
        answer_weight: loss weight of each token of an answer and of the gap that ends it.
    """

    def __init__(self, tokenizer: Tokenizer, max_image_tokens: int, answer_weight: float = 1.0):
        self.tokenizer = tokenizer
        self._answer_weight = answer_weight
        self._max_image_tokens = max_image_tokens
        self._words = Words(tokenizer)
        self._gap = tokenizer.encode("\n\n")
        self._token_bytes = np.array([*tokenizer.token_bytes, None], object)[:-1]  # None: or numpy guesses a type

    def braid(self, items: Sequence[Item], draw: Draw, rng: random.Random) -> Braid:
        """Put items into token ids and choose where each part goes. `draw` is what the items were drawn from.

        Raises:
            Unproved: no placement was found in which an item holds.
        """
        inserts: list[Insert] = []
        closings, asked = [], []
        for number, item in enumerate(items):
            inserts += [self._insert(clue, at, number, place) for at, place, clue in _places(item, rng)]
            where = rng.choice(_ASKED)
            asked.append(where)
            if where == "end":
                before = self.tokenizer.encode(f"{item.question}\nAnswer:")
            else:
                tag = draw.name()
                text = f"{item.question} The answer is due on the last lines, under {tag}."
                ids = np.concatenate([self.tokenizer.encode(text), self._gap])
                inserts.append(Insert(ids, rng.uniform(*((0.0, 0.04) if where == "start" else (0.4, 0.6))), number))
                before = self.tokenizer.encode(f"{tag}:")
            closings.append(Closing(before, self.tokenizer.encode(f" {item.answer}"), where == "end"))
        inserts.sort(key=lambda one: one.at)
        length = sum(len(one.ids) for one in inserts) + 1
        length += sum(len(one.before) + len(one.answer) + len(self._gap) for one in closings)
        return Braid(list(items), inserts, closings, asked, length, draw.used)

    def _insert(self, clue: Clue, at: float, item: int, number: int | None) -> Insert:
        if clue.picture is None:
            return Insert(np.concatenate([self.tokenizer.encode(clue.text), self._gap]), at, item, clue, number)
        before, _, after = clue.text.partition(OBJECT)
        lead = self.tokenizer.encode(before)
        span = image_tokens(self.tokenizer, clue.picture.width, clue.picture.height, self._max_image_tokens)
        pads = len(lead) + int(np.flatnonzero(span == self.tokenizer.special["media_pad"])[0])
        tail = self.tokenizer.encode(f"{after}\n\n")
        return Insert(np.concatenate([lead, span, tail]), at, item, clue, number, pads)

    def build(self, braid: Braid, filler: Filler) -> TokenSample:
        """The window: the braid's parts among the documents, with spans, weights and proofs.

        Raises:
            Unproved: an item does not hold (codes of `prove`), or code `leak`: a name also occurs in the documents.
        """
        self._check_leaks(braid, filler)
        laid = _Laying(self.tokenizer, self._max_image_tokens)
        breaks = filler.breaks
        at = 0
        placed: list[list[Placed]] = [[] for _ in braid.items]
        questions: dict[int, tuple[int, int]] = {}
        for one in braid.inserts:
            stop = int(breaks[_nearest(breaks, one.at * len(filler.tokens))])
            laid.documents(filler, at, stop)
            at = max(at, stop)
            start = laid.at
            laid.insert(one)
            end = laid.at - len(self._gap)
            if one.clue is None:
                questions[one.item] = (start, end)
            else:
                placed[one.item].append(Placed(one.clue, start, end, one.number))
        laid.documents(filler, at, len(filler.tokens))
        answers = {}
        for number, closing in enumerate(braid.closings):
            start = laid.at
            laid.own(np.concatenate([closing.before, closing.answer, self._gap]))
            middle = start + len(closing.before)
            answers[number] = (middle, middle + len(closing.answer))
            if closing.asks:
                questions[number] = (start, middle)
        laid.own(np.array([self.tokenizer.special["eos"]], np.uint32))
        gap = len(self._gap)  # weighed as well, or a model bets on going on
        sample = laid.finish([(start, end + gap) for start, end in answers.values()], self._answer_weight)
        retriever = Retriever(sample.tokens, self._words, [item.question for item in braid.items])
        length = len(sample.tokens)
        sample.proofs = [
            self._proof(braid, number, placed[number], questions[number], answers[number], retriever, length)
            for number in range(len(braid.items))
        ]
        return sample

    def _check_leaks(self, braid: Braid, filler: Filler) -> None:
        """Names must be new to the documents, as whole words in any case."""
        text = b"".join(self._token_bytes[filler.tokens].tolist()).lower().translate(_LETTERS)
        if found := set(text.split()) & {name.encode() for name in braid.names}:
            raise Unproved("leak", f"{min(found).decode()!r} occurs in the documents")

    def _proof(
        self,
        braid: Braid,
        number: int,
        placed: list[Placed],
        question: tuple[int, int],
        answer: tuple[int, int],
        retriever: Retriever,
        length: int,
    ) -> dict[str, Any]:
        """The proof object; positions count tokens from the window's start."""
        item = braid.items[number]
        proof = prove(item, placed, length)
        clues = []
        for one in sorted((one for one in placed if one.number is not None), key=lambda one: one.start):
            assert one.number is not None and one.clue.edit is not None
            edit: dict[str, Any] = {"text": one.clue.edit.text, "answer": proof.edited[one.number]}
            if one.clue.edit.changed:
                label, value = one.clue.edit.changed
                edit = {"label": label, "value": value, "answer": proof.edited[one.number]}
            clues.append({**_span(one), "edit": edit, **_program(one.clue.picture)})
        return {
            "version": 1,
            "start": 0,
            "length": length,
            "family": item.family,
            "tokenizer": self.tokenizer.digest,
            "asked": braid.asked[number],
            "question": {"start": question[0], "end": question[1]},
            "answer": {"start": answer[0], "end": answer[1], "text": item.answer},
            "clues": clues,
            "distractors": [{**_span(one), **_program(one.clue.picture)} for one in placed if one.number is None],
            "span": round(proof.span, 6),
            "answers": item.answers,
            "lexical": {"chunk": retriever.size, "solved": retriever.solves(item, placed)},
        }


def _span(placed: Placed) -> dict[str, int]:
    return {"start": placed.start, "end": placed.end}


def _program(picture: Picture | None) -> dict[str, Any]:
    return {"picture": {"kind": picture.kind, "program": picture.program}} if picture else {}


_PLACEMENTS = 10
_LETTERS = bytes(byte if byte in b"abcdefghijklmnopqrstuvwxyz" else 32 for byte in range(256))


def _places(item: Item, rng: random.Random) -> list[tuple[float, int | None, Clue]]:
    """Where each clue and distractor goes: (fraction of the documents, place among the clues, clue), ascending.

    Some placements leave a short cut (the one source that is forged, with all that exposes it, at one end). They are
    found here, at the cost of a few runs of the solver, before a window is built around them.
    """
    why: Unproved | None = None
    for _ in range(_PLACEMENTS):
        needed: list[tuple[int | None, Clue]] = list(enumerate(item.clues))
        if not item.ordered:
            rng.shuffle(needed)
        found = [(at, *one) for at, one in zip(_strata(len(needed), rng), needed, strict=True)]
        found += [(rng.uniform(0.02, 0.98), None, clue) for clue in item.distractors]
        found.sort(key=lambda one: one[0])
        starts = [round(at * _SCALE) for at, _, _ in found]
        try:
            prove(item, [Placed(one[2], at, at + 1, one[1]) for at, one in zip(starts, found, strict=True)], _SCALE)
            return found
        except Unproved as error:
            why = error
    assert why is not None
    raise why


_SCALE = 10**6


def _strata(count: int, rng: random.Random) -> list[float]:
    """Ascending fractions, one in each of `count` strata, the first and the last at the window's ends."""
    inner = [(place + rng.uniform(0.15, 0.85)) / count for place in range(1, count - 1)]
    low, high = rng.uniform(*FIRST), rng.uniform(*LAST)
    return [low, *(min(max(one, low), high) for one in inner), high][:count]


def _nearest(breaks: np.ndarray, position: float) -> int:
    after = int(np.searchsorted(breaks, position))
    if after == 0:
        return 0
    if after == len(breaks) or position - breaks[after - 1] <= breaks[after] - position:
        return after - 1
    return after


@dataclass
class _Laying:
    """What has been laid so far."""

    tokenizer: Tokenizer
    max_image_tokens: int
    at: int = 0
    parts: list[np.ndarray] = field(default_factory=list)
    docs: list[dict[str, Any]] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    media: list[bytes] = field(default_factory=list)
    stored: int = 0

    def documents(self, filler: Filler, start: int, stop: int) -> None:
        """The documents' tokens `start:stop`, with their spans and images; nothing if it is empty."""
        if stop <= start:
            return
        shift = self.at - start
        first = bisect_right(filler.docs, start, key=lambda one: one["end"])
        for one in filler.docs[first:]:
            if one["start"] >= stop:
                break
            begin, end = max(one["start"], start) + shift, min(one["end"], stop) + shift
            self.docs.append({**one, "start": begin, "end": end})
        first = bisect_right(filler.images, start, key=lambda one: one["start"])
        for one in filler.images[first:]:
            if one["start"] >= stop:
                break
            data = filler.media[one["offset"] : one["offset"] + one["bytes"]]
            self._image({**one, "start": one["start"] + shift}, data)
        self._add(filler.tokens[start:stop])

    def insert(self, one: Insert) -> None:
        """An item's own tokens, with its picture if it has one."""
        picture = one.clue.picture if one.clue else None
        if picture is not None:
            grid = image_grid(picture.width, picture.height, self.max_image_tokens)
            about = {"start": self.at + one.pads, "tokens": grid.tokens, "grid": [grid.rows, grid.columns], "frames": 1,
                     "mime": picture.mime, "width": picture.width, "height": picture.height}  # fmt: skip
            self._image(about, picture.data)
        self.own(one.ids)

    def own(self, ids: np.ndarray) -> None:
        """Tokens that belong to the items, not to a document."""
        span = {"start": self.at, "end": self.at + len(ids), "id": "scatter", "domain": "knowledge", "kind": "scatter"}
        if self.docs and self.docs[-1]["kind"] == "scatter":
            self.docs[-1]["end"] = span["end"]
        else:
            self.docs.append(span)
        self._add(ids)

    def _image(self, about: dict[str, Any], data: bytes) -> None:
        self.images.append({**about, "offset": self.stored, "bytes": len(data)})
        self.media.append(data)
        self.stored += len(data)

    def _add(self, ids: np.ndarray) -> None:
        self.parts.append(ids)
        self.at += len(ids)

    def finish(self, weighed: Iterable[tuple[int, int]], weight: float) -> TokenSample:
        """The sample, without proofs. Pictures carry no loss: their tokens are placeholders."""
        tokens = np.concatenate(self.parts)
        groups = [{"start": 0, "end": len(tokens)}]
        special = self.tokenizer.special
        labels = (tokens != special["media_pad"]).astype(np.float32)
        for start, end in weighed:
            labels[start:end] = weight
        return TokenSample(
            tokens, groups, self.docs, self.images, from_label_weights(labels, groups), media=b"".join(self.media)
        )
