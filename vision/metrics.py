"""How near an answer is to the truth: pictures, layouts, programs, and places in a picture.

    pixel distance   mean |x − y| over pixels and channels, in [0, 1]
    SSIM             mean over windows of (2μxμy + c₁)(2σxy + c₂) / ((μx² + μy² + c₁)(σx² + σy² + c₂)), in [−1, 1]
    element match    F1 of the elements that two renders share: one role, one picture, boxes that overlap by half
    places           intersection over union of boxes, and whether a centre lies in the true box

SSIM is that of Wang et al. 2004 (eq. 13): Gaussian windows of 11 × 11 pixels and σ 1.5, c₁ = 0.01², c₂ = 0.03², on
luminance in [0, 1], where whole windows fit. All but the last are symmetrical in their two arguments.

Letters: H height, W width, C channels, N and M elements.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .coordinates import Box, centre, iou
from .types import Element

OVERLAP = 0.5
"""Least IoU of two elements that are said to be the same."""
_WINDOW, _SIGMA, _C1, _C2 = 11, 1.5, 0.01**2, 0.03**2
_LUMA = np.array([0.299, 0.587, 0.114])  # Rec. 601
_THINNEST = 1.0


def pixel_distance(one_HWC: np.ndarray, other_HWC: np.ndarray) -> float:
    """0 for equal pictures, 1 for black against white. Both uint8; raises ValueError when their shapes differ."""
    _same_shape(one_HWC, other_HWC)
    return float(np.abs(one_HWC.astype(np.int16) - other_HWC.astype(np.int16)).mean() / 255)


def ssim(one_HWC: np.ndarray, other_HWC: np.ndarray) -> float:
    """1 for equal pictures, about 0 for unrelated ones. Both uint8 RGB; raises ValueError when their shapes differ.

    A picture smaller than the window gets the largest odd window that fits.
    """
    _same_shape(one_HWC, other_HWC)
    x, y = (picture.astype(np.float64) @ _LUMA / 255 for picture in (one_HWC, other_HWC))
    size = min(_WINDOW, *(side - 1 + side % 2 for side in x.shape))
    weights = np.exp(-((np.arange(size) - size // 2) ** 2.0) / (2 * _SIGMA**2))
    weights /= weights.sum()
    mean_x, mean_y = _blur(x, weights), _blur(y, weights)
    # Rounding can leave a variance of −1e-17.
    var_x = np.maximum(_blur(x * x, weights) - mean_x**2, 0)
    var_y = np.maximum(_blur(y * y, weights) - mean_y**2, 0)
    covariance = _blur(x * y, weights) - mean_x * mean_y
    above = (2 * mean_x * mean_y + _C1) * (2 * covariance + _C2)
    below = (mean_x**2 + mean_y**2 + _C1) * (var_x + var_y + _C2)
    return float(np.clip(above / below, -1, 1).mean())


def element_f1(some: Sequence[Element], others: Sequence[Element]) -> float:
    """Twice the matched elements over all elements of both, in [0, 1]; 1 if neither has any.

    Pairs of one role in one picture are matched from the largest overlap down, each element once.
    """
    if not some and not others:
        return 1.0
    return 2 * len(_matched(some, others)) / (len(some) + len(others))


def _matched(some: Sequence[Element], others: Sequence[Element]) -> list[tuple[int, int]]:
    groups: dict[tuple[str, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, elements in enumerate((some, others)):
        for number, one in enumerate(elements):
            groups[one.role, one.image][side].append(number)
    pairs = []
    for left, right in groups.values():
        if not left or not right:
            continue
        overlaps_NM = _overlaps([some[n].box for n in left], [others[m].box for m in right])
        for n, m in zip(*np.nonzero(overlaps_NM >= OVERLAP), strict=True):
            boxes = some[left[n]].box, others[right[m]].box
            # Ties are broken by what is the same whichever side is called the other.
            pairs.append((-overlaps_NM[n, m], min(boxes), max(boxes), left[n], right[m]))
    taken: tuple[set[int], set[int]] = (set(), set())
    found = []
    for *_, n, m in sorted(pairs):
        if n not in taken[0] and m not in taken[1]:
            taken[0].add(n)
            taken[1].add(m)
            found.append((n, m))
    return found


def _overlaps(some: Sequence[Box], others: Sequence[Box]) -> np.ndarray:
    """[N, M] IoU. What is thinner than a pixel counts as a pixel wide: a hairline has a place too."""
    a_N4, b_M4 = (_not_flat(np.array(boxes, dtype=np.float64)) for boxes in (some, others))
    low_NM2 = np.maximum(a_N4[:, None, :2], b_M4[None, :, :2])
    high_NM2 = np.minimum(a_N4[:, None, 2:], b_M4[None, :, 2:])
    shared_NM = np.clip(high_NM2 - low_NM2, 0, None).prod(-1)
    area_N, area_M = (np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) for boxes in (a_N4, b_M4))
    return shared_NM / (area_N[:, None] + area_M[None, :] - shared_NM)


def _not_flat(boxes_N4: np.ndarray) -> np.ndarray:
    middle_N2 = (boxes_N4[:, :2] + boxes_N4[:, 2:]) / 2
    half_N2 = np.maximum(boxes_N4[:, 2:] - boxes_N4[:, :2], _THINNEST) / 2
    return np.concatenate([middle_N2 - half_N2, middle_N2 + half_N2], axis=1)


def same_program(one: str, other: str) -> bool:
    """Whether two programs are the same text, but for blank lines around them and spaces at ends of lines."""
    return _trimmed(one) == _trimmed(other)


def _trimmed(program: str) -> list[str]:
    return [line.rstrip() for line in program.strip().splitlines()]


class MalformedAnswer(ValueError):
    """An answer that is not of the form that was asked for; `reason` is `json`, `form` or `number`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True)
class Place:
    """One box of an answer, in pixels of the picture and normalised to [0, 1]."""

    label: str
    pixels: Box
    normalised: Box


def boxes_of(answer: str) -> list[Place]:
    """The boxes of an answer to a grounding task: `{"boxes": [{"label", "pixels", "normalised"}]}`, perhaps with words
    or a fence around it. Raises MalformedAnswer."""
    start = answer.find("{")
    try:
        found, _ = json.JSONDecoder().raw_decode(answer, max(start, 0))
    except (ValueError, RecursionError) as error:
        raise MalformedAnswer("json", f"not JSON: {error}") from None
    boxes = found.get("boxes") if isinstance(found, dict) else None
    if not isinstance(boxes, list) or not all(isinstance(one, dict) for one in boxes):
        raise MalformedAnswer("form", "no list of `boxes`")
    return [
        Place(str(one.get("label", "")), _box(one.get("pixels"), "pixels"), _box(one.get("normalised"), "normalised"))
        for one in boxes
    ]


def _box(value: object, name: str) -> Box:
    if not isinstance(value, list) or len(value) != 4:
        raise MalformedAnswer("form", f"`{name}` is not [x1, y1, x2, y2]")
    if not all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in value):
        raise MalformedAnswer("form", f"`{name}` holds more than numbers")
    # Written out, an integer may be longer than any float.
    if not all(abs(one) < 1e9 and math.isfinite(one) for one in value):
        raise MalformedAnswer("number", f"`{name}` has a number out of all bounds")
    x1, y1, x2, y2 = (float(one) for one in value)
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


@dataclass(frozen=True)
class Grounded:
    """Means over the true boxes and the boxes too many, each in [0, 1]: IoU, and centres that lie in the true box."""

    iou: float
    point: float


def grounded(true: Sequence[Place], given: Sequence[Place]) -> tuple[Grounded, Grounded]:
    """In pixels, and normalised. A true box is compared with the given one of its label, else with the next that no
    label claims; without any it counts 0, as does a box too many. Raises ValueError without true boxes."""
    if not true:
        raise ValueError("a grounding task without a true box")
    pairs = _by_label(true, given)
    total = max(len(true), len(given))
    return tuple(  # type: ignore[return-value]
        Grounded(
            sum(iou(getattr(a, form), getattr(b, form)) for a, b in pairs) / total,
            sum(point_in_box(centre(getattr(b, form)), getattr(a, form)) for a, b in pairs) / total,
        )
        for form in ("pixels", "normalised")
    )


def _by_label(true: Sequence[Place], given: Sequence[Place]) -> list[tuple[Place, Place]]:
    left = list(given)
    pairs, unclaimed = [], []
    for one in true:
        match = next((other for other in left if other.label == one.label), None)
        if match is None:
            unclaimed.append(one)
        else:
            left.remove(match)
            pairs.append((one, match))
    return pairs + list(zip(unclaimed, left, strict=False))


def point_in_box(point: Sequence[float], box: Sequence[float]) -> bool:
    """Edges belong to the box."""
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def _blur(values_HW: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sums of whole windows, rows and then columns."""
    for axis in (0, 1):
        long = values_HW.shape[axis] - len(weights) + 1
        shifted = (np.take(values_HW, range(start, start + long), axis) for start in range(len(weights)))
        values_HW = sum(weight * part for weight, part in zip(weights, shifted, strict=True))  # type: ignore[assignment]
    return values_HW


def _same_shape(one: np.ndarray, other: np.ndarray) -> None:
    if one.shape != other.shape or one.ndim != 3 or not one.size:
        raise ValueError(f"pictures of {one.shape} and {other.shape} cannot be compared")
