"""A recipe's YAML as plain values that remember their lines: messages, overrides, and the environment.

Nothing here knows what a recipe means; `recipe` does.
"""

from __future__ import annotations

import os
import re
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from . import table
from .errors import UserError

Path_ = tuple[Any, ...]


class Place:
    """Knows on which line of which file each value stands."""

    def __init__(self, file: str, lines: dict[Path_, int]):
        self.file = file
        self.lines = lines

    def at(self, path: Path_, message: str) -> UserError:
        return UserError(f"{self.file}:{self.lines.get(self._known(path), 1)}: {message}")

    def error(self, error: ValidationError, model: type[BaseModel], prefix: Path_ = ()) -> UserError:
        """The line for the first thing that is wrong; a mistyped key before the missing one that it was meant to be."""
        found = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        first = found[0]
        path = tuple(first["loc"])
        if first["type"] == "extra_forbidden":
            known = _fields(model, path[:-1])
            return self.at(prefix + path, f"unknown key {path[-1]!r}{table.suggest(str(path[-1]), known)}")
        if first["type"] == "missing":
            return self.at(prefix + path[:-1], f"{path[-1]!r} is missing")
        # A union reports once per alternative, each with the alternative's name at the end of the place.
        known_path = self._known(prefix + path)
        same = [one for one in found if self._known(prefix + tuple(one["loc"])) == known_path]
        messages = dict.fromkeys(one["msg"].removeprefix("Value error, ") for one in same)
        name = ".".join(str(part) for part in known_path[len(prefix) :]) or "value"
        given = "" if isinstance(first["input"], dict | list) else f", not {first['input']!r}"
        told = " or ".join(f"{message[0].lower()}{message[1:]}" for message in messages)
        return self.at(known_path, f"{name}: {told}{given}")

    def _known(self, path: Path_) -> Path_:
        while path and path not in self.lines:
            path = path[:-1]
        return path


def _fields(model: type[BaseModel], path: Path_) -> list[str]:
    """Names of the fields of the model found by walking `path` down from `model`."""
    for part in path:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        inner = [annotation, *getattr(annotation, "__args__", ())]
        models = [one for one in inner if isinstance(one, type) and issubclass(one, BaseModel)]
        if not models:
            return []
        model = models[0]
    return list(model.model_fields)


def plain(node: yaml.Node, path: Path_, lines: dict[Path_, int], file: str) -> Any:
    """The node as Python values, noting the line of every path; duplicate keys are refused, `<<` is filled in."""
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        result: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                continue
            key = yaml.SafeLoader("").construct_object(key_node)
            line = key_node.start_mark.line + 1
            if key in result:
                raise UserError(f"{file}:{line}: key {key!r} stands twice")
            lines[(*path, key)] = line
            result[key] = plain(value_node, (*path, key), lines, file)
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                for key, value in _merged(value_node, path, lines, file).items():
                    result.setdefault(key, value)  # what is written beside `<<` wins
        return result
    if isinstance(node, yaml.SequenceNode):
        return [plain(child, (*path, index), lines, file) for index, child in enumerate(node.value)]
    return yaml.SafeLoader("").construct_object(node)


_MERGE = "tag:yaml.org,2002:merge"


def _merged(node: yaml.Node, path: Path_, lines: dict[Path_, int], file: str) -> dict[Any, Any]:
    """What `<<:` stands for: a mapping, or a list of mappings of which the first to have a key wins."""
    result: dict[Any, Any] = {}
    for one in node.value if isinstance(node, yaml.SequenceNode) else [node]:
        if not isinstance(one, yaml.MappingNode):
            raise UserError(f"{file}:{one.start_mark.line + 1}: `<<` takes a mapping, as in `<<: *name`")
        for key, value in plain(one, path, lines, file).items():
            result.setdefault(key, value)
    return result


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


_SHORTEST_SECRET = 6
"""Shorter values (a count, a name) are no secrets, and could not be told from ordinary text."""


def environment(value: Any, path: Path_, place: Place, secrets: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: environment(one, (*path, key), place, secrets) for key, one in value.items()}
    if isinstance(value, list):
        return [environment(one, (*path, index), place, secrets) for index, one in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value

    def fill(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name not in os.environ and default is None:
            raise place.at(path, f"the environment has no {name}; set it, or write ${{{name}:-default}}")
        if len(os.environ.get(name, "")) >= _SHORTEST_SECRET:
            secrets.add(os.environ[name])
        return os.environ.get(name, default or "")

    filled = _VARIABLE.sub(fill, value)
    # A value that is one variable takes the type YAML would give it (`count: ${COUNT:-600}`).
    return yaml.safe_load(filled) if _VARIABLE.fullmatch(value) else filled


def apply(tree: dict[str, Any], override: str) -> None:
    """Set one value; see `load` for how list elements are addressed."""
    path, equals, text = override.partition("=")
    if not equals or not path:
        raise UserError(f"--set {override}: write a.b=value")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = text
    here: Any = tree
    rest = path
    while True:
        key, rest = _descend(here, rest, override)
        if not rest:
            here[key] = value
            return
        if isinstance(here, dict) and here.get(key) is None:
            here[key] = {}
        here = here[key]


def _descend(here: Any, path: str, override: str) -> tuple[Any, str]:
    """The key or index that the longest prefix of `path` names in `here`, and what is left of `path`."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        head, rest = ".".join(parts[:length]), ".".join(parts[length:])
        if isinstance(here, dict) and head in here:
            return head, rest
        if isinstance(here, list):
            for index, one in enumerate(here):
                if head == str(index) or (isinstance(one, dict) and one.get("name") == head):
                    return index, rest
                if isinstance(one, dict) and len(one) == 1 and head in one:
                    return index, f"{head}.{rest}" if rest else head
    if isinstance(here, dict):
        return parts[0], ".".join(parts[1:])  # a key that is not there yet; validation judges it
    known = [str(one.get("name") or next(iter(one))) if isinstance(one, dict) else str(one) for one in here or []]
    raise UserError(f"--set {override}: there is no {parts[0]!r} here{table.suggest(parts[0], known)}")
