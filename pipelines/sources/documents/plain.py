"""Formats that are text already: plain text, Markdown, reStructuredText and source code as they are, Info unfolded."""

from __future__ import annotations

import re

_NODE = re.compile(r"^File: [^\n]*Node: [^\n]*\n?", re.MULTILINE)
_TABLES = re.compile(r"\n?\x1f\x0c?\n(?:Tag Table|Indirect|Local Variables|End Tag Table)[\s\S]*", re.IGNORECASE)
_MENU = re.compile(r"^\* Menu:[^\n]*\n(?:(?:\* [^\n]*|[ \t]+[^\n]*|[^\n*][^\n]*|)\n)*?(?=\x1f|\Z)", re.MULTILINE)
_REFERENCE = re.compile(r"\*([Nn])ote\s+([^:]+?)(?:::|:\s*([^.,\t\n]+)(?=[.,\t\n]))", re.DOTALL)
_UNDERLINED = re.compile(r"^(?P<title>\S[^\n]*)\n(?P<line>\*{3,}|={3,}|-{3,}|\.{3,})\n", re.MULTILINE)
_LEVEL = {"*": "#", "=": "##", "-": "###", ".": "####"}
_START = re.compile(r"^START-INFO-DIR-ENTRY[\s\S]*?END-INFO-DIR-ENTRY\n?", re.MULTILINE)


def text(source: str) -> str:
    """Unix line ends, no form feeds, no white space at line ends."""
    source = source.replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n")
    return "\n".join(line.rstrip() for line in source.split("\n")).strip("\n") + "\n" if source.strip() else ""


def info(source: str) -> str:
    """The pages of an Info file in order, without navigation lines, menus and tables of nodes."""
    source = _TABLES.sub("", source.replace("\r\n", "\n"))
    source = _START.sub("", source)
    source = _MENU.sub("", source)
    source = _NODE.sub("", source)
    source = _REFERENCE.sub(lambda found: f"{'See' if found[1] == 'N' else 'see'} {' '.join(found[2].split())}", source)
    source = _UNDERLINED.sub(lambda found: f"{_LEVEL[found['line'][0]]} {found['title']}\n", source)
    return re.sub(r"\n{3,}", "\n\n", text(source.replace("\x1f", "\n")))
