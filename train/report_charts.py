"""Charts as inline SVG, static and readable without a script: lines, a heat map, histograms, strips.

A curve of more points than the chart has room for is thinned: each column shows the mean as a line and the least and
the greatest value as a band, so that no spike is lost. Colours are classes (`t0` … `t7`), as a page that forbids inline
styles can have no others.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

TONES = 8
_COLUMNS_PER_PIXEL = 0.5
_FEW = 12
"""Points in a row up to which each is shown."""


@dataclass(frozen=True)
class Series:
    """Points of one curve; those that are not finite are gaps."""

    name: str
    x: np.ndarray
    y: np.ndarray
    tone: int = 0


@dataclass(frozen=True)
class Marks:
    """Places on the x axis: `skip` short red lines from below, `stage` a labelled line, `resume` a triangle."""

    kind: str
    at: Sequence[float]
    labels: Sequence[str] = ()


@dataclass(frozen=True)
class Axes:
    """Size in pixels and scales of a chart."""

    width: int = 400
    height: int = 190
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = False
    percent: bool = False
    left: int = 46
    right: int = 10
    top: int = 12
    bottom: int = 24


def figure(title: str, series: Sequence[Series], axes: Axes, marks: Sequence[Marks] = ()) -> str:
    """A titled chart with its legend, whose values follow the pointer; "" if there is nothing to draw."""
    shown = [one for one in series[:TONES] if _drawable(one, axes).any()]
    if not shown:
        return ""
    rest = len(series) - len(series[:TONES])
    keys = "".join(
        f'<li><i class="t{one.tone}"></i>{escape(one.name)} <b>{short(_last(one), axes.percent)}</b></li>'
        for one in shown
    )
    if rest > 0:
        keys += f"<li>and {rest} more</li>"
    keys += "".join(
        f'<li class="note"><i class="skip"></i>skipped <b>{len(one.at):,}</b></li>'
        for one in marks
        if one.kind == "skip" and one.at
    )
    caption = f'<figcaption><h3>{escape(title)}</h3><ul class="legend">{keys}</ul></figcaption>'
    return f'<figure class="card">{caption}{line_chart(title, shown, axes, marks)}</figure>'


def line_chart(
    title: str, series: Sequence[Series], axes: Axes, marks: Sequence[Marks] = (), follows: bool = True
) -> str:
    """The picture alone. Every series must have something to draw on these axes.

    `follows`: with the values that the page's script shows under the pointer.
    """
    thin = [_thinned(one, axes) for one in series]
    x_low, x_high = _range([one.x[_drawable(one, axes)] for one in series])
    x = Scale(x_low, x_high, axes.left, axes.width - axes.right, axes.log_x)
    low, high = _range([part for one in thin for part in (one.low, one.high)])
    if axes.from_zero and not axes.log_y:
        low, high = 0.0, high or 1.0
    y = _nice(low, high, axes)
    parts = [_grid(x, y, axes)]
    parts += [_marked(one, x, axes) for one in marks]
    parts += [_curve(one, x, y) for one in thin]
    readable = {
        "x": [x.low, x.high, x.start, x.end, int(axes.log_x)],
        "y": [y.low, y.high, y.start, y.end, int(axes.log_y)],
        "percent": int(axes.percent),
        "series": [
            {"x": [round(v, 2) for v in one.x.tolist()], "y": [_rounded(v) for v in one.mean.tolist()]} for one in thin
        ],
    }
    values = f' data-chart="{escape(json.dumps(readable, separators=(",", ":")))}"' if follows else ""
    return (
        f'<svg class="chart" viewBox="0 0 {axes.width} {axes.height}" role="img" aria-label="{escape(title)}"'
        f"{values}>{''.join(parts)}</svg>"
    )


class Scale:
    """From values to pixels; a range without extent lies in the middle."""

    def __init__(self, low: float, high: float, start: float, end: float, log: bool) -> None:
        self.low, self.high, self.start, self.end, self.log = low, high, start, end, log

    def __call__(self, value: float) -> float:
        low, high, value = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int) -> list[float]:
        return log_ticks(self.low, self.high, count) if self.log else ticks(self.low, self.high, count)


def ticks(low: float, high: float, count: int) -> list[float]:
    """About `count` round numbers from low to high."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * many for many in (1, 2, 2.5, 5, 10) if size * many >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, count: int) -> list[float]:
    """Powers of ten, thinned to about `count`; within one or two also their doubles and fives."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high < 100 * low else (1,)
    found = [many * 10.0**power for power in decades for many in steps]
    inside = [one for one in found if low * (1 - 1e-9) <= one <= high * (1 + 1e-9)]
    return inside[:: max(1, round(len(inside) / count))] or [low]


def short(value: float, percent: bool = False) -> str:
    """A number for an axis or a legend: three to four digits, thousands as K, M, B."""
    if not math.isfinite(value):
        return "–"
    if percent:
        return f"{100 * value:.3g} %"
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "K")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'K' else size):.4g}{letter}"
    if value and abs(value) < 1e-4:
        digits, power = f"{value:.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return f"{value:.4g}"


@dataclass(frozen=True)
class _Thin:
    x: np.ndarray
    low: np.ndarray
    mean: np.ndarray
    high: np.ndarray
    tone: int
    thinned: bool


def _thinned(one: Series, axes: Axes) -> _Thin:
    """Least, mean and greatest value of each column, NaN for those without a finite one; as it is if there is room."""
    columns = int((axes.width - axes.left - axes.right) * _COLUMNS_PER_PIXEL)
    usable = _drawable(one, axes)
    placed = one.x > 0 if axes.log_x else np.isfinite(one.x)
    x, y = one.x[placed].astype(float), np.where(usable, one.y, math.nan)[placed]
    if len(x) <= columns:
        return _Thin(x, y, y, y, one.tone, False)
    along = np.log(x) if axes.log_x else x
    column = np.minimum((along - along[0]) / (along[-1] - along[0]) * columns, columns - 1).astype(int)
    starts = np.flatnonzero(np.r_[True, np.diff(column) > 0])
    finite = np.isfinite(y)
    count = np.add.reduceat(finite, starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.add.reduceat(np.where(finite, y, 0.0), starts) / count
    low = np.minimum.reduceat(np.where(finite, y, np.inf), starts)
    high = np.maximum.reduceat(np.where(finite, y, -np.inf), starts)
    middle = np.add.reduceat(x, starts) / np.diff(np.r_[starts, len(x)])
    empty = count == 0
    low, mean, high = (np.where(empty, math.nan, part) for part in (low, mean, high))
    return _Thin(middle, low, mean, high, one.tone, True)


def _drawable(one: Series, axes: Axes) -> np.ndarray:
    usable = np.isfinite(one.y) & np.isfinite(one.x)
    if axes.log_y:
        usable &= one.y > 0
    return usable & (one.x > 0) if axes.log_x else usable


def _last(one: Series) -> float:
    finite = one.y[np.isfinite(one.y)]
    return float(finite[-1]) if len(finite) else math.nan


def _range(parts: Sequence[np.ndarray]) -> tuple[float, float]:
    everything = np.concatenate(parts)
    everything = everything[np.isfinite(everything)]
    return float(everything.min()), float(everything.max())


def _nice(low: float, high: float, axes: Axes) -> Scale:
    """The scale upwards, with a little room, ends on round numbers where it is linear."""
    bottom, top = axes.height - axes.bottom, axes.top
    if axes.log_y:
        return Scale(low / 1.15, high * 1.15, bottom, top, True)
    if high - low < 1e-12 * max(1.0, abs(high)):
        low, high = low - abs(low) * 0.1 - 1e-9, high + abs(high) * 0.1 + 1e-9
        low = max(low, 0.0) if axes.from_zero else low
    step = np.diff(ticks(low, high, 4))[:1]
    if len(step):
        low, high = math.floor(low / step[0] + 1e-9) * step[0], math.ceil(high / step[0] - 1e-9) * step[0]
    return Scale(low, high, bottom, top, False)


def _grid(x: Scale, y: Scale, axes: Axes) -> str:
    lines, words = [], []
    for value in y.ticks(4):
        lines.append(f"M{axes.left} {y(value):.1f}H{axes.width - axes.right}")
        label = short(value, axes.percent)
        words.append(f'<text class="y" x="{axes.left - 6}" y="{y(value) + 4:.1f}">{label}</text>')
    for value in x.ticks(max(4, axes.width // 100)):
        if value != round(value):  # there is no half step
            continue
        at = x(value)
        edge = " last" if at > axes.width - 24 else ""
        words.append(f'<text class="x{edge}" x="{at:.1f}" y="{axes.height - 7}">{_whole(value)}</text>')
    return f'<path class="grid" d="{"".join(lines)}"/>{"".join(words)}'


def _whole(value: float) -> str:
    return f"{value:,.0f}" if 1 <= abs(value) < 1e4 and value == round(value) else short(value)


def _curve(one: _Thin, x: Scale, y: Scale) -> str:
    parts = []
    for start, stop in _runs(np.isfinite(one.mean)):
        along = [x(value) for value in one.x[start:stop]]
        if one.thinned:
            above = [f"{a:.1f} {y(v):.1f}" for a, v in zip(along, one.high[start:stop], strict=True)]
            below = [f"{a:.1f} {y(v):.1f}" for a, v in zip(along, one.low[start:stop], strict=True)]
            parts.append(f'<path class="band t{one.tone}" d="M{"L".join(above + below[::-1])}Z"/>')
        line = "L".join(f"{a:.1f} {y(v):.1f}" for a, v in zip(along, one.mean[start:stop], strict=True))
        if stop - start > 1:  # one point has no line
            parts.append(f'<path class="line t{one.tone}" d="M{line}"/>')
        if stop - start <= _FEW:
            parts += [
                f'<circle class="dot t{one.tone}" cx="{a:.1f}" cy="{y(v):.1f}" r="2.5"/>'
                for a, v in zip(along, one.mean[start:stop], strict=True)
            ]
    return "".join(parts)


def _runs(wanted: np.ndarray) -> list[tuple[int, int]]:
    """Stretches that are true, as half-open ranges."""
    edges = np.flatnonzero(np.diff(np.r_[False, wanted, False]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _marked(marks: Marks, x: Scale, axes: Axes) -> str:
    bottom = axes.height - axes.bottom
    inside = [n for n, at in enumerate(marks.at) if x.low <= at <= x.high and not (x.log and at <= 0)]
    places = dict.fromkeys(f"{x(marks.at[n]):.1f}" for n in inside)  # many skipped steps may share a pixel
    if marks.kind == "resume":
        shapes = "".join(f"M{at} {bottom - 6}l4 6h-8z" for at in places)
    else:
        top = bottom - 9 if marks.kind == "skip" else axes.top
        shapes = "".join(f"M{at} {bottom}V{top}" for at in places)
    words = "".join(
        f'<text class="stage" x="{x(marks.at[n]) + 4:.1f}" y="{axes.top + 9}">{escape(marks.labels[n])}</text>'
        for n in inside
        if n < len(marks.labels)
    )
    return f'<path class="mark {marks.kind}" d="{shapes}"/>{words}' if places else ""


def _rounded(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None
