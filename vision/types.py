"""The words of rendering: a program goes in; pictures with an exact layout, or a typed failure, come out.

Coordinates are float pixels in the picture, origin top left, x to the right, y down; boxes are (x1, y1, x2, y2).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

FailureKind = Literal[
    "parse", "unsupported_feature", "forbidden", "timeout", "memory", "signal", "no_result", "invalid_geometry",
    "blank", "too_large", "empty", "encoding", "exception", "font_missing",
]  # fmt: skip

INPUT_FAULTS: frozenset[str] = frozenset(
    [
        "parse",
        "unsupported_feature",
        "forbidden",
        "invalid_geometry",
        "blank",
        "too_large",
        "empty",
        "encoding",
        "font_missing",
    ]
)
"""Failures of the program itself. The others (timeout, memory, signal, no_result, exception) are errors of the run."""

FICKLE: frozenset[str] = frozenset(["timeout", "memory", "signal", "no_result"])
"""Failures that another attempt might not repeat."""


@dataclass(frozen=True)
class RenderSpec:
    """How to draw. `width` and `height` are the picture's upper bounds for SVG (aspect kept), the viewport's width and
    the page's maximum height for web pages, and the size of each view for CAD."""

    width: int
    height: int
    background: str = "#ffffff"
    trusted: bool = True
    """The program is one that we generated ourselves."""


@dataclass(frozen=True)
class Image:
    """One picture as PNG bytes."""

    name: str
    png: bytes = field(repr=False)
    width: int
    height: int

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.png).hexdigest()


@dataclass(frozen=True)
class Element:
    """Something visible, placed by the renderer itself.

    Attributes:
        id: the program's own id for it, or a path in its tree.
        role: what it is (`circle`, `button`, `heading`, `hole`, `dimension`, …).
        text: the words it shows, or a short description of it ("red circle").
        box: (x1, y1, x2, y2) in pixels, clipped to the picture.
        image: index of the picture it is in.
        visible: fraction of the box that is inside the picture and not covered, 0 to 1.
        attributes: further exact facts (`fill`, `diameter_mm`), scalars only.
    """

    id: str
    role: str
    text: str
    box: tuple[float, float, float, float]
    image: int = 0
    visible: float = 1.0
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Render:
    """A success. `program` is the text that was drawn, which normalisation may have changed."""

    images: tuple[Image, ...]
    layout: tuple[Element, ...]
    program: str
    renderer: str
    log: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """Why there is no picture. `stage` is where it ended: lint, load, render, encode, pool."""

    kind: FailureKind
    stage: str
    detail: str


class Renderer(Protocol):
    """Draws one kind of program. It knows nothing of pools and never raises for bad input."""

    kind: str
    version: str
    worn: bool
    """An outcome that may have harmed this process: it is replaced before the next program."""

    def open(self) -> None:
        """Start what is expensive (a browser). Called once, in the process that renders."""

    def lint(self, program: str, spec: RenderSpec) -> Failure | None:
        """Refuse, without drawing, what would be unsafe or could not be drawn truly."""

    def starter(self) -> Callable[[], None] | None:
        """What must be started before the program linted last can be drawn, if anything; no cost of the program."""

    def render(self, program: str, spec: RenderSpec) -> Render | Failure: ...

    def selftest(self) -> str | None:
        """Draw something known; None if it came out right, else what is wrong."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Program:
    """A generated program and what its generator knows of it.

    Attributes:
        kind: `svg`, `web` or `cad`.
        text: the source text.
        template: name of the structural template.
        caption: what the picture shows, in one to three sentences that are true of it.
        facts: exact facts that tasks may ask for (counts, dimensions in mm, titles), scalars only.
    """

    kind: str
    text: str
    template: str
    caption: str
    facts: dict[str, Any] = field(default_factory=dict)
