"""A chunk as the rules see it: paragraphs of statements, among headings, lists, code and tables that stay whole."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..verify.sentences import sentences
from .masks import HIDDEN, Mask, has_masks
from .phrases import Draw, opened

LONGEST = 12_000  # characters: a chunk is a twelfth of it; what is longer has to be cut first
_LEAST_LETTERS = 0.55
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]) +")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffd\ud800-\udfff]")
_LETTERS = re.compile(r"[A-Za-z]+")
_ENGLISH = frozenset(
    str.split("the a of to is in and that for are it be with as by on this or an from which can not if at used when")
)
_LABELLED = re.compile(
    rf"(?:^|[\s(])[\w.*{HIDDEN[1:-1]}]+(?: {HIDDEN})?: \S.*\s[\w.*{HIDDEN[1:-1]}]+(?: {HIDDEN})?: "
    rf"|^[A-Z][\w ]{{2,14}}: |^\S+ {HIDDEN}: |\b(?:Args|Arguments|Returns|Parameters|Note): "
)
_INNER = re.compile(r"\w\. \S")  # two sentences that were not told apart
_STARTS = re.compile(rf"[A-Z]|{HIDDEN}|[0-9]")


class Statement(NamedTuple):
    """A sentence: its words without the mark that ends it, the mark, and whether rules may work on it."""

    body: str
    end: str
    free: bool

    @property
    def text(self) -> str:
        return self.body + self.end


class Paragraph(NamedTuple):
    """Statements that stand together. `kind`: prose, item (of a list), or whole (heading, code, table: kept)."""

    kind: str
    statements: tuple[Statement, ...]
    raw: str = ""


class Passage(NamedTuple):
    """A chunk, with what stands behind the hidden letters of its statements."""

    source: str
    mask: Mask
    paragraphs: tuple[Paragraph, ...]

    def statements(self) -> list[Statement]:
        """Those that rules may work on, in order, each once."""
        return list(dict.fromkeys(one for paragraph in self.paragraphs for one in paragraph.statements if one.free))


def read(source: str) -> Passage | None:
    """Read a chunk. None: not English prose, broken, or longer than a chunk can be."""
    if not 40 <= len(source) <= LONGEST or has_masks(source) or _CONTROL.search(source):
        return None
    fences: list[str] = []

    def apart(one: re.Match[str]) -> str:
        fences.append(one[0])
        return f"\n\n\x00{len(fences) - 1}\n\n"

    plain = _FENCE.sub(apart, source)
    mask = Mask(plain)
    words = _LETTERS.findall(mask.text)
    small = sum(word.lower() in _ENGLISH for word in words)
    dense = sum(map(len, words)) + mask.text.count(" ")
    if len(words) < 12 or small < 0.12 * len(words) or dense < _LEAST_LETTERS * len(mask.text):
        return None
    paragraphs = []
    for block in _BLANK.split(mask.text.strip()):
        if block.startswith("\x00"):
            paragraphs.append(Paragraph("whole", (), fences[int(block[1:])]))
        elif block.strip():
            paragraphs += _paragraphs(block, mask)
    passage = Passage(source, mask, tuple(paragraphs))
    return None if _untidy(passage) else passage


def _paragraphs(block: str, mask: Mask) -> list[Paragraph]:
    lines = block.split("\n")
    if (
        block.lstrip().startswith(("#", "|", ">"))
        or any(line.startswith("    ") for line in lines[:1])
        or re.search(r"^\s*\|.*\|\s*$|^[-=~^]{3,}$", block, re.M)
    ):
        return [Paragraph("whole", (), block)]
    if not any(_ITEM.match(line) for line in lines):
        return [Paragraph("prose", _statements(block))]
    found: list[list[str]] = []
    for line in lines:
        if _ITEM.match(line) or not found:
            found.append([line])
        else:
            found[-1].append(line)
    return [
        Paragraph("item", _statements(_ITEM.sub("", "\n".join(item), count=1)), (_ITEM.match(item[0]) or ("",))[0])
        if _ITEM.match(item[0]) else Paragraph("prose", _statements("\n".join(item)))
        for item in found
    ]  # fmt: skip


def _statements(text: str) -> tuple[Statement, ...]:
    text = " ".join(text.split())
    found = []
    for span in sentences(text):
        written = text[span.start : span.end]
        body, end = (written[:-1].rstrip(), written[-1]) if written[-1] in ".?!:" else (written, "")
        free = end == "." and len(body.split()) > 2 and _STARTS.match(body) is not None and not (
            _LABELLED.search(body) or _INNER.search(body)
        )  # fmt: skip
        found.append(Statement(opened(body) if free else body, end, free))
    return tuple(found)


def _untidy(passage: Passage) -> bool:
    """Whether labels and numbers of a list, or of a table of arguments, stand in the middle of the text: its
    structure is lost."""
    bodies = [statement.body for paragraph in passage.paragraphs for statement in paragraph.statements]
    return sum(_LABELLED.search(body) is not None for body in bodies) > 1 or any(
        body.isdigit() or ": - " in body for body in bodies
    )


def letters(text: str) -> list[str]:
    """The hidden letters of a text, sorted: two texts that hide the same have the same."""
    return sorted(re.findall(HIDDEN, text))


_TOKEN = re.compile(r"\$\$.+?\$\$|\$(?=[^\s\d\"'])[^$\n]+\$|`[^`\n]+`|\w+", re.DOTALL)
_MARKS = re.compile(r"^\s*(?:\d{1,3}[.)]|[-*+]) ", re.MULTILINE)


def copied(source: str, text: str) -> float:
    """About which share of the text's runs of eight words stand in the source."""
    theirs, mine = _runs(source), _runs(text)
    known = set(theirs)
    return sum(run in known for run in mine) / len(mine) if mine else 0.0


def _runs(text: str) -> list[tuple[str, ...]]:
    words = _TOKEN.findall(_MARKS.sub("", text.lower()))
    return list(zip(*(words[at:] for at in range(8)), strict=False))


def drawn(source: str, style: str, seed: int) -> Draw:
    """The generator of a rewrite: the same for the same text, style and seed on every machine."""
    draw = Draw(f"{seed}\x00{style}\x00{source}")
    draw.source = source.lower()
    return draw
