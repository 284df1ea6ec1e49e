"""Where documents lie: a folder or bucket, a Python distribution, an installed Debian package, the standard library.

A Debian package says which files are its own (dpkg's list) and what their licence is: its copyright file, where that is
in Debian's machine-readable form (DEP-5). There the paragraph for all files (`Files: *`) counts, since the others speak
of paths in a source tree that is not installed; a package that also holds other things should have its licence named
in the recipe.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from email.parser import HeaderParser
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from fsspec.utils import glob_translate
from pydantic import Field, model_validator

from ...errors import UserError
from ...recipe import Bytes
from ...record import licence
from ...stage import Context, Input, Source, seeded_rng
from ...store import open_store
from ..folder import Folder, open_folder

_SPDX = {"expat": "MIT", "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later", "gpl-3": "GPL-3.0-only",
         "gpl-3+": "GPL-3.0-or-later", "lgpl-2.1+": "LGPL-2.1-or-later", "lgpl-3+": "LGPL-3.0-or-later",
         "public-domain": "CC-PDDC", "psf-2": "PSF-2.0", "python-2.0": "PSF-2.0", "apache-2": "Apache-2.0",
         "wordnet3.0": "WordNet", "cc-by-sa-3": "CC-BY-SA-3.0", "gfdl-1.3+": "GFDL-1.3-or-later"}  # fmt: skip
"""Debian's short names of licences, where they are not SPDX identifiers already."""

_HOLDERS = 3


class Placed(Source):
    """Parameters of sources that read whole documents. Give one of root, package, debian and standard_library.

    Attributes:
        glob: patterns below the root; of a Debian package, below `/`.
        exclude: patterns of files to leave out.
        root: a folder, relative to the recipe, or any fsspec URL. Default: the recipe's folder.
        package: an installed Python distribution, whose licence is then the default.
        debian: an installed Debian package, whose licence is then the default.
        standard_library: the standard library of the Python that runs.
        licence: SPDX identifier of the files.
        attribution: whom to credit.
        domain: web, code, maths, knowledge or vision.
        kind: what the records are called.
        sample: take only so many, chosen by hash of their content and the seed.
    """

    glob: list[str] | str | None = None
    exclude: list[str] = []
    root: str | None = None
    package: str | None = None
    debian: str | None = None
    standard_library: bool = False
    licence: str | None = None
    attribution: str = ""
    domain: str = "knowledge"
    kind: str = "text"
    sample: int | None = Field(default=None, ge=1)
    max_bytes: Bytes = 200_000_000

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        given = [name for name in ("root", "package", "debian", "standard_library") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"give one of {', '.join(given)}, not {len(given)}")
        return self

    def missing(self) -> dict[str, list[str]]:
        if self.debian and _installed(self.debian) is None:
            return {"sudo apt install": [self.debian]}
        return {}

    def folder(self, context: Context) -> Folder:
        """Where the files lie, with the licence to record.

        Raises:
            UserError: the place does not exist, or its licence has to be named.
        """
        if self.debian:
            return debian_package(self.debian, named=self.licence)
        if self.standard_library:
            return _standard_library()
        folder = open_folder(self.root, self.package, context)
        if self.licence is None and folder.spdx is None:
            raise UserError(f"nothing says under which licence {folder.name} is: give `licence: <SPDX identifier>`")
        return folder

    def matching(self, folder: Folder, context: Context, default: list[str]) -> list[Input]:
        """The files that the globs name, less those excluded and those not sampled, sorted."""
        globs = [self.glob] if isinstance(self.glob, str) else self.glob or default
        inputs = folder.matching(globs)
        left_out = [re.compile(glob_translate(one)) for one in self.exclude]
        inputs = [one for one in inputs if not any(pattern.match(folder.path(one.uri)) for pattern in left_out)]
        if not inputs:
            raise UserError(f"every file that matches {', '.join(globs)} below {folder.name} is excluded")
        if self.sample is not None and self.sample < len(inputs):
            ranked = sorted(inputs, key=lambda one: (seeded_rng(context.seed, one.sha256).random(), one.uri))
            inputs = sorted(ranked[: self.sample], key=lambda one: one.uri)
        return inputs


def with_copies(inputs: list[Input]) -> Iterator[tuple[Input, int]]:
    """Each file with how many of the same content came before it: the n-th copy needs an id of its own."""
    seen: Counter[str] = Counter()
    for one in inputs:
        yield one, seen[one.sha256]
        seen[one.sha256] += 1


@lru_cache(maxsize=64)
def debian_package(name: str, named: str | None = None) -> Folder:
    """The files of an installed Debian package, rooted at `/`; `named` is the licence that the recipe gives.

    Raises:
        UserError: no such package is installed, or its licence cannot be read and is not named.
    """
    version = _installed(name)
    if version is None:
        raise UserError(f"the Debian package {name!r} is not installed: sudo apt install {name}")
    listed = subprocess.run(["dpkg-query", "-L", name], capture_output=True, text=True, check=True).stdout
    files = frozenset(
        line.removeprefix("/")
        for line in listed.splitlines()
        if line.startswith("/") and Path(line).is_file() and not Path(line).is_symlink()
    )
    path = Path("/usr/share/doc") / name / "copyright"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    spdx, holders = copyright_of(text)
    if spdx is None and named is None:
        raise UserError(f"debian: {name}: {path} does not name its licence in machine-readable form: read it and "
                        "give `licence: <SPDX identifier>` in the recipe")  # fmt: skip
    return Folder(f"debian:{name}", open_store(Path("/")), spdx, _credit(f"{name} {version}", holders), files)


def copyright_of(text: str) -> tuple[str | None, list[str]]:
    """From a Debian copyright file the licence of `Files: *` and its copyright holders; (None, []) if it is prose."""
    if not re.search(r"^Format:.*copyright-format", text, re.MULTILINE):
        return None, []
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for paragraph in re.split(r"\n\s*\n", text):
        fields = HeaderParser().parsestr(paragraph.lstrip("\n"))
        if (fields.get("Files") or "").split() == ["*"]:
            lines = [line.strip(" \t,") for line in (fields.get("Copyright") or "").splitlines()]
            stated = (fields.get("License") or "").splitlines()
            return _choose(stated[0].strip()) if stated else None, [line for line in lines if line]
    return None, []


def _choose(stated: str) -> str | None:
    """A stated choice as an SPDX expression. A comma before `or` or `and` sets it apart, which brackets do in SPDX."""
    words = [_SPDX.get(word.lower(), {"or": "OR", "and": "AND"}.get(word, word)) for word in stated.split()]
    return re.sub(r"(.*), (AND|OR) (.*)", r"(\1) \2 (\3)", " ".join(words)) or None


def _credit(name: str, holders: list[str]) -> str:
    if not holders:
        return name
    more = f" and {len(holders) - _HOLDERS} more" if len(holders) > _HOLDERS else ""
    return f"{name}: {'; '.join(holders[:_HOLDERS])}{more}"


@lru_cache(maxsize=256)
def _installed(name: str) -> str | None:
    """The installed version of a Debian package, or None."""
    if shutil.which("dpkg-query") is None:
        raise UserError(f"debian: {name}: this is not a Debian system (no dpkg-query); use root: and licence: instead")
    if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name):
        raise UserError(f"debian: {name!r} is not the name of a Debian package")
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}\n", name]
    found = subprocess.run(query, capture_output=True, text=True, check=False)
    status, _, version = found.stdout.splitlines()[0].partition(" ") if found.stdout else ("", "", "")
    return version if status == "installed" else None


@lru_cache(maxsize=1)
def _standard_library() -> Folder:
    root = Path(sysconfig.get_path("stdlib"))
    files = frozenset(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if not {"site-packages", "dist-packages", "__pycache__"} & set(path.parts) and path.is_file()
    )
    version = ".".join(map(str, sys.version_info[:3]))
    credit = f"Python {version} standard library: Python Software Foundation"
    return Folder("python-standard-library", open_store(root), "PSF-2.0", credit, files)


def credit_of(placed: Placed, folder: Folder) -> dict[str, Any]:
    """The licence struct of a record: what the recipe says, else what the place says."""
    return licence(placed.licence or folder.spdx, placed.attribution or folder.attribution)
