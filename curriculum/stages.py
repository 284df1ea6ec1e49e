"""What a stage of the curriculum is, as data: its window, how much of what goes in, and what to do with what does not
fit. Presets lie in `stages.yaml`.

Read on machines that train: dataclasses and the standard library alone, with yaml for the presets.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

OVERFLOW = ("split", "drop", "carry")


class StageError(ValueError):
    """A stage definition that contradicts itself or names what there is not; told in one line."""


@dataclass(frozen=True)
class Component:
    """One part of a mixture.

    Attributes:
        name: what it is called.
        share: its share of the stage's tokens; only the ratio to the other shares counts.
        domain: documents of these domains; empty = of all.
        kind: documents of these kinds; empty = of all.
        min_tokens, max_tokens: documents of this length.
        upsample: how often each document may be used: 2.5 = twice, and half of them a third time; below 1 = only so
            large a part of them. What the document's own check `upsample` says is multiplied with it.
    """

    name: str
    share: float
    domain: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    min_tokens: int = 1
    max_tokens: int | None = None
    upsample: float = 1.0


@dataclass(frozen=True)
class DistanceBin:
    """A wanted share of dependencies whose distance is from `low` to `high`, as fractions of the window."""

    low: float
    high: float
    share: float


@dataclass(frozen=True)
class StageDefinition:
    """One stage.

    Attributes:
        name: what it is called.
        window: tokens of a sequence.
        mixture: its components; a document belongs to the first that it fits, and to none if it fits none.
        tokens: token budget of the training split; a share of the largest that the mixture allows, from 0 to 1, when it
            is written with a percent sign; None = the largest.
        overflow: what becomes of documents longer than the window: `split` cuts them at paragraphs, `drop` leaves them
            out for good, `carry` leaves them to later stages.
        max_padding: the emptiest sequences are taken apart again until padding is no larger share than this.
        max_image_tokens: bound on the tokens of a picture.
        whole: kinds of documents that are never split.
        reuse: documents may be used again that earlier stages have used.
        distances: how far dependencies should reach, for the report on what was got.
    """

    name: str
    window: int
    mixture: tuple[Component, ...]
    tokens: int | float | None = None
    overflow: str = "carry"
    max_padding: float = 0.001
    max_image_tokens: int = 1024
    whole: tuple[str, ...] = ("scatter",)
    reuse: bool = False
    distances: tuple[DistanceBin, ...] = field(default=())

    def __post_init__(self) -> None:
        total = sum(one.share for one in self.mixture)
        for wrong, why in (
            (self.window < 2, f"a window of {self.window} tokens; it holds at least 2"),
            (self.overflow not in OVERFLOW, f"overflow {self.overflow!r}; it is one of {', '.join(OVERFLOW)}"),
            (not total > 0 or any(one.share < 0 for one in self.mixture), "a mixture needs shares above 0"),
            (not 0 <= self.max_padding <= 1, f"max_padding {self.max_padding}; it is a share from 0 to 1"),
            (self.max_image_tokens < 1, f"max_image_tokens {self.max_image_tokens}; it is at least 1"),
            (
                isinstance(self.tokens, int) and self.tokens < self.window,
                f"a budget of {self.tokens} tokens fills no window of {self.window:,}",
            ),
            (isinstance(self.tokens, float) and not 0 < self.tokens <= 1, "a budget in percent is above 0 % to 100 %"),
            (any(one.upsample <= 0 for one in self.mixture), "upsample is above 0"),
        ):
            if wrong:
                raise StageError(f"stage {self.name}: {why}")

    def shares(self) -> dict[str, float]:
        """The components' shares, which add up to 1."""
        total = sum(one.share for one in self.mixture)
        return {one.name: one.share / total for one in self.mixture}

    def as_dict(self) -> dict[str, Any]:
        """JSON values; the components of the mixture by name."""
        values = json.loads(json.dumps(dataclasses.asdict(self)))
        values["mixture"] = {one.pop("name"): one for one in values["mixture"]}
        return values


@lru_cache(maxsize=1)
def presets() -> dict[str, dict[str, Any]]:
    """The shipped definitions by name, as they are written."""
    import yaml

    return yaml.safe_load(Path(__file__).with_name("stages.yaml").read_text(encoding="utf-8"))


def stage_definition(what: str | Mapping[str, Any]) -> StageDefinition:
    """A definition: the name of a preset, or its fields, which with `preset` change those of one.

    Raises:
        StageError: no such preset, an unknown or missing field, a value of the wrong type, a contradiction.
    """
    values: dict[str, Any] = {"preset": what} if isinstance(what, str) else dict(what)
    name = str(values.get("name") or values.get("preset") or "own")
    if "preset" in values:
        preset = values.pop("preset")
        if preset not in presets():
            raise StageError(f"no stage is called {preset!r}{_near(str(preset), presets())}; "
                             f"there are {', '.join(presets())}")  # fmt: skip
        values = {**presets()[preset], **values}
    values["name"] = name
    _known(f"stage {name}", values, StageDefinition)
    values["mixture"] = _mixture(name, values.get("mixture"))
    values["distances"] = _distances(name, values.get("distances") or [])
    if "tokens" in values:
        values["tokens"] = _budget(name, values["tokens"])
    if "whole" in values:
        values["whole"] = _names(f"stage {name}: whole", values["whole"])
    for key, kind in (("window", int), ("max_image_tokens", int), ("max_padding", (int, float)), ("reuse", bool)):
        if key in values and (not isinstance(values[key], kind) or (kind is int and isinstance(values[key], bool))):
            raise StageError(f"stage {name}: {key} is {values[key]!r}, which is no {_TYPE_NAMES[key]}")
    if "window" not in values:
        raise StageError(f"stage {name}: a window is missing")
    return StageDefinition(**values)


_TYPE_NAMES = {"window": "whole number", "max_image_tokens": "whole number", "max_padding": "number",
               "reuse": "true or false"}  # fmt: skip


def _mixture(name: str, given: Any) -> tuple[Component, ...]:
    if not isinstance(given, Mapping) or not given:
        raise StageError(f"stage {name}: a mixture is a mapping from names to shares or to {{share, domain, kind, …}}")
    components = []
    for component, values in given.items():
        where = f"stage {name}, mixture {component}"
        values = {"share": values, "domain": component} if isinstance(values, int | float) else values
        if not isinstance(values, Mapping):
            raise StageError(f"{where}: neither a share nor a mapping")
        _known(where, values, Component, without=("name",))
        if "share" not in values:
            raise StageError(f"{where}: a share is missing")
        for key, value in values.items():
            if key not in ("domain", "kind") and (not isinstance(value, int | float) or isinstance(value, bool)):
                raise StageError(f"{where}: {key} is {value!r}, which is no number")
        named = {key: _names(where, values[key]) for key in ("domain", "kind") if key in values}
        components.append(Component(**{"name": str(component), **values, **named}))
    return tuple(components)


def _distances(name: str, given: Any) -> tuple[DistanceBin, ...]:
    try:
        return tuple(DistanceBin(float(one["from"]), float(one["to"]), float(one["share"])) for one in given)
    except (TypeError, KeyError, ValueError):
        raise StageError(f"stage {name}: distances are a list of {{from, to, share}}") from None


def _budget(name: str, given: Any) -> int | float | None:
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    if isinstance(given, str) and (found := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", given)):
        return float(found[1]) / 100
    if isinstance(given, str) and re.fullmatch(r"\s*\d+\s*", given):
        return int(given)
    raise StageError(f"stage {name}: tokens is {given!r}; write a number of tokens, or a share like 40%")


def _names(where: str, given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise StageError(f"{where}: {given!r} is neither a name nor a list of names")
    return tuple(names)


def _known(where: str, values: Mapping[str, Any], into: type, without: tuple[str, ...] = ()) -> None:
    known = [one.name for one in dataclasses.fields(into) if one.name not in without]  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise StageError(f"{where}: unknown key {key!r}{_near(str(key), known)}")


def _near(word: str, known: Any) -> str:
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""
