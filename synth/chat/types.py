"""What is asked of a back end and what it gives back.

A language model reads `messages`; the rule back end reads the chunk itself, its style and the seed. Everything that
shapes the answer is in the request, so that its hash can be the key of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...pipelines.errors import K3DataError


class Message(NamedTuple):
    """One turn of a conversation; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One call.

    Attributes:
        messages: the rendered prompt.
        source: the chunk that is to be rewritten, as it stands in the source.
        style: name of the prompt family, which is that of the rule back end's rewriting too.
        seed: what a back end that draws draws from. That a server honours it is not relied upon.
        attempt: from one; a repair is another request, never the answer of the first.
        max_tokens: at which the answer is cut (`finish` is then "length").
        temperature, top_p: sampling.
        stop: strings that end the answer.
    """

    messages: tuple[Message, ...]
    source: str = ""
    style: str = ""
    seed: int = 0
    attempt: int = 1
    max_tokens: int = 512
    temperature: float = 0.7
    top_p: float = 0.95
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer.

    Attributes:
        text: what was written, possibly empty or cut.
        finish: the server's reason for stopping: "stop", "length", "content_filter", …; "" if none was given.
        prompt_tokens, completion_tokens: as the server counts; 0 where nothing is counted.
        seconds: from asking to the last token, of the call that made it.
        cached: nothing was asked for this time.
    """

    text: str
    finish: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cached: bool = False


class Refused(K3DataError):
    """A request that will never be answered (a permanent error of the server, such as 400): one item's trouble.

    Attributes:
        code: what statistics count by: `http_400`, `too_long`, `malformed`.
    """

    def __init__(self, code: str, detail: str):
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class Stopped(K3DataError):
    """The back end has given up for all requests: server down, no valid key, breaker open, budget spent. Nothing that
    was answered is lost, and the same command goes on from there."""


class Backend(Protocol):
    """Something that answers. `reply` may be called by many threads at once.

    Attributes:
        name: endpoint, embedded, rule, replay.
        model: the model's name, or the rules' and their version.
        fingerprint: what else tells that another answer may come (file hash, server's build); part of the key.
        stored: whether answers cost something or cannot be had again, so that they go through `Calls`.
    """

    name: str
    model: str
    fingerprint: str
    stored: bool

    def reply(self, request: Request) -> Reply:
        """Raises Refused or Stopped."""
        ...

    def close(self) -> None: ...
