"""Metamath databases (set.mm): each section one record, its theorems with hypotheses, statement and what proves them.

A compressed proof is a string of letters that nobody reads. It begins with the list of the statements it uses, and that
list is kept: it makes the database a graph of lemmas. Who contributed what when is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar, Literal

from ...record import new_record
from ...stage import Context, Input, InvalidInput, Item, Slice
from ...store import open_store
from ..files import InputChanged
from ..folder import Folder
from .places import Placed, credit_of

_HEADER = re.compile(
    rb"\$\(\s*\n[ \t]*(?P<line>#{20,}|(?:#\*){10,}#?|(?:=-){10,}=?|(?:-\.){10,}-?)[ \t]*\n"
    rb"(?P<title>[\s\S]{1,400}?)\n[ \t]*(?P=line)[ \t]*\n"
)
_LEVELS = {b"#": "#", b"#*": "##", b"=-": "###", b"-.": "####"}
_TOKENS = re.compile(
    r"\$\((?P<comment>[\s\S]*?)\$\)"
    r"|(?P<open>\$\{)|(?P<close>\$\})"
    r"|(?P<label>[^\s$]+)\s+\$(?P<kind>[aefp])\s(?P<body>[\s\S]*?)\$\."
    r"|\$(?P<declaration>[cvd])\s(?P<names>[\s\S]*?)\$\."
)
_PROOF = re.compile(r"\$=\s*(?:\((?P<used>[^)]*)\))?")
_CREDIT = re.compile(r"\s*\((?:Contributed|Revised|Proof shortened|Proof revised|Revision)\s+by\s"
                     r"[^()]*(?:\([^()]*\)[^()]*)*\)"
                     r"|\s*\((?:New usage is|Proof modification is) discouraged\.\)")  # fmt: skip
_KIND = {"a": "Axiom", "p": "Theorem"}


class Metamath(Placed):
    """Each section of the databases becomes one record; places, licence and the rest as in `Placed`.

    Attributes:
        glob: which `.mm` files; default: all.
        kind, domain: default: `text` of maths.
        formulas: `plain`, or `code`: labels and formulas between back-quotes, so that what reads Markdown, such as the
            checks of rewrites, takes each for one word.
    """

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"glob", "exclude", "root"})

    domain: str = "maths"
    formulas: Literal["plain", "code"] = "plain"

    def semantic(self) -> dict[str, Any]:
        told = super().semantic()
        if self.formulas == "plain":  # which it was before there was a choice
            del told["formulas"]
        return told

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        folder = self.folder(context)
        size = unit_items or 100
        for file in self.matching(folder, context, ["**/*.mm"]):
            count = len(_cuts(_read(folder, file)))
            for start in range(0, count, size):
                stop = min(start + size, count)
                yield Slice({"start": start, "stop": stop}, stop - start, (file,))

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        folder = self.folder(context)
        (file,) = inputs
        data = _read(folder, file)
        cuts = _cuts(data)
        for number in range(where["start"], where["stop"]):
            section = data[slice(*cuts[number])]
            key = f"{file.uri}@{number}"
            identity = f"{hashlib.sha256(section).hexdigest()}:{key}"
            yield Item(key, identity, lambda s=section, k=key: self._load(s, file.uri, k, folder))  # type: ignore[misc]

    def _load(self, section: bytes, uri: str, key: str, folder: Folder) -> Any:
        text, title = section_text(section, self.formulas == "code")
        if not text:
            raise InvalidInput("no_text", f"no statements in section {title or key!r}")
        record = new_record(text, kind=self.kind, domain=self.domain, uri=uri, item=key, content=section,
                            licence=credit_of(self, folder))  # fmt: skip
        record.metadata.update({"format": "metamath", "title": title or None})
        return record


def section_text(section: bytes, code: bool = False) -> tuple[str, str]:
    """A section in readable form, and its title; the text is empty if the section has no axiom and no theorem.

    Args:
        code: labels and formulas stand between back-quotes.
    """
    title, level, body = "", "#", section
    if header := _HEADER.match(section):
        title = " ".join(header["title"].decode("ascii", "replace").split())
        level = _LEVELS[header["line"][:1] if header["line"].startswith(b"##") else header["line"][:2]]
        body = b"$( " + section[header.end() :]
    found = [f"{level} {title}"] if title else []
    hypotheses: list[list[str]] = [[]]
    comment, statements = "", 0
    for token in _TOKENS.finditer(body.decode("ascii", "replace")):
        if token["comment"] is not None:
            if comment:  # a comment that no statement follows is prose of the section
                found.append(comment)
            comment = _prose(token["comment"], code)
        elif token["open"]:
            hypotheses.append([])
        elif token["close"]:
            if len(hypotheses) > 1:
                hypotheses.pop()
        elif token["kind"] == "e":
            hypotheses[-1].append(f"{_shown(token['label'], code)}: {_shown(token['body'], code)}")
        elif token["declaration"] == "d":
            hypotheses[-1].append(f"distinct variables: {_shown(token['names'], code)}")
        elif token["kind"] in ("a", "p"):
            if comment or token["kind"] == "p":
                found.append(_statement(token, comment, [one for scope in hypotheses for one in scope], code))
                statements += 1
            comment = ""
    if comment:
        found.append(comment)
    return ("\n\n".join(one for one in found if one) + "\n" if statements else ""), title


def _shown(formula: str, code: bool) -> str:
    """A formula or label on one line. One that holds back-quotes, set.mm's sign for the value of a function, stays as
    it is."""
    line = " ".join(formula.split())
    return f"`{line}`" if code and "`" not in line else line


def _statement(token: re.Match[str], comment: str, hypotheses: list[str], code: bool) -> str:
    statement, _, _ = token["body"].partition("$=")
    lines = [f"{_KIND[token['kind']]} {_shown(token['label'], code)}." + (f" {comment}" if comment else "")]
    if hypotheses:
        lines += ["Given:", *(f"  {one}" for one in hypotheses)]
        lines.append("Then:")
    lines.append(f"  {_shown(statement, code)}")
    proof = _PROOF.search(token["body"])
    if proof and proof["used"] and (used := proof["used"].split()):
        lines.append(f"Proved from: {', '.join(_shown(one, code) for one in used)}.")
    return "\n".join(lines)


def _prose(comment: str, code: bool) -> str:
    """A comment without its markup: `~ label` becomes the label, formulas keep their back-quotes, credits go."""
    if comment.lstrip().startswith(("$j", "$t", "End $[", "Begin $[", "End of", "(End of")):
        return ""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n[ \t]*\n", comment)]
    text = "\n\n".join(part for part in paragraphs if part)
    text = re.sub(r"`\s*([^`]+?)\s*`", r"`\1`", text)
    text = re.sub(r"(?<!\S)~ ([\w.-]*\w)", r"`\1`" if code else r"\1", text)
    text = re.sub(r"(?<!\S)~ (\S+)", r"\1", text)
    return _CREDIT.sub("", text).strip()


def _cuts(data: bytes) -> list[tuple[int, int]]:
    """(start, stop) of each section; what stands before the first header is its own."""
    starts = [found.start() for found in _HEADER.finditer(data)]
    if not starts or data[: starts[0]].strip():
        starts.insert(0, 0)
    return list(zip(starts, [*starts[1:], len(data)], strict=True))


def _read(folder: Folder, file: Input) -> bytes:
    return _content(folder.store.url, folder.path(file.uri), file.sha256)


@lru_cache(maxsize=1)  # the units of one large database, one after another
def _content(url: str, path: str, sha256: str) -> bytes:
    data = open_store(url).read(path)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise InputChanged(f"{path} has changed since the plan was frozen")
    return data
