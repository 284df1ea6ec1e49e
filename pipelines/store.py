"""Where an output lies: a local folder or an object store, behind one small interface.

Nothing is ever written in place. A file is finished elsewhere and published whole, by the operations of `durable`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import durable
from .errors import StoreError, UserError

SCRATCH = ".scratch"


@dataclass(frozen=True)
class Entry:
    """One published file: path relative to the store's root, size in bytes, modification time (epoch seconds)."""

    path: str
    size: int
    modified: float


class Store(ABC):
    """A tree of immutable files under one URL. Paths are relative, with forward slashes."""

    url: str

    @abstractmethod
    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes `start:end` of a file. Raises FileNotFoundError."""

    @abstractmethod
    def put_file(self, source: Path, path: str) -> None:
        """Publish a finished local file, replacing what had the name. The source is consumed."""

    @abstractmethod
    def put_bytes(self, path: str, data: bytes, *, if_absent: bool = False) -> bool:
        """Publish `data`. With `if_absent`, leave an existing file alone and return False."""

    @abstractmethod
    def list(self, prefix: str = "") -> Iterator[Entry]:
        """All files below a folder, sorted by path; nothing if it does not exist. Scratch files are left out."""

    @abstractmethod
    def entry(self, path: str) -> Entry | None:
        """One file's size and time, or None."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove a file; no error if it is gone."""

    @abstractmethod
    def local(self, path: str) -> Path | None:
        """The file on the local disk, or None on an object store."""

    @abstractmethod
    def sub(self, name: str) -> Store:
        """The store rooted at a folder of this one."""

    @abstractmethod
    def scratch(self) -> Path:
        """A local folder for unfinished files of the whole output; a local store's is on its own file system."""

    @abstractmethod
    def check(self, *, write: bool) -> None:
        """Raise `UserError` in one line if the place cannot be used."""

    def exists(self, path: str) -> bool:
        return self.entry(path) is not None

    def size(self, path: str) -> int:
        found = self.entry(path)
        if found is None:
            raise FileNotFoundError(f"{self.url}/{path}")
        return found.size

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


def open_store(url: str | os.PathLike[str], **storage_options: Any) -> Store:
    """The store at a path or an fsspec URL (`s3://bucket/prefix`); options go to fsspec."""
    text = os.fspath(url)
    if "://" not in text:
        return LocalStore(Path(text))
    if text.startswith("file://"):
        return LocalStore(Path(text.removeprefix("file://")))
    return ObjectStore(text, storage_options)


class LocalStore(Store):
    def __init__(self, root: Path, scratch: Path | None = None):
        self.root = root.absolute()
        self.url = str(self.root)
        self._scratch = scratch or self.root / SCRATCH

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        with (self.root / path).open("rb") as file:
            file.seek(start)
            return file.read() if end is None else file.read(end - start)

    def put_file(self, source: Path, path: str) -> None:
        target = self._place(path)
        with disk_errors(f"writing {self.url}/{path}"):
            if source.stat().st_dev != target.parent.stat().st_dev:
                moved = self._temporary(target)
                shutil.move(source, moved)
                source = moved
            durable.fsync_file(source)
            durable.rename(source, target)
            durable.fsync_folder(target.parent)

    def put_bytes(self, path: str, data: bytes, *, if_absent: bool = False) -> bool:
        target = self._place(path)
        if if_absent and target.exists():
            return False
        temporary = self._temporary(target)
        with disk_errors(f"writing {self.url}/{path}"):
            try:
                temporary.write_bytes(data)
                durable.fsync_file(temporary)
                created = self._name(temporary, target, if_absent)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            durable.fsync_folder(target.parent)
        return created

    def list(self, prefix: str = "") -> Iterator[Entry]:
        for folder, names, files in os.walk(self.root / prefix):
            names[:] = sorted(name for name in names if name != SCRATCH)
            for name in sorted(files):
                path = Path(folder, name)
                try:
                    status = path.stat()
                except FileNotFoundError:  # removed while we looked
                    continue
                yield Entry(path.relative_to(self.root).as_posix(), status.st_size, status.st_mtime)

    def entry(self, path: str) -> Entry | None:
        try:
            status = (self.root / path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Entry(path, status.st_size, status.st_mtime)

    def delete(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    def local(self, path: str) -> Path | None:
        return self.root / path

    def sub(self, name: str) -> LocalStore:
        return LocalStore(self.root / name, self._scratch)

    def scratch(self) -> Path:
        with disk_errors(f"writing {self._scratch}"):
            self._scratch.mkdir(parents=True, exist_ok=True)
        return self._scratch

    def check(self, *, write: bool) -> None:
        if self.root.exists() and not self.root.is_dir():
            raise UserError(f"{self.url} is a file, not a folder")
        if not write:
            if not self.root.is_dir():
                raise UserError(f"{self.url}: no such folder")
            return
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise UserError(f"cannot write to {self.url}: {error.strerror or error}") from None

    @staticmethod
    def _name(temporary: Path, target: Path, if_absent: bool) -> bool:
        if if_absent:
            return durable.link(temporary, target)
        durable.rename(temporary, target)
        return True

    def _place(self, path: str) -> Path:
        target = self.root / path
        with disk_errors(f"writing {self.url}/{path}"):
            target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def _temporary(self, target: Path) -> Path:
        return self.scratch() / f"{target.name[-80:]}.{uuid.uuid4().hex[:8]}.tmp"


class ObjectStore(Store):
    """Any store that fsspec knows and that publishes an object only when it is complete."""

    def __init__(self, url: str, storage_options: dict[str, Any], fs: Any = None, scratch: Path | None = None):
        import fsspec

        self.url = url.rstrip("/")
        self._options = storage_options
        place = hashlib.sha256(self.url.encode()).hexdigest()[:16]
        self._scratch = scratch or Path(tempfile.gettempdir()) / f"k3data-{os.getuid()}" / place
        protocol = url.split("://", 1)[0]
        try:
            # Listings are never cached: another machine may have published since.
            self.fs = fs or fsspec.filesystem(protocol, use_listings_cache=False, **storage_options)
        except ImportError as error:
            raise UserError(f"{protocol}:// needs {error.name or error}: pip install 'k3data[{protocol}]'") from None
        except ValueError as error:
            raise UserError(f"{url}: {error}") from None
        self.root = self.fs._strip_protocol(self.url)

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        with _remote_errors(f"reading {self.url}/{path}"):
            return self.fs.cat_file(f"{self.root}/{path}", start=start or None, end=end)

    def put_file(self, source: Path, path: str) -> None:
        with _remote_errors(f"writing {self.url}/{path}"):
            durable.put_object(self.fs, source, f"{self.root}/{path}")
        source.unlink()

    def put_bytes(self, path: str, data: bytes, *, if_absent: bool = False) -> bool:
        target = f"{self.root}/{path}"
        with _remote_errors(f"writing {self.url}/{path}"):
            if if_absent:
                return durable.create_object(self.fs, target, data)
            temporary = self.scratch() / uuid.uuid4().hex
            temporary.write_bytes(data)
            try:
                durable.put_object(self.fs, temporary, target)
            finally:
                temporary.unlink()
            return True

    def list(self, prefix: str = "") -> Iterator[Entry]:
        with _remote_errors(f"listing {self.url}/{prefix}"):
            found = self.fs.find(f"{self.root}/{prefix}".rstrip("/"), detail=True)
        for path, info in sorted(found.items()):
            yield Entry(path.removeprefix(self.root).lstrip("/"), int(info["size"]), _modified(info))

    def entry(self, path: str) -> Entry | None:
        with _remote_errors(f"reading {self.url}/{path}"):
            try:
                info = self.fs.info(f"{self.root}/{path}")
            except FileNotFoundError:
                return None
        return None if info["type"] == "directory" else Entry(path, int(info["size"]), _modified(info))

    def delete(self, path: str) -> None:
        with _remote_errors(f"deleting {self.url}/{path}"):
            try:
                self.fs.rm_file(f"{self.root}/{path}")
            except FileNotFoundError:
                pass

    def local(self, path: str) -> Path | None:
        return None

    def sub(self, name: str) -> ObjectStore:
        return ObjectStore(f"{self.url}/{name}", self._options, self.fs, self._scratch)

    def scratch(self) -> Path:
        with disk_errors(f"writing {self._scratch}"):
            self._scratch.parent.mkdir(mode=0o700, exist_ok=True)
            self._scratch.mkdir(exist_ok=True)
        return self._scratch

    def check(self, *, write: bool) -> None:
        bucket = self.root.split("/", 1)[0]
        try:
            self.fs.ls(bucket)
        except FileNotFoundError:
            raise UserError(f"{self.url}: bucket {bucket!r} does not exist") from None
        except PermissionError as error:
            raise UserError(f"{self.url}: access denied ({error})") from None
        except Exception as error:
            raise UserError(f"{self.url}: {_first_line(error)}") from None
        if write:
            probe = f"{self.root}/.probe-{uuid.uuid4().hex[:8]}"
            try:
                self.fs.pipe_file(probe, b"")
                self.fs.rm_file(probe)
            except Exception as error:
                raise UserError(f"cannot write to {self.url}: {_first_line(error)}") from None


@contextmanager
def disk_errors(doing: str) -> Iterator[None]:
    """Turn what a disk does wrong inside the block into a `StoreError` that says what we were doing."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = "no space left on the device" if error.errno == errno.ENOSPC else _first_line(error)
        raise StoreError(f"{doing}: {reason}") from error


@contextmanager
def _remote_errors(doing: str) -> Iterator[None]:
    """The same for an object store, whose clients also raise classes of their own."""
    try:
        with disk_errors(doing):
            yield
    except (FileNotFoundError, StoreError):
        raise
    except Exception as error:
        raise StoreError(f"{doing}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text.splitlines()[0]


def _modified(info: dict[str, Any]) -> float:
    moment = info.get("LastModified") or info.get("mtime") or info.get("created") or 0
    return float(moment if isinstance(moment, int | float) else moment.timestamp())
