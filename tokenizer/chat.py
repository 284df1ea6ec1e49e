"""The chat template: a conversation as token ids, in the element form that Kimi K3's report describes.

An element is `open`, its tag and attributes as text, `sep`, the body, `close`, the tag, `sep`; a message is one element
and `end_of_msg`. Here `<` `|` `/` stand for the three marks:

    <system type="tool-declare"| <function name="add"|{"description":…,"parameters":…}/function| /system|  end_of_msg
    <system type="thinking-effort"|high/system|  end_of_msg
    <user|What is 2 + 3?/user|  end_of_msg
    <assistant| <think|…/think| <response|…/response|
        <tools| <call tool="add" index="1"| <argument name="a" type="number"|2/argument| … /call| /tools|
    /assistant|  end_of_msg
    <tool name="add" index="1"|5/tool|  end_of_msg

Marks are special ids and all else is text that was encoded by itself, so nothing that anyone writes can open or close
an element. No `bos` is written. Thinking is kept in every message of the history.

Weights: 1 for what the model writes, which is all of an assistant's message after the opening of its first channel
(the generation prefix ends there) up to and with `end_of_msg`; 0 for the rest, and for arguments that came as a string.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bpe import Tokenizer
from .images import MAX_TOKENS, image_grid
from .messages import (
    Assistant,
    Call,
    ChatError,
    Content,
    Conversation,
    Image,
    Message,
    System,
    ToolResult,
    User,
    compact,
)

TYPES = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null", list: "array",
         tuple: "array", dict: "object"}  # fmt: skip
"""Python type of an argument → the type that its element states."""


@dataclass(frozen=True)
class Rendered:
    """A conversation as ids.

    Attributes:
        ids: uint32 [T].
        weights: runs `{start, end, weight}` over the whole length: how much each token counts when it is predicted.
        images: `{start, tokens, grid: [rows, columns], width, height}`, `start` and `tokens` being the run of
            `media_pad` and the size the original one, in pixels.
    """

    ids: np.ndarray
    weights: list[dict[str, Any]]
    images: list[dict[str, Any]]


def render(
    tokenizer: Tokenizer, conversation: Conversation, *, answer_in: str | None = None, max_tokens: int = MAX_TOKENS
) -> Rendered:
    """Write a conversation.

    Args:
        tokenizer: gives the ids.
        conversation: what to write.
        answer_in: `think` or `response`: end with the prefix that makes a model answer in that channel.
        max_tokens: at most so many tokens a picture, see `image_grid`.

    Raises:
        ChatError: an unknown channel, a call's result without its call, a value that JSON cannot say.
    """
    writer = _Writer(tokenizer, max_tokens)
    if conversation.tools:
        writer.mark("open").text('system type="tool-declare"').mark("sep")
        for tool in conversation.tools:
            facts = {"description": tool.description, "parameters": tool.parameters}
            writer.element("function", {"name": tool.name}, compact(facts))
        writer.end("system").mark("end_of_msg")
    if conversation.thinking_effort is not None:
        _option(writer, "thinking-effort", conversation.thinking_effort)
    for message in conversation.messages:
        _message(writer, message)
    if conversation.tool_choice is not None:
        _option(writer, "tool-choice", conversation.tool_choice)
    if conversation.response_format is not None:
        _option(writer, "response-format", compact(conversation.response_format))
    if answer_in is not None:
        if answer_in not in ("think", "response"):
            raise ChatError(f"unknown channel {answer_in!r}: an answer begins in think or response")
        writer.begin("assistant").begin(answer_in)
    return writer.rendered()


def _option(writer: _Writer, type_: str, body: str) -> None:
    writer.element("system", {"type": type_}, body).mark("end_of_msg")


def _message(writer: _Writer, message: Message) -> None:
    match message:
        case System(content):
            writer.element("system", {}, content)
        case User(content):
            writer.element("user", {}, content)
        case ToolResult(tool, index, content):
            writer.element("tool", {"name": tool, "index": str(index)}, content)
        case Assistant():
            _assistant(writer, message)
        case _:
            raise ChatError(f"unknown kind of message: {type(message).__name__}")
    writer.mark("end_of_msg").weight = 0


def _assistant(writer: _Writer, message: Assistant) -> None:
    """Leaves the writer's weight at 1, for the `end_of_msg` that the model writes too."""
    writer.begin("assistant")
    channels = {"response": message.response}
    if message.think is not None:
        channels = {"think": message.think, **channels}
    for channel, text in channels.items():
        writer.begin(channel)
        writer.weight = 1
        writer.text(text).end(channel)
    if message.calls:
        writer.begin("tools")
        for index, call in enumerate(message.calls, 1):
            _call(writer, call, index)
        writer.end("tools")
    writer.end("assistant")


def _call(writer: _Writer, call: Call, index: int) -> None:
    writer.begin("call", {"tool": call.tool, "index": str(index)})
    if isinstance(call.arguments, str):
        writer.weight = 0
        writer.element("json", {}, call.arguments)
        writer.weight = 1
    else:
        for name, value in call.arguments.items():
            if type(value) not in TYPES:
                raise ChatError(f"call of {call.tool}: argument {name!r} is {type(value).__name__}, no JSON value")
            body = value if isinstance(value, str) else compact(value)
            writer.element("argument", {"name": name, "type": TYPES[type(value)]}, body)
    writer.end("call")


class _Writer:
    """Collects marks and texts, each with the weight of its moment, and encodes all texts in one batch at the end."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int):
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.weight = 0
        self._parts: list[tuple[str | Image | int, int]] = []

    def mark(self, name: str) -> _Writer:
        self._parts.append((self.tokenizer.special[name], self.weight))
        return self

    def text(self, text: str) -> _Writer:
        if not isinstance(text, str):
            raise ChatError(f"{type(text).__name__} where text belongs")
        if text:
            self._parts.append((text, self.weight))
        return self

    def begin(self, tag: str, attributes: dict[str, str] | None = None) -> _Writer:
        stated = "".join(f' {name}="{_escape(value)}"' for name, value in (attributes or {}).items())
        return self.mark("open").text(tag + stated).mark("sep")

    def end(self, tag: str) -> _Writer:
        return self.mark("close").text(tag).mark("sep")

    def element(self, tag: str, attributes: dict[str, str], body: Content) -> _Writer:
        self.begin(tag, attributes)
        if not isinstance(body, (str, Sequence)):
            raise ChatError(f"{type(body).__name__} where text or a list of parts belongs")
        for part in [body] if isinstance(body, str) else body:
            if isinstance(part, Image):
                self._image(part)
            else:
                self.text(part)
        return self.end(tag)

    def _image(self, image: Image) -> None:
        self.mark("media_begin").text(f"image {image.width}x{image.height}").mark("media_content")
        self._parts.append((image, self.weight))
        self.mark("media_end")

    def rendered(self) -> Rendered:
        encoded = iter(self.tokenizer.encode_batch([part for part, _ in self._parts if isinstance(part, str)]))
        arrays, at = [np.empty(0, np.uint32)], 0
        weights: list[dict[str, Any]] = []
        images: list[dict[str, Any]] = []
        for part, weight in self._parts:
            if isinstance(part, str):
                array = next(encoded)
            elif isinstance(part, Image):
                grid = image_grid(part.width, part.height, self.max_tokens)
                array = np.full(grid.tokens, self.tokenizer.special["media_pad"], np.uint32)
                images.append({"start": at, "tokens": grid.tokens, "grid": [grid.rows, grid.columns],
                               "width": part.width, "height": part.height})  # fmt: skip
            else:
                array = np.array([part], np.uint32)
            if weights and weights[-1]["weight"] == weight:
                weights[-1]["end"] += len(array)
            else:
                weights.append({"start": at, "end": at + len(array), "weight": weight})
            arrays.append(array)
            at += len(array)
        return Rendered(np.concatenate(arrays), weights, images)


def _escape(value: str) -> str:
    return value.replace("&", "&amp;").replace('"', "&quot;")
