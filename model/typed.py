"""Configuration as frozen dataclasses, read strictly: an unknown key, a missing one or a wrong type is one clear line.

For machines that train, where pydantic need not be. Fields may be int, float, bool, str, a literal, another dataclass,
a tuple of any of these, and any of them or None.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


class ConfigError(ValueError):
    """A configuration that cannot be; one line says why."""


def read_dataclass(kind: type[T], values: Any, where: str = "") -> T:
    """`values`, as JSON or YAML gives them, as a `kind`; `where` is the dotted path of keys that led here.

    Raises ConfigError for what does not fit, and passes on the one that `kind` itself raises.
    """
    if not isinstance(values, dict):
        raise ConfigError(f"{where or 'the configuration'} is {values!r}, not an object with keys")
    types = get_type_hints(kind)
    prefix = f"{where}." if where else ""
    for key in values:
        if key not in types:
            raise ConfigError(f"unknown key {prefix}{key}{nearest(str(key), list(types))}")
    arguments = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in values:
            arguments[field.name] = _typed(types[field.name], values[field.name], prefix + field.name)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ConfigError(f"{prefix}{field.name} is missing")
    return kind(**arguments)


def differing(one: Mapping[str, Any], other: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The dotted keys at which two nested configurations differ, with both values; a part that only one has is one
    key, and None stands for what is not there."""
    for key in dict.fromkeys([*one, *other]):
        mine, theirs = one.get(key), other.get(key)
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            yield from differing(mine, theirs, f"{prefix}{key}.")
        elif mine != theirs or (key in one) != (key in other):
            yield f"{prefix}{key}", mine, theirs


def nearest(word: str, words: list[str]) -> str:
    """A hint at the word that was probably meant, or nothing when none is near."""
    close = difflib.get_close_matches(word, words, 1)
    return f" (did you mean {close[0]}?)" if close else ""


def _typed(kind: Any, value: Any, where: str) -> Any:
    if get_origin(kind) is UnionType or type(None) in get_args(kind):
        if value is None:
            return None
        kind = next(one for one in get_args(kind) if one is not type(None))
    if is_dataclass(kind):
        return read_dataclass(kind, value, where)  # type: ignore[arg-type]
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        if not isinstance(value, (list, tuple)):
            plural = "whole numbers" if item is int else "values"
            raise ConfigError(f"{where} is {value!r}, not a list of {plural}")
        return tuple(_typed(item, one, where if item is int else f"{where}[{at}]") for at, one in enumerate(value))
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ConfigError(f"{where} is {value!r}, not one of {', '.join(map(str, get_args(kind)))}")
        return value
    if kind is float and isinstance(value, str):  # YAML takes 1e-3 for text; it wants 1.0e-3
        with suppress(ValueError):
            value = float(value)
    accepted = (int, float) if kind is float else (kind,)
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        wanted = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}[kind]
        raise ConfigError(f"{where} is {value!r}, not {wanted}")
    return kind(value)
