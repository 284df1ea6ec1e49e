"""A streamed answer, read as it comes: server-sent events, what they add up to, and when to cut them off."""

from __future__ import annotations

from typing import Any

import orjson

LOOP_SPACES = 200
"""So many blanks and line ends in a row are a loop."""

LOOP_CHARACTERS = 240
LOOP_TIMES = 4
LOOP_PERIOD = 200
"""A loop is an end of the text of at least `LOOP_CHARACTERS` that says one piece, of at most `LOOP_PERIOD` characters,
at least `LOOP_TIMES`."""

_LINE_BYTES = 1_000_000
_NEEDLE = 24


class Malformed(Exception):
    """What came is not what the API says."""


class ServerError(Exception):
    """The server has told of an error in the middle of a stream; `code` is as in HTTP, 0 if it gives none."""

    def __init__(self, told: Any):
        fields = told if isinstance(told, dict) else {"message": told}
        super().__init__(str(fields.get("message", told))[:300])
        code = fields.get("code")
        self.code = code if isinstance(code, int) else 0


class Answer:
    """An answer that is being streamed.

    Args:
        max_tokens: a server that goes far beyond is cut off.

    Attributes:
        finish: the reason for stopping; "" as long as none was given. "loop" if we cut it off for going round in
            circles, "length" if for its length.
        done: the end mark has come.
        chunks: parts with content, which are tokens on most servers.
        usage: prompt and completion tokens as the server counts, or None.
    """

    def __init__(self, max_tokens: int):
        self.finish = ""
        self.done = False
        self.chunks = 0
        self.usage: tuple[int, int] | None = None
        self._max_chunks = max_tokens + 16
        self._pieces: list[str] = []
        self._tail = ""
        self._unseen = 0
        self._rest = b""

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def whole(self) -> bool:
        """It has ended by itself."""
        return self.done or bool(self.finish)

    def feed(self, data: bytes) -> bool:
        """Take bytes as they come. Returns whether to go on reading.

        Raises:
            Malformed: an event that is not JSON, or not a chunk of a chat completion.
            ServerError: an error event.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LINE_BYTES:
            raise Malformed("a line of the stream does not end")
        return all(self._line(line.strip()) for line in lines)

    def _line(self, line: bytes) -> bool:
        if not line.startswith(b"data:"):  # comments, names of events, blank lines
            if line.startswith(b"{"):
                raise Malformed("JSON instead of a stream of events")
            return True
        return self.event(line[5:].strip())

    def event(self, body: bytes) -> bool:
        """Take one event's data. Returns whether to go on reading; raises as `feed` does."""
        if body == b"[DONE]":
            self.done = True
            return False
        try:
            event = orjson.loads(body)
            if "error" in event:
                raise ServerError(event["error"])
            if usage := event.get("usage"):
                self.usage = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
            for choice in event.get("choices") or ():
                delta = choice.get("delta") or {}
                if delta.get("content") or delta.get("reasoning_content"):
                    self.chunks += 1
                self._add(delta.get("content") or "")
                self.finish = str(choice.get("finish_reason") or self.finish)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Malformed(f"an event is not a chunk of a chat completion ({type(error).__name__})") from None
        if self.finish:  # the event with the usage is still to come
            return True
        if self.chunks > self._max_chunks:
            self.finish = "length"
        elif self._unseen >= LOOP_CHARACTERS // 4:
            self._unseen = 0
            self.finish = "loop" if is_loop(self._tail) else ""
        return not self.finish

    def _add(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self._unseen += len(text)
            self._tail = (self._tail + text)[-LOOP_PERIOD * LOOP_TIMES :]


def is_loop(tail: str) -> bool:
    """Whether the end of a text goes round in circles: nothing but space, or one piece again and again."""
    if len(tail) >= LOOP_SPACES and tail[-LOOP_SPACES:].isspace():
        return True
    needle = tail[-_NEEDLE:]
    before = tail.rfind(needle, 0, len(tail) - 1)
    if before < 0 or len(tail) < LOOP_CHARACTERS:
        return False
    period = len(tail) - _NEEDLE - before
    length = max(LOOP_CHARACTERS, LOOP_TIMES * period)
    if period > LOOP_PERIOD or length > len(tail):
        return False
    return tail[-length:-period] == tail[-length + period :]
