"""Debian's Chromium, driven by Playwright: found, started without a network, warm between pages, replaced when old."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_PLACES = ("/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium", "/snap/bin/chromium")


def find_chromium() -> str:
    """Path of the browser: `K3DATA_CHROMIUM`, else the usual names and places, else ""."""
    wanted = os.environ.get("K3DATA_CHROMIUM")
    if wanted:
        return wanted if Path(wanted).is_file() else ""
    for name in _NAMES:
        found = shutil.which(name)
        if found:
            return found
    return next((place for place in _PLACES if Path(place).is_file()), "")


def installed_families() -> frozenset[str]:
    """Names of the installed font families, in lower case."""
    listed = subprocess.run(["fc-list", ":", "family"], capture_output=True, text=True, timeout=20, check=True).stdout
    return frozenset(name.strip().lower() for line in listed.splitlines() for name in line.split(","))


class Browser:
    def __init__(self, executable: str):
        raise NotImplementedError
