"""What a recipe can name: every source and stage with its parameters, for people and (as JSON schema) for editors."""

from __future__ import annotations

import inspect
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from . import table
from .errors import UserError
from .recipe import _Recipe


def catalogue(name: str | None = None) -> list[dict[str, Any]]:
    """Sources and stages with their parameters. What cannot be imported here is listed with the reason.

    Raises:
        UserError: `name` is given and is none of them.
    """
    found = [_entry(known, role) for role in ("source", "stage") for known in sorted(table.names(role))]
    found += [_datatrove(known, step, role) for role in ("source", "stage") for known, step in _datatrove_steps(role)]
    if name is None:
        return found
    one = [entry for entry in found if entry["name"] == name]
    if not one:
        raise UserError(f"nothing is called {name!r}{table.suggest(name, [entry['name'] for entry in found])}")
    return one


def catalogue_text(entries: list[dict[str, Any]]) -> str:
    lines = []
    for entry in entries:
        lines.append(f"{entry['name']}  ({entry['role']})")
        lines.append(f"    {entry.get('missing') or entry['summary']}")
        for parameter in entry["parameters"]:
            default = "required" if parameter["required"] else f"default {parameter['default']!r}"
            lines.append(f"      {parameter['name']}: {parameter['type']}, {default}")
    return "\n".join(lines)


def recipe_schema() -> dict[str, Any]:
    """JSON schema of a recipe file, the parameters of every source and stage included."""
    schema = _Recipe.model_json_schema()
    definitions = schema.setdefault("$defs", {})
    for role, field in (("source", "source"), ("stage", "stages")):
        options = []
        for name in sorted(table.names(role)):
            try:
                model = table.resolve(name, role)
            except UserError:
                continue
            parameters = model.model_json_schema(ref_template="#/$defs/{model}")  # type: ignore[attr-defined]
            definitions.update(parameters.pop("$defs", {}))
            options.append(
                {"type": "object", "additionalProperties": False, "required": [name], "properties": {name: parameters}}
            )
        # Datatrove's steps and one's own `module:Class` take parameters that only Python knows.
        options.append({"type": "object", "maxProperties": 1, "patternProperties": {"^datatrove\\.|:": {}}})
        definitions["_Job"]["properties"][field]["items"] = {"anyOf": options}
    return schema


def _entry(name: str, role: str) -> dict[str, Any]:
    try:
        model = table.resolve(name, role)
    except UserError as error:
        return {"name": name, "role": role, "summary": "", "missing": str(error), "parameters": []}
    return {"name": name, "role": role, "summary": _summary(model), "parameters": _parameters(model)}


def _summary(model: type) -> str:
    return (inspect.getdoc(model) or "").split("\n\n")[0].replace("\n", " ")


def _parameters(model: type) -> list[dict[str, Any]]:
    assert issubclass(model, BaseModel)
    return [
        {
            "name": name,
            "type": _type_name(field.annotation),
            "required": field.is_required(),
            "default": None if field.is_required() else _plain(field.get_default(call_default_factory=True)),
        }
        for name, field in model.model_fields.items()
    ]


def _type_name(annotation: Any) -> str:
    """The annotation as one would write it, without validators and module names."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    if get_origin(annotation) is Annotated:
        return _type_name(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join(_type_name(one) for one in get_args(annotation)).replace("NoneType", "None")
    return inspect.formatannotation(annotation).replace("typing.", "")


def _plain(value: Any) -> Any:
    return value.model_dump() if isinstance(value, BaseModel) else value


def _datatrove_steps(role: str) -> list[tuple[str, type]]:
    return sorted((f"datatrove.{name}", step) for name, step in table.datatrove_classes(role).items())


def _datatrove(name: str, step: type, role: str) -> dict[str, Any]:
    parameters = [
        {
            "name": one.name,
            "type": "any" if one.annotation is one.empty else str(one.annotation),
            "required": one.default is one.empty,
            "default": None if one.default is one.empty else str(one.default),
        }
        for one in inspect.signature(step).parameters.values()
        if one.name not in ("exclusion_writer", "batch_size", "paths_file", "limit", "skip", "shuffle_files")
    ]
    return {"name": name, "role": role, "summary": _summary(step), "parameters": parameters}
