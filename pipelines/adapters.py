"""datatrove's readers, filters and formatters as sources and stages, unchanged.

A datatrove step is a generator over a stream. The adapter feeds it, watches which document went in and which came out,
and so knows each one's fate: what a filter drops is `filtered`, with the filter's own reason; what raises is that
document's `error`, and the step goes on with the next. A step that edits a text makes its spans meaningless, so the
adapter drops them (`turns`, `targets`) and says so in the record's checks.
"""

from __future__ import annotations

import hashlib
import inspect
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version as package_version
from itertools import chain, islice
from typing import Any

from datatrove.data import Document
from datatrove.pipeline.base import PipelineStep
from datatrove.utils._import_utils import check_required_dependencies
from pydantic import PrivateAttr, ValidationError

from .errors import UserError
from .record import add_check, licence, new_record
from .stage import Context, Failed, Filtered, Input, Item, Rejected, Slice, Source, Stage
from .table import suggest

_OWN = ("kind", "domain", "licence", "attribution")

Reject = Callable[[Document, Rejected], None]


def adapt(name: str, found: type, parameters: dict[str, Any], role: str) -> Source | Stage:
    """The source or stage that runs a datatrove step.

    Raises:
        UserError: not a datatrove step, or a wrong parameter (with the nearest known one).
    """
    if not (inspect.isclass(found) and issubclass(found, PipelineStep)):
        base = "Source" if role == "source" else "Stage"
        raise UserError(f"{name} is neither a k3data {base} nor a datatrove step")
    if role == "source":
        from datatrove.pipeline.readers import HuggingFaceDatasetReader
        from datatrove.pipeline.readers.base import BaseDiskReader

        if not issubclass(found, BaseDiskReader | HuggingFaceDatasetReader):
            raise UserError(f"{name} does not read files; use a reader of datatrove.pipeline.readers")
        source = DatatroveReader if issubclass(found, BaseDiskReader) else DatatroveHub
        own: dict[str, Any] = {key: parameters[key] for key in _OWN if key in parameters}
        parameters = {key: value for key, value in parameters.items() if key not in _OWN}
        _check(name, found, parameters, {"paths_file", "limit", "skip", "shuffle_files"}, own)
        try:
            return source(step_name=name, step=found, parameters=parameters, **own)
        except ValidationError as error:
            raise UserError(f"{name}: {error.errors()[0]['msg']}") from None
    _check(name, found, parameters, {"exclusion_writer", "batch_size"}, {})
    return DatatroveStep(step_name=name, step=found, parameters=parameters)


def _check(name: str, found: type, parameters: dict[str, Any], ours: set[str], own: dict[str, Any]) -> None:
    known = [one for one in inspect.signature(found).parameters if one not in ours]
    for key in parameters:
        if key in ours:
            raise UserError(f"{name}: {key!r} is set by the engine")
        if key not in known:
            raise UserError(f"{name}: unknown key {key!r}{suggest(key, [*known, *own])}")
    needed = chain.from_iterable(getattr(one, "_requires_dependencies", []) for one in found.__mro__)
    try:
        check_required_dependencies(name, list(needed))
    except ImportError as error:
        raise UserError(str(error)) from None
    try:
        inspect.signature(found).bind(**parameters)
    except TypeError as error:
        raise UserError(f"{name}: {error}") from None


class DatatroveStep(Stage):
    """One datatrove filter, formatter or other step that takes a stream of documents."""

    step_name: str
    step: type
    parameters: dict[str, Any]

    _built: PipelineStep | None = PrivateAttr(default=None)

    def semantic(self) -> dict[str, Any]:
        return {"step": f"{self.step.__module__}:{self.step.__qualname__}", **_plain(self.parameters)}

    def environment(self) -> dict[str, str]:
        return {"datatrove": package_version("datatrove")}

    def open(self, context: Context) -> None:
        self._built = self.step(**self.parameters)

    def stream(self, records: Iterable[Document], reject: Reject) -> Iterator[Document]:
        """Run the step over the records; `reject` is told of each that does not come out."""
        assert self._built is not None
        feed = _Feed(iter(records))
        if hasattr(self._built, "exclusion_writer"):
            self._built.exclusion_writer = _Reasons(lambda doc, reason: reject(feed.take(doc), Filtered(reason)))
        while not feed.ended:
            try:
                for out in self._built.run(feed, 0, 1):  # type: ignore[arg-type]
                    yield feed.finished(out)
            except feed.Upstream as error:
                raise error.args[0] from None
            except Exception as error:
                if not feed.inside:
                    raise
                reject(feed.take(feed.newest), Failed("exception", f"{type(error).__name__}: {error}"))
        for left in list(feed.inside.values()):
            reject(feed.take(left.record), Filtered("dropped", f"{self.step_name} did not return it"))


class _Inside:
    """A record while it is in the step, and what its text was."""

    def __init__(self, record: Document):
        self.record = record
        self.text = record.text
        self.scratch = record.metadata.get("scratch")


class _Feed:
    """Iterator handed to a step: knows what has gone in and not come out. It can be iterated again after an error."""

    class Upstream(Exception):
        """An error of the stream before the step, not of the step."""

    def __init__(self, records: Iterator[Document]):
        self._records = records
        self.inside: dict[str, _Inside] = {}
        self.ended = False
        self.newest: Document

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> Document:
        try:
            record = next(self._records)
        except StopIteration:
            self.ended = True
            raise
        except Exception as error:
            raise self.Upstream(error) from error
        self.inside[record.id] = _Inside(record)
        self.newest = record
        return record

    def take(self, record: Document) -> Document:
        self.inside.pop(record.id, None)
        return record

    def finished(self, record: Document) -> Document:
        before = self.inside.pop(record.id, None)
        if before and before.text != record.text:
            for field in ("turns", "targets"):
                if record.metadata.pop(field, None):
                    add_check(record, f"{field}_kept", False, reason="the text was edited")
        return record


class _Reasons:
    """Stands where datatrove's filters expect a writer for excluded documents, to learn their reason."""

    def __init__(self, tell: Callable[[Document, str], None]):
        self._tell = tell

    def __enter__(self) -> _Reasons:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def write(self, document: Document, rank: int = 0) -> None:
        self._tell(document, document.metadata.pop("filter_reason", "dropped"))


class DatatroveReader(Source):
    """One of datatrove's file readers. Each file is a unit; its documents are the items.

    Attributes:
        kind, domain, licence, attribution: as for `jsonl`.
    """

    step_name: str
    step: type
    parameters: dict[str, Any]
    kind: str = "text"
    domain: str = "knowledge"
    licence: str | None = None
    attribution: str = ""

    def semantic(self) -> dict[str, Any]:
        own: dict[str, Any] = {key: getattr(self, key) for key in _OWN}
        shaping = {key: value for key, value in self.parameters.items() if key != "data_folder"}
        return {"step": f"{self.step.__module__}:{self.step.__qualname__}", **_plain(shaping), **own}

    def environment(self) -> dict[str, str]:
        return {"datatrove": package_version("datatrove")}

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        reader = self.step(**self._located(context))
        folder = reader.data_folder
        paths = folder.get_shard(0, 1, recursive=reader.recursive, glob_pattern=reader.glob_pattern)
        for path in sorted(paths):
            info = folder.info(path)
            digest = hashlib.sha256(folder.cat_file(path)).hexdigest()
            yield Slice({}, None, (Input(path, int(info["size"]), str(info.get("mtime", "")), digest),))

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        (file,) = inputs
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
            listed.write(f"{file.uri}\n")
            listed.flush()
            # The plan's own list of files: datatrove would list the folder again, which may have changed.
            reader = self.step(**self._located(context), paths_file=listed.name)
            for number, document in enumerate(reader.run(None, 0, 1)):
                key = f"{file.uri}@{number}"
                yield Item(key, f"{file.sha256}@{number}", lambda d=document, key=key: self._record(d, file.uri, key))  # type: ignore[misc]

    def _located(self, context: Context) -> dict[str, Any]:
        folder = self.parameters["data_folder"]
        if isinstance(folder, str) and "://" not in folder:
            folder = str(context.base / folder)
        return {**self.parameters, "data_folder": folder}

    def _record(self, document: Document, uri: str, key: str) -> Document:
        credit = licence(self.licence, self.attribution)
        record = new_record(
            document.text, kind=self.kind, domain=self.domain, uri=uri, item=key, content=document.text, licence=credit
        )
        kept = {name: value for name, value in document.metadata.items() if name != "file_path"}
        record.metadata["row"] = {"id": document.id, **kept}
        return record


class DatatroveHub(DatatroveReader):
    """datatrove's reader of Hugging Face datasets: of the hub, or a folder that `datasets` can load. Ranges of rows are
    units. Pin a `revision` in `dataset_options` to read the same rows for ever; what changes is noticed.

    Attributes:
        kind, domain, licence, attribution: as for `jsonl`.
    """

    def semantic(self) -> dict[str, Any]:
        shaping = {key: value for key, value in super().semantic().items() if key not in ("dataset", "streaming")}
        return {**shaping, "dataset": self._name()}

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        size = unit_items or 10_000
        rows = iter(self._rows(context))
        start = 0
        while part := list(islice(rows, size)):
            digest = hashlib.sha256("\0".join(hashlib.sha256(one.text.encode()).hexdigest() for one in part).encode())
            stop = start + len(part)
            uri = f"{self._name()}@{start}-{stop}"
            yield Slice({"start": start, "stop": stop}, len(part), (Input(uri, 0, "", digest.hexdigest()),))
            start = stop

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        rows = self._rows(context, skip=where["start"], limit=where["stop"] - where["start"])
        for number, document in enumerate(rows, start=where["start"]):
            key = f"{self._name()}@{number}"
            identity = f"{hashlib.sha256(document.text.encode()).hexdigest()}@{number}"
            yield Item(key, identity, lambda d=document, key=key: self._record(d, self._name(), key))  # type: ignore[misc]

    def _rows(self, context: Context, **limits: int) -> Iterable[Document]:
        name = self.parameters["dataset"]
        local = context.base / name
        place = str(local) if local.exists() else name
        try:
            yield from self.step(**{**self.parameters, "dataset": place}, **limits).run(None, 0, 1)
        except (FileNotFoundError, ConnectionError, ValueError) as error:
            raise UserError(f"{self.step_name}: {name}: {str(error).splitlines()[0]}") from None

    def _name(self) -> str:
        return str(self.parameters["dataset"]).rstrip("/").rsplit("/", 1)[-1]


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    return {key: value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)
            for key, value in parameters.items()}  # fmt: skip
