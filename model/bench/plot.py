"""A picture of what `k3data bench kernels` found: how many times as fast as each peer, a bar for each.

k3data bench kernels --json > kernels.json
python -m k3data.model.bench.plot kernels.json --to model/kernels/h200.svg
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

_PEERS = {"fla": ("#1f6f8b", "fla-core"), "pytorch_compiled": ("#c8553d", "PyTorch, compiled")}
_ROW, _LEFT, _RIGHT, _WIDTH, _TOP = 18, 300, 60, 900, 64


class Bar(NamedTuple):
    what: str
    peer: str
    times: float


def bars(found: Mapping[str, Any]) -> list[Bar]:
    """Of every time that a peer has as well, by peer and then as the benchmark has them."""
    return [
        Bar(name.removesuffix("_ms").replace("_", " "), peer, found["peers"][peer][name] / ours)
        for peer in _PEERS
        for name, ours in found["figures"].items()
        if name.endswith("_ms") and ours and found["peers"].get(peer, {}).get(name)
    ]


def svg(found: Mapping[str, Any]) -> str:
    """Raises ValueError when no peer has a time."""
    drawn = bars(found)
    if not drawn:
        raise ValueError("no time here has a peer beside it; were the kernels measured on a GPU?")
    most = max(bar.times for bar in drawn)
    scale = (_WIDTH - _LEFT - _RIGHT) / max(most, 1.0)
    height = _TOP + _ROW * len(drawn) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">',  # noqa: E501
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="16" y="24" font-size="15">Times as fast as its peers: {escape(_machine(found))}</text>',
    ]
    for at, (colour, name) in enumerate(_PEERS.values()):
        parts.append(f'<rect x="{16 + 150 * at}" y="36" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{34 + 150 * at}" y="46">{name}</text>')
    for row, bar in enumerate(drawn):
        y, colour = _TOP + row * _ROW, _PEERS[bar.peer][0]
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(bar.what)}</text>')
        parts.append(
            f'<rect x="{_LEFT}" y="{y + 2}" width="{bar.times * scale:.1f}" height="{_ROW - 5}" fill="{colour}"/>'
        )
        parts.append(f'<text x="{_LEFT + bar.times * scale + 6:.1f}" y="{y + 12}">{bar.times:.2f}</text>')
    x = _LEFT + scale
    parts.append(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{height - 8}" stroke="#222" stroke-dasharray="3 3"/>'
    )
    return "\n".join([*parts, "</svg>", ""])


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
