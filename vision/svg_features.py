"""Which drawings cairosvg draws truly, and which only a browser does.

cairosvg is silent about what it cannot do: filters and blend modes vanish, unknown colours turn black, text is set
letter by letter without shaping. So a drawing goes to cairo only if everything in it is on the safe list; each other
thing is a named reason for the browser.
"""

from __future__ import annotations

import base64
import binascii
import functools
import io
import re
import urllib.parse
from collections.abc import Iterator
from xml.etree.ElementTree import Element as XmlElement

from PIL import Image, ImageColor

from .types import Failure

MAX_EMBEDDED_PIXELS = 16_000_000

_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_SAFE_TAGS = {
    "svg", "g", "defs", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "use",
    "symbol", "linearGradient", "radialGradient", "stop", "clipPath", "title", "desc", "metadata", "a", "style",
    "marker", "image",
}  # fmt: skip
_UNSAFE_PROPERTIES = {
    "filter", "mask", "mix-blend-mode", "isolation", "backdrop-filter", "paint-order", "vector-effect",
    "writing-mode", "text-decoration", "textLength", "font-variant", "font-stretch", "baseline-shift", "word-spacing",
    "dominant-baseline", "alignment-baseline", "unicode-bidi", "direction", "transform-origin", "transform-box", "clip",
    "mask-image", "clip-path-units", "rotate", "fr", "lengthAdjust", "shape-rendering", "systemLanguage",
    "requiredFeatures", "font", "animation", "zoom", "text-shadow", "box-shadow", "content", "font-feature-settings",
}  # fmt: skip
_DEFAULTS = {"none", "normal", "auto", "inherit", "baseline", "ltr", "lr", "lr-tb", "horizontal-tb"}
_COLOURS = {"fill", "stroke", "stop-color", "color", "flood-color", "lighting-color"}
_NUMBERS = {"opacity", "fill-opacity", "stroke-opacity", "stop-opacity", "stroke-miterlimit"}
_GENERIC = {"serif", "sans-serif", "monospace"}
_PLAIN_COLOUR = re.compile(
    r"none|currentcolor|inherit|transparent|#[0-9a-f]{3}|#[0-9a-f]{6}|url\(\s*['\"]?#[^)]+\)"
    r"|rgb\(\s*[\d.]+%?\s*,\s*[\d.]+%?\s*,\s*[\d.]+%?\s*\)|rgba\(\s*[\d.]+\s*,\s*[\d.]+\s*,\s*[\d.]+\s*,\s*[\d.]+\s*\)",
    re.IGNORECASE,
)
_PLAIN_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*|inherit", re.IGNORECASE)
# Latin, Greek, Cyrillic and signs: set right letter by letter. Whether the font has them is seen when they are drawn.
_PLAIN_TEXT = re.compile(
    "[\\s\u0020-\u02af\u0370-\u052f\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u27bf\u2b00-\u2bff]*"
)
_URL = re.compile(r"url\(\s*(?:\"([^\"]*)\"|'([^']*)'|([^)'\"]*))\s*\)", re.IGNORECASE)
_IMPORT = re.compile(r"@import\s+(?:url\()?\s*[\"']?([^\"')\s;]+)", re.IGNORECASE)
_DECLARATION = re.compile(r"([\w-]+)\s*:\s*([^;{}]+)")
_CURVE = re.compile(r"[cCsSqQtTaA]")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SELECTOR_EXTRAS = re.compile(r"[@\\]|--|:\s*(root|hover|not|nth|first|last|before|after|is|where|has)\b")


def references(node: XmlElement) -> Iterator[str]:
    """Targets of `url()` and `@import` in an element's attributes and style sheet."""
    texts = [value for value in node.attrib.values() if "\\" in value or "url(" in value.lower()]
    if _name(node) == "style":
        texts.append(_css(node))
    for text in texts:
        plain = _unescape(text)
        yield from _targets(plain)
        for match in _IMPORT.finditer(plain):
            yield match[1]


def embedded_fault(node: XmlElement, name: str) -> Failure | None:
    """What is wrong with an embedded picture: not a raster, does not decode, too many pixels."""
    href = (node.get("href") or node.get(_XLINK_HREF) or "").strip()
    if name not in ("image", "feImage") or not href.lower().startswith("data:"):
        return None
    if "svg" in href[:40].lower():
        return Failure("unsupported_feature", "lint", "an SVG inside an SVG image")
    try:
        with Image.open(io.BytesIO(_data(href))) as picture:
            if picture.width * picture.height > MAX_EMBEDDED_PIXELS:
                return Failure("too_large", "lint", f"embedded picture of {picture.width} x {picture.height}")
            if getattr(picture, "n_frames", 1) > 1:
                return Failure("unsupported_feature", "lint", "an embedded picture that moves")
            picture.load()
    except Image.DecompressionBombError as error:
        return Failure("too_large", "lint", str(error))
    except (OSError, ValueError, SyntaxError, binascii.Error) as error:
        return Failure("parse", "lint", f"embedded picture: {error}"[:200])
    return None


def browser_reasons(root: XmlElement, families: frozenset[str]) -> tuple[str, ...]:
    """Why cairo would not draw this truly, sorted; empty if it would."""
    found: set[str] = set()
    stretched = _stretched_paints(root)
    for node in root.iter():
        name = _name(node)
        if name and name not in _SAFE_TAGS and node.tag.startswith("{http://www.w3.org/2000/svg}"):
            found.add(name)
        if name == "svg" and node is not root:
            found.add("nested svg")
        if name == "style":
            css = _css(node)
            if _SELECTOR_EXTRAS.search(css):
                found.add("style sheet")
            for block in re.findall(r"\{([^}]*)\}", css):
                found.update(_declared(block, families))
        found.update(_element(node, name, families))
        if stretched and _takes(node, name, stretched):
            found.add("gradient on a curve")
    return tuple(sorted(found))


def _stretched_paints(root: XmlElement) -> frozenset[str]:
    """Ids of gradients that are stretched to the box of what they fill; cairosvg takes too large a box for curves."""
    nodes = {node.get("id"): node for node in root.iter() if _name(node) in ("linearGradient", "radialGradient")}

    def units(node: XmlElement, depth: int = 0) -> str:
        own = node.get("gradientUnits")
        parent = nodes.get((node.get("href") or node.get(_XLINK_HREF) or "")[1:])
        return own or (units(parent, depth + 1) if parent is not None and depth < 20 else "objectBoundingBox")

    return frozenset(name for name, node in nodes.items() if name and units(node) == "objectBoundingBox")


def _takes(node: XmlElement, name: str, stretched: frozenset[str]) -> bool:
    """Whether a curve, or something that may hold one, is painted with one of these."""
    if name in ("rect", "circle", "ellipse", "polygon", "polyline", "line"):
        return False
    if name == "path" and not _CURVE.search(node.get("d", "")):
        return False
    texts = [_css(node)] if name == "style" else [node.get("fill", ""), node.get("stroke", ""), node.get("style", "")]
    return any(target.lstrip("#") in stretched for text in texts for target in _targets(text))


def _targets(text: str) -> Iterator[str]:
    for match in _URL.finditer(text):
        yield (match[1] or match[2] or match[3] or "").strip()


def _element(node: XmlElement, name: str, families: frozenset[str]) -> Iterator[str]:
    for attribute, value in node.attrib.items():
        if attribute == "style":
            yield from _declared(value, families, inline=True)
        elif not attribute.startswith("{"):
            yield from _property(attribute, value, families)
    if name in ("text", "tspan"):
        words = (node.text or "") + "".join(child.tail or "" for child in node)
        if not _PLAIN_TEXT.fullmatch(words):
            yield "script of the text"
        if name == "text" and len(node) and _anchored(node) and not all(_placed(child) for child in node):
            yield "anchored text in pieces"
    elif name == "clipPath":
        if node.get("clipPathUnits") == "objectBoundingBox":
            yield "clip path in box units"
        if len(node) > 1 or any(child.get("clip-path") for child in node.iter()):
            yield "compound clip path"
        if any("evenodd" in child.get("clip-rule", "") + child.get("style", "") for child in node.iter()):
            yield "clip-rule"
    elif name == "marker" and node.get("orient") == "auto-start-reverse":
        yield "marker orientation"


def _anchored(node: XmlElement) -> bool:
    style = node.get("style", "") + "".join(child.get("style", "") for child in node)
    anchors = [node.get("text-anchor", "start"), *(child.get("text-anchor", "start") for child in node)]
    return any(anchor != "start" for anchor in anchors) or "text-anchor" in style


def _placed(child: XmlElement) -> bool:
    """Whether a tspan starts a chunk of its own and nothing follows it."""
    return child.get("x") is not None and not (child.tail or "").strip() and len(child) == 0


def _declared(block: str, families: frozenset[str], inline: bool = False) -> Iterator[str]:
    for name, value in _DECLARATION.findall(block):
        if name in ("transform", "d") or "!" in value:
            yield f"{name} in a style"
        yield from _property(name, value.strip(), families)


def _property(name: str, value: str, families: frozenset[str]) -> Iterator[str]:
    lowered = value.strip().lower()
    if name in _UNSAFE_PROPERTIES and lowered not in _DEFAULTS:
        yield name
    elif name in _COLOURS and not _plain_colour(lowered):
        yield "colour notation"
    elif name in _NUMBERS and not _PLAIN_NUMBER.fullmatch(lowered):
        yield "number notation"
    elif name == "font-family" and not _one_font(value, families):
        yield "font fallback"
    elif name == "font-weight" and lowered not in ("normal", "bold", "400", "700", "inherit"):
        yield "font weight"
    elif name in ("fill", "stroke") and "url(" in lowered and not lowered.endswith(")"):
        yield "paint fallback"
    if "var(" in lowered or "calc(" in lowered or "env(" in lowered:
        yield "css function"


def _one_font(value: str, families: frozenset[str]) -> bool:
    """cairo takes the first family only: fine if that is what a browser would take."""
    wanted = [one.strip().strip("'\"").lower() for one in value.split(",")]
    return wanted[0] in _GENERIC or wanted[0] in families or wanted[0] == "inherit"


@functools.lru_cache(maxsize=4096)
def _plain_colour(value: str) -> bool:
    return bool(_PLAIN_COLOUR.fullmatch(value)) or (value.isalpha() and value in ImageColor.colormap)


def _data(url: str) -> bytes:
    head, _, body = url.partition(",")
    raw = urllib.parse.unquote_to_bytes(body)
    return base64.b64decode(re.sub(rb"\s", b"", raw), validate=True) if ";base64" in head.lower() else raw


def _css(node: XmlElement) -> str:
    return _COMMENT.sub("", "".join(node.itertext()))


def _unescape(css: str) -> str:
    """CSS escapes resolved, so that `u\\72l(` is seen for what it is."""
    return re.sub(r"\\([0-9a-fA-F]{1,6})\s?", lambda match: chr(min(int(match[1], 16), 0xFFFF)), css)


def _name(node: XmlElement) -> str:
    return node.tag.rsplit("}", 1)[-1] if isinstance(node.tag, str) else ""
