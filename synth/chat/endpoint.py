"""Any server that speaks `/chat/completions` (vLLM, SGLang, llama.cpp, hosted ones), asked by many threads at once.

A request is tried until it is answered, refused for good, or out of tries. Answers are streamed, so that a silent
server is noticed after `read_s` and a looping one is cut off. What a server may say and what becomes of it:

    200 and a whole stream         the answer, also an empty one, or one cut at max_tokens ("length") or for looping
    429, 503                       fewer calls in flight, a pause if it asks for one (Retry-After), tried again
    502, no connection any more    tried again; after many times stopped, for all requests
    timeouts                       fewer calls in flight, tried again, a few times; then this one request is refused
    other 5xx, cut, malformed      the same with as many calls in flight
    other 4xx                      refused; the same request would be refused again
    401, 402, down or 403 or 404 from the beginning, nothing but failures       stopped, for all requests
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import orjson

from ...pipelines.errors import UserError
from .limits import Backoff, Breaker, Concurrency
from .responses import error_text, fingerprint, retry_after
from .streams import Answer, Malformed, ServerError
from .types import Refused, Reply, Request, Stopped

if TYPE_CHECKING:
    import httpx

CONNECT_S = 5.0
LONGEST_PAUSE_S = 600.0
"""A server that asks for a longer pause than this ends the run."""

_BYTES_A_TOKEN = 4
_OVERLOADED = {"http_429", "http_503", "http_408", "http_504", "timeout"}
_SERVERS_OWN = {"http_429", "http_502", "http_503", "unreachable"}
"""The server's trouble with everyone: too much to do, or being started again."""


class _Again(Exception):
    """A try that failed and may be repeated."""

    def __init__(self, code: str, detail: str, retry_after: float = 0.0):
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.retry_after = retry_after


class Endpoint:
    """One model on one server.

    Args:
        url: up to and without `/chat/completions`: `http://localhost:8000/v1`.
        model: as the server calls it.
        key_variable: name of the environment variable with the API key; "" = the server wants none.
        fingerprint: what the answers are filed under beside the model; by default what `check` learns.
        read_s: longest silence, in seconds, before the first token too.
        overall_s: longest time of one try, to which at most one `read_s` is added.
        tries: of one request, before it is refused.
        server_tries: of one request that meets rate limits or nobody (429, 502, 503, no connection), before the run is
            stopped.
        check_s: how long `check` tries.
        wasted: is told (prompt tokens, completion tokens) of tries that gave tokens and were cut off, both estimated.

    Attributes:
        counts: how often each kind of failure, and "loop", happened.

    Raises:
        UserError: the URL is none, the key is missing, or httpx is not installed.
    """

    name = "endpoint"
    stored = True

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key_variable: str = "",
        fingerprint: str = "",
        read_s: float = 120.0,
        overall_s: float = 900.0,
        tries: int = 6,
        server_tries: int = 20,
        check_s: float = 8.0,
        concurrency: Concurrency | None = None,
        breaker: Breaker | None = None,
        backoff: Backoff | None = None,
        wasted: Callable[[int, int], None] = lambda prompt, completion: None,
    ):
        self.model = model
        self.fingerprint = fingerprint
        self.counts: Counter[str] = Counter()
        self.concurrency = concurrency or Concurrency()
        self._key = _key(key_variable)
        self._key_variable = key_variable
        self._overall_s = overall_s
        self._tries = tries
        self._server_tries = server_tries
        self._check_s = check_s
        self._breaker = breaker or Breaker()
        self._backoff = backoff or Backoff()
        self._wasted = wasted
        self._rng = random.Random()  # only waits are drawn from it
        self._turn = threading.Condition()
        self._stopped = ""
        self._reached = False
        self._answered = False
        self._refused = 0
        self._httpx = _import_httpx()
        self._url, self._client = self._open(url, read_s)

    def check(self) -> str:
        """Ask the server for its models, which costs nothing, and take the fingerprint from what it says of this one.

        Raises:
            Stopped: it cannot be reached, within ten seconds whatever is wrong.
            UserError: it does not take the key, or does not have the model.
        """
        self._raise_if_stopped()
        result: list[str | Exception] = []

        def ask() -> None:
            try:
                result.append(self._ask_models())
            except Exception as error:
                result.append(error)

        # In a thread, since nothing but giving up ends a slow look-up of a name.
        asking = threading.Thread(target=ask, name="check", daemon=True)
        asking.start()
        asking.join(self._check_s + 1)
        found = result[0] if result else Stopped(f"{self._url} gave no answer within {self._check_s:.0f} s")
        if isinstance(found, Stopped):
            raise self._stop(str(found))
        if isinstance(found, Exception):
            raise found
        self._reached = True
        self.fingerprint = self.fingerprint or found
        return self.fingerprint

    def reply(self, request: Request) -> Reply:
        """Raises Refused or Stopped."""
        failures: Counter[str] = Counter()
        start = time.monotonic()
        while True:
            began = self._enter()
            try:
                reply = self._try(request)
            except _Again as error:
                failures["server" if error.code in _SERVERS_OWN else "other"] += 1
                self._failed(error, began)
                self._give_up(error, failures, began, start)
                wait = self._backoff.wait(failures.total(), self._rng, error.retry_after)
            except Refused:
                self._count_refusal()
                raise
            except Stopped as error:
                raise self._stop(str(error)) from None
            else:
                self._succeeded(reply)
                return reply
            finally:
                self._leave()
            self._sleep(wait)

    def close(self) -> None:
        """Whoever still waits for a turn is told to stop."""
        self._stop("the back end was closed")
        self._client.close()

    # --- one try -------------------------------------------------------------------------------------------------

    def _try(self, request: Request) -> Reply:
        began = time.monotonic()
        answer = Answer(request.max_tokens)
        try:
            self._stream(request, answer, began)
        except (Malformed, ServerError) as error:
            code = "malformed" if isinstance(error, Malformed) else "server_error"
            raise self._cut(request, answer, code, str(error)) from None
        except (self._httpx.ConnectError, self._httpx.ConnectTimeout) as error:
            detail = self._clean(str(error)) or type(error).__name__
            if not self._reached:
                raise Stopped(f"{self._url} cannot be reached: {detail}") from None
            raise _Again("unreachable", detail) from None
        except self._httpx.TimeoutException as error:
            if not answer.whole:
                raise self._cut(request, answer, "timeout", f"silence ({type(error).__name__})") from None
        except self._httpx.HTTPError as error:
            if not answer.whole:
                detail = self._clean(str(error)) or type(error).__name__
                raise self._cut(request, answer, "cut", detail) from None
        if not answer.whole:
            raise self._cut(request, answer, "cut", "the stream ended without a reason for stopping")
        prompt_tokens, completion_tokens = answer.usage or (_prompt_tokens(request), answer.chunks)
        return Reply(answer.text, answer.finish, prompt_tokens, completion_tokens, time.monotonic() - began)

    def _stream(self, request: Request, answer: Answer, began: float) -> None:
        with self._client.stream("POST", f"{self._url}/chat/completions", content=self._body(request)) as response:
            if response.status_code != 200:
                self._judge(response)
            chunks = response.iter_raw()
            for data in chunks:
                if not answer.feed(data):
                    break
                if time.monotonic() - began > self._overall_s:
                    raise self._cut(request, answer, "timeout", f"no end after {self._overall_s:.0f} s")
            else:
                answer.feed(b"\n")
            if answer.done:
                next(chunks, None)  # read to the end, and the connection can be used again

    def _judge(self, response: httpx.Response) -> None:
        """Raise what becomes of a request that was not answered with 200."""
        status, code = response.status_code, f"http_{response.status_code}"
        detail = self._clean(error_text(next(response.iter_raw(), b"")))
        if status in (401, 402) or (status in (403, 404) and not self._answered):
            key = f"; is the key in {self._key_variable} right?" if self._key_variable and status != 404 else ""
            raise Stopped(f"{self._url} answers {status}: {detail}{key}")
        if status in (408, 409, 425, 429) or status >= 500:
            raise _Again(code, detail, retry_after(response.headers.get("retry-after", "")))
        if status >= 400:
            raise Refused(code, detail)
        raise Stopped(f"{self._url} answers {status} where only 200 makes sense")

    def _cut(self, request: Request, answer: Answer, code: str, detail: str) -> _Again:
        if answer.chunks:
            self._wasted(_prompt_tokens(request), answer.chunks)
            detail = f"{detail}, after {answer.chunks} tokens"
        return _Again(code, detail)

    def _body(self, request: Request) -> bytes:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": role, "content": content} for role, content in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed % 2**31,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.stop:
            body["stop"] = request.stop
        return orjson.dumps(body)

    # --- all tries together --------------------------------------------------------------------------------------

    def _enter(self) -> float:
        """Wait for a place among the calls in flight. Returns when it was had."""
        with self._turn:
            while True:
                self._raise_if_stopped()
                now = time.monotonic()
                wait = self.concurrency.wait(now)
                if wait == 0:
                    self.concurrency.begin()
                    return now
                self._turn.wait(wait)

    def _leave(self) -> None:
        with self._turn:
            self.concurrency.end()
            self._turn.notify_all()

    def _succeeded(self, reply: Reply) -> None:
        with self._turn:
            self._reached = self._answered = True
            self.counts["loop"] += reply.finish == "loop"
            self.concurrency.success()
            self._breaker.success()

    def _failed(self, error: _Again, began: float) -> None:
        now = time.monotonic()
        with self._turn:
            self.counts[error.code] += 1
            if error.code in _OVERLOADED:
                self.concurrency.trouble(began, now, error.retry_after)
            if error.retry_after > LONGEST_PAUSE_S:
                raise self._stop(f"{self._url} asks for a pause of {error.retry_after:.0f} s ({error})")
            if self._breaker.failure(str(error), now):
                raise self._stop(f"{self._url}: {self._breaker.told(now)}")

    def _give_up(self, error: _Again, failures: Counter[str], began: float, start: float) -> None:
        """What is the server's own trouble ends the run, not this request; any other failure is taken for its own."""
        if failures["server"] >= self._server_tries:
            spent = time.monotonic() - start
            raise self._stop(f"{self._url} did not answer {self._server_tries} tries in {spent:.0f} s ({error})")
        if failures["other"] >= self._tries:
            raise Refused(error.code, f"{error.detail}, {self._tries} times")

    def _count_refusal(self) -> None:
        with self._turn:
            self.counts["refused"] += 1
            self._refused += 1
            nothing_else = not self._answered and self._refused >= self._breaker.failures
        if nothing_else:
            raise self._stop(f"{self._url} has refused each of the first {self._refused} requests")

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        with self._turn:
            while (left := end - time.monotonic()) > 0:
                self._raise_if_stopped()
                self._turn.wait(left)

    def _stop(self, reason: str) -> Stopped:
        """End it for all; the first reason is the one that is told."""
        with self._turn:
            self._stopped = self._stopped or reason
            self._turn.notify_all()
            return Stopped(self._stopped)

    def _raise_if_stopped(self) -> None:
        if self._stopped:
            raise Stopped(self._stopped)

    # --- the server ----------------------------------------------------------------------------------------------

    def _open(self, url: str, read_s: float) -> tuple[str, httpx.Client]:
        """The URL without its trailing slash, and a client for it."""
        httpx = self._httpx
        try:
            parsed = httpx.URL(url.rstrip("/"))
        except httpx.InvalidURL as error:
            raise UserError(f"{url!r} is no URL: {error}") from None
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise UserError(f"{url!r} is no URL of a server: http://localhost:8000/v1 would be one")
        if parsed.userinfo or parsed.query:
            raise UserError("the URL of a server holds no passwords or keys: name an environment variable for the key")
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=self.concurrency.highest)
        timeout = httpx.Timeout(read_s, connect=CONNECT_S)
        encrypted = parsed.scheme == "https"  # reading the certificates takes longer than many a call
        return str(parsed), httpx.Client(headers=headers, timeout=timeout, limits=limits, verify=encrypted)

    def _ask_models(self) -> str:
        """A fingerprint of the model, or raises as `check` does."""
        deadline = time.monotonic() + self._check_s
        while True:
            left = deadline - time.monotonic()
            try:
                response = self._client.get(f"{self._url}/models", timeout=max(0.1, min(CONNECT_S, left)))
                if response.status_code != 429 and response.status_code < 500:
                    return self._fingerprint(response)
                reason = f"it answers {response.status_code}"
            except self._httpx.HTTPError as error:
                reason = self._clean(str(error)) or type(error).__name__
            if time.monotonic() + 0.5 > deadline:
                raise Stopped(f"{self._url} cannot be reached: {reason}")
            time.sleep(0.5)

    def _fingerprint(self, response: httpx.Response) -> str:
        if response.status_code in (401, 403):
            named = f"the key in {self._key_variable}" if self._key_variable else "requests without a key"
            raise UserError(f"{self._url} does not take {named} ({response.status_code})")
        return fingerprint(response.status_code, response.content, self.model, self._url)

    def _clean(self, text: str) -> str:
        """One line without the key."""
        line = " ".join(text.split())[:300]
        return line.replace(self._key, "***") if self._key else line


def _import_httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise UserError("the endpoint back end needs httpx: pip install 'k3data[llm]'") from None
    return httpx


def _key(variable: str) -> str:
    key = os.environ.get(variable, "").strip() if variable else ""
    if variable and not key:
        raise UserError(f"the environment variable {variable} holds no API key: export {variable}=… before the run")
    return key


def _prompt_tokens(request: Request) -> int:
    """An estimate, for when the server has not told."""
    return sum(len(one.content.encode()) for one in request.messages) // _BYTES_A_TOKEN
