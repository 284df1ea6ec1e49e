"""Replies: how fast stored ones are read, and what a new one costs beside the time that the server takes.

The server is a process of this machine with a fixed latency, which refuses (429) what goes beyond its capacity. Peers
of the client that adapts are the same client with a fixed number of calls in flight, one too low and one too high for
that server. Every answer is checked.
"""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ...pipelines.errors import UserError
from ..chat.embedded import Embedded
from ..chat.endpoint import Endpoint
from ..chat.limits import Backoff, Breaker, Concurrency
from ..chat.spend import Price, Spend
from ..chat.store import Calls
from ..chat.types import Message, Reply, Request
from .chat_server import WORDS, serving

NAME = "chat"
SUMMARY = "back ends: stored replies read a second, calls a second beside fixed concurrency, embedded tokens a second"

_THREADS = 128
_LATENCY_S = 0.2
_CAPACITY = 32
_TEXT = " ".join(f"word{number}" for number in range(200))


def run(quick: bool) -> dict[str, Any]:
    """Rates a second of one process, milliseconds a call, and what the peers of fixed concurrency do."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        figures |= _warm(Path(folder), 2_000 if quick else 20_000)
        figures |= _overhead(Path(folder), 200 if quick else 1_000)
    count = 400 if quick else 4_000
    with serving(_LATENCY_S, _CAPACITY) as url:
        figures |= _cold(url, count, Concurrency(limit=8, highest=_THREADS))
        peers = {
            f"{fixed} calls in flight": _cold(url, count, Concurrency(limit=fixed, lowest=fixed, highest=fixed))
            for fixed in (8, _THREADS)
        }
    return {"figures": {**figures, **_embedded(quick)}, "peers": peers}


def _request(number: int) -> Request:
    return Request((Message("system", "Rewrite."), Message("user", f"{number} {_TEXT}")), max_tokens=256)


class _Known:
    """A back end that answers at once."""

    name, model, fingerprint, stored = "known", "known", "", True

    def reply(self, request: Request) -> Reply:
        return Reply(_TEXT, "stop", 200, 200, 1.0)

    def close(self) -> None:
        pass


def _warm(folder: Path, count: int) -> dict[str, float]:
    """Stored replies, read from single objects and from a pack, each key once."""
    back_end = _Known()
    calls = Calls(folder / "calls", Spend(folder / "spend", Price(1.0, 1.0)))
    requests = [_request(number) for number in range(count)]
    start = time.perf_counter()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda request: calls.reply(back_end, request), requests))
    rates: dict[str, float] = {"stored_per_s": round(count / (time.perf_counter() - start))}
    for name in ("warm_objects_per_s", "warm_pack_per_s"):
        start = time.perf_counter()
        replies = [calls.reply(back_end, request) for request in requests]
        rates[name] = round(count / (time.perf_counter() - start))
        assert all(reply.cached and reply.text == _TEXT for reply in replies)
        calls.pack()
    calls.close()
    return rates


def _overhead(folder: Path, count: int) -> dict[str, float]:
    """Milliseconds of a call to a server that answers at once: of the client alone, with storing and the account."""
    with serving(0.0, 1) as url:
        server = Endpoint(url, "bench", fingerprint="bench")
        calls = Calls(folder / "calls", Spend(folder / "spend", Price(1.0, 1.0), cap_usd=100.0))
        spent = {}
        for name, ask in (("client_ms", server.reply), ("stored_ms", lambda request: calls.reply(server, request))):
            start = time.perf_counter()
            for number in range(count):
                _check(ask(_request(number)))
            spent[f"overhead_{name}"] = round((time.perf_counter() - start) * 1000 / count, 2)
        server.close()
        calls.close()
    return spent


def _cold(url: str, count: int, concurrency: Concurrency) -> dict[str, float]:
    server = Endpoint(
        url, "bench", fingerprint="bench", concurrency=concurrency, backoff=Backoff(0.1, 2.0),
        breaker=Breaker(10_000, 600.0), server_tries=10_000,
    )  # fmt: skip
    start = time.perf_counter()
    with ThreadPoolExecutor(_THREADS) as pool:
        for reply in pool.map(server.reply, map(_request, range(count))):
            _check(reply)
    rate = count / (time.perf_counter() - start)
    server.close()
    return {
        "cold_calls_per_s": round(rate, 1),
        "cold_share_of_capacity": round(rate * _LATENCY_S / _CAPACITY, 3),
        "refused_per_call": round(server.counts["http_429"] / count, 3),
    }


def _check(reply: Reply) -> None:
    assert reply.finish == "stop"
    assert reply.completion_tokens == WORDS
    assert len(reply.text.split()) == WORDS


def _embedded(quick: bool) -> dict[str, float]:
    """Tokens a second of the small model, on one thread; nothing if it is not installed."""
    try:
        start = time.perf_counter()
        model = Embedded()
    except UserError:
        return {}
    loaded = time.perf_counter() - start
    texts = [f"Write about the number {number}." for number in range(8 if quick else 40)]
    prompts = [Request((Message("user", text),), max_tokens=64) for text in texts]
    start = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(model.reply, prompts))
    seconds = time.perf_counter() - start
    model.close()
    written = sum(reply.completion_tokens for reply in replies)
    read = sum(reply.prompt_tokens for reply in replies)
    return {
        "embedded_load_s": round(loaded, 2),
        "embedded_out_tokens_per_s": round(written / seconds, 1),
        "embedded_tokens_per_s": round((written + read) / seconds, 1),
    }
