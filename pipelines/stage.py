"""What a recipe's sources and stages are: typed parameters, a version, and one method that does the work.

A stage handles one record at a time. It returns the record (or several), or raises a `Rejected` saying what became of
it. Anything else it raises is an error of that item, never of the run.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from datatrove.data import Document
from pydantic import BaseModel, ConfigDict

from .store import Store


class Rejected(Exception):
    """What became of an item that is not published. Raise one of the four subclasses.

    Args:
        code: a stable identifier that statistics count by (`blank`, `timeout`, `parse`).
        detail: one line for a person.
        fickle: another attempt might end otherwise (a timeout, a memory limit, a signal). The engine stores such an
            outcome once and replays it ever after, so that a second run makes the same bytes.
    """

    outcome: ClassVar[str]

    def __init__(self, code: str, detail: str = "", *, fickle: bool = False):
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
        self.fickle = fickle


class Filtered(Rejected):
    """A stage judged the item not worth keeping."""

    outcome = "filtered"


class InvalidInput(Rejected):
    """The item itself is bad: malformed, refused, empty. Uses no error budget."""

    outcome = "invalid_input"


class Merged(Rejected):
    """The item says what another one says, which is kept. The detail names it."""

    outcome = "merged"


class Failed(Rejected):
    """The item could not be processed: timeout, memory, signal, exception. Uses the recipe's error budget."""

    outcome = "error"


@dataclass(frozen=True)
class Context:
    """What a stage or source may know about where it runs. Nothing in it may change the data, except the seed.

    Attributes:
        seed: the recipe's seed.
        recipe: the recipe's name.
        job: the job's name.
        unit: the unit's id, or "" while planning and in a preview.
        scratch: a local folder of this worker's, empty at the start of a unit.
        output: URL of the run's output, for sources that read an earlier job.
        base: folder that relative paths in the recipe refer to.
        shard_bytes: the recipe's `shards.max_bytes`, for sources that lay out shards.
        kept: while a run is planned, the job's folder of the output, where a source may keep what planning cost;
            otherwise None, and nothing may be written.
        say: shows a line to whoever started the planning.
    """

    seed: int
    recipe: str
    job: str
    unit: str
    scratch: Path
    output: str = ""
    base: Path = Path()
    shard_bytes: int = 256 * 10**6
    kept: Store | None = None
    say: Callable[[str], None] = lambda line: None

    def rng(self, stage: str, item: str) -> random.Random:
        """The only source of randomness: a function of (recipe seed, stage, item)."""
        return seeded_rng(self.seed, stage, item)

    def beside(self, place: str) -> str:
        """URL of what lies beside this run's output: another output, a tokenizer. Absolute paths and URLs stay as they
        are; others are taken from the folder that holds the output, so that they mean the same wherever it lies."""
        if "://" in place or place.startswith("/"):
            return place
        return f"{self.output.rstrip('/').rpartition('/')[0] or '.'}/{place}" if self.output else place


def seeded_rng(*parts: object) -> random.Random:
    """A generator seeded by the hash of `parts`, the same on every machine and Python version."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return random.Random(int.from_bytes(digest[:16], "big"))


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    version: ClassVar[int] = 1
    """Raise it when the same parameters begin to give other data: units that hold the old data are then redone."""

    operational: ClassVar[frozenset[str]] = frozenset()
    """Names of parameters that cannot change what becomes of an item (timeouts, budgets, how many items there are);
    they are left out of the ids of units and samples."""

    def semantic(self) -> dict[str, Any]:
        """The parameters that shape the data, as JSON values."""
        return self.model_dump(mode="json", exclude=set(self.operational))

    def environment(self) -> dict[str, str]:
        """Versions of what this part relies on and whose change may change the data (a browser build, fonts)."""
        return {}

    def reads(self, context: Context) -> dict[str, str]:
        """Digests of what this part reads beside its items and its parameters only point to (a tokenizer, a word
        list), by names that are the same on every machine."""
        return {}


class Stage(_Parameters):
    """Base of all stages. Its pydantic fields are the parameters a recipe may set."""

    @property
    def concurrency(self) -> int:
        """How many records may be in `process` at once, each in a thread of its own. More than one is for a stage that
        waits for others, such as a server; what it gives is taken in the order of the records all the same."""
        return 1

    def status(self, context: Context) -> str:
        """A few words for the live line of the run: cost so far, say. Called every few seconds in a process that has
        not opened the stage."""
        return ""

    def spent(self, context: Context) -> float:
        """USD that the run has cost so far, for the estimate of a pilot."""
        return 0.0

    def open(self, context: Context) -> None:
        """Called once per unit, before the first record."""

    def process(self, record: Document) -> Document | Iterable[Document]:
        """Return the record, or the records made from it; raise `Rejected` to drop it with a reason."""
        raise NotImplementedError(f"{type(self).__name__}.process")

    def close(self) -> None:
        """Called once per unit, after the last record, also when the unit failed."""


@dataclass(frozen=True)
class Input:
    """One file that a plan depends on.

    Attributes:
        uri: name relative to the source, the same on every machine; `Source.read` finds the file by it.
        size: bytes.
        stamp: modification time or etag: if it and the size are unchanged, the digest is taken as unchanged.
        sha256: digest of the content, or an etag that stands for it on an object store.
    """

    uri: str
    size: int
    stamp: str
    sha256: str


@dataclass(frozen=True)
class Slice:
    """A part of a source that becomes one unit.

    Attributes:
        where: JSON values from which `Source.read` finds the items again; free of absolute paths, since it is hashed
            into the unit's id.
        items: how many items it holds, or None when only reading tells.
        inputs: the files it reads.
    """

    where: dict[str, Any]
    items: int | None
    inputs: tuple[Input, ...] = ()


@dataclass(frozen=True)
class Item:
    """One planned item of a source.

    Attributes:
        key: its name within the job's source, unique, the same on every machine.
        identity: what the record's id is hashed from: the content, or the coordinates that determine it.
        load: makes the record; may raise `Rejected`.
        root: what the split is hashed from, if not from the identity.
    """

    key: str
    identity: str
    load: Callable[[], Document] = field(repr=False)
    root: str | None = None


class Source(_Parameters):
    """Base of all sources. `plan` cuts the input into slices once; `read` yields the items of one slice."""

    passthrough: ClassVar[bool] = False
    """The items are finished samples of an earlier job, keyed by their ids and published as they are."""

    @property
    def jobs(self) -> tuple[str, ...]:
        """The earlier jobs of the same output that it reads."""
        return ()

    @property
    def internal(self) -> bool:
        """All it reads comes from the same output, so that a change of its inputs is the recipe's own doing."""
        return bool(self.jobs)

    def missing(self) -> dict[str, list[str]]:
        """What has to be installed first: names by the command that installs them."""
        return {}

    def plan(self, context: Context, unit_items: int | None) -> Iterator[Slice]:
        """Yield the slices in order. `unit_items` is the recipe's wish for items per unit; None = the source's own.

        Raises:
            k3data.pipelines.recipe.UserError: the input does not exist or cannot be read.
        """
        raise NotImplementedError(f"{type(self).__name__}.plan")

    def files(self, context: Context, slices: Sequence[dict[str, Any]]) -> Iterable[tuple[str, bytes]]:
        """What the finished data set holds beside samples, indexes and card: path relative to its folder, and content.
        `slices` are the `where` of the plan's slices of this source, in order."""
        return ()

    def read(self, where: dict[str, Any], inputs: tuple[Input, ...], context: Context) -> Iterator[Item]:
        """Yield the slice's items in planned order. `inputs` are those the slice was planned with."""
        raise NotImplementedError(f"{type(self).__name__}.read")
