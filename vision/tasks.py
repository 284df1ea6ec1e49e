"""The stage that writes tasks: picture to code, code to caption, and finding elements by their description.

Answers are exact: the program is the one that was drawn, a caption is its generator's or follows from the layout, and
every box is the renderer's own. A task stands beside the picture as a prompt and an answer; packing turns it to text.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

import orjson
from datatrove.data import Document, Media
from pydantic import Field, PrivateAttr

from ..pipelines.record import add_check
from ..pipelines.stage import Context, Stage
from .captions import derive
from .coordinates import area, box_place
from .descriptions import unambiguous
from .types import Element

_LANGUAGE = {"svg": "SVG", "web": "HTML", "cad": "CadQuery (Python)"}
_FENCE = {"svg": "svg", "web": "html", "cad": "python"}

_TO_CODE = (
    "Write the {language} that draws {this}.",
    "Reproduce {this} as {language}. Give the complete source.",
    "Which {language} program draws {this}?",
    "Turn {this} into {language} code.",
    "Recreate what you see in {this}, in {language}.",
)
_TO_CAPTION = (
    "Describe the picture that this {language} program draws.",
    "What would one see after rendering this {language} source?",
    "Give a caption for the picture that this {language} code makes.",
    "Without running it, say what this {language} program shows.",
)
_FIND = (
    "Locate {what} in {this}.",
    "Find {what} in {this}.",
    "Where in {this} {verb} {what}?",
    "Mark {what} in {this}.",
)
_FORMAT = (
    'Answer in JSON, {{"boxes": [{{"label", "pixels", "normalised"}}]}}, with each box as [x1, y1, x2, y2]: once in '
    "absolute pixels of the {width} × {height} picture, once normalised to [0, 1]."
)

_LAYOUT_MAX = 400
"""Renderers stop listing elements here. In a longer layout something unseen might fit a description too."""


class Tasks(Stage):
    """Add tasks to a rendered program.

    Attributes:
        captions: ask for captions of programs.
        grounding: most elements that one grounding task asks for; 0 for none.
        visible: least fraction of an element that must be in sight.
        side: least width and height of an element in pixels.
        share: largest share of the picture that an element may fill.
    """

    version: ClassVar[int] = 1

    captions: bool = True
    grounding: int = Field(default=4, ge=0)
    visible: float = 0.5
    side: float = 8.0
    share: float = 0.6

    _context: Context | None = PrivateAttr(default=None)

    def open(self, context: Context) -> None:
        self._context = context

    def process(self, record: Document) -> Document:
        if self._context is None:
            raise RuntimeError("open() comes before process()")
        scratch, kind = record.metadata["scratch"], record.metadata["kind"]
        program, layout = scratch["program"], scratch["layout"]
        source = record.metadata["source"]
        rng = self._context.rng("vision.tasks", f"{source['uri']}/{source['item']}")
        tasks = [_image_to_code(rng, kind, program, record.media)]
        if self.captions:
            log = scratch.get("render_log") or {}
            caption = scratch.get("caption") or derive(kind, program, layout, log, source["item"])
            if caption:
                tasks.append(_code_to_caption(rng, kind, program, caption))
        ids_are_words = kind == "svg" and bool(scratch.get("trusted"))
        found = self._grounding(rng, layout, record.media, ids_are_words) if self.grounding else None
        if found:
            tasks.append(found)
        add_check(
            record, "groundable", found is not None, None, "" if found else "no element has a description of its own"
        )
        record.metadata["tasks"] = tasks
        return record

    def _grounding(
        self, rng: random.Random, layout: Sequence[Element], media: list[Media], ids_are_words: bool
    ) -> dict[str, Any] | None:
        """One task on one picture, or None if nothing in any picture can be asked for without doubt."""
        candidates: dict[int, list[tuple[str, Element]]] = {}
        for index, part in enumerate(media):
            width, height = part.metadata["width"], part.metadata["height"]
            shown = [one for one in layout if one.image == index]
            if len(shown) >= _LAYOUT_MAX:
                continue
            usable = [pair for pair in unambiguous(shown, ids_are_words) if self._askable(pair[1], width, height)]
            if usable:
                candidates[index] = usable
        if not candidates:
            return None
        index = rng.choice(sorted(candidates))
        usable = candidates[index]
        asked = rng.sample(usable, min(len(usable), rng.randint(1, self.grounding)))
        width, height = media[index].metadata["width"], media[index].metadata["height"]
        boxes = [{**box_place(words, one.box, width, height), "media": index} for words, one in asked]
        what, verb = _list([words for words, _ in asked]), "is" if len(asked) == 1 else "are"
        prompt = rng.choice(_FIND).format(what=what, this=_this(index, media), verb=verb)
        answer = {"boxes": [{key: box[key] for key in ("label", "pixels", "normalised")} for box in boxes]}
        return {
            "name": "grounding",
            "prompt": f"{prompt} {_FORMAT.format(width=width, height=height)}",
            "answer": orjson.dumps(answer).decode(),
            "boxes": boxes,
            "points": [],
        }

    def _askable(self, one: Element, width: int, height: int) -> bool:
        x1, y1, x2, y2 = one.box
        large_enough = x2 - x1 >= self.side and y2 - y1 >= self.side
        return large_enough and one.visible >= self.visible and area(one.box) <= self.share * width * height


def _image_to_code(rng: random.Random, kind: str, program: str, media: list[Media]) -> dict[str, Any]:
    this = "these pictures" if len(media) > 1 else "this picture"
    prompt = rng.choice(_TO_CODE).format(language=_LANGUAGE.get(kind, kind), this=this)
    return _task("image_to_code", prompt, program)


def _code_to_caption(rng: random.Random, kind: str, program: str, caption: str) -> dict[str, Any]:
    prompt = rng.choice(_TO_CAPTION).format(language=_LANGUAGE.get(kind, kind))
    mark = "`" * max(3, _longest_run(program) + 1)
    return _task("code_to_caption", f"{prompt}\n\n{mark}{_FENCE.get(kind, '')}\n{program.rstrip()}\n{mark}", caption)


def _task(name: str, prompt: str, answer: str) -> dict[str, Any]:
    return {"name": name, "prompt": prompt, "answer": answer, "boxes": [], "points": []}


def _this(index: int, media: list[Media]) -> str:
    """How the prompt names the picture."""
    if len(media) == 1:
        return "this picture"
    name = media[index].metadata.get("name")
    return f"picture {index + 1} of {len(media)}" + (f" ({name})" if name else "")


def _list(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _longest_run(text: str) -> int:
    """Length of the longest run of backticks, so that the fence around the program is longer."""
    longest = run = 0
    for letter in text:
        run = run + 1 if letter == "`" else 0
        longest = max(longest, run)
    return longest
