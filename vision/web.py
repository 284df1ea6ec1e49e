"""Draws a web page in a browser without scripts and without a network, and reads every element's place from it."""

from __future__ import annotations

from collections.abc import Callable

from . import colours, png
from .chromium import Browser, require_chromium
from .page_scripts import WEB_LAYOUT
from .types import Element, Failure, Render, RenderSpec
from .web_lint import normalise

FIRST_HEIGHT = 800
"""Height of the viewport in which a page is first laid out; a longer page then gets a taller one."""

_KNOWN = (
    "<!doctype html><style>body{margin:0}div{position:absolute;left:20px;top:10px;width:100px;height:50px;"
    "background:#0a0}</style><div id=known role=region aria-label=known></div>"
)


class WebRenderer:
    """`Renderer` for HTML pages. One browser, one page, scripts off, nothing fetched.

    Args:
        sandbox: see `Browser`.
    """

    kind = "web"
    worn = False
    version = "chromium"

    def __init__(self, sandbox: bool = False):
        self._browser = Browser(require_chromium(), sandbox=sandbox)

    def open(self) -> None:
        self._browser.start()
        self.version = self._browser.version

    def close(self) -> None:
        self._browser.close()

    def lint(self, program: str, spec: RenderSpec) -> Failure | None:
        page = normalise(program)
        return page if isinstance(page, Failure) else None

    def starter(self) -> Callable[[], None] | None:
        return None if self._browser.running else self._browser.start

    def render(self, program: str, spec: RenderSpec) -> Render | Failure:
        page = normalise(program)
        if isinstance(page, Failure):
            return page
        least = min(spec.width // 4, spec.height)
        first = min(FIRST_HEIGHT, spec.height)
        shown = self._browser.show(
            page.encode(), "text/html; charset=utf-8", spec.width, first, WEB_LAYOUT,
            fit=(least, spec.height), background=spec.background,
        )  # fmt: skip
        if isinstance(shown, Failure):
            return shown
        log = {
            "title": shown.found["title"],
            "elements_total": shown.found["total"],
            "page_height": shown.full_height,
            "cut": shown.full_height > shown.picture.height,
            "overflow_x": shown.overflow,
            "blocked_requests": shown.blocked,
        }
        layout = tuple(_element(one) for one in shown.found["elements"])
        picture = png.encode("picture", shown.picture)
        return png.blank(shown.picture) or Render((picture,), layout, page, self.version, log)

    def selftest(self) -> str | None:
        outcome = self.render(_KNOWN, RenderSpec(320, 240))
        if isinstance(outcome, Failure):
            return f"{outcome.kind}: {outcome.detail}"
        boxes = [one.box for one in outcome.layout]
        return None if boxes == [(20, 10, 120, 60)] else f"a known box came out at {boxes}"


def _element(one: dict) -> Element:
    attributes = dict(one["attributes"])
    attributes["color"] = colours.hex_of(attributes["color"])
    attributes["background"] = colours.hex_of(attributes["background"])
    kept = {name: value for name, value in attributes.items() if value != ""}
    return Element(one["id"], one["role"], one["text"], tuple(one["box"]), 0, one["visible"], kept)
