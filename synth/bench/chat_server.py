"""A chat server of fixed latency in a process of its own, for the benchmark: it streams the same answer to everyone.

Requests beyond its capacity get 429 at once, as from a hosted model. `python -m k3data.synth.bench.chat_server
LATENCY_S CAPACITY` prints its port and serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import orjson

WORDS = 100
"""Tokens of an answer."""


@contextmanager
def serving(latency_s: float, capacity: int) -> Iterator[str]:
    """Run one until the block ends; yields its URL."""
    command = [sys.executable, "-m", __name__, str(latency_s), str(capacity)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        server.stdin.close()


def _event(delta: dict, finish: str | None = None) -> bytes:
    return b"data: " + orjson.dumps({"choices": [{"delta": delta, "finish_reason": finish}]}) + b"\n\n"


_USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":200,"completion_tokens":%d}}\n\n' % WORDS
_ANSWER = (
    b"".join(_event({"content": f"word{number} "}) for number in range(WORDS))
    + _event({}, "stop")
    + _USAGE
    + b"data: [DONE]\n\n"
)
_WHOLE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    + b"%x\r\n%s\r\n0\r\n\r\n" % (len(_ANSWER), _ANSWER)
)
_TOO_MANY = b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n"


class _Server:
    def __init__(self, latency_s: float, capacity: int):
        self._latency_s = latency_s
        self._capacity = capacity
        self._now = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:")
                await reader.readexactly(length)
                writer.write(await self._answer())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writer.close()

    async def _answer(self) -> bytes:
        if self._now >= self._capacity:
            return _TOO_MANY
        self._now += 1
        try:
            await asyncio.sleep(self._latency_s)
            return _WHOLE
        finally:
            self._now -= 1


async def _main(latency_s: float, capacity: int) -> None:
    server = await asyncio.start_server(_Server(latency_s, capacity).talk, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main(float(sys.argv[1]), int(sys.argv[2])))
