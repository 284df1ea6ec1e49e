"""Renders per second through the isolated pool, beside the way that rendering is usually done.

Peers, each in the style that published pipelines use: plain in-process cairosvg without checks, boxes or isolation;
a fresh browser for each page and a fixed sleep of two seconds; a new Python process for each CadQuery script, which
exports a mesh and draws nothing. Ours and the peer take turns; figures are medians.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ..chromium import require_chromium
from ..pool import RenderPool
from ..programs import generate
from ..types import Failure, RenderSpec

NAME = "render"
SUMMARY = "renders per second and kind, beside plain cairosvg, a browser per page, a process per CAD script"

SPECS = {"svg": RenderSpec(512, 512), "web": RenderSpec(1280, 1600), "cad": RenderSpec(512, 512)}
_TURNS = 5
_PEER_SLEEP_S = 2.0


def run(quick: bool) -> dict[str, Any]:
    """Figures per kind: `<kind>_per_s` of ours, and `<kind>_ratio_vs_peer_style`."""
    sizes = {"svg": 20, "web": 5, "cad": 3} if quick else {"svg": 100, "web": 30, "cad": 15}
    peer_sizes = {"svg": sizes["svg"], "web": 1, "cad": 1}
    turns = 3 if quick else _TURNS
    figures: dict[str, float] = {}
    peers: dict[str, dict[str, float]] = {}
    for kind, (style, peer) in PEERS.items():
        programs = [generate(kind, random.Random(f"bench/{kind}/{index}")).text for index in range(sizes[kind])]
        with RenderPool(kind) as pool, tempfile.TemporaryDirectory() as folder:
            _check(pool, kind, programs)
            ours, theirs = [], []
            for turn in range(turns):
                ours.append(_rate(partial(pool.render, spec=SPECS[kind]), programs))
                part = [programs[(turn + index) % len(programs)] for index in range(peer_sizes[kind])]
                theirs.append(_rate(partial(peer, folder=Path(folder)), part))
        figures[f"{kind}_per_s"] = round(statistics.median(ours), 2)
        figures[f"{kind}_ratio_vs_peer_style"] = round(statistics.median(ours) / statistics.median(theirs), 2)
        peers[style] = {f"{kind}_per_s": round(statistics.median(theirs), 2)}
    return {"figures": figures, "peers": peers}


def _check(pool: RenderPool, kind: str, programs: list[str]) -> None:
    """Every program renders, with a layout, and the first to the same bytes again; also warms the pool."""
    found = [pool.render(program, SPECS[kind]) for program in [*programs, programs[0]]]
    for one in found:
        if isinstance(one, Failure) or not one.layout:
            raise RuntimeError(f"a {kind} program does not render: {one if isinstance(one, Failure) else 'no layout'}")
    if found[0] != found[-1]:
        raise RuntimeError(f"a {kind} program renders differently the second time")


def _rate(render: Callable[[str], Any], programs: list[str]) -> float:
    began = time.perf_counter()
    for program in programs:
        render(program)
    return len(programs) / (time.perf_counter() - began)


def _plain_cairosvg(program: str, folder: Path) -> None:
    import cairosvg

    cairosvg.svg2png(bytestring=program.encode(), output_width=SPECS["svg"].width)


def _browser_per_page(program: str, folder: Path) -> None:
    source = folder / "page.html"
    source.write_text(program)
    code = (
        "import sys, time\nfrom playwright.sync_api import sync_playwright\nwith sync_playwright() as p:\n"
        " b = p.chromium.launch(executable_path=sys.argv[1], args=['--no-sandbox'])\n"
        " page = b.new_page(viewport={'width': 1280, 'height': 800})\n page.goto('file://' + sys.argv[2])\n"
        f" time.sleep({_PEER_SLEEP_S})\n page.screenshot(path=sys.argv[3], full_page=True)\n b.close()\n"
    )
    subprocess.run([sys.executable, "-c", code, require_chromium(), str(source), str(folder / "page.png")], check=True)


def _process_per_script(program: str, folder: Path) -> None:
    source = folder / "part.py"
    target = str(folder / "part.stl")
    source.write_text(f"{program}\nimport cadquery\ncadquery.exporters.export(result, {target!r})\n")
    subprocess.run([sys.executable, str(source)], check=True, capture_output=True)


PEERS: dict[str, tuple[str, Callable[..., None]]] = {
    "svg": ("plain in-process cairosvg", _plain_cairosvg),
    "web": ("a browser per page and a sleep of 2 s", _browser_per_page),
    "cad": ("a Python process per script", _process_per_script),
}
