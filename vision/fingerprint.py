"""What a picture depends on besides its program: the versions of everything that draws. Cheap, and starts nothing."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import subprocess

from .chromium import find_chromium

_PACKAGES = ("cairosvg", "cairocffi", "pillow", "playwright", "cadquery", "cadquery-ocp", "vtk")


@functools.cache
def fingerprint() -> dict[str, str]:
    """Name → version or digest, of what is installed here; a part that is missing is "absent"."""
    found = {f"python:{name}": _version(name) for name in _PACKAGES}
    browser = find_chromium()
    found["chromium"] = _output(browser, "--version") if browser else "absent"
    found["cairo"] = _library_version("libcairo.so.2", "cairo_version_string")
    found["freetype"] = _output("fc-list", "--version")
    found["fonts"] = fonts_digest()
    return found


@functools.cache
def fonts_digest() -> str:
    """Digest of every installed font's family, style and version."""
    listed = _output("fc-list", ":", "family", "style", "fontversion")
    return hashlib.sha256("\n".join(sorted(listed.splitlines())).encode()).hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "absent"
    return done.stdout.strip() or done.stderr.strip()


def _library_version(library: str, function: str) -> str:
    """What a C library says about itself, asked in a child so that it is not loaded here."""
    code = f"import ctypes as c;f=c.CDLL({library!r}).{function};f.restype=c.c_char_p;print(f().decode())"
    import sys

    return _output(sys.executable, "-I", "-c", code)
