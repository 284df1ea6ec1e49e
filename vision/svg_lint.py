"""Looks at an SVG before anything draws it: refuses what is unsafe, normalises the root, decides who may draw it.

The root is rewritten once, in the text itself: namespaces declared, a viewBox, and a size in whole pixels that keeps
the aspect. That text is what is drawn and what the sample stores. Nothing else is touched.

Nothing outside the file is ever needed: references are `#fragment` or `data:`, entities and style sheets from
elsewhere are refused. Budgets bound what a small file can grow into (nested `use`, patterns, long paths).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element as XmlElement
from xml.etree.ElementTree import ParseError
from xml.parsers import expat

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from .svg_features import browser_reasons, embedded_fault, references
from .types import Failure, RenderSpec

MAX_NODES = 20_000
MAX_DEPTH = 160
MAX_NUMBERS = 150_000
MAX_BYTES = 8 << 20

SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}"
_UNITS = {
    "": 1.0,
    "px": 1.0,
    "pt": 4 / 3,
    "pc": 16.0,
    "mm": 96 / 25.4,
    "cm": 96 / 2.54,
    "in": 96.0,
    "em": 16.0,
    "ex": 8.0,
}
_LENGTH = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(px|pt|pc|mm|cm|in|em|ex|)\s*")
_ATTRIBUTE = re.compile(r"""\s([A-Za-z_][\w:.-]*)\s*=\s*("[^"]*"|'[^']*')""")
_ROOT_TAG = re.compile(r"""<(?:[^>"']|"[^"]*"|'[^']*')*>""")
_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")
_SIZE_IN_STYLE = re.compile(
    r"(?:^|(?<=;))\s*(?:max-|min-)?(?:width|height|transform|zoom|margin|padding|position)\s*:[^;]*;?"
)

_MOVING = {"animate", "animateTransform", "animateMotion", "animateColor", "set", "discard"}
_FORBIDDEN = {
    "script",
    "iframe",
    "object",
    "embed",
    "video",
    "audio",
    "link",
    "meta",
    "base",
    "form",
    "handler",
    "frame",
}


@dataclass(frozen=True)
class Document:
    """An SVG that may be drawn.

    Attributes:
        text: the normalised source.
        root: its tree.
        width, height: the picture's size in pixels.
        browser: why only the browser draws it truly; empty if cairo does too.
    """

    text: str
    root: XmlElement
    width: int
    height: int
    browser: tuple[str, ...]


def examine(program: str, spec: RenderSpec, families: frozenset[str]) -> Document | Failure:
    """Check and normalise `program`; `families` are the installed font families in lower case."""
    if not program.strip():
        return Failure("empty", "lint", "nothing in it")
    if "\x00" in program:
        return Failure("encoding", "lint", "contains NUL characters")
    if len(program) > MAX_BYTES:
        return Failure("too_large", "lint", f"{len(program)} characters, at most {MAX_BYTES}")
    try:
        body = _without_prologue(program.lstrip("\ufeff \t\r\n").encode())
        sized = _normalise_root(body, spec)
        if isinstance(sized, Failure):
            return sized
        text, width, height = sized
        root = fromstring(text.encode())
    except UnicodeEncodeError as error:
        return Failure("encoding", "lint", f"lone surrogate at {error.start}")
    except _Refused as error:
        return Failure("forbidden", "lint", str(error))
    except DefusedXmlException as error:
        return Failure("forbidden", "lint", type(error).__name__)
    except (expat.ExpatError, ParseError) as error:
        return Failure("parse", "lint", str(error))
    if root.tag != f"{SVG}svg":
        return Failure("parse", "lint", f"the root is <{root.tag}>, not <svg>")
    fault = _walk(root) or _expansion(root)
    if fault:
        return fault
    return Document(text, root, width, height, browser_reasons(root, families))


class _Refused(Exception):
    pass


def _without_prologue(data: bytes) -> str:
    """The root element's text, without XML declaration and document type; refuses entities and style sheets."""
    parser = expat.ParserCreate()
    start = -1

    def element(name: str, attributes: dict[str, str]) -> None:
        nonlocal start
        if start < 0:
            start = parser.CurrentByteIndex

    def entity(name: str, *rest: object) -> None:
        raise _Refused(f"declares the entity {name!r}")

    def instruction(target: str, content: str) -> None:
        if target == "xml-stylesheet":
            raise _Refused("style sheet from outside")

    parser.StartElementHandler = element
    parser.EntityDeclHandler = entity
    parser.ProcessingInstructionHandler = instruction
    # The text is decoded already: whatever encoding the declaration names, these bytes are UTF-8.
    body = re.sub(rb"^<\?xml\s[^>]*\?>", b"", data)
    parser.Parse(body, True)
    return body[start:].decode()


def _normalise_root(text: str, spec: RenderSpec) -> tuple[str, int, int] | Failure:
    """The text with a complete root tag, and the picture's size."""
    match = _ROOT_TAG.match(text)
    if not match:
        return Failure("parse", "lint", "no root element")
    tag = match[0]
    attributes = {name: value[1:-1] for name, value in _ATTRIBUTE.findall(tag)}
    box = _view_box(attributes.get("viewBox"))
    width, height = (_pixels(attributes.get(side)) for side in ("width", "height"))
    if isinstance(box, Failure):
        return box
    if box is None:
        if not width or not height:
            return Failure("invalid_geometry", "lint", "neither a viewBox nor a width and height")
        box = (0.0, 0.0, width, height)
    width, height = (
        width or (height * box[2] / box[3] if height else box[2]),
        height or (width * box[3] / box[2] if width else box[3]),
    )
    if not (0 < width < 1e7 and 0 < height < 1e7) or not 0.02 <= width / height <= 50:
        return Failure("invalid_geometry", "lint", f"a picture of {width:g} x {height:g}")
    scale = min(spec.width / width, spec.height / height)
    pixels = max(1, round(width * scale)), max(1, round(height * scale))
    wanted = {"width": str(pixels[0]), "height": str(pixels[1])}
    if "viewBox" not in attributes:
        wanted["viewBox"] = " ".join(f"{side:g}" for side in box)
    if ":" not in tag[: len(tag.split(None, 1)[0])] and "xmlns" not in attributes:
        wanted["xmlns"] = SVG[1:-1]
    if "xlink:" in text and "xmlns:xlink" not in text:
        wanted["xmlns:xlink"] = XLINK[1:-1]
    if "style" in attributes and (kept := _SIZE_IN_STYLE.sub("", attributes["style"])) != attributes["style"]:
        wanted["style"] = kept
    return _with_attributes(tag, wanted) + text[match.end() :], *pixels


def _with_attributes(tag: str, wanted: dict[str, str]) -> str:
    for name, value in wanted.items():
        quoted = f' {name}="{value}"' if '"' not in value else f" {name}='{value}'"
        present = re.search(rf"""\s{re.escape(name)}\s*=\s*("[^"]*"|'[^']*')""", tag)
        if present:
            tag = tag[: present.start()] + quoted + tag[present.end() :]
        else:
            end = len(tag) - (2 if tag.endswith("/>") else 1)
            tag = tag[:end].rstrip() + quoted + tag[end:]
    return tag


def _pixels(length: str | None) -> float | None:
    """A length in pixels; None without one, or for percentages, which refer to a page that is not there."""
    match = _LENGTH.fullmatch(length or "")
    return float(match[1]) * _UNITS[match[2]] if match else None


def _view_box(value: str | None) -> tuple[float, float, float, float] | Failure | None:
    if value is None:
        return None
    try:
        x, y, width, height = (float(part) for part in re.split(r"[\s,]+", value.strip()))
    except ValueError:
        return Failure("invalid_geometry", "lint", f"viewBox {value[:60]!r}")
    if not all(map(math.isfinite, (x, y, width, height))) or width <= 0 or height <= 0 or max(abs(x), abs(y)) > 1e9:
        return Failure("invalid_geometry", "lint", f"viewBox {value[:60]!r}")
    return x, y, width, height


def _walk(root: XmlElement) -> Failure | None:
    """Policy and budgets, element by element."""
    nodes = numbers = 0
    stack = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if nodes > MAX_NODES:
            return Failure("too_large", "lint", f"more than {MAX_NODES} elements")
        if depth > MAX_DEPTH:
            return Failure("too_large", "lint", f"nested deeper than {MAX_DEPTH}")
        name = local_name(node)
        if name in _FORBIDDEN:
            return Failure("forbidden", "lint", f"<{name}>")
        if name in _MOVING:
            return Failure("unsupported_feature", "lint", f"moves: <{name}>")
        fault = _references(node, name) or embedded_fault(node, name)
        if fault:
            return fault
        for attribute in ("d", "points", "values", "tableValues", "stroke-dasharray"):
            numbers += len(_NUMBER.findall(node.get(attribute, "")))
        if numbers > MAX_NUMBERS:
            return Failure("too_large", "lint", f"more than {MAX_NUMBERS} numbers in paths")
        stack.extend((child, depth + 1) for child in node)
    return None


def _references(node: XmlElement, name: str) -> Failure | None:
    """Refuse handlers and whatever would be fetched from outside."""
    for attribute, value in node.attrib.items():
        plain = attribute.rsplit("}", 1)[-1]
        if plain.lower().startswith("on"):
            return Failure("forbidden", "lint", f"event handler {plain}")
        target = value.strip().lower()
        if "javascript:" in re.sub(r"[\s\x00-\x20]", "", target)[:200]:
            return Failure("forbidden", "lint", f"script in {plain}")
        # What a link points at is not fetched; everything else that is referenced is.
        if (
            plain in ("href", "src", "srcset", "data", "poster", "action")
            and name != "a"
            and not target.startswith(("#", "data:"))
        ):
            return Failure("forbidden", "lint", f"refers to {value.strip()[:80]!r}")
    for target in references(node):
        if not target.startswith(("#", "data:")):
            return Failure("forbidden", "lint", f"refers to {target[:80]!r}")
    return None


def _expansion(root: XmlElement) -> Failure | None:
    """Refuse what grows past the node budget, or for ever, once references are followed."""
    by_id: dict[str, XmlElement] = {}
    for node in root.iter():
        by_id.setdefault(node.get("id", ""), node)  # of several with one id the first counts
    weights: dict[int, int] = {}
    open_nodes: set[int] = set()
    stack: list[tuple[XmlElement, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        below = list(node) + [by_id[target] for target in _internal(node) if target and target in by_id]
        if done:
            open_nodes.discard(id(node))
            weights[id(node)] = 1 + sum(weights.get(id(one), 0) for one in below)
            if weights[id(node)] > MAX_NODES:
                return Failure("too_large", "lint", f"references expand to more than {MAX_NODES} elements")
        elif id(node) in open_nodes:
            return Failure("invalid_geometry", "lint", f"{local_name(node)} {node.get('id', '')!r} refers to itself")
        elif id(node) not in weights:
            open_nodes.add(id(node))
            stack.append((node, True))
            stack.extend((one, False) for one in below if id(one) not in weights)
    return None


def _internal(node: XmlElement) -> list[str]:
    """Ids that an element draws again."""
    href = node.get("href") or node.get(f"{XLINK}href") or ""
    found = [href[1:]] if href.startswith("#") and local_name(node) != "a" else []
    return found + [target[1:] for target in references(node) if target.startswith("#")]


def local_name(node: XmlElement) -> str:
    """Tag without namespace; "" for comments and instructions."""
    return node.tag.rsplit("}", 1)[-1] if isinstance(node.tag, str) else ""
