"""HTML to text that keeps its structure: headings, lists, tables, code blocks, and mathematics as LaTeX.

The output is Markdown in spirit: `#` before headings, fences round code, `|` between table cells, `$` round formulas.
What is not the document's own content is left out: scripts, navigation, headers and footers of generators (Sphinx,
DocBook, rustdoc, Javadoc and pages marked up with HTML 5 or ARIA landmarks).

A walk over the parse tree of lexbor (through selectolax) in one pass. `blocks` returns paragraphs, already wrapped in
their structure; `inline` returns running text with its white space collapsed.
"""

from __future__ import annotations

import re
from typing import Any

from selectolax.lexbor import LexborHTMLParser


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DROPPED = _words(
    "script style noscript template nav footer button form select input textarea svg canvas iframe object audio video "
    "head title link meta dialog menu"
)
_DROPPED_CLASSES = _words(
    "headerlink navheader navfooter related sphinxsidebar sidebar breadcrumb breadcrumbs toc toctree-wrapper "
    "footer site-footer viewcode-link viewcode-back anchor permalink prev-next-area bd-sidebar bd-toc skip-link "
    "cookie-banner advertisement printfooter mw-editsection noprint copybtn nav-wrapper nav-chapters "
    "sub-logo-container out-of-band source-link srclink notebook-badge search-form top-nav bottomNav topNav subNav"
)
_DROPPED_ROLES = frozenset({"navigation", "search", "banner", "contentinfo", "complementary"})
_DROPPED_IDS = frozenset({"searchbox", "sidebar", "footer", "toc", "navbar", "breadcrumbs", "table-of-contents"})
_MAIN = "main", "[role=main]", "article", "div.body", "div.document", "#main-content", "#content"
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS = _words(
    "address article aside blockquote body center dd details div dl dt fieldset figure figcaption h1 h2 h3 h4 h5 h6 "
    "header hgroup hr html li main ol p pre section summary table ul"
)
_CODE = frozenset({"code", "tt", "kbd", "samp"})
_SPACE = re.compile(r"[ \t\r\n\f\u00a0]+")
_LANGUAGE = re.compile(r"(?:^|\s)(?:highlight|language|brush:|lang)[-\s:]*([a-z0-9+#]+)")
_MATH = re.compile(r"^\s*(\\\((?P<inline>.*)\\\)|\\\[(?P<display>.*)\\\])\s*$", re.DOTALL)
_PLAIN = frozenset({"default", "none", "text", "notranslate", "nohighlight"})
_ANCHORS = frozenset({"¶", "§", "#"})  # links that name the place they stand at
_BREAK = "\x00"  # stands for <br> until white space has been collapsed
_MAX_DEPTH = 150


class TooDeep(ValueError):
    """Elements are nested so deeply that no person wrote them."""


def to_text(html: str) -> tuple[str, str]:
    """The document's text and its title.

    Raises:
        TooDeep: more than 150 levels of nesting.
    """
    tree = LexborHTMLParser(html)
    title = tree.css_first("title")
    body = tree.body
    name = _squeeze(title.text()) if title else ""
    if body is None:
        return "", name
    found = _blocks(_main(tree) or body, 0)
    if found and name and not any(block.startswith("#") for block in found):
        found.insert(0, f"# {name}")
    return "\n\n".join(found) + "\n" if found else "", name


def _main(tree: LexborHTMLParser) -> Any:
    """The element that says it is the main content, if it holds more than crumbs of the page."""
    for selector in _MAIN:
        found = tree.css(selector)
        if len(found) == 1 and len(found[0].text(strip=True)) > 100:
            return found[0]
    return None


def _blocks(node: Any, depth: int) -> list[str]:
    """The blocks inside a node, in order; text between them is a paragraph of its own."""
    if depth > _MAX_DEPTH:
        raise TooDeep(f"elements nested more than {_MAX_DEPTH} deep")
    found: list[str] = []
    running: list[str] = []

    def end_paragraph() -> None:
        if text := _finish("".join(running)):
            found.append(text)
        running.clear()

    for child in node.iter(include_text=True):
        tag = child.tag
        if tag == "-text":
            running.append(child.text_content)
        elif tag in _BLOCKS or (tag not in _DROPPED and tag not in _CODE and _holds_blocks(child)):
            end_paragraph()
            if not _dropped(child, tag):
                found += _block(child, tag, depth + 1)
        else:
            running.append(_element(child, tag, depth + 1))
    end_paragraph()
    return found


def _block(node: Any, tag: str, depth: int) -> list[str]:
    if tag in _HEADINGS:
        text = _finish(_inline(node, depth)).replace("\n", " ")
        return [f"{_HEADINGS[tag]} {text}"] if text else []
    if tag == "pre":
        return _preformatted(node)
    if tag in ("ul", "ol"):
        return _list(node, tag, depth)
    if tag == "dl":
        return _definitions(node, depth)
    if tag == "table":
        return _table(node, depth)
    if tag == "blockquote":
        return ["\n".join(f"> {line}".rstrip() for line in "\n\n".join(_blocks(node, depth)).split("\n"))]
    if tag == "div" and (formula := _formula(node)):
        return [formula]
    if tag in ("div", "aside", "dl") and "footnote" in (node.attributes.get("class") or "").split():
        return [" ".join(_blocks(node, depth))]
    if tag == "p" and "rubric" in (node.attributes.get("class") or "").split():  # Sphinx's heading inside a docstring
        return [f"#### {_finish(_inline(node, depth))}"]
    return _blocks(node, depth)


def _dropped(node: Any, tag: str) -> bool:
    if tag in _DROPPED:
        return True
    facts = node.attributes
    if not facts:
        return False
    if names := facts.get("class"):
        if not _DROPPED_CLASSES.isdisjoint(names.split()):
            return True
        if tag == "img" and "math" in names.split():
            return False
    return facts.get("role") in _DROPPED_ROLES or facts.get("id") in _DROPPED_IDS or "hidden" in facts


def _holds_blocks(node: Any) -> bool:
    """An inline element such as <a> or <span> round whole paragraphs is a container."""
    return any(child.tag in _BLOCKS for child in node.iter())


def _inline(node: Any, depth: int) -> str:
    if depth > _MAX_DEPTH:
        raise TooDeep(f"elements nested more than {_MAX_DEPTH} deep")
    return "".join(
        child.text_content if child.tag == "-text" else _element(child, child.tag, depth + 1)
        for child in node.iter(include_text=True)
    )


def _element(node: Any, tag: str, depth: int) -> str:
    """The text of an inline element, white space not yet collapsed."""
    if tag == "br":
        return _BREAK
    if tag == "script":
        return _script(node)
    if tag == "math":
        return _mathml(node)
    if tag is None or tag.startswith("-") or _dropped(node, tag):
        return ""
    if tag == "img":
        return _image(node)
    if tag in _CODE:
        code = _squeeze(node.text())
        return f"`{code}`" if code and "`" not in code else code
    if tag in ("sub", "sup"):
        return _script_position(node, "_" if tag == "sub" else "^", depth)
    if tag in ("span", "code") and (names := node.attributes.get("class")):
        if formula := _formula(node):
            return formula
        if "classifier" in names.split():  # the type of a parameter, which style sheets set apart
            return f" : {_inline(node, depth)}"
    if tag == "a" and node.text(strip=True) in _ANCHORS:
        return ""
    if tag in _BLOCKS:
        return " " + " ".join(_block(node, tag, depth)) + " "
    return _inline(node, depth)


def _script_position(node: Any, mark: str, depth: int) -> str:
    text = _squeeze(_inline(node, depth))
    if not text or text.startswith("[") or node.css_first("a") is not None:  # a footnote's mark
        return f" {text}" if text else ""
    return f"{mark}{text}" if len(text) == 1 else f"{mark}{{{text}}}"


def _formula(node: Any) -> str:
    """LaTeX of an element of class `math`, as Sphinx with MathJax writes it."""
    names = node.attributes.get("class") or ""
    if "math" not in names.split():
        return ""
    match = _MATH.match(node.text())
    if not match:
        bare = node.text().strip()
        return f"$$\n{bare}\n$$" if bare.startswith("\\begin{") else ""
    return f"${match['inline'].strip()}$" if match["inline"] is not None else f"$${match['display'].strip()}$$"


def _script(node: Any) -> str:
    kind = node.attributes.get("type") or ""
    if not kind.startswith("math/tex"):
        return ""
    latex = node.text().strip()
    return f"$${latex}$$" if "display" in kind else f"${latex}$"


def _mathml(node: Any) -> str:
    """The LaTeX that a MathML formula carries (annotation or `alttext`), else its symbols."""
    note = node.css_first('annotation[encoding="application/x-tex"]')
    latex = note.text() if note else node.attributes.get("alttext")
    if not latex:
        return " ".join(node.text(separator=" ").split())
    return f"$${latex.strip()}$$" if node.attributes.get("display") == "block" else f"${latex.strip()}$"


def _image(node: Any) -> str:
    facts = node.attributes
    if "math" in (facts.get("class") or "").split() and facts.get("alt"):
        return f"${_squeeze(facts['alt'] or '')}$"
    return ""


def _preformatted(node: Any) -> list[str]:
    for br in node.css("br"):
        br.replace_with("\n")
    code = node.text().replace("\r\n", "\n").strip("\n")
    code = "\n".join(line.rstrip() for line in code.split("\n"))
    if not code.strip():
        return []
    fence = "```" if "```" not in code else "````"
    return [f"{fence}{_language(node)}\n{code}\n{fence}"]


def _language(node: Any) -> str:
    """The language a highlighter names in a class of the block or of one of the two elements round it."""
    at = node
    for _ in range(3):
        if at is None:
            break
        match = _LANGUAGE.search(at.attributes.get("class") or "")
        if match and match[1] not in _PLAIN:
            return "python" if match[1] in ("python3", "ipython3", "pycon3", "pycon") else match[1]
        at = at.parent
    inner = node.css_first("code")
    match = _LANGUAGE.search(inner.attributes.get("class") or "") if inner else None
    return match[1] if match and match[1] not in _PLAIN else ""


def _list(node: Any, tag: str, depth: int) -> list[str]:
    items, number = [], 0
    for child in node.iter():
        if child.tag != "li":
            if child.tag in ("ul", "ol"):  # a list put straight into a list
                items += _list(child, child.tag, depth + 1)
            continue
        if _dropped(child, "li"):
            continue
        inside = _blocks(child, depth + 1)
        if inside:
            number += 1
            mark = f"{number}. " if tag == "ol" else "- "
            items.append(mark + _indent(_join(inside), len(mark)))
    return [_join(items)] if items else []


def _definitions(node: Any, depth: int) -> list[str]:
    found: list[str] = []
    for child in node.iter():
        if _dropped(child, child.tag):
            continue
        if child.tag == "dt":
            text = _finish(_inline(child, depth + 1)).replace("\n", " ")
            if text:
                found.append(text)
        elif child.tag == "dd":
            inside = _blocks(child, depth + 1)
            if not inside:
                continue
            text = "    " + _indent("\n\n".join(inside), 4)
            if found and "\n" not in found[-1] and not found[-1].startswith(" "):
                found[-1] += "\n" + text
            else:
                found.append(text)
        elif child.tag == "div":  # HTML 5 allows groups
            found += _definitions(child, depth + 1)
    return found


def _table(node: Any, depth: int) -> list[str]:
    """Rows with `|` between their cells. A table that only lays out the page becomes the blocks in its cells."""
    rows = [row for row in node.css("tr") if _owner(row) == node.mem_id]
    cells = [[cell for cell in row.iter() if cell.tag in ("td", "th")] for row in rows]
    cells = [row for row in cells if row]
    if not cells:
        return []
    if max(map(len, cells)) == 1 or node.css_first("td table, td pre, td ul, td h2, td h3") is not None:
        return [block for row in cells for cell in row for block in _blocks(cell, depth + 1)]
    found = []
    caption = node.css_first("caption")
    if caption is not None and (text := _finish(_inline(caption, depth + 1))):
        found.append(text)
    width = max(map(len, cells))
    lines = []
    for row in cells:
        texts = [_finish(_inline(cell, depth + 1)).replace("\n", " ").replace("|", "\\|") for cell in row]
        lines.append(" | ".join(texts + [""] * (width - len(texts))).strip())
    if all(cell.tag == "th" for cell in cells[0]):
        lines.insert(1, " | ".join(["---"] * width))
    found.append("\n".join(line for line in lines if line.strip("| ")))
    return [one for one in found if one]


def _owner(row: Any) -> int | None:
    at = row.parent
    while at is not None and at.tag != "table":
        at = at.parent
    return at.mem_id if at is not None else None


def _join(parts: list[str]) -> str:
    """Short parts close together, parts of several paragraphs with a blank line between."""
    return ("\n\n" if any("\n\n" in one or "```" in one for one in parts) else "\n").join(parts)


def _indent(text: str, by: int) -> str:
    lines = text.split("\n")
    return "\n".join([lines[0], *((" " * by + line) if line else "" for line in lines[1:])])


def _squeeze(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _finish(text: str) -> str:
    """Running text with its white space collapsed and its line breaks in place."""
    text = _SPACE.sub(" ", text)
    if _BREAK in text:
        return "\n".join(line.strip() for line in text.split(_BREAK)).strip("\n ")
    return text.strip()
