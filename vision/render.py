"""The stage that turns a program into a picture with its exact layout, in a pool of killable processes.

In: a record whose text is the program and whose `kind` says what it is. Out: the same record with the pictures
attached, one U+FFFC per picture before the program, and the layout in `scratch` for the stages that write tasks.
"""

from __future__ import annotations

import atexit
from pathlib import Path
from typing import Any, ClassVar

from datatrove.data import Document
from pydantic import BaseModel, ConfigDict, PrivateAttr

from ..pipelines.record import OBJECT, add_check, image
from ..pipelines.stage import Failed, InvalidInput, Stage
from . import types
from .fingerprint import fingerprint
from .isolation import IsolationError
from .pool import RenderPool
from .types import FICKLE, INPUT_FAULTS, Failure, RenderSpec
from .web_lint import inline_resources


class Size(BaseModel):
    """Width and height in pixels; what they bound depends on the kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    width: int
    height: int


class Render(Stage):
    """Draw each record's program.

    Attributes:
        svg: the drawing's upper bounds; its aspect is kept.
        web: the viewport's width, and the height at which long pages are cut.
        cad: the size of each view.
        inline_local: put style sheets and pictures that lie beside a collected page into its text. They are no inputs
            of the plan: a run does not notice when they change.
        allow_untrusted_code: also execute programs that we did not generate, given full isolation.
        timeout_s: CPU seconds for one program.
        memory_mib: memory for one program.
    """

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"timeout_s", "memory_mib"})

    svg: Size = Size(width=512, height=512)
    web: Size = Size(width=1280, height=1600)
    cad: Size = Size(width=512, height=512)
    inline_local: bool = False
    allow_untrusted_code: bool = False
    timeout_s: float = 20.0
    memory_mib: int = 2048

    _pools: dict[str, RenderPool] = PrivateAttr(default_factory=dict)

    def process(self, record: Document) -> Document:
        kind = record.metadata["kind"]
        if kind not in ("svg", "web", "cad"):
            raise InvalidInput("unsupported_kind", f"no renderer draws {kind!r}")
        scratch = record.metadata.setdefault("scratch", {})
        trusted = bool(scratch.get("trusted", False))
        if kind == "cad" and not trusted and not self.allow_untrusted_code:
            raise InvalidInput("forbidden", "a collected program that would be executed; see allow_untrusted_code")
        size: Size = getattr(self, kind)
        spec = RenderSpec(size.width, size.height, trusted=trusted)
        try:
            outcome = self._pool(kind).render(self._program(record, kind), spec)
        except IsolationError as error:
            raise InvalidInput("forbidden", str(error)) from error
        if isinstance(outcome, Failure):
            raise _rejection(outcome)
        return _filled(record, outcome)

    def _program(self, record: Document, kind: str) -> str:
        folder = record.metadata["scratch"].get("folder")
        if self.inline_local and kind == "web" and folder:
            return inline_resources(record.text, Path(folder))
        return record.text

    def _pool(self, kind: str) -> RenderPool:
        """The kind's pool, kept over units: starting one costs more than a hundred pictures."""
        if kind not in self._pools:
            if not self._pools:
                atexit.register(self.shutdown)
            self._pools[kind] = RenderPool(kind, timeout_s=self.timeout_s, memory_mib=self.memory_mib)
        return self._pools[kind]

    def shutdown(self) -> None:
        """End the worker processes. They also end by themselves with this process."""
        while self._pools:
            self._pools.popitem()[1].close()

    def environment(self) -> dict[str, str]:
        return fingerprint()


def _rejection(failure: Failure) -> InvalidInput | Failed:
    detail = f"{failure.stage}: {failure.detail}"
    if failure.kind in INPUT_FAULTS:
        return InvalidInput(failure.kind, detail)
    return Failed(failure.kind, detail, fickle=failure.kind in FICKLE)


def _filled(record: Document, render: types.Render) -> Document:
    """The record with pictures, program and layout. U+FFFC inside a program would pass for a picture: refused."""
    if OBJECT in render.program:
        raise InvalidInput("encoding", "the program contains U+FFFC, which stands for pictures")
    start = len(render.images) + 1
    record.media = [
        image(one.png, mime="image/png", width=one.width, height=one.height, name=one.name) for one in render.images
    ]
    record.text = OBJECT * len(render.images) + "\n" + render.program
    scratch: dict[str, Any] = record.metadata["scratch"]
    scratch.update(layout=list(render.layout), program=render.program, program_start=start, render_log=render.log)
    add_check(record, "render", True, reason=render.renderer)
    return record
