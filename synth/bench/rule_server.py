"""A chat server whose model is the rule rewriter: to `synth.rephrase` an OpenAI-compatible server like any other.

It answers `/v1/models` and `/v1/chat/completions`, takes as long as it is told, and keeps account of what it was asked,
so that a benchmark can tell whether anything was asked for twice.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from ..chat.types import Refused, Request
from ..rewrite.backend import RuleBackend

_PASSAGE = "The passage:\n"


class RuleServer:
    """Use it as a context manager; `url` is its base.

    Args:
        style: of the rules that answer.
        latency_s: from a request to its answer.

    Attributes:
        asked: how often each request came, by the digest of its messages and its seed, as stored answers have them.
    """

    def __init__(self, style: str = "encyclopedic", latency_s: float = 0.0) -> None:
        self.asked: Counter[str] = Counter()
        self._style, self._latency = style, latency_s
        self._rules, self._lock = RuleBackend(), threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._send(json.dumps({"data": [{"id": "rules"}]}).encode(), "application/json")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                messages = orjson.dumps([[one["role"], one["content"]] for one in body["messages"]])
                with owner._lock:
                    owner.asked[f"{hashlib.sha256(messages).hexdigest()}:{body['seed']}"] += 1
                self._send(owner._stream(body), "text/event-stream")

            def _send(self, content: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # whoever asked was killed

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def _stream(self, body: dict[str, Any]) -> bytes:
        time.sleep(self._latency)
        passage = next(one["content"] for one in body["messages"] if _PASSAGE in one["content"]).split(_PASSAGE, 1)[1]
        try:
            reply = self._rules.reply(Request((), passage, self._style, body["seed"], len(body["messages"])))
            text = reply.text
        except Refused:
            text = passage
        usage = {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": len(text) // 4}
        parts = [
            {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in parts) + b"data: [DONE]\n\n"

    def __enter__(self) -> RuleServer:
        threading.Thread(target=self._server.serve_forever, daemon=True, name="rule server").start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
