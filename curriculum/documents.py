"""The stage that turns a record into token ids: the last one before packing.

A record becomes one document in one of three forms, chosen by the hash of its id:

    document  its text as it stands, pictures where the text has them
    plain     its pictures and its tasks, in one of several phrasings
    chat      the same as a conversation in the chat template

A record without tasks is a document; one with `turns` is a conversation. Every document ends with one EOS and none
begins with BOS. Coordinates are written as the task states them. `targets`, where a record has them, say which of its
text counts as label.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, ClassVar

from datatrove.data import Document
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from ..pipelines.prepared import tokenizer_at
from ..pipelines.record import OBJECT
from ..pipelines.stage import Context, Filtered, InvalidInput, Stage
from ..pipelines.tokens import spread, token_record
from ..tokenizer import Tokenizer
from ..tokenizer.chat import render
from ..tokenizer.messages import Assistant, ChatError, Conversation, Image, Message, System, User
from . import task_text
from .writing import DocumentWriter


class Forms(BaseModel):
    """How often a record with tasks takes each form; only the ratio counts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    document: float = Field(default=1, ge=0)
    plain: float = Field(default=2, ge=0)
    chat: float = Field(default=2, ge=0)

    @model_validator(mode="after")
    def _some(self) -> Forms:
        if not self.document + self.plain + self.chat:
            raise ValueError("at least one form needs a share")
        return self


class Tokenise(Stage):
    """Turn records into token ids, ready to be packed.

    Attributes:
        tokenizer: the tokenizer's file or folder; a relative place is taken from the folder that holds the output.
        max_tokens: bound on the tokens of one picture, as the model's preprocessing will have it.
        forms: how often a record with tasks takes each form.
        shortest, longest: documents of fewer or more tokens are left out.
    """

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"tokenizer"})

    tokenizer: str
    max_tokens: int = Field(default=1024, ge=1)
    forms: Forms = Forms()
    shortest: int = Field(default=1, ge=1)
    longest: int | None = Field(default=None, ge=1)

    _context: Context | None = PrivateAttr(default=None)
    _tokenizer: Tokenizer | None = PrivateAttr(default=None)

    def reads(self, context: Context) -> dict[str, str]:
        return {"tokenizer": tokenizer_at(context, self.tokenizer)[0].digest, "image tokens": str(self.max_tokens)}

    def open(self, context: Context) -> None:
        self._context = context
        self._tokenizer = tokenizer_at(context, self.tokenizer)[0]

    def process(self, record: Document) -> Document:
        if self._context is None or self._tokenizer is None:
            raise RuntimeError("open() comes before process()")
        if "sample" in record.metadata:
            raise InvalidInput("tokenised", "the record is made of token ids already")
        if not record.text.strip():
            raise Filtered("empty", "there is no text")
        writer = DocumentWriter(self._tokenizer, self.max_tokens)
        self._write(writer, record, self._context.rng("curriculum.tokenise", record.id))
        made = token_record(writer.finish(record), like=record)
        if writer.length < self.shortest:
            raise Filtered("short", f"{writer.length} tokens")
        if self.longest is not None and writer.length > self.longest:
            raise Filtered("long", f"{writer.length} tokens")
        if writer.breaks:
            made.metadata["breaks"] = writer.breaks
        return made

    def _write(self, writer: DocumentWriter, record: Document, rng: random.Random) -> None:
        tasks, turns = record.metadata.get("tasks") or [], record.metadata.get("turns") or []
        if turns:
            _write_chat(writer, record, list(_messages(record)))
            return
        form = "document"
        if tasks:
            shares = self.forms.model_dump()
            (form,) = rng.choices(list(shares), list(shares.values()))
        if form == "document":
            _write_document(writer, record)
        elif form == "plain":
            _write_plain(writer, record, task_text.choose(tasks, rng), rng)
        else:
            _write_chat(writer, record, _task_messages(record, task_text.choose(tasks, rng)))


def _write_document(writer: DocumentWriter, record: Document) -> None:
    """The text as it stands. Text is cut where the weight of its labels changes, so that no token has two weights."""
    pictures = iter(record.media)
    for start, end, weight in _weighted(record):
        head, *rest = record.text[start:end].split(OBJECT)
        writer.text(head, weight)
        for text in rest:
            writer.picture(next(pictures))
            writer.text(text, weight)


def _weighted(record: Document) -> Iterator[tuple[int, int, float]]:
    """The text cut into runs of one label weight: 0 outside of the targets, 1 everywhere if there are none."""
    targets = record.metadata.get("targets") or []
    if not targets:
        yield 0, len(record.text), 1.0
        return
    at = 0
    for one in sorted(targets, key=lambda target: target["start"]):
        if one["start"] < at:
            raise InvalidInput("overlapping_targets", f"a target starts at {one['start']}, another ends at {at}")
        yield at, one["start"], 0.0
        yield one["start"], one["end"], float(one["weight"])
        at = one["end"]
    yield at, len(record.text), 0.0


def _write_plain(writer: DocumentWriter, record: Document, tasks: list[dict[str, Any]], rng: random.Random) -> None:
    """Pictures stand before the first task that needs them: after tasks about a text that they quote."""
    waiting = list(record.media)
    for task, text in zip(tasks, task_text.plain(tasks, rng), strict=True):
        if not task_text.quotes_its_program(task):
            _write_pictures(writer, waiting)
        writer.text(text)
    _write_pictures(writer, waiting)


def _write_pictures(writer: DocumentWriter, waiting: list[Any]) -> None:
    while waiting:
        writer.picture(waiting.pop(0))
        writer.text("\n")


def _write_chat(writer: DocumentWriter, record: Document, messages: list[Message]) -> None:
    """The conversation; its pictures come in the order of the record's media."""
    try:
        rendered = render(writer.tokenizer, Conversation(tuple(messages)), max_tokens=writer.max_tokens)
    except ChatError as error:
        raise InvalidInput("chat", str(error)) from None
    if len(rendered.images) != len(record.media):
        raise InvalidInput("chat", f"{len(rendered.images)} of {len(record.media)} pictures stand in a user's turn")
    for place, part in zip(rendered.images, record.media, strict=True):
        writer.image(place, part)
    writer.ids(rendered.ids, spread(rendered.weights))


def _task_messages(record: Document, tasks: list[dict[str, Any]]) -> list[Message]:
    waiting = [Image(part.metadata["width"], part.metadata["height"]) for part in record.media]
    messages: list[Message] = []
    for number, task in enumerate(tasks, start=1):
        content: list[str | Image] = [task["prompt"]]
        if waiting and (number == len(tasks) or not task_text.quotes_its_program(task)):
            content, waiting = [*waiting, *content], []
        messages += [User(content), Assistant(task["answer"])]
    return messages


def _messages(record: Document) -> Iterator[Message]:
    """The record's turns as messages; thinking goes with the answer that follows it."""
    pictures = iter(record.media)
    thought: str | None = None
    for turn in record.metadata["turns"]:
        head, *rest = record.text[turn["start"] : turn["end"]].split(OBJECT)
        content: list[str | Image] = [head]
        for text in rest:
            part = next(pictures)
            content += [Image(part.metadata["width"], part.metadata["height"]), text]
        match turn["role"], turn["channel"]:
            case "system", None:
                yield System(content)
            case "user", None:
                yield User(content)
            case "assistant", "think":
                thought = head
            case "assistant", "response" | None:
                yield Assistant(head, thought)
                thought = None
            case role, channel:
                raise InvalidInput("unknown_turn", f"a turn of role {role!r} and channel {channel!r}")
