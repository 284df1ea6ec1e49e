"""Draws a CadQuery part twice: a shaded view, and a drawing sheet with hidden lines and sizes, all with exact places.

The source runs in a forked child (`cad_zygote`) that returns numbers only; this process draws them. So what a source
does to its own process cannot touch the pictures of another.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import cad_drawing, cad_lint, frames, png, svg_cairo
from .cad_views import Projection, Studio
from .types import Element, Failure, Render, RenderSpec

_KNOWN = "import cadquery as cq\nresult = cq.Workplane('XY').box(40, 20, 10).faces('>Z').workplane().hole(8)\n"


class CadRenderer:
    """`Renderer` for CadQuery sources that assign `result`.

    Args:
        timeout_s, memory_mib: limits of the child that runs one source.
    """

    kind = "cad"
    worn = False

    def __init__(self, timeout_s: float = 20.0, memory_mib: int = 2048):
        versions = {name: importlib.metadata.version(name) for name in ("cadquery", "cadquery-ocp", "vtk")}
        self.version = " ".join(f"{name} {version}" for name, version in versions.items())
        self._limits = {"timeout_s": timeout_s, "memory_mib": memory_mib}
        self._zygote: subprocess.Popen[bytes] | None = None
        self._studio: Studio | None = None

    def open(self) -> None:
        self._zygote = subprocess.Popen(
            [sys.executable, "-P", "-m", f"{__package__}.cad_zygote", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._studio = Studio()
        self._receive()

    def close(self) -> None:
        if self._zygote and self._zygote.stdin:
            self._zygote.stdin.close()
            self._zygote.wait(timeout=5)

    def lint(self, program: str, spec: RenderSpec) -> Failure | None:
        return cad_lint.check(program)

    def starter(self) -> Callable[[], None] | None:
        return None

    def render(self, program: str, spec: RenderSpec) -> Render | Failure:
        assert self._zygote and self._zygote.stdin and self._studio
        frames.write(self._zygote.stdin.fileno(), self._limits, program.encode())
        part, payload = self._receive()
        if "failure" in part:
            return Failure(**part["failure"])
        arrays = _Arrays(payload)
        points, normals, triangles = (arrays.take(one) for one in part["mesh"])
        outline = arrays.lines(part["outline"])
        views = {
            name: (arrays.lines(view["visible"]), arrays.lines(view["hidden"])) for name, view in part["views"].items()
        }
        shaded, projection = self._studio.draw(points, normals, triangles, outline, spec.width, spec.height)
        sheet_size = 2 * spec.width, spec.height * 3 // 2
        source, placed = cad_drawing.sheet(part, views, *sheet_size)
        drawing, drawn = svg_cairo.draw(source, *sheet_size, spec.background)
        holes = [
            _hole(hole, placed[name])
            for hole in part["holes"]
            if (name := cad_drawing.view_of(hole)) and cad_drawing.is_open(hole, placed[name], views[name][0])
        ]
        layout = [_part(points, projection, shaded.size), *_sheet_elements(part, drawn), *holes]
        log = {key: part[key] for key in ("volume_mm3", "area_mm2", "faces", "edges", "solids")}
        log["bbox_mm"] = _sides(part)
        log["holes"] = len(part["holes"])
        pictures = (png.encode("shaded", shaded), png.encode("drawing", drawing))
        return png.blank(shaded) or Render(pictures, tuple(layout), program, self.version, log)

    def _receive(self) -> tuple[dict[str, Any], bytes]:
        assert self._zygote and self._zygote.stdout
        try:
            return frames.read(self._zygote.stdout.fileno())
        except frames.Closed:
            raise SystemExit("the process that forks for each part has ended") from None

    def selftest(self) -> str | None:
        outcome = self.render(_KNOWN, RenderSpec(128, 128))
        if isinstance(outcome, Failure):
            return f"{outcome.kind}: {outcome.detail}"
        found = outcome.log["bbox_mm"], outcome.log["holes"]
        return (
            None if found == ([40.0, 20.0, 10.0], 1) else f"a plate of 40 x 20 x 10 mm with a hole came out as {found}"
        )


class _Arrays:
    """Arrays one after the other in a frame's payload."""

    def __init__(self, payload: bytes):
        self._payload = payload
        self._offset = 0

    def take(self, described: dict[str, Any]) -> np.ndarray:
        array = np.frombuffer(self._payload, described["dtype"], int(np.prod(described["shape"])), self._offset)
        self._offset += array.nbytes
        return array.reshape(described["shape"])

    def lines(self, described: list[dict[str, Any]]) -> list[np.ndarray]:
        joined, lengths = (self.take(one) for one in described)
        return np.split(joined, np.cumsum(lengths)[:-1]) if len(lengths) else []


def _part(points: np.ndarray, projection: Projection, size: tuple[int, int]) -> Element:
    """The part in the shaded view, whose box follows from the projection."""
    x1, y1, x2, y2 = (round(side, 2) for side in projection.box(points))
    box = max(0.0, x1), max(0.0, y1), min(float(size[0]), x2), min(float(size[1]), y2)
    return Element("part", "part", "part", box, 0, 1.0)


def _sheet_elements(part: dict[str, Any], drawn: list[Element]) -> list[Element]:
    """Views and dimensions of the sheet, where cairo put them. Nothing on a sheet covers anything else."""
    sides = dict(zip(("width", "depth", "height"), _sides(part), strict=True))
    found = []
    for one in drawn:
        what, _, which = one.id.partition("-")
        if what == "view":
            words = f"{'isometric' if which == 'iso' else which} view"
            found.append(Element(one.id, "view", words, one.box, 1))
        elif what == "dimension":
            value = {"value_mm": sides[which]}
            found.append(Element(one.id, "dimension", f"overall {which} dimension", one.box, 1, 1.0, value))
        elif one.role == "text" and one.text.split()[0] in part["names"].values():
            found.append(Element(one.id, "text", one.text, one.box, 1))
    return found


def _hole(hole: dict[str, Any], view: cad_drawing.Placed) -> Element:
    box = tuple(round(side, 2) for side in cad_drawing.hole_box(hole, view))
    diameter = hole["diameter_mm"]
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    name = f"hole-{view.name}-{x:.0f}-{y:.0f}-{diameter:g}"
    words = f"hole of diameter {cad_drawing.number(diameter)} mm in the {view.name} view"
    return Element(name, "hole", words, box, 1, 1.0, {"diameter_mm": diameter})  # type: ignore[arg-type]


def _sides(part: dict[str, Any]) -> list[float]:
    return [round(high - low, 3) for low, high in zip(part["box_min"], part["box_max"], strict=True)]
