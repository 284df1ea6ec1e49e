"""Documents: each HTML, TeX, Info, Markdown, reStructuredText, plain text or source code file becomes one record.

The format follows from the file's name, or is named. A file stays whole however long it is: long documents are what
long-context training is made from. Files ending in `.gz` are read through gzip.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from datatrove.data import Document
from pydantic import field_validator

from ...record import new_record
from ...stage import Context, Input, InvalidInput, Item, Slice
from ...text import Undecodable, decode
from ..files import InputChanged
from ..folder import Folder
from . import plain
from .places import Placed, credit_of, with_copies

Format = Literal["auto", "html", "tex", "text", "info", "markdown", "rst", "code"]

_FORMATS = {"html": "html htm xhtml", "tex": "tex ltx", "text": "txt text", "info": "info", "markdown": "md markdown",
            "rst": "rst"}  # fmt: skip
_LANGUAGES = {
    "ada": "adb ads", "assembly": "s", "c": "c h", "c++": "cc cpp cxx hh hpp hxx", "c#": "cs", "clojure": "clj",
    "cmake": "cmake", "css": "css", "cuda": "cu cuh", "dart": "dart", "elixir": "ex exs", "erlang": "erl", "fortran":
    "f f90 f95", "go": "go", "haskell": "hs", "java": "java", "javascript": "js mjs", "julia": "jl", "kotlin": "kt",
    "lisp": "lisp el scm", "lua": "lua", "ocaml": "ml mli", "perl": "pl pm", "php": "php", "python": "py pyi pyx",
    "r": "r", "ruby": "rb", "rust": "rs", "scala": "scala", "shell": "sh bash", "sql": "sql", "swift": "swift",
    "tcl": "tcl", "typescript": "ts tsx", "yaml": "yaml yml",
}  # fmt: skip
_FORMAT_OF = {suffix: form for form, suffixes in _FORMATS.items() for suffix in suffixes.split()}
_LANGUAGE_OF = {suffix: language for language, suffixes in _LANGUAGES.items() for suffix in suffixes.split()}
_DECODED_AS = {"html": "web", "code": "cad"}  # whose declarations of encoding `text.decode` knows


class Documents(Placed):
    """Each matching file becomes one record; places, licence and the rest as in `Placed`.

    Attributes:
        format: what the files are; `auto` goes by the name's ending, and then the default globs are all known endings.
        encoding: of files that declare none. A file that is not in it is refused, never guessed.
        max_bytes: larger files are refused as `too_large`; counted after decompression.
    """

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"glob", "exclude", "root", "sample"})

    format: Format = "auto"
    encoding: str = "utf-8"

    @field_validator("encoding")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            if not codecs.lookup(name)._is_text_encoding:
                raise LookupError
        except LookupError:
            raise ValueError(f"unknown encoding {name!r}") from None
        return name

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        folder = self.folder(context)
        known = [f"**/*.{suffix}{gz}" for suffix in (*_FORMAT_OF, *_LANGUAGE_OF) for gz in ("", ".gz")]
        files = list(with_copies(self.matching(folder, context, known)))
        size = unit_items or 100
        for start in range(0, len(files), size):
            part = files[start : start + size]
            copies = {one.uri: copy for one, copy in part if copy}
            yield Slice({"copies": copies}, len(part), tuple(one for one, _ in part))

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        folder = self.folder(context)
        for one in inputs:
            identity = f"{one.sha256}:{where['copies'].get(one.uri, 0)}"
            yield Item(one.uri, identity, lambda one=one: self._load(folder, one))  # type: ignore[misc]

    def _load(self, folder: Folder, one: Input) -> Document:
        form, language = self._format(one.uri)
        data = self._content(folder, one)
        text, title = self._text(data, form)
        if not text.strip():
            raise InvalidInput("no_text", f"no text in {one.uri}")
        record = new_record(
            text, kind=self.kind, domain=self.domain, uri=one.uri, item=one.uri, content=data,
            licence=credit_of(self, folder),
        )  # fmt: skip
        record.metadata.update({"format": form, "title": title or None, "language": language})
        record.metadata["scratch"]["path"] = one.uri
        return record

    def _format(self, uri: str) -> tuple[str, str | None]:
        suffix = uri.removesuffix(".gz").rpartition(".")[2].lower()
        language = _LANGUAGE_OF.get(suffix)
        if self.format != "auto":
            return self.format, language if self.format == "code" else None
        if suffix.startswith("info-"):
            return "info", None
        return _FORMAT_OF.get(suffix, "code" if language else "text"), language

    def _content(self, folder: Folder, one: Input) -> bytes:
        if one.size > self.max_bytes:
            raise InvalidInput("too_large", f"{one.size} bytes, {self.max_bytes} are allowed")
        data = folder.store.read(folder.path(one.uri))
        if hashlib.sha256(data).hexdigest() != one.sha256:
            raise InputChanged(f"{one.uri} has changed since the plan was frozen")
        if one.uri.endswith(".gz"):
            data = self._unpacked(data)
        if not data:
            raise InvalidInput("empty", "0 bytes")
        return data

    def _unpacked(self, data: bytes) -> bytes:
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                unpacked = file.read(self.max_bytes + 1)
        except (OSError, EOFError) as error:
            raise InvalidInput("gzip", str(error)) from None
        if len(unpacked) > self.max_bytes:
            raise InvalidInput("too_large", f"more than the allowed {self.max_bytes} bytes after decompression")
        return unpacked

    def _text(self, data: bytes, form: str) -> tuple[str, str]:
        """Text and title, by format."""
        if form == "info":
            data = data.replace(b"\x00\x08[", b"").replace(b"\x00\x08]", b"")  # marks of pictures
        try:
            source = decode(data, _DECODED_AS.get(form, "text"), self.encoding)
        except Undecodable as error:
            raise InvalidInput("encoding", f"{error}; see `encoding`") from None
        if form == "html":
            from . import html_text

            try:
                return html_text.to_text(source)
            except html_text.TooDeep as error:
                raise InvalidInput("too_deep", str(error)) from None
        if form == "tex":
            from . import tex_text

            try:
                return tex_text.to_text(source)
            except tex_text.BadTex as error:
                raise InvalidInput("parse", str(error)) from None
        return (plain.info(source) if form == "info" else plain.text(source)), ""
