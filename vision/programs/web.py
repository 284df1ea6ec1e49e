"""A small writer of HTML: elements as nested calls, a page with its style sheet, indented as a person would.

el("section#prices.grid", el("h2", "Prices"), el("a", "More", href="#more"))
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Union

_INLINE = frozenset(["a", "abbr", "b", "code", "em", "i", "kbd", "mark", "s", "small", "span", "strong", "time"])
_VOID = frozenset(["br", "hr", "img", "input"])
_SELECTOR = re.compile(r"([#.])([\w-]+)")

Child = Union["Node", "Drawn", str, int, float, None, Iterable[Any]]


@dataclass(frozen=True)
class Drawn:
    """Lines of markup that stand inside an element as they are: the inside of a drawing."""

    source: tuple[str, ...]
    inline = False

    def lines(self, depth: int) -> list[str]:
        return ["  " * (depth - 1) + line for line in self.source]


@dataclass(frozen=True)
class Node:
    """One element."""

    tag: str
    attributes: dict[str, Any]
    children: tuple[Node | Drawn | str, ...]

    @property
    def inline(self) -> bool:
        """Whether it is written on one line with its neighbours."""
        return self.tag in _INLINE and all(isinstance(one, str) or one.inline for one in self.children)

    def lines(self, depth: int) -> list[str]:
        """The element's source, indented."""
        pad, head = "  " * depth, f"<{self.tag}{_attributes(self.attributes)}>"
        if self.tag in _VOID:
            return [pad + head]
        flat = [
            _flat(one) for one in self.children if not isinstance(one, Drawn) and (isinstance(one, str) or one.inline)
        ]
        if len(flat) == len(self.children):
            return [f"{pad}{head}{''.join(flat)}</{self.tag}>"]
        body: list[str] = []
        for one in self.children:
            body += (
                ["  " * (depth + 1) + html.escape(one, quote=False)] if isinstance(one, str) else one.lines(depth + 1)
            )
        return [pad + head, *body, f"{pad}</{self.tag}>"]


def el(selector: str, *children: Child, **attributes: Any) -> Node:
    """An element from `tag#id.class`, its children (texts, elements, lists of both) and attributes.

    `class_` and `for_` lose their underscore, others become hyphens; True is an attribute without a value.
    """
    tag = re.split(r"[#.]", selector, maxsplit=1)[0] or "div"
    marks = _SELECTOR.findall(selector)
    found: dict[str, Any] = {}
    ident = next((name for kind, name in marks if kind == "#"), None)
    classes = " ".join(name for kind, name in marks if kind == ".")
    if ident:
        found["id"] = ident
    if classes:
        found["class"] = classes
    for name, value in attributes.items():
        if value is not None and value is not False:
            found[name.rstrip("_").replace("_", "-")] = value
    return Node(tag, found, tuple(_children(children)))


@dataclass(frozen=True)
class Page:
    """A whole page.

    Attributes:
        title: what stands in `<title>`.
        body: children of `<body>`.
        css: style rules, one string with line breaks.
        caption: a true description.
        facts: exact facts, scalars only.
        lang: language of the text.
        direction: `ltr` or `rtl`.
    """

    title: str
    body: list[Node]
    css: str
    caption: str
    facts: dict[str, Any] = field(default_factory=dict)
    lang: str = "en"
    direction: str = "ltr"

    def source(self) -> str:
        """The document's text."""
        rules = style_lines(self.css, _names(self.body))
        root = f'<html lang="{self.lang}"' + (' dir="rtl">' if self.direction == "rtl" else ">")
        head = [
            "<head>",
            '  <meta charset="utf-8">',
            f"  <title>{html.escape(self.title, quote=False)}</title>",
            "  <style>",
        ]
        head += ["    " + rule for rule in rules] + ["  </style>", "</head>"]
        body = [line for node in self.body for line in node.lines(1)]
        return "\n".join(["<!DOCTYPE html>", root, *head, "<body>", *body, "</body>", "</html>"]) + "\n"


def style_lines(css: str, used: set[str]) -> list[str]:
    """The style sheet, one rule a selector and one declaration a line, without rules for what the page lacks.

    Args:
        css: the rules.
        used: tags, `.classes` and `#ids` of the page.
    """
    rules: dict[str, dict[str, str]] = {}
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", css):
        kept = [one for one in (" ".join(each.split()) for each in selectors.split(",")) if _applies(one, used)]
        declarations = [one.split(":", 1) for one in body.split(";") if one.strip()]
        if not kept or not declarations:
            continue
        rule = rules.setdefault(", ".join(kept), {})
        for name, value in declarations:
            rule.pop(name.strip(), None)  # the later one counts, and counts from its place
            rule[name.strip()] = " ".join(value.split())
    lines: list[str] = []
    for selector, rule in rules.items():
        lines += [f"{selector} {{", *(f"  {name}: {value};" for name, value in rule.items()), "}"]
    return lines


def _applies(selector: str, used: set[str]) -> bool:
    """Whether the page has the classes, ids and (for a lone tag) the tag that a selector names."""
    selector = re.sub(r":not\([^)]*\)", "", selector)
    if selector.isalnum() and selector not in ("html", "body"):
        return selector in used
    return all(mark + name in used for mark, name in _SELECTOR.findall(selector))


def _names(nodes: Iterable[Node | Drawn | str]) -> set[str]:
    """Tags, `.classes` and `#ids` in the nodes and below."""
    found: set[str] = set()
    for one in nodes:
        if isinstance(one, Node):
            found.add(one.tag)
            found.update(f".{name}" for name in str(one.attributes.get("class", "")).split())
            found.add(f"#{one.attributes['id']}" if "id" in one.attributes else one.tag)
            found |= _names(one.children)
    return found


def _children(children: Iterable[Any]) -> list[Node | Drawn | str]:
    found: list[Node | Drawn | str] = []
    for one in children:
        if one is None:
            continue
        if isinstance(one, (Node, Drawn)):
            found.append(one)
        elif isinstance(one, (str, int, float)):
            found.append(str(one))
        else:
            found += _children(one)
    return found


def _attributes(attributes: dict[str, Any]) -> str:
    return "".join(
        f" {name}" if value is True else f' {name}="{html.escape(str(value))}"' for name, value in attributes.items()
    )


def _flat(one: Node | Drawn | str) -> str:
    if isinstance(one, str):
        return html.escape(one, quote=False)
    if isinstance(one, Drawn):
        return "".join(line.strip() for line in one.source)
    return f"<{one.tag}{_attributes(one.attributes)}>{''.join(_flat(child) for child in one.children)}</{one.tag}>"
