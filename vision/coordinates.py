"""One place in a picture, said in three ways from one float source: pixels, [0, 1] and 0 to 1000.

A place is a struct of fixed members, so that a data set holds lists of them:

    {"label": "the red circle", "pixels": [12.5, 30.0, 99.9, 88.0], "normalised": [0.0244, …], "per_mille": [24, …]}

Boxes are x1, y1, x2, y2 and points x, y. The order of the corners and the picture's bounds survive rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Box = tuple[float, float, float, float]

DECIMALS_PIXELS = 1
DECIMALS_NORMALISED = 4


def clip(box: Sequence[float], width: float, height: float) -> Box:
    """The part of the box inside the picture; corners are put in order."""
    left, right = sorted((box[0], box[2]))
    top, bottom = sorted((box[1], box[3]))
    return _within(left, width), _within(top, height), _within(right, width), _within(bottom, height)


def box_place(label: str, box: Sequence[float], width: float, height: float) -> dict[str, Any]:
    """The struct of a box in a picture of `width` × `height` pixels, clipped to it."""
    return _place(label, clip(box, width, height), (width, height, width, height))


def point_place(label: str, point: Sequence[float], width: float, height: float) -> dict[str, Any]:
    """The struct of a point, moved into the picture if it lies outside."""
    return _place(label, (_within(point[0], width), _within(point[1], height)), (width, height))


def from_normalised(values: Sequence[float], width: float, height: float) -> tuple[float, ...]:
    """Pixels of a box or point given in [0, 1]."""
    return tuple(value * side for value, side in zip(values, _sides(values, width, height), strict=True))


def from_per_mille(values: Sequence[int], width: float, height: float) -> tuple[float, ...]:
    """Pixels of a box or point given in 0 to 1000."""
    return tuple(value * side / 1000 for value, side in zip(values, _sides(values, width, height), strict=True))


def centre(box: Sequence[float]) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def area(box: Sequence[float]) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def iou(first: Sequence[float], second: Sequence[float]) -> float:
    """Intersection over union of two boxes, 0 if neither has an area."""
    shared = area((
        max(first[0], second[0]), max(first[1], second[1]), min(first[2], second[2]), min(first[3], second[3]),
    ))  # fmt: skip
    union = area(first) + area(second) - shared
    return shared / union if union > 0 else 0.0


def _within(value: float, side: float) -> float:
    return min(max(float(value), 0.0), float(side))


def _sides(values: Sequence[float], width: float, height: float) -> tuple[float, ...]:
    return (width, height) * (len(values) // 2)


def _place(label: str, values: Sequence[float], sides: Sequence[float]) -> dict[str, Any]:
    shares = [value / side for value, side in zip(values, sides, strict=True)]
    return {
        "label": label,
        "pixels": [round(value, DECIMALS_PIXELS) for value in values],
        "normalised": [round(share, DECIMALS_NORMALISED) for share in shares],
        "per_mille": [round(1000 * share) for share in shares],
    }
