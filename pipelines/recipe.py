"""A recipe: one YAML file, read strictly. Every mistake is one line, `file:line: message (did you mean …?)`.

    name: code_render
    seed: 7
    jobs:
      - name: render
        source:
          - vision.programs: {kinds: [svg, web, cad], count: 600}
        stages:
          - vision.render: {timeout_s: 20}
    shards: {max_bytes: 256MB}

`${NAME}` and `${NAME:-default}` in values come from the environment. The recipe is stored with the data as it was
written, unresolved, so that no secret reaches an output.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from . import table
from .errors import UserError
from .stage import Source, Stage
from .yaml_tree import Path_, Place, apply, environment, plain

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def _bytes(value: Any) -> Any:
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        if not match or match[2].upper() not in _UNITS:
            raise ValueError("write a size like 256MB or 2GiB")
        return int(float(match[1]) * _UNITS[match[2].upper()])
    return value


Bytes = Annotated[int, BeforeValidator(_bytes), Field(gt=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Shards(_Strict):
    """How shards are cut. `max_bytes` bounds those that a compaction job makes."""

    max_bytes: Bytes = 256 * 10**6


class Executor(_Strict):
    """Where units run.

    `memory` bounds one worker with all its renderers; the one that exceeds it is killed. `item_timeout_s` is a wide
    backstop: stages have tighter limits of their own.
    """

    kind: Literal["local"] = "local"
    workers: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    memory: Bytes | None = None
    item_timeout_s: Annotated[float, Field(gt=0)] = 900


class Errors(_Strict):
    """The share of items that may end as `error` before the run counts as failed."""

    budget: Annotated[float, Field(ge=0, le=1)] = 0.01


class Splits(_Strict):
    """The shares of the validation and test splits; the rest is for training. By hash of the root source."""

    val: Annotated[float, Field(ge=0, lt=1)] = 0.02
    test: Annotated[float, Field(ge=0, lt=1)] = 0.02


class Licences(_Strict):
    """Items of unknown licence are refused unless allowed here."""

    allow_unknown: bool = False


class Units(_Strict):
    """How many items make a unit; each source has its own default."""

    items: Annotated[int, Field(ge=1)] | None = None


class _Job(_Strict):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    source: list[dict[str, Any]] = Field(min_length=1)
    stages: list[dict[str, Any]] = []
    units: Units = Units()


class _Recipe(_Strict):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    description: str = ""
    seed: int = 0
    jobs: list[_Job] = Field(min_length=1)
    shards: Shards = Shards()
    executor: Executor = Executor()
    errors: Errors = Errors()
    splits: Splits = Splits()
    licences: Licences = Licences()


Built = TypeVar("Built", Source, Stage)


@dataclass(frozen=True)
class Step(Generic[Built]):
    """One source or stage of a job: its name in the recipe and the built object."""

    name: str
    build: Built


@dataclass(frozen=True)
class Job:
    name: str
    sources: tuple[Step[Source], ...]
    stages: tuple[Step[Stage], ...]
    unit_items: int | None


@dataclass(frozen=True)
class Recipe:
    """A recipe that has been read, checked and built.

    Attributes:
        text: the YAML as written (with `--set` applied), environment unresolved: what is stored with the data.
        base: the folder that relative paths in it refer to.
        secrets: the values that came from the environment; none of them may reach an output.
    """

    name: str
    description: str
    seed: int
    jobs: tuple[Job, ...]
    shards: Shards
    executor: Executor
    errors: Errors
    splits: Splits
    licences: Licences
    text: str
    base: Path
    secrets: frozenset[str]

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def redact(self, values: Any) -> Any:
        """JSON values or text without what came from the environment."""
        if isinstance(values, dict):
            return {key: self.redact(value) for key, value in values.items()}
        if isinstance(values, list):
            return [self.redact(value) for value in values]
        if isinstance(values, str):
            for secret in self.secrets:
                digest = hashlib.sha256(secret.encode()).hexdigest()[:8]
                values = values.replace(secret, f"<environment:{digest}>")
        return values

    def job(self, name: str) -> Job:
        return next(job for job in self.jobs if job.name == name)


def load(path: Path, overrides: tuple[str, ...] = ()) -> Recipe:
    """Read a recipe file.

    Args:
        path: the YAML file.
        overrides: `a.b=value` strings; list elements are addressed by position or by name
            (`jobs.render.source.vision.programs.count=60`).

    Raises:
        UserError: one line with file, line, message and, for a mistyped name, the nearest known one.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such recipe") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {error}") from None
    return parse(text, str(path), path.parent, overrides)


def parse(text: str, file: str, base: Path, overrides: tuple[str, ...] = ()) -> Recipe:
    """Read a recipe from its text; `file` is the name that messages use. See `load`."""
    lines: dict[Path_, int] = {}
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        line = mark.line + 1 if mark else 1
        hint = ' (quote "${…}" inside { })' if "${" in (text.splitlines() or [""])[line - 1] else ""
        raise UserError(f"{file}:{line}: {problem}{hint}") from None
    tree = plain(node, (), lines, file) if node else None
    if not isinstance(tree, dict):
        raise UserError(f"{file}:1: a recipe is a mapping with name, seed and jobs")
    for override in overrides:
        apply(tree, override)
    if overrides:
        text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    place = Place(file, lines)
    secrets: set[str] = set()
    resolved = environment(tree, (), place, secrets)
    try:
        spec = _Recipe.model_validate(resolved)
    except ValidationError as error:
        raise place.error(error, _Recipe) from None
    names = [job.name for job in spec.jobs]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise place.at(("jobs", index, "name"), f"a second job is called {name!r}")
    jobs = tuple(_job(job, index, place) for index, job in enumerate(spec.jobs))
    settings = {field: getattr(spec, field) for field in _Recipe.model_fields if field != "jobs"}
    return Recipe(**settings, jobs=jobs, text=text, base=base, secrets=frozenset(secrets))


def _job(spec: _Job, index: int, place: Place) -> Job:
    where = ("jobs", index)
    return Job(
        name=spec.name,
        sources=tuple(_step(one, Source, (*where, "source", i), place) for i, one in enumerate(spec.source)),
        stages=tuple(_step(one, Stage, (*where, "stages", i), place) for i, one in enumerate(spec.stages)),
        unit_items=spec.units.items,
    )


def _step(one: dict[str, Any], role: type[Built], path: Path_, place: Place) -> Step[Built]:
    called = "source" if role is Source else "stage"
    if len(one) != 1:
        raise place.at(path, f"a {called} is one `name: {{parameters}}`, not {len(one)} keys")
    name, parameters = next(iter(one.items()))
    parameters = {} if parameters is None else parameters
    try:
        found = table.resolve(str(name), called)
    except UserError as error:
        raise place.at((*path, name), str(error)) from None
    if not isinstance(parameters, dict):
        raise place.at((*path, name), f"the parameters of {name} are a mapping, not {parameters!r}")
    if isinstance(found, type) and issubclass(found, role):
        try:
            return Step(str(name), found(**parameters))
        except ValidationError as error:
            raise place.error(error, found, (*path, name)) from None
    from .adapters import adapt

    try:
        built = adapt(str(name), found, parameters, called)
    except UserError as error:
        raise place.at((*path, name), str(error)) from None
    assert isinstance(built, role)
    return Step(str(name), built)


def digest_of(values: Any) -> str:
    """Hash of JSON values in canonical form."""
    import orjson

    return hashlib.sha256(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)).hexdigest()
