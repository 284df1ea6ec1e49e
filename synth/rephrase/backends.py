"""What a recipe says of the back end, and the back end opened, with the calls and the account that belong to it.

Modules of back ends are imported when one is opened: rules need no HTTP client, and a server no model file.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...pipelines.errors import UserError
from ...pipelines.stage import Context, Stage
from ...pipelines.store import open_store
from ..chat.spend import Price, Spend, Summary
from ..chat.store import Calls
from ..chat.types import Backend, Reply, Request

if TYPE_CHECKING:
    from ..chat.endpoint import Endpoint as Server

DEMO = " (demonstration)"
"""Ends the name of a model that is for trying things out."""


class Endpoint(BaseModel):
    """A server with an OpenAI-compatible `/chat/completions`.

    Attributes:
        url: its base, "http://localhost:8000/v1".
        model: as the server calls it.
        fingerprint: anything that tells this model from another of the same name (a commit, a quantisation); part of
            the key of every call.
        key_env: name of the environment variable with the API key; none: no key is sent.
        in_flight: calls at once, at most, in each worker; it adapts below that.
        timeout_s: for one call, from asking to the last token.
        patience_s: the run stops once nothing but failures has come for so long.
        usd_in, usd_out: USD per million prompt and completion tokens.
        usd_per_hour: of rented machines that serve, instead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(pattern=r"^https?://")
    model: str = Field(min_length=1)
    fingerprint: str = ""
    key_env: str | None = None
    in_flight: int = Field(default=64, ge=1)
    timeout_s: float = Field(default=300, gt=0)
    patience_s: float = Field(default=60, gt=0)
    usd_in: float = Field(default=0.0, ge=0)
    usd_out: float = Field(default=0.0, ge=0)
    usd_per_hour: float = Field(default=0.0, ge=0)


class Opened:
    """A back end with its calls, and the model that reads. `close` it in the end.

    Args:
        backend: writes.
        reading: reads; None: the same.
        calls: where answers are stored; None for back ends whose answers need not be.

    Attributes:
        model: the name of what writes, with `DEMO` at the end if it is one.
    """

    def __init__(
        self, backend: Backend, calls: Calls | None = None, spend: Spend | None = None, reading: Backend | None = None
    ) -> None:
        self.model = backend.model + (DEMO if getattr(backend, "demo", False) else "")
        self._backend, self._calls, self._spend, self._reading = backend, calls, spend, reading or backend

    def ask(self, request: Request) -> Reply:
        """The reply, from the calls if it was given before. Raises Refused and Stopped."""
        return self._calls.reply(self._backend, request) if self._calls else self._backend.reply(request)

    def read(self, request: Request) -> Reply:
        """The same, of the model that reads."""
        return self._calls.reply(self._reading, request) if self._calls else self._reading.reply(request)

    def accepted(self, tokens: int) -> None:
        """Tell the account of tokens of texts that passed."""
        if self._spend:
            self._spend.accepted(tokens)

    def close(self) -> None:
        self._backend.close()
        if self._reading is not self._backend:
            self._reading.close()
        if self._calls:
            self._calls.close()
        if self._spend:
            self._spend.close()


class Asking(Stage):
    """A stage that asks a back end; its parameters are described where they are inherited.

    Raises:
        UserError: when it is opened: what the back end needs is missing or wrong.
    """

    backend: Literal["rule", "endpoint", "embedded", "replay"] = "rule"
    endpoint: Endpoint | None = None
    recorded: str | None = None
    reader_endpoint: Endpoint | None = None
    calls: str = "calls"
    budget_usd: float | None = Field(default=None, gt=0)

    def reads(self, context: Context) -> dict[str, str]:
        """What the answers depend on beside the parameters. No server is asked."""
        found = {}
        if self.backend == "endpoint" and self.endpoint is not None:
            found = {"model": self.endpoint.model, "model fingerprint": self.endpoint.fingerprint}
        if self.backend == "replay":
            found = {"recorded answers": hashlib.sha256(self._recorded(context).read_bytes()).hexdigest()[:16]}
        if self.reader_endpoint is not None:
            found |= {"reader": self.reader_endpoint.model, "reader fingerprint": self.reader_endpoint.fingerprint}
        return found

    def account(self, context: Context) -> Summary | None:
        """What the run has spent so far; None for a back end that nobody pays for."""
        if self.backend in ("rule", "replay") and self.reader_endpoint is None:
            return None
        return Spend.read(self._account_url(context))

    def status(self, context: Context) -> str:
        summary = self.account(context)
        return summary.line() if summary else ""

    def spent(self, context: Context) -> float:
        summary = self.account(context)
        return summary.usd if summary else 0.0

    def open_backend(self, context: Context) -> Opened:
        """Raises UserError, see each back end."""
        paid = [one for one in (self.endpoint if self.backend == "endpoint" else None, self.reader_endpoint) if one]
        spend = calls = None
        if paid or self.backend == "embedded":
            # One price for both models: the higher, so that a cap is kept whichever is asked.
            price = Price(*(max((getattr(one, name) for one in paid), default=0.0)
                            for name in ("usd_in", "usd_out", "usd_per_hour")))  # fmt: skip
            spend = Spend(self._account_url(context), price, self.budget_usd)
            calls = Calls(context.beside(self.calls), spend)
        reading = _server(self.reader_endpoint, spend) if self.reader_endpoint and spend else None
        return Opened(self._writing(context, spend), calls, spend, reading)

    def _writing(self, context: Context, spend: Spend | None) -> Backend:
        if self.backend == "rule":
            from ..rewrite.backend import RuleBackend

            return RuleBackend()
        if self.backend == "replay":
            from ..chat.replay import Replay

            return Replay(self._recorded(context))
        if self.backend == "embedded":
            from ..chat.embedded import Embedded

            return Embedded()
        assert self.endpoint is not None
        assert spend is not None
        return _server(self.endpoint, spend)

    def _account_url(self, context: Context) -> str:
        """Where the account of this output lies, among the calls."""
        output = open_store(context.output).url
        return f"{context.beside(self.calls)}/accounts/{hashlib.sha256(output.encode()).hexdigest()[:16]}"

    def _recorded(self, context: Context) -> Path:
        assert self.recorded is not None
        path = context.base / self.recorded
        if not path.is_file():
            raise UserError(f"synth.rephrase: the file of recorded answers {path} does not exist")
        return path


def _server(options: Endpoint, spend: Spend) -> Backend:
    from ..chat.endpoint import Endpoint as Server
    from ..chat.limits import Breaker, Concurrency

    return _CheckedFirst(Server(
        options.url, options.model, key_variable=options.key_env or "", fingerprint=options.fingerprint or "none",
        overall_s=options.timeout_s, concurrency=Concurrency(min(8, options.in_flight), highest=options.in_flight),
        breaker=Breaker(patience_s=options.patience_s), wasted=spend.waste,
    ))  # fmt: skip


class _CheckedFirst:
    """A server that is asked whether it is there before the first call that no stored answer makes unnecessary."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._checked = threading.Lock()
        self._is_checked = False
        self.name, self.model, self.stored = server.name, server.model, server.stored
        # What a server tells of itself would give stored answers other keys, and none could be found without asking it.
        self.fingerprint = server.fingerprint

    def reply(self, request: Request) -> Reply:
        """Raises Refused and Stopped."""
        with self._checked:
            if not self._is_checked:
                self._server.check()
                self._is_checked = True
        return self._server.reply(request)

    def close(self) -> None:
        self._server.close()


def is_demo(model: str) -> bool:
    return model.endswith(DEMO)
