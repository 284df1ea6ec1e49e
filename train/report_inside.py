"""The inside of a model as pictures: weights of the mixes over depth, decays of the KDA layers, load of the experts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from .report_charts import short
from .report_run import number

_ROW = 20
_LABELLED = 10
"""Columns up to which a cell has room for its number."""


def inside(diagnostics: Sequence[dict[str, Any]]) -> str:
    """Figures of the newest diagnostics, and of the first beside them for the mixes."""
    if not diagnostics:
        return ""
    first, last = diagnostics[0], diagnostics[-1]
    maps = [
        _figure(
            f"Attention residuals, step {one['step']:,}", _mixes(one["attn_res"]), _MIXES if one is first else _LATER
        )
        for one in ([first, last] if first is not last else [last])
        if one.get("attn_res")
    ]
    decay, load = last.get("decay") or {}, last.get("load") or {}
    at = f"step {last['step']:,}"
    rest = [_figure(f"Decay of the KDA layers, {at}", _decays(decay), _DECAYS)] if decay.get("layers") else []
    rest += [_figure(f"Load of the experts, {at}", _loads(load), _LOADS)] if load else []
    return "".join(maps) + f'<div class="stack">{"".join(rest)}</div>'


_MIXES = (
    "Each row reads from the sources on the left: the mean share that every mix over depth gives to the embedding and "
    "to the blocks so far. The last block of a row is still growing."
)
_LATER = "The same at the end of what was trained so far."
_DECAYS = (
    "How much of its state a channel keeps from one token to the next: on the left it forgets at once, on the right it "
    "keeps everything. Each layer by its own highest bar."
)
_LOADS = "The share of tokens that each expert gets, beside the fair share: the fuller the colour, the busier."


def _figure(title: str, picture: str, note: str) -> str:
    about = f'<p class="about">{escape(note)}</p>' if note else ""
    return f'<figure class="card"><figcaption><h3>{escape(title)}</h3>{about}</figcaption>{picture}</figure>'


def mix_names(count: int) -> list[str]:
    """What `count` mixes in the order of the forward belong to: an attention and a feed-forward of each layer and the
    output. The very first has one source and may not be counted."""
    names = ["output"]
    layer, attention = (count + 1) // 2 - 1 if count % 2 == 0 else (count - 1) // 2 - 1, False
    while len(names) < count:
        names.append(f"layer {layer} {'attention' if attention else 'feed-forward'}")
        layer, attention = (layer - 1, False) if attention else (layer, True)
    return names[::-1]


def _mixes(mixes: Sequence[Sequence[float]]) -> str:
    columns = max(len(one) for one in mixes)
    left, width = 128, 400
    cell = (width - left) / columns
    parts = [
        f'<text class="x" x="{left + (n + 0.5) * cell:.1f}" y="12">{_source(n, columns)}</text>'
        for n in range(0, columns, 1 if columns < 24 else 4)
    ]
    for row, (name, shares) in enumerate(zip(mix_names(len(mixes)), mixes, strict=True)):
        top = 18 + row * _ROW
        parts.append(f'<text class="y" x="{left - 8}" y="{top + 14}">{name}</text>')
        for column, share in enumerate(map(number, shares)):
            if share != share:
                continue
            x = left + column * cell
            title = f"<title>{name}: {share:.3f} of {'the embedding' if not column else f'block {column}'}</title>"
            parts.append(
                f'<rect class="cell" x="{x + 0.5:.1f}" y="{top + 0.5}" width="{cell - 1:.1f}" height="{_ROW - 1}" '
                f'fill-opacity="{min(1, 0.04 + share):.3f}">{title}</rect>'
            )
            if columns <= _LABELLED:
                full = " full" if share > 0.55 else ""
                parts.append(f'<text class="share{full}" x="{x + cell / 2:.1f}" y="{top + 14}">{share:.2f}</text>')
    return _svg(width, 22 + len(mixes) * _ROW, "Weights of the mixes over depth", parts)


def _source(column: int, columns: int) -> str:
    if column:
        return f"block {column}" if columns < 6 else str(column)
    return "embedding" if columns < 6 else "e"


def _decays(decay: dict[str, Any]) -> str:
    left, width, row = 60, 400, 34
    edges = [number(one) for one in decay["edges"]]
    x = [left + (width - left - 12) * (one - edges[0]) / (edges[-1] - edges[0]) for one in edges]
    parts = []
    for n, (layer, raw) in enumerate(decay["layers"].items()):
        shares = [number(one) for one in raw]
        bottom, most = (n + 1) * row, max([one for one in shares if one == one], default=0) or 1
        parts.append(f'<text class="y" x="{left - 8}" y="{bottom - 8}">layer {escape(str(layer))}</text>')
        parts.append(f'<path class="grid" d="M{left} {bottom}.5H{width - 12}"/>')
        for low, high, share in zip(x[:-1], x[1:], shares, strict=True):
            height = (row - 6) * share / most if share == share else 0
            parts.append(
                f'<rect class="bar" x="{low + 0.5:.1f}" y="{bottom - height:.1f}" width="{high - low - 1:.1f}" '
                f'height="{height:.1f}"><title>{share:.1%}</title></rect>'
            )
    bottom = len(decay["layers"]) * row + 15
    marks = zip((0, len(edges) // 2, len(edges) - 1), ("x", "x", "x last"), strict=True)
    parts += [f'<text class="{name}" x="{x[n]:.1f}" y="{bottom}">{edges[n]:.2g}</text>' for n, name in marks]
    return _svg(width, bottom + 6, "Decays by layer", parts)


def _loads(load: dict[str, Sequence[float]]) -> str:
    left, width, row = 60, 400, 24
    parts = []
    for n, (layer, raw) in enumerate(load.items()):
        shares = [number(one) for one in raw]
        cell, top, fair = (width - left - 58) / len(shares), n * row, 1 / len(shares)
        gap = 1.0 if cell > 4 else 0.0
        parts.append(f'<text class="y" x="{left - 8}" y="{top + 16}">layer {escape(str(layer))}</text>')
        for expert, share in enumerate(shares):
            opacity = min(1.0, 0.06 + share / fair / 3) if share == share else 0
            dead = " dead" if share == 0 else ""
            parts.append(
                f'<rect class="cell{dead}" x="{left + expert * cell:.2f}" y="{top + 3}" width="{cell - gap:.2f}" '
                f'height="{row - 6}" fill-opacity="{opacity:.3f}"><title>expert {expert}: {share / fair:.2f} of the '
                f"fair share</title></rect>"
            )
        busiest = max((one for one in shares if one == one), default=float("nan")) / fair
        parts.append(f'<text class="x last" x="{width - 12}" y="{top + 16}">{short(round(busiest, 2))}×</text>')
    return _svg(width, len(load) * row + 4, "Load of experts by layer", parts)


def _svg(width: int, height: int, name: str, parts: Sequence[str]) -> str:
    return f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{name}">{"".join(parts)}</svg>'
