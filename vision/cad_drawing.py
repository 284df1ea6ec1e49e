"""Writes a drawing sheet of a part: three views in third angle and one in space, hidden lines dashed, overall sizes.

The sheet is an SVG that we write; every view, dimension and hole is a group with an id, so that whoever draws the
sheet also says where each of them is. One affine map a view turns millimetres into pixels.

    +-------------+----------+
    |     top     |   iso    |
    +-------------+----------+
    |    front    |  right   |
    +-------------+----------+
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Lines = list[np.ndarray]

_INK, _HIDDEN, _MEASURE, _LABEL = "#16202c", "#8793a3", "#1f5fa8", "#5b6776"
_FONT = 'font-family="DejaVu Sans"'
_MAX_HOLE_NOTES = 4
_CENTRE_LINE = f'fill="none" stroke="{_MEASURE}" stroke-width="0.8" stroke-dasharray="7 2 2 2"'
_Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Spacing:
    """Pixels around the views, between them, for the names below, and the least cell in which the iso view lies."""

    margin: float
    gap: float
    caption: float
    least: tuple[float, float]


_WIDE, _NARROW = _Spacing(64.0, 96.0, 40.0, (190.0, 160.0)), _Spacing(52.0, 58.0, 64.0, (96.0, 90.0))
_NARROW_BELOW = 640


@dataclass(frozen=True)
class Placed:
    """A view on the sheet: pixel = origin + scale * (x, -y)."""

    name: str
    x: float
    y: float
    scale: float
    low: np.ndarray
    high: np.ndarray

    @property
    def box(self) -> tuple[float, float, float, float]:
        width, height = (self.high - self.low) * self.scale
        return self.x, self.y, self.x + width, self.y + height

    def place(self, points: np.ndarray) -> np.ndarray:
        """Pixels of points in the view's frame."""
        return np.column_stack(
            [self.x + (points[:, 0] - self.low[0]) * self.scale, self.y + (self.high[1] - points[:, 1]) * self.scale]
        )


def sheet(
    part: dict[str, Any], views: dict[str, tuple[Lines, Lines]], width: int, height: int
) -> tuple[str, dict[str, Placed]]:
    """The sheet's SVG source, and where each view lies on it."""
    placed = arrange(part, views, width, height)
    body = [f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    frame = f'x="14" y="14" width="{width - 28}" height="{height - 28}"'
    body.append(f'<rect {frame} fill="none" stroke="{_INK}" stroke-width="1.5"/>')
    for view in placed.values():
        visible, hidden = views[view.name]
        body.append(_view(view, visible, hidden))
    body += _dimensions(part, placed)
    body += _hole_notes(part, placed)
    note = "THIRD ANGLE · DIMENSIONS IN mm"
    at = f'x="{width - 26}" y="{height - 25}" text-anchor="end"'
    body.append(f'<text {at} {_FONT} font-size="11" fill="{_LABEL}">{note}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return head + "\n".join(body) + "</svg>", placed


def number(value: float) -> str:
    """Millimetres as a drawing writes them: at most two decimals, no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def arrange(part: dict[str, Any], views: dict[str, tuple[Lines, Lines]], width: int, height: int) -> dict[str, Placed]:
    """Where the views lie, at the largest common scale that fits."""
    low, high = np.array(part["box_min"]), np.array(part["box_max"])
    x, y, z = high - low
    space = _NARROW if width < _NARROW_BELOW else _WIDE
    room = np.array([width - 2 * space.margin - space.gap, height - 2 * space.margin - space.gap - space.caption])

    def fits(scale: float) -> bool:
        return (x * scale + max(y * scale, space.least[0]) <= room[0]) and (
            z * scale + max(y * scale, space.least[1]) <= room[1]
        )

    smallest, largest = 0.0, float(min(room) / max(x, y, z)) * 2
    for _ in range(40):
        middle = (smallest + largest) / 2
        smallest, largest = (middle, largest) if fits(middle) else (smallest, middle)
    scale = smallest
    column, row = max(y * scale, space.least[0]), max(y * scale, space.least[1])
    left = space.margin + (room[0] - x * scale - column) / 2 + 14
    top = space.margin + (room[1] - z * scale - row) / 2
    second, below = left + x * scale + space.gap, top + row + space.gap
    flat = {"front": ([low[0], low[2]], [high[0], high[2]]), "top": (low[:2], high[:2]), "right": (low[1:], high[1:])}
    corners = {"front": (left, below), "top": (left, top + row - y * scale), "right": (second, below)}
    placed = {
        name: Placed(name, *corners[name], scale, np.array(flat[name][0]), np.array(flat[name][1])) for name in flat
    }
    return {**placed, "iso": _iso(views["iso"][0], second, top, column, row)}


def _iso(lines: Lines, x: float, y: float, width: float, height: float) -> Placed:
    points = np.concatenate(lines) if lines else np.zeros((1, 2))
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.maximum(high - low, 1e-6)
    scale = float(min(width / size[0], height / size[1]))
    return Placed("iso", x + (width - size[0] * scale) / 2, y + (height - size[1] * scale) / 2, scale, low, high)


def _view(view: Placed, visible: Lines, hidden: Lines) -> str:
    """A view's lines and its name."""
    x1, _, x2, y2 = view.box
    weight = 1.2 if view.name == "iso" else 1.9
    down = 20 if view.name in ("iso", "top") else 58
    return (
        f'<g id="view-{view.name}" fill="none" stroke-linecap="round" stroke-linejoin="round">'
        f'<path d="{_path(view, hidden)}" stroke="{_HIDDEN}" stroke-width="1.1" stroke-dasharray="5 3.5"/>'
        f'<path d="{_path(view, visible)}" stroke="{_INK}" stroke-width="{weight}"/></g>'
        f'<text id="label-{view.name}" x="{(x1 + x2) / 2:.1f}" y="{y2 + down:.1f}" text-anchor="middle" {_FONT} '
        f'font-size="11" letter-spacing="1.5" fill="{_LABEL}">{view.name.upper()}</text>'
    )


def _path(view: Placed, lines: Lines) -> str:
    return "".join("M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in view.place(line)) for line in lines)


def _dimensions(part: dict[str, Any], placed: dict[str, Placed]) -> Iterator[str]:
    """Overall width and height at the front view, depth at the right view."""
    width, depth, height = (high - low for low, high in zip(part["box_min"], part["box_max"], strict=True))
    front, right = placed["front"].box, placed["right"].box
    words = {
        side: f"{part['names'].get(side, '')} {number(size)}".strip()
        for side, size in (("width", width), ("depth", depth), ("height", height))
    }
    yield _horizontal("dimension-width", front[0], front[2], front[3], words["width"])
    yield _vertical("dimension-height", front[0], front[1], front[3], words["height"])
    yield _horizontal("dimension-depth", right[0], right[2], right[3], words["depth"])


def _horizontal(name: str, x1: float, x2: float, base: float, words: str) -> str:
    y = base + 30
    lines = f"M{x1:.2f} {base + 5:.2f}V{y + 5:.2f}M{x2:.2f} {base + 5:.2f}V{y + 5:.2f}"
    room = x2 - x1
    if room > 34:
        lines += f"M{x1:.2f} {y:.2f}H{x2:.2f}"
        heads = _head(x1, y, 1, 0) + _head(x2, y, -1, 0)
        middle = (x1 + x2) / 2
        anchor, at = ("middle", middle) if room > 52 else ("start", x2 + 8)
    else:
        lines += f"M{x1 - 22:.2f} {y:.2f}H{x2 + 22:.2f}"
        heads = _head(x1, y, -1, 0) + _head(x2, y, 1, 0)
        anchor, at = "start", x2 + 26
    above = y - 5 if anchor == "middle" else y + 4.5
    return _dimension(name, lines, heads, f'x="{at:.1f}" y="{above:.1f}" text-anchor="{anchor}"', words)


def _vertical(name: str, base: float, y1: float, y2: float, words: str) -> str:
    x = base - 30
    lines = f"M{base - 5:.2f} {y1:.2f}H{x - 5:.2f}M{base - 5:.2f} {y2:.2f}H{x - 5:.2f}"
    if y2 - y1 > 34:
        lines += f"M{x:.2f} {y1:.2f}V{y2:.2f}"
        heads = _head(x, y1, 0, 1) + _head(x, y2, 0, -1)
    else:
        lines += f"M{x:.2f} {y1 - 22:.2f}V{y2 + 22:.2f}"
        heads = _head(x, y1, 0, -1) + _head(x, y2, 0, 1)
    turned = f'transform="rotate(-90 {x - 5:.1f} {(y1 + y2) / 2:.1f})"'
    at = f'x="{x - 5:.1f}" y="{(y1 + y2) / 2:.1f}" text-anchor="middle" {turned}'
    return _dimension(name, lines, heads, at, words)


def _dimension(name: str, lines: str, heads: str, at: str, words: str) -> str:
    return (
        f'<g id="{name}"><path d="{lines}" fill="none" stroke="{_MEASURE}" stroke-width="1"/>'
        f'<path d="{heads}" fill="{_MEASURE}"/><text {at} {_FONT} font-size="13" fill="{_MEASURE}">{words}</text></g>'
    )


def _head(x: float, y: float, dx: float, dy: float) -> str:
    """An arrow head whose tip is at (x, y), its body lying in direction (dx, dy)."""
    bx, by = x + 9 * dx, y + 9 * dy
    return f"M{x:.2f} {y:.2f}L{bx - 3 * dy:.2f} {by - 3 * dx:.2f}L{bx + 3 * dy:.2f} {by + 3 * dx:.2f}Z"


def view_of(hole: dict[str, Any]) -> str | None:
    """The view that a hole's axis points straight into."""
    axis = np.abs(hole["axis"])
    return ("right", "front", "top")[int(axis.argmax())] if axis.max() > 0.9999 else None


def hole_box(hole: dict[str, Any], view: Placed) -> tuple[float, float, float, float]:
    """The circle's box on the sheet."""
    foot = np.array(hole["foot"])
    flat = {"front": foot[[0, 2]], "top": foot[[0, 1]], "right": foot[[1, 2]]}[view.name]
    x, y = (float(side) for side in view.place(flat[None, :])[0])
    radius = hole["diameter_mm"] / 2 * view.scale
    return x - radius, y - radius, x + radius, y + radius


def is_open(hole: dict[str, Any], view: Placed, visible: Lines) -> bool:
    """Whether the hole's rim is seen in the view: enough visible points lie on its circle."""
    points = view.place(np.concatenate(visible)) if visible else np.zeros((0, 2))
    x1, y1, x2, y2 = hole_box(hole, view)
    distance = np.hypot(points[:, 0] - (x1 + x2) / 2, points[:, 1] - (y1 + y2) / 2)
    return int(np.count_nonzero(np.abs(distance - (x2 - x1) / 2) < 0.3)) >= 8


def _hole_notes(part: dict[str, Any], placed: dict[str, Placed]) -> Iterator[str]:
    """Centre marks on round holes, and one note for each diameter in each view."""
    alike: dict[tuple[str, float], list[_Box]] = {}
    for hole in part["holes"]:
        name = view_of(hole)
        if name is not None:
            alike.setdefault((name, hole["diameter_mm"]), []).append(hole_box(hole, placed[name]))
    for index, box in enumerate(sorted({box for boxes in alike.values() for box in boxes})):
        x, y, reach = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2, (box[2] - box[0]) / 2 + 4
        cross = f"M{x - reach:.2f} {y:.2f}H{x + reach:.2f}M{x:.2f} {y - reach:.2f}V{y + reach:.2f}"
        yield f'<path id="centre-{index}" d="{cross}" {_CENTRE_LINE}/>'
    taken: set[tuple[float, float]] = set()
    for index, ((name, diameter), boxes) in enumerate(list(alike.items())[:_MAX_HOLE_NOTES]):
        # The hole nearest to the words, and no hole twice, so that leaders stay short and apart.
        middles = sorted({((b[0] + b[2]) / 2, (b[1] + b[3]) / 2) for b in boxes}, key=lambda one: (one[1], one[0]))
        middle = next((one for one in middles if one not in taken), middles[0])
        taken.add(middle)
        circle = (*middle, (boxes[0][2] - boxes[0][0]) / 2)
        yield _note(f"note-{index}", placed[name], circle, len(middles), number(diameter), index)


def _note(name: str, view: Placed, circle: tuple[float, float, float], alike: int, diameter: str, index: int) -> str:
    """A leader from the hole's rim to words above the view."""
    x, y, radius = circle
    words = f"{alike}× ⌀{diameter}" if alike > 1 else f"⌀{diameter}"
    x1, y1, x2, _ = view.box
    side = 1 if x >= (x1 + x2) / 2 else -1
    knee_x, knee_y = x + side * (radius + 12), y1 - 14 - 17 * (index % 2)
    along = np.array([knee_x - x, knee_y - y])
    rim = np.array([x, y]) + along / np.linalg.norm(along) * radius
    anchor = "start" if side > 0 else "end"
    lines = f"M{rim[0]:.2f} {rim[1]:.2f}L{knee_x:.2f} {knee_y:.2f}h{side * 10}"
    at = f'x="{knee_x + side * 14:.1f}" y="{knee_y + 4.5:.1f}" text-anchor="{anchor}"'
    return _dimension(name, lines, "", at, words)
