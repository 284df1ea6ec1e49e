"""`k3data doctor`: what this machine has of what the pipelines need, and one line on how to get what is missing."""

from __future__ import annotations

import importlib
import shutil
import sys
from importlib import metadata
from importlib.util import find_spec
from typing import Any

_EXTRAS = {
    "svg": ("cairosvg", "defusedxml"),
    "web": ("playwright",),
    "cad": ("cadquery",),
    "s3": ("s3fs",),
    "text": ("pycld2", "py3langid", "pylatexenc", "selectolax", "spacy", "tokenizers"),
    "train": ("torch", "safetensors", "tokenizers"),
}
_AREAS = ("vision",)
"""Folders with a `doctor` module of their own, whose `checks()` gives more lines."""


def check() -> list[dict[str, Any]]:
    """One entry per check: name, ok, detail, needed (a missing optional part is no failure)."""
    found = [
        entry("python", sys.version_info >= (3, 11), sys.version.split()[0]),
        entry("disk", (free := shutil.disk_usage(".").free) > 2e9, f"{free / 1e9:.1f} GB free here"),
    ]
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if find_spec(name) is None]
        versions = ", ".join(f"{name} {metadata.version(name)}" for name in modules if name not in missing)
        detail = f"missing {', '.join(missing)}: pip install 'k3data[{extra}]'" if missing else versions
        found.append(entry(f"extra {extra}", not missing, detail, needed=False))
    for area in _AREAS:
        try:
            module = importlib.import_module(f"..{area}.doctor", package=__package__)
        except ModuleNotFoundError as error:
            found.append(entry(area, False, f"needs {error.name}", needed=False))
            continue
        found += module.checks()
    return found


def entry(name: str, ok: bool, detail: str, *, needed: bool = True) -> dict[str, Any]:
    return {"name": name, "ok": ok, "detail": detail, "needed": needed}


def check_text(found: list[dict[str, Any]]) -> str:
    marks = {True: "ok", False: "--"}
    return "\n".join(f"{marks[one['ok']]}  {one['name']:<14} {one['detail']}" for one in found)
