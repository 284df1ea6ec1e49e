"""The root of an output: whose it is, which jobs it has, and what a complete data set says of itself.

OUT/k3data.json          recipe name, jobs in order
OUT/recipe.yaml          the recipe as written, environment unresolved
OUT/<job>/dataset.json   written last: counts, digests, complete: true
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from . import lease
from .errors import UserError
from .ledger import PublishedFile
from .recipe import Recipe, digest_of
from .store import SCRATCH, Store, open_store

ROOT_FILE = "k3data.json"
RECIPE_FILE = "recipe.yaml"
DATASET_FILE = "dataset.json"
FORMAT = 1


@dataclass(frozen=True)
class Root:
    """What `k3data.json` says.

    Attributes:
        recipe: the recipe's name.
        jobs: names in order.
        base: the folder that relative paths in the recipe referred to where it was last run.
        limit: the `--limit` it was last run with.
    """

    recipe: str
    jobs: list[str]
    base: str
    limit: int | None = None
    format: int = FORMAT


def open_output(url: str) -> tuple[Store, Root]:
    """An existing output.

    Raises:
        UserError: there is none at that place.
    """
    store = open_store(url)
    store.check(write=False)
    if not store.exists(ROOT_FILE):
        raise UserError(f"{store.url} is not an output of k3data: it has no {ROOT_FILE}")
    try:
        return store, Root(**orjson.loads(store.read(ROOT_FILE)))
    except (ValueError, TypeError) as error:
        raise UserError(f"{store.url}/{ROOT_FILE} is damaged: {error}") from None


def claim(store: Store, recipe: Recipe) -> None:
    """Make the place ours, or refuse it.

    Raises:
        UserError: it holds files that are not ours, or the output of another recipe.
    """
    store.check(write=True)
    if store.exists(ROOT_FILE):
        _, root = open_output(store.url)
        if root.recipe != recipe.name:
            raise UserError(
                f"{store.url} holds the output of recipe {root.recipe!r}; give {recipe.name!r} another --out"
            )
    else:
        strangers = (one.path for one in store.list() if not one.path.startswith((SCRATCH, f"{lease.FOLDER}/")))
        if stranger := next(strangers, None):
            raise UserError(
                f"{store.url} is not empty and not an output of k3data (it holds {stranger}); choose another --out"
            )


def write_root(store: Store, recipe: Recipe, limit: int | None) -> None:
    """Write the root's two files if they are not what they should be. Call it under the lease.

    `k3data.json` comes first: it is by this file that a later run knows the place as ours.
    """
    root = Root(recipe.name, [job.name for job in recipe.jobs], str(recipe.base.resolve()), limit)
    for path, data in ((ROOT_FILE, orjson.dumps(asdict(root))), (RECIPE_FILE, recipe.text.encode())):
        if not store.exists(path) or store.read(path) != data:
            store.put_bytes(path, data)


@dataclass(frozen=True)
class DatasetFile:
    """What `dataset.json` says of a complete data set.

    Attributes:
        name: `<recipe>/<job>`.
        revision, plan: of the plan it was made by (`Plan.revision`, `Plan.digest`).
        units, items, samples, bytes, shards: counts.
        outcomes: items by fate.
        environment: versions of the programs and fonts the data depends on.
        files: every file beside shards, unit indexes, rejects and ledger, by path.
    """

    name: str
    recipe: str
    job: str
    schema: int
    revision: int
    plan: str
    seed: int
    units: int
    items: int
    samples: int
    shards: int
    bytes: int
    outcomes: dict[str, int]
    environment: dict[str, str]
    files: dict[str, dict[str, Any]]
    format: int = FORMAT
    complete: bool = True

    def save(self, store: Store) -> None:
        values = asdict(self)
        body = orjson.dumps({**values, "digest": digest_of(values)}, option=orjson.OPT_INDENT_2)
        store.put_bytes(DATASET_FILE, body)

    @classmethod
    def load(cls, store: Store) -> DatasetFile | None:
        """What is stored there, or None when the data set is not complete.

        Raises:
            UserError: the file is damaged; the message names it.
        """
        try:
            values = orjson.loads(store.read(DATASET_FILE))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise UserError(f"{store.url}/{DATASET_FILE} is damaged: {error}") from None
        digest = values.pop("digest", None) if isinstance(values, dict) else None
        if digest != digest_of(values):
            raise UserError(f"{store.url}/{DATASET_FILE} is damaged: its content does not match its digest")
        return cls(**values)


def put_described(store: Store, path: str, data: bytes) -> PublishedFile:
    """Publish a small file and return its description."""
    store.put_bytes(path, data)
    return PublishedFile(path, len(data), hashlib.sha256(data).hexdigest())
