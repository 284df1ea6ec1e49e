"""The files below a folder, an object-store prefix or an installed Python distribution, by glob."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from fsspec.utils import glob_translate

from ..errors import UserError
from ..record import licence
from ..stage import Context, Input
from ..store import Entry, Store, open_store

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Folder:
    """A root whose files are named `<name>/<path below it>` wherever it lies.

    Attributes:
        name: what the root is called in sample provenance.
        store: how its files are read.
        spdx: the licence of the distribution it belongs to, or None.
        attribution: whom that licence asks to be credited.
        files: the paths below the root that belong to it; None = all that lie there.
    """

    name: str
    store: Store
    spdx: str | None = None
    attribution: str = ""
    files: frozenset[str] | None = None

    def matching(self, globs: list[str]) -> list[Input]:
        """The files that match one of the globs, sorted, with the digests of their contents.

        Raises:
            UserError: nothing matches.
        """
        patterns = [re.compile(glob_translate(one)) for one in globs]
        entries = [one for one in self._entries() if any(pattern.match(one.path) for pattern in patterns)]
        if not entries:
            place = f"below {self.store.url}" if self.files is None else f"in {self.name}"
            raise UserError(f"no file matches {', '.join(globs)} {place}")
        return [
            Input(f"{self.name}/{one.path}", one.size, f"{one.modified:.6f}", self.digest(one.path, one.size))
            for one in entries
        ]

    def _entries(self) -> Iterator[Entry]:
        if self.files is None:
            yield from self.store.list()
            return
        for path in sorted(self.files):
            if (entry := self.store.entry(path)) is not None:
                yield entry

    def digest(self, path: str, size: int) -> str:
        """SHA-256 of one file, read in pieces."""
        digest = hashlib.sha256()
        for start in range(0, size, _CHUNK):
            digest.update(self.store.read(path, start, min(start + _CHUNK, size)))
        return digest.hexdigest()

    def path(self, uri: str) -> str:
        """The path below the root of a file named by `matching`."""
        return uri.removeprefix(f"{self.name}/")


def open_folder(root: str | None, package: str | None, context: Context) -> Folder:
    """The folder a recipe names: `root` (relative to the recipe, or any fsspec URL) or an installed distribution.

    Raises:
        UserError: both or neither given, the folder does not exist, or the distribution is not installed.
    """
    if package:
        if root:
            raise UserError("give root or package, not both")
        return _distribution(package)
    if root and "://" in root:
        store = open_store(root)
        name = root.rstrip("/").rsplit("/", 1)[-1]
    else:
        folder = (context.base / Path(root or ".").expanduser()).resolve()
        store, name = open_store(folder), folder.name
    store.check(write=False)
    return Folder(name, store)


def _distribution(package: str) -> Folder:
    try:
        found = metadata.distribution(package)
    except metadata.PackageNotFoundError:
        raise UserError(f"the Python package {package!r} is not installed: pip install {package}") from None
    about: Any = found.metadata
    spdx = about.get("License-Expression") or _from_classifiers(about.get_all("Classifier") or [])
    author = about.get("Author") or (about.get("Author-email") or "").split("<")[0].strip()
    credit = f"{package} {found.version}" + (f" by {author}" if author else "")
    files = frozenset(str(one) for one in found.files or () if not str(one).startswith(".."))
    return Folder(f"package:{package}", open_store(Path(str(found.locate_file("")))), spdx, credit, files)


_CLASSIFIERS = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}


def _from_classifiers(classifiers: list[str]) -> str | None:
    found = {_CLASSIFIERS.get(one.rsplit(" :: ", 1)[-1]) for one in classifiers if one.startswith("License ::")}
    return found.pop() if len(found) == 1 else None


def licence_of(folder: Folder, spdx: str | None, attribution: str) -> dict[str, str]:
    """The licence struct of a folder's files: what the recipe says, else what the distribution says."""
    return licence(spdx or folder.spdx, attribution or folder.attribution)
