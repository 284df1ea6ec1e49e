"""Facts that a picture shows, read back from the renderer's layout alone: names and numbers, paired by where they lie.

A name is an invented word that stands by itself, a number a whole one of two to four digits. In drawings and pages a
number belongs to the nearest name that it is in line with (beside it, above it or below it), and they must be nearest
to each other. On a part's sheet name and number are the words of one dimension, and the number must be the size that
the geometry has.

The stage `vision.facts` does this with every rendered picture and rejects those that do not show exactly what their
program was made to show; `FactReader` renders anew, for whoever has only the program.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import ClassVar

import orjson
from datatrove.data import Document
from pydantic import PrivateAttr

from ..pipelines.record import OBJECT, add_check
from ..pipelines.stage import Context, Filtered, InvalidInput, Stage
from .coordinates import box_place, iou
from .pool import RenderPool
from .programs.facts import SIDE
from .types import Element, Failure, RenderSpec

SIZES = {"svg": (SIDE, SIDE), "web": (SIDE, SIDE), "cad": (SIDE // 2, SIDE * 2 // 3)}
"""Kind → width and height to give `vision.render`. A part's sheet has twice the width and one and a half the height."""

SHOWN = {"svg": "picture", "web": "picture", "cad": "drawing"}
"""Kind → name of the picture that shows the facts."""

_NAME = re.compile("[A-Z][a-z]{3,8}")
_NUMBER = re.compile("[1-9][0-9]{1,3}")
_NAMED_SIZE = re.compile("([A-Z][a-z]{3,8}) ([1-9][0-9]{1,3})")
_VISIBLE = 0.9
_LEAST_HEIGHT = 7.0
"""Pixels of a word's box: below, digits are hard to tell apart."""

_ASK = (
    "Which number does {this} give for each name? Answer with a JSON object.",
    "Read all named values off {this} and give them as a JSON object.",
    "List what {this} shows as JSON: each name with its number.",
    "Transcribe the names and numbers of {this} into one JSON object.",
)


class FactsError(ValueError):
    """A picture whose layout does not give facts without doubt; told in one line."""


class Facts(Stage):
    """Check that the picture shows the program's facts, keep that picture, and ask for them.

    Comes after `vision.render` with the sizes of `SIZES`. Leaves one picture, and one task, `facts`, whose answer is a
    JSON object, name → number, with a box for each number.
    """

    version: ClassVar[int] = 1

    _context: Context | None = PrivateAttr(default=None)

    def open(self, context: Context) -> None:
        self._context = context

    def process(self, record: Document) -> Document:
        if self._context is None:
            raise RuntimeError("open() comes before process()")
        scratch, kind = record.metadata["scratch"], record.metadata["kind"]
        wanted = scratch.get("facts")
        if kind not in SHOWN or not wanted or "layout" not in scratch:
            raise InvalidInput("no_facts", "not a rendered program of vision.fact_pictures")
        shown = next(n for n, part in enumerate(record.media) if part.metadata["name"] == SHOWN[kind])
        part = record.media[shown]
        width, height = part.metadata["width"], part.metadata["height"]
        if max(width, height) > SIDE:
            raise Filtered("too_large", f"{width} x {height} pixels, at most {SIDE} a side")
        layout = [one for one in scratch["layout"] if one.image == shown]
        try:
            found = pair(kind, layout)
        except FactsError as error:
            raise Filtered("facts_differ", str(error)) from None
        facts = {label: value for label, value, _ in found}
        if facts != wanted:
            raise Filtered("facts_differ", f"shows {canonical(facts)}, not {canonical(wanted)}")
        self._keep(record, shown, layout)
        places = [{**box_place(label, one.box, width, height), "media": 0} for label, _, one in found]
        source = record.metadata["source"]
        rng = self._context.rng("vision.facts", f"{source['uri']}/{source['item']}")
        prompt = rng.choice(_ASK).format(this="this drawing" if kind == "cad" else "this picture")
        task = {"name": "facts", "prompt": prompt, "answer": canonical(facts), "boxes": places, "points": []}
        record.metadata["tasks"] = [task]
        add_check(record, "facts", True, len(facts))
        return record

    @staticmethod
    def _keep(record: Document, shown: int, layout: list[Element]) -> None:
        """Drop the other pictures, and their places before the program."""
        scratch = record.metadata["scratch"]
        record.media = [record.media[shown]]
        record.text = OBJECT + record.text.lstrip(OBJECT)
        scratch.update(layout=layout, program_start=2)


class FactReader:
    """Renders programs anew and reads what they show. A context manager: it keeps one worker process a kind.

    Args:
        trusted: the programs are known to be our own; else a part, whose program is executed, needs a machine on which
            it can be confined.
    """

    def __init__(self, trusted: bool = False):
        self._trusted = trusted
        self._pools: dict[str, RenderPool] = {}

    def __enter__(self) -> FactReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._pools:
            self._pools.popitem()[1].close()

    def read(self, kind: str, program: str) -> tuple[dict[str, int], str]:
        """The facts that a program shows, and the SHA-256 (hex) of the picture that shows them.

        Raises:
            FactsError: no such kind, no picture, or no facts without doubt.
        """
        if kind not in SHOWN:
            raise FactsError(f"no picture of kind {kind!r} carries facts")
        if kind not in self._pools:
            self._pools[kind] = RenderPool(kind)
        rendered = self._pools[kind].render(program, RenderSpec(*SIZES[kind], trusted=self._trusted))
        if isinstance(rendered, Failure):
            raise FactsError(f"{kind} program gives no picture: {rendered.kind}: {rendered.detail}")
        number = next(n for n, one in enumerate(rendered.images) if one.name == SHOWN[kind])
        found = pair(kind, [one for one in rendered.layout if one.image == number])
        return {label: value for label, value, _ in found}, rendered.images[number].sha256


def read_facts(kind: str, program: str) -> tuple[dict[str, int], str]:
    """`FactReader.read` for one program; starts and ends a process for it."""
    with FactReader() as reader:
        return reader.read(kind, program)


def canonical(facts: dict[str, int]) -> str:
    """The one JSON text of facts: names in order, no blanks."""
    return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS).decode()


def pair(kind: str, layout: Sequence[Element]) -> list[tuple[str, int, Element]]:
    """(name, number, the number's element) of every fact in one picture's layout, in the order of the names.

    Raises:
        FactsError: a word that is hidden or too small, a name or number twice, one without the other, a tie, or on a
            part's sheet a size that the geometry does not have.
    """
    found = _named_sizes(layout) if kind == "cad" else _aligned(layout)
    words = Counter([label for label, _, _ in found] + [str(value) for _, value, _ in found])
    twice = next((word for word, count in words.items() if count > 1), None)
    if twice is not None:
        raise FactsError(f"{twice} stands there twice")
    if not found:
        raise FactsError("no name with a number in the layout")
    return sorted(found, key=lambda one: one[0])


def _aligned(layout: Sequence[Element]) -> list[tuple[str, int, Element]]:
    names = [one for one in layout if _NAME.fullmatch(one.text)]
    numbers = [one for one in layout if _NUMBER.fullmatch(one.text)]
    for one in (*names, *numbers):
        _legible(one)
    if len(names) != len(numbers):
        raise FactsError(f"{len(names)} names and {len(numbers)} numbers")
    found = []
    for number in numbers:
        name = _nearest(number, names)
        if _nearest(name, numbers) is not number:
            raise FactsError(f"{name.text} is nearer to another number than {number.text}")
        found.append((name.text, int(number.text), number))
    return found


def _nearest(one: Element, others: Sequence[Element]) -> Element:
    """The nearest of the others that is in line with `one`; a tie is none."""
    gaps = sorted(((gap, index) for index, other in enumerate(others) if (gap := _gap(one.box, other.box)) is not None))
    if not gaps:
        raise FactsError(f"nothing is in line with {one.text}")
    if len(gaps) > 1 and gaps[1][0] - gaps[0][0] < 1.0:
        raise FactsError(f"{one.text} is as near to {others[gaps[0][1]].text} as to {others[gaps[1][1]].text}")
    return others[gaps[0][1]]


def _gap(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Pixels between two boxes that share some rows or some columns, None if they share neither."""
    across = max(one[0], other[0]) - min(one[2], other[2])
    down = max(one[1], other[1]) - min(one[3], other[3])
    return max(across, down, 0.0) if min(across, down) < 0 else None


def _named_sizes(layout: Sequence[Element]) -> list[tuple[str, int, Element]]:
    dimensions = [one for one in layout if one.role == "dimension"]
    found = []
    for one in layout:
        stated = _NAMED_SIZE.fullmatch(one.text) if one.role == "text" else None
        if stated is None:
            continue
        _legible(one)
        # A dimension's box holds its words; where two do, it is the tighter one's.
        owner = max(dimensions, key=lambda each: (_holds(each.box, one.box), iou(each.box, one.box)))
        if not _holds(owner.box, one.box) or abs(owner.attributes["value_mm"] - int(stated[2])) > 0.005:
            raise FactsError(f"{one.text} is not what its dimension measures")
        found.append((stated[1], int(stated[2]), one))
    return found


def _holds(outer: Sequence[float], inner: Sequence[float]) -> bool:
    return all(a <= b + 1 for a, b in zip(outer[:2], inner[:2], strict=True)) and all(
        a >= b - 1 for a, b in zip(outer[2:], inner[2:], strict=True)
    )


def _legible(one: Element) -> None:
    x1, y1, x2, y2 = one.box
    if one.visible < _VISIBLE:
        raise FactsError(f"only {one.visible:.0%} of {one.text} is in sight")
    if min(x2 - x1, y2 - y1) < _LEAST_HEIGHT:
        raise FactsError(f"{one.text} is {min(x2 - x1, y2 - y1):.1f} pixels high, at least {_LEAST_HEIGHT:g}")
