"""Read a rendered conversation back from its ids: the inverse of `chat.render`, for tests, tools and served models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .bpe import Tokenizer
from .messages import Assistant, Call, ChatError, Content, Conversation, Image, Message, System, Tool, ToolResult, User

_ATTRIBUTE = re.compile(r' ([a-z]+)="([^"]*)"')
_SIZE = re.compile(r"image (\d+)x(\d+)")


@dataclass
class _Element:
    tag: str
    attributes: dict[str, str]
    body: list[str | Image | _Element] = field(default_factory=list)

    def content(self) -> Content:
        """Text, or text and pictures. Raises `ChatError` when an element is inside."""
        parts: list[str | Image] = []
        for one in self.body:
            if isinstance(one, _Element):
                raise ChatError(f"element {one.tag} inside the text of {self.tag}")
            parts.append(one)
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if len(texts) == len(parts) else tuple(parts)

    def text(self) -> str:
        content = self.content()
        if not isinstance(content, str):
            raise ChatError(f"picture inside {self.tag}")
        return content

    def elements(self, *tags: str) -> list[_Element]:
        """The elements inside, which must all have one of these tags."""
        found = [one for one in self.body if isinstance(one, _Element) and one.tag in tags]
        if len(found) != len(self.body):
            raise ChatError(f"{self.tag} holds something else than {', '.join(tags)}")
        return found


def parse(tokenizer: Tokenizer, ids: Iterable[int]) -> Conversation:
    """The conversation that these ids write. Raises `ChatError` when they do not write one, with the position."""
    messages: list[Message] = []
    options: dict[str, Any] = {}
    reader = _Reader(tokenizer, [int(one) for one in ids])
    while not reader.done():
        element = reader.element()
        reader.expect("end_of_msg")
        if element.tag == "system" and "type" in element.attributes:
            _option(element, options)
        else:
            messages.append(_message(element))
    return Conversation(tuple(messages), **options)


class _Reader:
    def __init__(self, tokenizer: Tokenizer, ids: list[int]):
        self.tokenizer = tokenizer
        self.ids = ids
        self.at = 0
        self.first_special = tokenizer.special["bos"]

    def done(self) -> bool:
        return self.at == len(self.ids)

    def expect(self, name: str) -> None:
        if not self._next_is(name):
            found = self.tokenizer.decode(self.ids[self.at : self.at + 1]) or "the end"
            raise ChatError(f"position {self.at}: {found!r} where <|{name}|> belongs")
        self.at += 1

    def text(self) -> str:
        start = self.at
        while self.at < len(self.ids) and self.ids[self.at] < self.first_special:
            self.at += 1
        return self.tokenizer.decode(self.ids[start : self.at])

    def element(self) -> _Element:
        self.expect("open")
        tag, attributes = _head(self.text())
        self.expect("sep")
        element = _Element(tag, attributes)
        while not self._next_is("close"):
            if self._next_is("open"):
                element.body.append(self.element())
            elif self._next_is("media_begin"):
                element.body.append(self._image())
            elif text := self.text():
                element.body.append(text)
            else:
                self.expect("close")
        self.expect("close")
        closed = self.text()
        if closed != tag:
            raise ChatError(f"position {self.at}: {closed!r} closes {tag!r}")
        self.expect("sep")
        return element

    def _image(self) -> Image:
        self.expect("media_begin")
        size = _SIZE.fullmatch(self.text())
        if not size:
            raise ChatError(f"position {self.at}: a picture without its size")
        self.expect("media_content")
        while self._next_is("media_pad"):
            self.at += 1
        self.expect("media_end")
        return Image(int(size[1]), int(size[2]))

    def _next_is(self, name: str) -> bool:
        return not self.done() and self.ids[self.at] == self.tokenizer.special[name]


def _head(text: str) -> tuple[str, dict[str, str]]:
    tag, space, rest = text.partition(" ")
    attributes = _ATTRIBUTE.findall(space + rest)
    if "".join(f' {name}="{value}"' for name, value in attributes) != space + rest:
        raise ChatError(f"{text!r} is no tag with attributes")
    return tag, {name: value.replace("&quot;", '"').replace("&amp;", "&") for name, value in attributes}


def _option(element: _Element, options: dict[str, Any]) -> None:
    match element.attributes["type"]:
        case "tool-declare":
            options["tools"] = tuple(
                Tool(one.attributes["name"], **json.loads(one.text())) for one in element.elements("function")
            )
        case "thinking-effort":
            options["thinking_effort"] = element.text()
        case "tool-choice":
            options["tool_choice"] = element.text()
        case "response-format":
            options["response_format"] = json.loads(element.text())
        case other:
            raise ChatError(f"unknown type of system message: {other!r}")


def _message(element: _Element) -> Message:
    match element.tag:
        case "system":
            return System(element.content())
        case "user":
            return User(element.content())
        case "tool":
            return ToolResult(element.attributes["name"], int(element.attributes["index"]), element.content())
        case "assistant":
            channels = {one.tag: one for one in element.elements("think", "response", "tools")}
            think, tools = channels.get("think"), channels.get("tools")
            return Assistant(
                response=channels["response"].text() if "response" in channels else "",
                think=think.text() if think else None,
                calls=tuple(map(_call, tools.elements("call"))) if tools else (),
            )
        case other:
            raise ChatError(f"unknown role {other!r}")


def _call(element: _Element) -> Call:
    parts = element.elements("argument", "json")
    if parts and parts[0].tag == "json":
        return Call(element.attributes["tool"], parts[0].text())
    arguments = {}
    for one in parts:
        body = one.text()
        arguments[one.attributes["name"]] = body if one.attributes["type"] == "string" else json.loads(body)
    return Call(element.attributes["tool"], arguments)
