"""What is stored of a call: the key of a request, and the object that holds its answer.

The key is the SHA-256 of the canonical JSON of everything that shapes an answer: the messages (by their own digest, so
that a key can be worked out again without storing every prompt), model and fingerprint, sampling, seed, attempt, the
response format and the flavour of the API. It never holds the id of a document, so the same question of two documents,
two runs or two data sets is asked once.

An object is one line of JSON that begins with its key and ends with a digest of itself:

    {"key": …, "request": {what the key is the hash of}, "reply": {text, finish, …} or "refused": {code, detail, until},
     "cost_usd": …, "account": of the process that asked, "created": epoch seconds, "digest": SHA-256 of all before}
"""

from __future__ import annotations

import hashlib
import time
from typing import Any

import orjson

from ...pipelines.errors import StoreError
from .types import Backend, Refused, Reply, Request

FORMAT = "text"
API = "chat.completions"
KEY_AT = len('{"key":"')
"""Where the key's 64 hex digits begin in an object's line."""

_SORTED = orjson.OPT_SORT_KEYS


class DamagedReply(StoreError):
    """A stored reply that is not what was written; the message names the file."""


def parts_of(request: Request, backend: Backend) -> dict[str, Any]:
    """Everything that shapes the answer, the messages as a digest."""
    return {
        "messages": _sha256(orjson.dumps([list(message) for message in request.messages])),
        "model": backend.model,
        "fingerprint": backend.fingerprint,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_tokens": request.max_tokens,
        "stop": list(request.stop),
        "seed": request.seed,
        "attempt": request.attempt,
        "format": FORMAT,
        "api": API,
    }


def key_of(parts: dict[str, Any]) -> str:
    """64 hex digits."""
    return _sha256(orjson.dumps(parts, option=_SORTED))


def answer(key: str, parts: dict[str, Any], reply: Reply, cost_usd: float, account: str) -> bytes:
    """The object of an answer. `account` is the name of the `Spend` that paid for it, or empty."""
    told = {
        "text": reply.text,
        "finish": reply.finish,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "seconds": round(reply.seconds, 4),
    }
    paid = {"cost_usd": cost_usd, "account": account, "created": time.time()}
    return _dumps({"key": key, "request": parts, "reply": told, **paid})


def refusal(key: str, parts: dict[str, Any], refused: Refused, until: float) -> bytes:
    """The object of a refusal that holds until the epoch second `until`."""
    told = {"code": refused.code, "detail": refused.detail, "until": until}
    return _dumps({"key": key, "request": parts, "refused": told, "created": time.time()})


def loads(line: bytes, key: str | None, place: str) -> dict[str, Any]:
    """An object as it was stored. `key` is that which it must have, `place` names its file in errors.

    Raises:
        DamagedReply: it is cut, or belongs to another key.
    """
    try:
        stored = orjson.loads(line)
        found = stored["key"]
        complete = "digest" in stored and ("reply" in stored or "refused" in stored)
    except (ValueError, TypeError, KeyError):
        raise DamagedReply(f"{place} is damaged: not a stored reply ({len(line)} bytes)") from None
    if not complete or (key is not None and found != key):
        raise DamagedReply(f"{place} is damaged: it holds another key or lacks a part")
    return stored


def check(stored: dict[str, Any], place: str) -> None:
    """Work key and digest out again.

    Raises:
        DamagedReply: either is not what the content gives.
    """
    content = dict(stored)
    digest = content.pop("digest")
    if _sha256(orjson.dumps(content)) != digest:
        raise DamagedReply(f"{place} is damaged: its content does not match its digest")
    if key_of(content["request"]) != content["key"]:
        raise DamagedReply(f"{place} is damaged: its key is not that of its request")


def reply_of(stored: dict[str, Any]) -> Reply:
    """The answer in an object, as one that nothing was asked for."""
    told = stored["reply"]
    return Reply(
        told["text"], told["finish"], told["prompt_tokens"], told["completion_tokens"], told["seconds"], cached=True
    )


def _dumps(content: dict[str, Any]) -> bytes:
    return orjson.dumps({**content, "digest": _sha256(orjson.dumps(content))})


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
