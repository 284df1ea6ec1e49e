"""A small writer of SVG: every method adds one element, indented, with short numbers.

It stays inside what cairo draws truly: shapes, paths, text, groups, transforms, gradients, clip paths and patterns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape, quoteattr

Point = tuple[float, float]


@dataclass(frozen=True)
class Drawing:
    """What a template returns: the document, a true caption and exact facts."""

    svg: Svg
    caption: str
    facts: dict[str, Any] = field(default_factory=dict)


class Svg:
    """A document of `width` × `height` user units."""

    def __init__(self, width: float, height: float, background: str | None = None):
        self.width = width
        self.height = height
        self._lines: list[str] = []
        self._defs: list[str] = []
        self._depth = 1
        if background:
            self.rect(0, 0, width, height, background, id="background")

    def add(self, tag: str, content: str | None = None, **attributes: Any) -> None:
        """One element. `stroke_width=2` is written `stroke-width="2"`; None leaves an attribute out."""
        self._lines.append("  " * self._depth + _element(tag, content, attributes))

    @contextmanager
    def group(self, id: str | None = None, **attributes: Any) -> Iterator[None]:
        """`<g>` around what is added inside the `with` block."""
        self._lines.append("  " * self._depth + f"<g{_attributes({'id': id, **attributes})}>")
        self._depth += 1
        yield
        self._depth -= 1
        self._lines.append("  " * self._depth + "</g>")

    def rect(self, x: float, y: float, width: float, height: float, fill: str, **more: Any) -> None:
        self.add("rect", x=x, y=y, width=width, height=height, fill=fill, **more)

    def circle(self, cx: float, cy: float, r: float, fill: str, **more: Any) -> None:
        self.add("circle", cx=cx, cy=cy, r=r, fill=fill, **more)

    def ellipse(self, cx: float, cy: float, rx: float, ry: float, fill: str, **more: Any) -> None:
        self.add("ellipse", cx=cx, cy=cy, rx=rx, ry=ry, fill=fill, **more)

    def line(self, start: Point, end: Point, stroke: str, width: float = 1, **more: Any) -> None:
        self.add("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], stroke=stroke, stroke_width=width, **more)

    def polygon(self, points: Iterable[Point], fill: str, **more: Any) -> None:
        self.add("polygon", points=_points(points), fill=fill, **more)

    def polyline(self, points: Iterable[Point], stroke: str, width: float = 2, **more: Any) -> None:
        self.add("polyline", points=_points(points), fill="none", stroke=stroke, stroke_width=width, **more)

    def path(self, d: str, fill: str = "none", **more: Any) -> None:
        self.add("path", d=d, fill=fill, **more)

    def text(
        self, x: float, y: float, content: Any, size: float, fill: str, anchor: str = "start", **more: Any
    ) -> None:
        place = None if anchor == "start" else anchor
        self.add("text", str(content), x=x, y=y, font_size=size, fill=fill, text_anchor=place, **more)

    def linear(self, id: str, first: str, second: str, horizontal: bool = False) -> str:
        """Define a linear gradient, top to bottom or left to right; returns the fill that uses it."""
        x2, y2 = (1, 0) if horizontal else (0, 1)
        self._gradient("linearGradient", id, f'x1="0" y1="0" x2="{x2}" y2="{y2}"', (first, second))
        return f"url(#{id})"

    def radial(self, id: str, inner: str, outer: str) -> str:
        """Define a radial gradient; returns the fill that uses it."""
        self._gradient("radialGradient", id, 'cx="0.5" cy="0.5" r="0.6"', (inner, outer))
        return f"url(#{id})"

    def clip_rect(self, id: str, x: float, y: float, width: float, height: float, rx: float = 0) -> str:
        """Define a rectangular clip path; returns the value for `clip_path`."""
        rect = _element("rect", None, {"x": x, "y": y, "width": width, "height": height, "rx": rx or None})
        self._defs += [f'<clipPath id="{id}">', f"  {rect}", "</clipPath>"]
        return f"url(#{id})"

    def clip_path(self, id: str, d: str) -> str:
        """Define a clip path of any outline; returns the value for `clip_path`."""
        self._defs += [f'<clipPath id="{id}">', f'  <path d="{d}"/>', "</clipPath>"]
        return f"url(#{id})"

    def arrow_marker(self, id: str, colour: str) -> str:
        """Define an arrowhead; returns the value for `marker_end`."""
        self._defs += [
            f'<marker id="{id}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">',
            f'  <path d="M0 0 L10 5 L0 10 z" fill="{colour}"/>',
            "</marker>",
        ]
        return f"url(#{id})"

    def source(self) -> str:
        """The document's text."""
        width, height = short(self.width), short(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="DejaVu Sans, sans-serif">'
        )
        return "\n".join([head, *self.lines(), "</svg>"]) + "\n"

    def lines(self) -> list[str]:
        """What stands inside the root, line by line, indented by one step."""
        defs = ["  <defs>", *("    " + line for line in self._defs), "  </defs>"] if self._defs else []
        return [*defs, *self._lines]

    def _gradient(self, tag: str, id: str, geometry: str, colours: tuple[str, str]) -> None:
        stops = [
            f'  <stop offset="{place}" stop-color="{colour}"/>' for place, colour in zip((0, 1), colours, strict=True)
        ]
        self._defs += [f'<{tag} id="{id}" {geometry}>', *stops, f"</{tag}>"]


def short(value: float) -> str:
    """A number with at most two decimals and no trailing zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def polar(cx: float, cy: float, radius: float, degrees: float) -> Point:
    """The point at `degrees` clockwise from straight up."""
    angle = math.radians(degrees - 90)
    return cx + radius * math.cos(angle), cy + radius * math.sin(angle)


def ring(cx: float, cy: float, radius: float, count: int, turn: float = 0) -> list[Point]:
    """`count` points evenly on a circle, the first at `turn` degrees clockwise from straight up."""
    return [polar(cx, cy, radius, turn + 360 * index / count) for index in range(count)]


def star(cx: float, cy: float, outer: float, inner: float, points: int, turn: float = 0) -> list[Point]:
    """The corners of a star with that many points."""
    return [polar(cx, cy, outer if k % 2 == 0 else inner, turn + 180 * k / points) for k in range(2 * points)]


def sector(cx: float, cy: float, inner: float, outer: float, start: float, end: float) -> str:
    """Path of a ring's sector between two angles in degrees clockwise from straight up; a pie slice if inner is 0."""
    large = int(end - start > 180)
    (x1, y1), (x2, y2) = polar(cx, cy, outer, start), polar(cx, cy, outer, end)
    arc = f"{path([(x1, y1)])} A{short(outer)} {short(outer)} 0 {large} 1 {short(x2)} {short(y2)}"
    if inner <= 0:
        return f"{arc} L{short(cx)} {short(cy)} Z"
    (x3, y3), (x4, y4) = polar(cx, cy, inner, end), polar(cx, cy, inner, start)
    return f"{arc} L{short(x3)} {short(y3)} A{short(inner)} {short(inner)} 0 {large} 0 {short(x4)} {short(y4)} Z"


def path(points: Iterable[Point], close: bool = False) -> str:
    """Straight-line path data through the points."""
    body = " L".join(f"{short(x)} {short(y)}" for x, y in points)
    return f"M{body}{' Z' if close else ''}"


def smooth(points: list[Point], tension: float = 0.18) -> str:
    """Path data of a soft curve through the points."""
    parts = [path(points[:1])]
    for k in range(len(points) - 1):
        before, here, after = points[max(k - 1, 0)], points[k], points[k + 1]
        beyond = points[min(k + 2, len(points) - 1)]
        first = (here[0] + (after[0] - before[0]) * tension, here[1] + (after[1] - before[1]) * tension)
        second = (after[0] - (beyond[0] - here[0]) * tension, after[1] - (beyond[1] - here[1]) * tension)
        parts.append("C" + ", ".join(f"{short(x)} {short(y)}" for x, y in (first, second, after)))
    return " ".join(parts)


def text_width(text: str, size: float) -> float:
    """Width of a line of DejaVu Sans, estimated from classes of letters (errs on the wide side)."""
    total = 0.0
    for letter in text:
        if letter in "iljItfr.,:;'|!()[] ":
            total += 0.38
        elif letter in "mwMW@%&":
            total += 0.97
        elif letter.isupper():
            total += 0.72
        else:
            total += 0.63
    return total * size


def fit(text: str, size: float, width: float) -> float:
    """The largest font size up to `size` at which the text stays within `width`."""
    needed = text_width(text, size)
    return size if needed <= width else math.floor(size * width / needed * 10) / 10


def wrap(text: str, size: float, width: float) -> list[str]:
    """The text broken into lines no wider than `width`."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def slug(text: str) -> str:
    """The text as an id: lower case, words joined by hyphens."""
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def _element(tag: str, content: str | None, attributes: dict[str, Any]) -> str:
    head = f"<{tag}{_attributes({'id': None, **attributes})}"
    return f"{head}/>" if content is None else f"{head}>{escape(content)}</{tag}>"


def _attributes(attributes: dict[str, Any]) -> str:
    parts = []
    for name, value in attributes.items():
        if value is not None:
            text = short(value) if isinstance(value, (int, float)) else str(value)
            parts.append(f" {name.rstrip('_').replace('_', '-')}={quoteattr(text)}")
    return "".join(parts)


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{short(x)},{short(y)}" for x, y in points)
