"""What a conversation is made of, typed: messages, tool calls, pictures, and the options of a request.

`conversation_from` reads the same from plain JSON values (a line of a chat data set) and refuses what it does not know.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias


class ChatError(ValueError):
    """A conversation that the template does not know how to write, or ids that are not one; told in one line."""


@dataclass(frozen=True)
class Image:
    """A picture in a message: its original size in pixels."""

    width: int
    height: int


Content: TypeAlias = "str | Sequence[str | Image]"
"""Text, or text and pictures in reading order."""


@dataclass(frozen=True)
class System:
    """An instruction of whoever runs the conversation."""

    content: Content


@dataclass(frozen=True)
class User:
    """What the person says."""

    content: Content


@dataclass(frozen=True)
class ToolResult:
    """What the `index`-th call (from 1) of the assistant's last message gave."""

    tool: str
    index: int
    content: Content


@dataclass(frozen=True)
class Call:
    """One call of a tool.

    Attributes:
        tool: the tool's name.
        arguments: name → JSON value; or a string, the arguments as they came when they are no JSON object. Such a block
            is shown to the model and never trained on.
    """

    tool: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True)
class Assistant:
    """The model's answer: its channels in the order think, response, tools. `think` is None when it did not think."""

    response: str = ""
    think: str | None = None
    calls: tuple[Call, ...] = ()


Message: TypeAlias = System | User | ToolResult | Assistant


@dataclass(frozen=True)
class Tool:
    """A tool that the assistant may call; `parameters` is a JSON schema."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Conversation:
    """Messages with the options that go before them (tools, effort) and after them (tool choice, response format)."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    thinking_effort: str | None = None
    tool_choice: str | None = None
    response_format: Mapping[str, Any] | None = None


def conversation_from(values: Mapping[str, Any]) -> Conversation:
    """A conversation from JSON values: `{"messages": [{"role": …, "content": …}], "tools": [{"name": …}], …}`.

    An assistant's message has the channels `think`, `response` and `tools` (`[{"tool": …, "arguments": …}]`); a tool's
    has `tool`, `index` and `content`. In a content that is a list, `{"image": [width, height]}` is a picture.

    Raises:
        ChatError: an unknown role, channel or field, or a value of the wrong type, with the message's number.
    """
    _known(values, {"messages", "tools", "thinking_effort", "tool_choice", "response_format"}, "conversation")
    messages = values.get("messages")
    if not isinstance(messages, list):
        raise ChatError("conversation: messages is missing, or no list")
    return Conversation(
        messages=tuple(_message(one, f"message {number}") for number, one in enumerate(messages)),
        tools=tuple(_tool(one, f"tool {number}") for number, one in enumerate(values.get("tools") or [])),
        thinking_effort=_optional(values, "thinking_effort", str, "conversation"),
        tool_choice=_optional(values, "tool_choice", str, "conversation"),
        response_format=_optional(values, "response_format", dict, "conversation"),
    )


def compact(value: Any) -> str:
    """JSON without blanks, as arguments and declarations are written. Raises `ChatError` for what JSON cannot say."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ChatError(f"not a JSON value: {error}") from None


def _message(values: Any, where: str) -> Message:
    if not isinstance(values, Mapping):
        raise ChatError(f"{where}: {type(values).__name__} is no message")
    role = values.get("role")
    if role == "assistant":
        _known(values, {"role", "think", "response", "tools"}, where, "channel")
        calls = values.get("tools") or []
        if not isinstance(calls, list):
            raise ChatError(f"{where}: tools is no list of calls")
        return Assistant(
            response=_optional(values, "response", str, where) or "",
            think=_optional(values, "think", str, where),
            calls=tuple(_call(one, f"{where}, call {number}") for number, one in enumerate(calls, 1)),
        )
    if role == "tool":
        _known(values, {"role", "tool", "index", "content"}, where)
        index = values.get("index", 1)
        if not isinstance(index, int) or index < 1:
            raise ChatError(f"{where}: index {index!r} is no number from 1")
        return ToolResult(_needed(values, "tool", str, where), index, _content(values, where))
    if role in ("system", "user"):
        _known(values, {"role", "content"}, where)
        return (System if role == "system" else User)(_content(values, where))
    raise ChatError(f"{where}: unknown role {role!r}; roles are system, user, assistant and tool")


def _call(values: Any, where: str) -> Call:
    if not isinstance(values, Mapping):
        raise ChatError(f"{where}: {type(values).__name__} is no call")
    _known(values, {"tool", "arguments"}, where)
    arguments = values.get("arguments", {})
    if not isinstance(arguments, (Mapping, str)):
        raise ChatError(f"{where}: arguments is {type(arguments).__name__}, neither an object nor a string")
    return Call(_needed(values, "tool", str, where), arguments)


def _tool(values: Any, where: str) -> Tool:
    if not isinstance(values, Mapping):
        raise ChatError(f"{where}: {type(values).__name__} is no declaration")
    _known(values, {"name", "description", "parameters"}, where)
    description = _optional(values, "description", str, where) or ""
    return Tool(_needed(values, "name", str, where), description, _optional(values, "parameters", dict, where) or {})


def _content(values: Mapping[str, Any], where: str) -> Content:
    content = values.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise ChatError(f"{where}: content is missing, or neither a string nor a list")
    return tuple(_part(one, where) for one in content)


def _part(value: Any, where: str) -> str | Image:
    if isinstance(value, str):
        return value
    size = value.get("image") if isinstance(value, Mapping) and set(value) == {"image"} else None
    if isinstance(size, list) and len(size) == 2 and all(type(side) is int and side > 0 for side in size):
        return Image(*size)
    raise ChatError(f'{where}: {value!r} is no part of a content; parts are text and {{"image": [width, height]}}')


def _known(values: Mapping[str, Any], known: set[str], where: str, what: str = "field") -> None:
    for name in values:
        if name not in known:
            raise ChatError(f"{where}: unknown {what} {name!r}; known are {', '.join(sorted(known - {'role'}))}")


def _optional(values: Mapping[str, Any], name: str, type_: type, where: str) -> Any:
    value = values.get(name)
    if value is not None and not isinstance(value, type_):
        raise ChatError(f"{where}: {name} is {type(value).__name__}, not {type_.__name__}")
    return value


def _needed(values: Mapping[str, Any], name: str, type_: type, where: str) -> Any:
    value = _optional(values, name, type_, where)
    if value is None:
        raise ChatError(f"{where}: {name} is missing")
    return value
