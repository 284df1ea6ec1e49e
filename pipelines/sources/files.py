"""Each file one item: SVG collections, HTML pages, scripts, plain text; from a folder, a bucket or a Python package."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from datatrove.data import Document
from pydantic import Field

from ..errors import K3DataError
from ..recipe import Bytes
from ..record import new_record
from ..stage import Context, Input, InvalidInput, Item, Slice, Source, seeded_rng
from ..text import Undecodable, decode
from .folder import Folder, licence_of, open_folder


class InputChanged(K3DataError):
    """A file is no longer what the plan was made from."""


class Files(Source):
    """Each matching file becomes one item.

    Attributes:
        glob: patterns below the root; `**` crosses folders.
        root: a folder, relative to the recipe, or any fsspec URL. Default: the recipe's folder.
        package: instead of `root`, an installed Python distribution, whose licence is then the default.
        kind: what the files are (`svg`, `web`, `cad`, `text`, …).
        domain: web, code, maths, knowledge or vision.
        licence: SPDX identifier of the files.
        attribution: whom to credit.
        sample: take only so many, chosen by hash of their content and the seed.
        max_bytes: larger files are rejected as `too_large` without being read into memory.
        trusted: the files are programs of your own, so that executing them is as safe as running you.
    """

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"glob", "root", "sample"})

    glob: list[str] | str
    root: str | None = None
    package: str | None = None
    kind: str
    domain: str = "vision"
    licence: str | None = None
    attribution: str = ""
    sample: int | None = Field(default=None, ge=1)
    max_bytes: Bytes = 10_000_000
    trusted: bool = False

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        inputs = self._folder(context).matching([self.glob] if isinstance(self.glob, str) else self.glob)
        if self.sample is not None and self.sample < len(inputs):
            ranked = sorted(inputs, key=lambda one: (seeded_rng(context.seed, one.sha256).random(), one.uri))
            inputs = sorted(ranked[: self.sample], key=lambda one: one.uri)
        seen: Counter[str] = Counter()
        size = unit_items or 100
        for start in range(0, len(inputs), size):
            part = inputs[start : start + size]
            # The n-th copy of one content is another sample than the first, and must have another id.
            copies = {}
            for one in part:
                if seen[one.sha256]:
                    copies[one.uri] = seen[one.sha256]
                seen[one.sha256] += 1
            yield Slice({"copies": copies}, len(part), tuple(part))

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        folder = self._folder(context)
        for one in inputs:
            identity = f"{one.sha256}:{where['copies'].get(one.uri, 0)}"
            yield Item(one.uri, identity, lambda one=one: self._load(folder, one))  # type: ignore[misc]

    def _folder(self, context: Context) -> Folder:
        return open_folder(self.root, self.package, context)

    def _load(self, folder: Folder, one: Input) -> Document:
        if one.size > self.max_bytes:
            raise InvalidInput("too_large", f"{one.size} bytes, {self.max_bytes} are allowed")
        path = folder.path(one.uri)
        data = folder.store.read(path)
        if hashlib.sha256(data).hexdigest() != one.sha256:
            raise InputChanged(f"{one.uri} has changed since the plan was frozen")
        if not data:
            raise InvalidInput("empty", "0 bytes")
        try:
            text = decode(data, self.kind)
        except Undecodable as error:
            raise InvalidInput("encoding", str(error)) from None
        local = folder.store.local(path)
        scratch = {"trusted": self.trusted, "folder": str(local.parent) if local else None}
        credit = licence_of(folder, self.licence, self.attribution)
        return new_record(
            text, kind=self.kind, domain=self.domain, uri=one.uri, item=one.uri, content=data, licence=credit,
            scratch=scratch,
        )  # fmt: skip
