"""What `k3data doctor` says of rendering: each renderer draws something known, locked in as in a real run."""

from __future__ import annotations

from typing import Any

from .chromium import find_chromium, installed_families
from .isolation import probe
from .pool import RenderPool, StartError
from .types import Failure, RenderSpec

_PROGRAMS = {
    "svg": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><circle cx="32" cy="32" r="20"/></svg>',
    "web": "<!doctype html><title>t</title><body style='background:#fff'><h1>A heading</h1></body>",
    "cad": "import cadquery as cq\n\nresult = cq.Workplane().box(10, 20, 5).faces('>Z').workplane().hole(4)\n",
}


def checks() -> list[dict[str, Any]]:
    """One entry per renderer, and what they stand on: browser, fonts, isolation."""
    isolation = probe()
    families = installed_families()
    return [
        _entry("browser", bool(find_chromium()), find_chromium() or "apt install chromium-headless-shell"),
        _entry("fonts", bool(families), f"{len(families)} families" if families else "apt install fonts-dejavu-core"),
        _entry("isolation", True, str(isolation), needed=False),
        *(_render(kind, program) for kind, program in _PROGRAMS.items()),
    ]


def _render(kind: str, program: str) -> dict[str, Any]:
    # A pool's worker draws its renderer's self-test first, and fails if that does not come out as known.
    try:
        with RenderPool(kind, timeout_s=60, memory_mib=2048) as pool:
            outcome = pool.render(program, RenderSpec(256, 256))
    except StartError as error:
        return _entry(f"render {kind}", False, str(error), needed=False)
    if isinstance(outcome, Failure):
        return _entry(f"render {kind}", False, f"{outcome.kind}: {outcome.detail}", needed=False)
    return _entry(f"render {kind}", True, outcome.renderer, needed=False)


def _entry(name: str, ok: bool, detail: str, *, needed: bool = True) -> dict[str, Any]:
    return {"name": name, "ok": ok, "detail": detail, "needed": needed}
