"""A chat server that does what it is told: a real one, on a port of this machine, in threads of the test.

What it does with a request is decided by a function of the user's message and of how often that message was seen:

    ok, slow                  a whole answer; the second takes a while
    429, 429:<seconds>, 5xx, 4xx   that status, the second with Retry-After
    hang, trickle             nothing at all; a byte now and then, without an end
    cut, reset                the stream ends in the middle; before the first byte
    spaces, circles           blanks, or one sentence, for ever
    length, empty             a whole answer cut at max_tokens; one without text
    malformed, html, error    an event that is no JSON; a page with status 200; an error in the middle of the stream
    bare                      a whole answer without usage and end mark
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

MODEL = "toy"
PROMPT_TOKENS = 7


def answer_to(message: str) -> str:
    """What a whole answer says."""
    return f"What you said was: {message}"


class Server:
    """Runs until its block ends.

    Attributes:
        url: for an endpoint.
        seen: (message, what was done) of each request, in order.
        whole: how often each message was answered to the last byte.
        most: most requests that were in its hands at once.
        connections: how many were opened.
    """

    def __init__(self, decide: Callable[[str, int], str] = lambda message, nth: "ok", latency_s: float = 0.0):
        self.decide = decide
        self.latency_s = latency_s
        self.seen: list[tuple[str, str]] = []
        self.whole: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.most = 0
        self.connections = 0
        self.models = [{"id": MODEL, "root": "weights"}]
        self.models_status = 200
        self._now = 0
        self._times: Counter[str] = Counter()
        self._guard = threading.Lock()
        self._over = threading.Event()
        self.open: list[socket.socket] = []
        self._port = 0

    def __enter__(self) -> Server:
        self.listen_again()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self.stop_listening()

    def listen_again(self) -> None:
        handler = type("Handler", (_Handler,), {"world": self})
        self._http = _Http(("127.0.0.1", self._port), handler)
        self._port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self._port}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def stop_listening(self) -> None:
        """As a server that ends: its connections end too."""
        self._http.shutdown()
        self._http.server_close()
        while self.open:
            with contextlib.suppress(OSError):
                self.open.pop().shutdown(socket.SHUT_RDWR)

    def asked(self) -> Counter[str]:
        """How often each message came."""
        return Counter(message for message, _ in self.seen)

    def chat(self, handler: _Handler, body: dict[str, Any]) -> None:
        message = body["messages"][-1]["content"]
        with self._guard:
            self._now += 1
            self.most = max(self.most, self._now)
            action = self.decide(message, self._times[message])
            self._times[message] += 1
            self.seen.append((message, action))
            self.headers.append(dict(handler.headers))
        try:
            time.sleep(self.latency_s)
            self._act(handler, action, message, body["max_tokens"])
        finally:
            with self._guard:
                self._now -= 1

    def _act(self, handler: _Handler, action: str, message: str, max_tokens: int) -> None:
        words = [word if not number else f" {word}" for number, word in enumerate(answer_to(message).split(" "))]
        if action[0].isdigit():
            status, _, after = action.partition(":")
            handler.plain(int(status), {"error": {"message": f"no: {status}"}}, {"Retry-After": after} if after else {})
        elif action == "hang":
            self._over.wait(30)
        elif action == "reset":
            handler.close_connection = True
        elif action == "html":
            handler.stream([b"<html>\n", b"it works\n"])
        elif action == "malformed":
            handler.stream([b'data: {"choices": [{"delta": {"content": "half\n\n'])
        elif action == "error":
            handler.stream([_event("a"), b'data: {"error": {"message": "out of memory", "code": 500}}\n\n'])
        elif action == "cut":
            handler.stream([_event(word) for word in words[:2]])
        elif action == "trickle":
            handler.stream(self._until_over(b" "))
        elif action in ("spaces", "circles"):
            handler.stream(self._until_over(_event("\n  " if action == "spaces" else "and so on and on. ", 0)))
        elif action == "bare":
            handler.stream([*map(_event, words), _event("", finish="stop")])
            self.whole[message] += 1
        else:
            assert action in ("ok", "slow", "length", "empty"), action
            if action == "slow":
                time.sleep(0.2)
            words = {"empty": [], "length": words[:1]}.get(action, words)
            tokens = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": len(words)}
            end = [
                _event("", finish="length" if action == "length" else "stop"),
                b"data: " + json.dumps({"choices": [], "usage": tokens}).encode() + b"\n\n",
                b"data: [DONE]\n\n",
            ]
            handler.stream([*map(_event, words), *end])
            with self._guard:
                self.whole[message] += 1

    def _until_over(self, part: bytes):
        while not self._over.wait(0.002):
            yield part


def _event(text: str, index: int = 0, finish: str | None = None) -> bytes:
    choice = {"index": index, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what is tested."""


class _Handler(BaseHTTPRequestHandler):
    world: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.world.connections += 1
        self.world.open.append(self.connection)

    def do_GET(self) -> None:
        self.plain(self.world.models_status, {"data": self.world.models}, {})

    def do_POST(self) -> None:
        self.world.chat(self, json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def plain(self, status: int, body: dict[str, Any], headers: dict[str, str]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def stream(self, parts: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        pass
