"""Draws an SVG with cairosvg and writes down where every element went, as cairo itself places it.

cairosvg hands every shape to a cairo context. Ours looks at each fill, stroke, glyph and image on its way: it asks
cairo for the exact extents in device pixels and paints the same path, hard-edged and in one number per element, on a
second small surface. What is left of a number at the end is what later elements have not covered.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import cairocffi
import numpy as np
from cairocffi import cairo as _c
from cairosvg.helpers import paint
from cairosvg.parser import Tree
from cairosvg.surface import PNGSurface
from cairosvg.url import safe_fetch
from PIL import Image

from . import colours
from .types import Element

MAX_ELEMENTS = 400
MAX_GLYPH_PIXELS = 2000
_COVERING_ALPHA = 0.5
_ID_SCALE = 0.5
ROLES = {"rect": "rectangle", "polyline": "line", "use": "symbol", "g": "group", "image": "picture", "svg": "group"}
_Box = tuple[float, float, float, float]


def draw(text: str, width: int, height: int, background: str) -> tuple[Image.Image, list[Element]]:
    """The picture and its elements in drawing order, groups with an id after their members."""
    # With an address (of nothing) cairosvg remembers what `use` has found; without one it searches the tree each time.
    tree = Tree(bytestring=text.encode(), url="http://drawing.invalid/", url_fetcher=safe_fetch, unsafe=False)
    size = {"output_width": width, "output_height": height}
    surface = _RecordingSurface(tree, io.BytesIO(), 96, background_color=background, **size)
    surface.cairo.flush()
    stride = surface.cairo.get_stride()
    picture = Image.frombuffer("RGB", (width, height), bytes(surface.cairo.get_data()), "raw", "BGRX", stride, 1)
    return picture.copy(), surface.record.elements()


class TooBig(Exception):
    """Something in the drawing has a size that cannot be drawn."""


class MissingGlyph(Exception):
    """A font lacks a character; cairo would draw a box and never look into another font."""


@dataclass
class _Entry:
    """What one element has drawn so far."""

    number: int
    node: Any
    boxes: list[_Box] = field(default_factory=list)
    words: str = ""
    fill: str = ""
    stroke: str = ""
    area: int = 0
    covering: bool = True


class _Record:
    """Every element's extents, and the surface of element numbers."""

    def __init__(self, width: int, height: int):
        self.size = (width, height)
        self.entries: dict[int, _Entry] = {}
        self.groups: list[tuple[Any, list[int]]] = []
        small = max(1, int(width * _ID_SCALE)), max(1, int(height * _ID_SCALE))
        self._ids = cairocffi.ImageSurface(cairocffi.FORMAT_RGB24, *small)
        # A live view of the surface's pixels: one element number each, below eight unused bits.
        rows = np.frombuffer(self._ids.get_data(), np.uint32).reshape(small[1], -1)
        self._numbers = rows[:, : small[0]]
        self._pen = cairocffi.Context(self._ids)
        self._pen.set_antialias(cairocffi.ANTIALIAS_NONE)
        unhinted = cairocffi.FontOptions(hint_style=cairocffi.HINT_STYLE_NONE, hint_metrics=cairocffi.HINT_METRICS_OFF)
        self._pen.set_font_options(unhinted)

    def entry(self, node: Any) -> _Entry:
        return self.entries.setdefault(id(node), _Entry(len(self.entries) + 1, node))

    def add(self, entry: _Entry, box: _Box, alpha: float) -> bool:
        """Note that the element covers `box`; whether its shape is to be painted into the numbers as well."""
        if box[2] <= box[0] or box[3] <= box[1]:
            return False
        entry.boxes.append(box)
        entry.covering = entry.covering and alpha >= _COVERING_ALPHA
        return entry.covering

    def pen(self, entry: _Entry, clip: _Box) -> cairocffi.Context:
        """A context on the numbers surface, in device pixels of the picture, inside the element's clip."""
        pen = self._pen
        pen.reset_clip()
        pen.set_matrix(cairocffi.Matrix(_ID_SCALE, 0, 0, _ID_SCALE, 0, 0))
        pen.rectangle(clip[0], clip[1], clip[2] - clip[0], clip[3] - clip[1])
        pen.clip()
        number = entry.number
        pen.set_source_rgb((number >> 16 & 255) / 255, (number >> 8 & 255) / 255, (number & 255) / 255)
        return pen

    def count(self, entry: _Entry) -> None:
        """Measure the element's own area, right after it was painted and before anything can cover it."""
        if entry.boxes and entry.covering:
            x1, y1, x2, y2 = (int(side * _ID_SCALE) for side in _union(entry.boxes))
            self._ids.flush()
            window = self._numbers[max(0, y1 - 1) : max(0, y2 + 2), max(0, x1 - 1) : max(0, x2 + 2)]
            entry.area = int(np.count_nonzero(window & 0xFFFFFF == entry.number))

    def elements(self) -> list[Element]:
        self._ids.flush()
        left = np.bincount((self._numbers & 0xFFFFFF).ravel(), minlength=len(self.entries) + 1)
        shares = {}
        found = []
        for key, entry in self.entries.items():
            if not entry.boxes:
                continue
            box = _union(entry.boxes)
            uncovered = left[entry.number] / entry.area if entry.area and entry.covering else 1.0
            shares[key] = min(1.0, float(uncovered))
            element = self._element(entry.node, box, shares[key], entry)
            if element:
                found.append(element)
        for node, members in self.groups:
            drawn = [key for key in members if key in shares]
            if drawn:
                box = _union([one for key in drawn for one in self.entries[key].boxes])
                element = self._element(node, box, sum(shares[key] for key in drawn) / len(drawn), None)
                if element:
                    found.append(element)
        return found[:MAX_ELEMENTS]

    def _element(self, node: Any, box: _Box, share: float, entry: _Entry | None) -> Element | None:
        inside = _clip(box, (0, 0, *self.size))
        if inside is None:
            return None
        share *= _area(inside) / _area(box)
        role = "group" if entry is None else ROLES.get(node.tag, node.tag)
        attributes = (
            {name: value for name, value in (("fill", entry.fill), ("stroke", entry.stroke)) if value} if entry else {}
        )
        words = entry.words.strip() if entry else ""
        colour = colours.name_of(attributes.get("fill")) or colours.name_of(attributes.get("stroke"))
        if not words and entry:
            words = f"{colour} {role}".strip()
        rounded = tuple(round(side, 2) for side in inside)
        return Element(_identity(node), role, words, rounded, 0, round(share, 3), attributes)  # type: ignore[arg-type]


class _RecordingContext(cairocffi.Context):
    """A cairo context that reports what is drawn with it."""

    def __init__(self, target: Any, surface: _RecordingSurface):
        super().__init__(target)
        self._surface = surface
        self._face: tuple[Any, ...] = ("sans-serif",)
        self._source_alpha = 1.0

    def fill_preserve(self) -> None:
        super().fill_preserve()
        self._shape(stroke=False)

    def stroke(self) -> None:
        self._shape(stroke=True)
        super().stroke()

    def paint(self) -> None:
        super().paint()
        self._picture(1.0)

    def paint_with_alpha(self, alpha: float) -> None:
        super().paint_with_alpha(alpha)
        self._picture(alpha)

    def select_font_face(self, *face: Any) -> None:
        super().select_font_face(*face)
        self._face = face

    def set_font_size(self, size: float) -> None:
        """Refuses glyphs of absurd size: they leave the font library in a state in which later, sound text fails."""
        xx, yx, xy, yy, *_ = self.get_matrix().as_tuple()
        if not abs(size) * max(abs(xx) + abs(xy), abs(yx) + abs(yy)) <= MAX_GLYPH_PIXELS:
            raise TooBig(f"text of more than {MAX_GLYPH_PIXELS} pixels")
        super().set_font_size(size)

    def show_text(self, text: str) -> None:
        if not _covered(self._face, text, self):
            raise MissingGlyph(f"{self._face[0]} has no {text!r}")
        point = self.get_current_point()
        super().show_text(text)
        entry, alpha = self._surface.owner(), self._alpha()
        if entry is None or alpha <= 0:
            return
        # The glyph's outline is made on the other context: here a path is being kept for the stroke.
        pen = self._surface.record.pen(entry, self._clip_box())
        pen.set_matrix(self.get_matrix() * pen.get_matrix())
        pen.set_font_face(self.get_font_face())
        pen.set_font_matrix(self.get_font_matrix())
        pen.new_path()
        pen.move_to(*point)
        pen.text_path(text)
        pen.identity_matrix()
        box = tuple(side / _ID_SCALE for side in pen.path_extents())
        if self._surface.record.add(entry, box, alpha):  # type: ignore[arg-type]
            pen.fill()

    def _shape(self, stroke: bool) -> None:
        entry, alpha = self._surface.owner(), self._alpha()
        if entry is not None and alpha > 0:
            self._note(entry, self._device_extents(stroke), alpha, stroke)

    def _picture(self, alpha: float) -> None:
        entry = self._surface.owner(only="image")
        if entry is None:
            return
        node = entry.node
        corners = [self.user_to_device(x, y) for x in (0, node.image_width) for y in (0, node.image_height)]
        box = _clip(_around(corners), self._clip_box())
        if box and self._surface.record.add(entry, box, alpha * self._surface.alpha):
            self._surface.record.pen(entry, box).paint()

    def set_source_rgba(self, red: float, green: float, blue: float, alpha: float = 1) -> None:
        super().set_source_rgba(red, green, blue, alpha)
        self._source_alpha = alpha

    def set_source(self, source: Any) -> None:
        super().set_source(source)
        self._source_alpha = 1.0

    def _alpha(self) -> float:
        """Opacity of what is drawn now. cairosvg sets the source afresh for each fill and stroke."""
        return self._source_alpha * self._surface.alpha

    def _device_extents(self, stroke: bool) -> _Box:
        """Extents of the current path in device pixels, exact unless a stroke is skewed."""
        width = self._device_line_width()
        self.save()
        self.identity_matrix()
        self.set_line_width(width)
        box = self.stroke_extents() if stroke else self.path_extents()
        self.restore()
        return box

    def _device_line_width(self) -> float:
        xx, yx, xy, yy, *_ = self.get_matrix().as_tuple()
        return self.get_line_width() * abs(xx * yy - xy * yx) ** 0.5

    def _clip_box(self) -> _Box:
        self.save()
        self.identity_matrix()
        box = self.clip_extents()
        self.restore()
        return box

    def _note(self, entry: _Entry, box: _Box, alpha: float, stroke: bool) -> None:
        clip = self._clip_box()
        inside = _clip(box, (clip[0], clip[1], clip[2], clip[3]))
        # What the picture's edge cuts off still counts as the element's; what a clip path cuts off does not.
        whole = box if inside and self._surface.plain_clip(clip) else inside
        if whole is None or not self._surface.record.add(entry, whole, alpha):
            return
        pen = self._surface.record.pen(entry, clip)
        self.save()
        self.identity_matrix()
        path = _c.cairo_copy_path(self._pointer)  # a handle: the wrapper would turn every point into a tuple
        self.restore()
        pen.new_path()
        _c.cairo_append_path(pen._pointer, path)
        _c.cairo_path_destroy(path)
        if stroke:
            pen.set_line_width(max(self._device_line_width(), 1 / _ID_SCALE))
            pen.stroke()
        else:
            pen.set_fill_rule(self.get_fill_rule())
            pen.fill()


_COVERED: dict[tuple[Any, str], bool] = {}
_COVERED_MOST = 50_000


def _covered(face: tuple[Any, ...], text: str, context: cairocffi.Context) -> bool:
    """Whether the font has every character; remembered, since text comes letter by letter."""
    known = _COVERED.get((face, text))
    if known is None:
        if len(_COVERED) >= _COVERED_MOST:
            _COVERED.clear()
        glyphs = context.get_scaled_font().text_to_glyphs(0, 0, text, False)
        known = _COVERED[face, text] = all(glyph[0] != 0 for glyph in glyphs)
    return known


class _RecordingSurface(PNGSurface):
    """cairosvg's surface, with a context that records and a stack of what is being drawn."""

    def __init__(self, *arguments: Any, **options: Any):
        self._stack: list[Any] = []
        self._alphas = [1.0]
        self._context: Any = None
        super().__init__(*arguments, **options)

    def _create_surface(self, width: float, height: float) -> tuple[Any, int, int]:
        created = super()._create_surface(width, height)
        self.record = _Record(created[1], created[2])
        return created

    @property
    def context(self) -> Any:
        return self._context

    @context.setter
    def context(self, plain: Any) -> None:
        self._context = _RecordingContext(self.cairo, self)

    @property
    def alpha(self) -> float:
        """Opacity of the groups around the current element."""
        return self._alphas[-1]

    def plain_clip(self, clip: _Box) -> bool:
        return clip[0] <= 0.5 and clip[1] <= 0.5 and clip[2] >= self.width - 0.5 and clip[3] >= self.height - 0.5

    def owner(self, only: str = "") -> _Entry | None:
        """The element that what is drawn now belongs to: the outermost text, `use` or marked shape around it."""
        node = next(
            (one for one in self._stack if one.tag in ("text", "use")), self._stack[-1] if self._stack else None
        )
        if node is None or (only and self._stack[-1].tag != only):
            return None
        if only:
            node = self._stack[-1]
        return self.record.entry(node)

    def draw(self, node: Any) -> None:
        self._stack.append(node)
        self._alphas.append(self._alphas[-1] * (float(node.get("opacity", 1)) if node.children else 1.0))
        first = len(self.record.entries)
        try:
            super().draw(node)
        finally:
            self._alphas.pop()
            self._stack.pop()
        entry = self.record.entries.get(id(node))
        if entry:
            self._describe(entry, node)
        if node.tag == "g" and node.get("id") and not any(one.tag in ("text", "use") for one in self._stack):
            self.record.groups.append((node, list(self.record.entries)[first:]))

    def _describe(self, entry: _Entry, node: Any) -> None:
        entry.words = "".join(node.element.etree_element.itertext()) if node.tag == "text" else ""
        entry.fill = _paint(node.get("fill", "black"), node) if node.tag not in ("line", "image", "use") else ""
        entry.stroke = _paint(node.get("stroke"), node)
        self.record.count(entry)


def _paint(value: str | None, node: Any) -> str:
    source, colour = paint(value)
    if source:
        return "gradient"
    return colours.hex_of(node.get("color") if (colour or "").lower() == "currentcolor" else colour)


def _identity(node: Any) -> str:
    """The element's id, or its path in the tree."""
    if node.get("id"):
        return node["id"]
    steps = []
    wrapped = node.element
    while wrapped is not None and wrapped.parent is not None:
        steps.append(f"{wrapped.local_name}[{wrapped.index + 1}]")
        wrapped = wrapped.parent
    return "/".join(reversed(steps)) or "svg"


def _union(boxes: list[_Box]) -> _Box:
    return min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)


def _around(points: list[tuple[float, float]]) -> _Box:
    return _union([(x, y, x, y) for x, y in points])


def _clip(box: _Box, by: _Box) -> _Box | None:
    cut = max(box[0], by[0]), max(box[1], by[1]), min(box[2], by[2]), min(box[3], by[3])
    return cut if cut[2] > cut[0] and cut[3] > cut[1] else None


def _area(box: _Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
