"""Draws SVG: with cairo where cairo is true to the file, with the browser for the rest, and says where all lies."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from collections.abc import Callable

import cairocffi

from . import png, svg_cairo, svg_lint
from .chromium import Browser, find_chromium, installed_families
from .svg_browser import draw as draw_in_browser
from .types import Failure, Render, RenderSpec

_KNOWN = (
    '<svg viewBox="0 0 40 20"><rect width="20" height="20" fill="#c00000"/><text x="22" y="15" '
    'font-family="sans-serif" font-size="14">A</text></svg>'
)


class SvgRenderer:
    """`Renderer` for SVG. Without a browser it refuses what cairo would draw wrongly.

    Args:
        browser: path of the browser, "" for none; None looks for one.
        sandbox: see `Browser`.
    """

    kind = "svg"
    worn = False

    def __init__(self, browser: str | None = None, sandbox: bool = False):
        self.version = f"cairosvg {importlib.metadata.version('cairosvg')} cairo {cairocffi.cairo_version_string()}"
        self._sandbox = sandbox
        self._browser_path = find_chromium() if browser is None else browser
        self._browser: Browser | None = None
        self._families: frozenset[str] = frozenset()
        self._examined: tuple[str, RenderSpec, svg_lint.Document] | None = None

    def open(self) -> None:
        self._families = installed_families()

    def close(self) -> None:
        if self._browser:
            self._browser.close()
            self._browser = None

    def lint(self, program: str, spec: RenderSpec) -> Failure | None:
        document = svg_lint.examine(program, spec, self._families)
        if isinstance(document, Failure):
            return document
        if document.browser and not self._browser_path:
            return Failure("unsupported_feature", "lint", f"needs a browser for: {', '.join(document.browser)}"[:300])
        self._examined = (program, spec, document)
        return None

    def starter(self) -> Callable[[], None] | None:
        if self._examined is None or not self._examined[2].browser:
            return None
        browser = self._browser = self._browser or Browser(self._browser_path, sandbox=self._sandbox)
        return None if browser.running else browser.start

    def render(self, program: str, spec: RenderSpec) -> Render | Failure:
        if self._examined is None or self._examined[:2] != (program, spec):
            fault = self.lint(program, spec)
            if fault:
                return fault
        assert self._examined
        document, self._examined = self._examined[2], None
        if document.browser:
            return self._in_browser(document, spec)
        try:
            picture, layout = svg_cairo.draw(document.text, document.width, document.height, spec.background)
        except (
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            IndexError,
            ArithmeticError,
            RecursionError,
        ) as error:
            return Failure("parse", "render", f"{type(error).__name__}: {error}"[:300])
        except svg_cairo.MissingGlyph as error:
            if not self._browser_path:
                return Failure("font_missing", "render", str(error))
            return self._in_browser(dataclasses.replace(document, browser=("missing glyph",)), spec)
        except svg_cairo.TooBig as error:
            return Failure("too_large", "render", str(error))
        except cairocffi.CairoError as error:
            self.worn = True  # cairo keeps fonts and errors for the life of a process
            return Failure("invalid_geometry", "render", str(error)[:300])
        return png.blank(picture) or Render(
            (png.encode("picture", picture),), tuple(layout), document.text, self.version, {"engine": "cairo"}
        )

    def _in_browser(self, document: svg_lint.Document, spec: RenderSpec) -> Render | Failure:
        browser = self._browser = self._browser or Browser(self._browser_path, sandbox=self._sandbox)
        drawn = draw_in_browser(browser, document, spec.background)
        if isinstance(drawn, Failure):
            return drawn
        picture, layout = drawn
        log = {"engine": "browser", "reasons": ", ".join(document.browser)}
        return png.blank(picture) or Render(
            (png.encode("picture", picture),), tuple(layout), document.text, browser.version, log
        )

    def selftest(self) -> str | None:
        spec = RenderSpec(80, 40)
        outcome = self.lint(_KNOWN, spec) or self.render(_KNOWN, spec)
        if isinstance(outcome, Failure):
            return f"{outcome.kind}: {outcome.detail}"
        boxes = [one.box for one in outcome.layout]
        if boxes[:1] != [(0.0, 0.0, 40.0, 40.0)] or len(boxes) != 2:
            return f"a square and a letter came out at {boxes}"
        return None
