"""Draws an SVG in the browser, where cairo would not be true to it, and reads every element's place from there."""

from __future__ import annotations

from PIL import Image as Picture

from . import colours
from .chromium import Browser
from .page_scripts import SVG_LAYOUT
from .svg_cairo import ROLES
from .svg_lint import Document
from .types import Element, Failure

MIME = "image/svg+xml"


def draw(browser: Browser, document: Document, background: str) -> tuple[Picture.Image, list[Element]] | Failure:
    """The picture and its elements in drawing order, groups with an id after their members."""
    shown = browser.show(
        document.text.encode(), MIME, document.width, document.height, SVG_LAYOUT, background=background
    )
    if isinstance(shown, Failure):
        return shown
    return shown.picture, [_element(one) for one in shown.found]


def _element(one: dict) -> Element:
    role = ROLES.get(one["role"], one["role"])
    paints = {name: _paint(one[name]) for name in ("fill", "stroke")}
    attributes = {name: value for name, value in paints.items() if value}
    colour = colours.name_of(attributes.get("fill")) or colours.name_of(attributes.get("stroke"))
    words = one["text"] or (f"{colour} {role}".strip() if role != "group" else "")
    return Element(one["id"], role, words, tuple(one["box"]), 0, one["visible"], attributes)


def _paint(css: str) -> str:
    return "gradient" if css.startswith("url(") else colours.hex_of(css)
