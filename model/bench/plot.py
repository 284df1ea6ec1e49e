"""A picture of what `k3data bench kernels` found: how many times as fast as its peer each part is, in both passes and
in the forward alone.

k3data bench kernels --json > kernels.json
python -m k3data.model.bench.plot kernels.json --to model/kernels/h200.svg
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

_PEERS = {
    "fla": ("#1f6f8b", "#9cc7d4", "KDA, beside fla-core"),
    "pytorch_compiled": ("#c8553d", "#eab5a8", "Parts, beside compiled PyTorch"),
}
_PASSES = {"forward_backward_ms": "both passes", "inference_ms": "forward", "forward_ms": "forward"}
_ROW, _BAR, _LEFT, _RIGHT, _WIDTH, _TOP = 34, 12, 250, 190, 900, 44
_HEAD = 30


class Bar(NamedTuple):
    what: str
    passes: str
    ours: float
    theirs: float

    @property
    def times(self) -> float:
        return self.theirs / self.ours


def bars(found: Mapping[str, Any], peer: str) -> list[Bar]:
    """Of every time of both passes, and of a forward that keeps nothing if there is one, that the peer has as well."""
    figures, theirs = found["figures"], found["peers"].get(peer, {})
    drawn: dict[tuple[str, str], Bar] = {}
    for ending, passes in _PASSES.items():
        for name, ours in figures.items():
            part = name.removesuffix(f"_{ending}")
            if name.endswith(f"_{ending}") and ours and theirs.get(name):
                drawn.setdefault((part, passes), Bar(_words(part), passes, ours, theirs[name]))
    parts = list(dict.fromkeys(part for part, _ in drawn))
    return [drawn[part, passes] for part in parts for passes in ("both passes", "forward") if (part, passes) in drawn]


def svg(found: Mapping[str, Any]) -> str:
    """Raises ValueError when no peer has a time."""
    drawn = {peer: bars(found, peer) for peer in _PEERS}
    if not any(drawn.values()):
        raise ValueError("no time here has a peer beside it; were the kernels measured on a GPU?")
    scale = (_WIDTH - _LEFT - _RIGHT) / max(1.0, *(bar.times for part in drawn.values() for bar in part))
    parts = [
        f'<text x="16" y="26" font-size="15">Times as fast as its peer: {escape(_machine(found))} '
        '<tspan font-size="12" fill="#777">(in brackets: ours and its)</tspan></text>'
    ]
    y = _TOP
    for peer, (dark, light, title) in _PEERS.items():
        if not drawn[peer]:
            continue
        parts.append(f'<text x="16" y="{y + 18}" font-weight="bold">{title}</text>')
        for x, colour, passes in ((_LEFT, dark, "both passes"), (_LEFT + 120, light, "forward")):
            parts.append(f'<rect x="{x}" y="{y + 8}" width="12" height="12" fill="{colour}"/>')
            parts.append(f'<text x="{x + 18}" y="{y + 18}">{passes}</text>')
        y += _HEAD
        top, last = y, None
        for bar in drawn[peer]:
            if bar.what != last:
                if last is not None:
                    y += _ROW - 2 * _BAR
                parts.append(f'<text x="{_LEFT - 10}" y="{y + _BAR + 4}" text-anchor="end">{escape(bar.what)}</text>')
                last = bar.what
            colour, width = dark if bar.passes == "both passes" else light, bar.times * scale
            parts.append(f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR - 1}" fill="{colour}"/>')
            parts.append(
                f'<text x="{_LEFT + width + 6:.1f}" y="{y + 10}" font-size="11">{bar.times:.2f} '
                f'<tspan fill="#777">({_ms(bar.ours)} ms, {_ms(bar.theirs)})</tspan></text>'
            )
            y += _BAR
        once = _LEFT + scale
        parts.append(
            f'<line x1="{once:.1f}" x2="{once:.1f}" y1="{top - 4}" y2="{y + 4}" stroke="#222" stroke-dasharray="3 3"/>'
        )
        y += _ROW - _BAR
    whole = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{y}" fill="white"/>',
        *parts,
    ]
    return "\n".join([*whole, "</svg>", ""])


def _words(part: str) -> str:
    """16x4096_h16_d128 as a reader says it."""
    shape = re.fullmatch(r"(\d+)x(\d+)_h(\d+)_d(\d+)", part)
    if shape is None:
        return part.replace("_", " ")
    batch, length, heads, channels = map(int, shape.groups())
    return f"{batch} × {length:,} tokens, {heads} heads of {channels}"


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.3g}" if milliseconds < 100 else f"{milliseconds:.0f}"


def _machine(found: Mapping[str, Any]) -> str:
    machine = found.get("machine", {})
    return str(machine.get("gpu") or machine.get("cpu") or "a machine") if isinstance(machine, dict) else str(machine)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="k3data.model.bench.plot", description="Draw what a benchmark found.")
    parser.add_argument("found", type=Path, help="what `k3data bench kernels --json` printed")
    parser.add_argument("--to", type=Path, required=True, help="an SVG")
    options = parser.parse_args(arguments)
    try:
        drawn = svg(json.loads(options.found.read_text()))
    except (OSError, ValueError) as error:
        print(f"plot: {options.found}: {error}", file=sys.stderr)
        return 2
    options.to.write_text(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
