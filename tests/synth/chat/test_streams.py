"""Streams as they come in pieces, and the loops that are cut off."""

from __future__ import annotations

import random

import orjson
import pytest
from k3data.synth.chat.streams import Answer, Malformed, ServerError, is_loop

_EVENTS = (
    b": a comment\n\n"
    b'data: {"choices":[{"delta":{"role":"assistant","content":null}}]}\r\n\r\n'
    b'data: {"choices":[{"delta":{"content":"Gr\xc3\xbc"}}]}\n\n'
    b'data: {"choices":[{"delta":{"content":"\xc3\x9fe"},"finish_reason":"stop"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\n'
    b"data: [DONE]\n\n"
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_where_the_bytes_are_cut_makes_no_difference(size: int) -> None:
    answer = Answer(10)
    for start in range(0, len(_EVENTS), size):
        answer.feed(_EVENTS[start : start + size])
    assert (answer.text, answer.finish, answer.usage, answer.done) == ("Grüße", "stop", (5, 2), True)


@pytest.mark.parametrize(
    "event",
    [b"{", b"[1]", b"7", b'{"choices":{"a":1}}', b'{"choices":[{"delta":{"content":["x"]}}]}', b'{"usage":{"a":1}}',
     b'{"choices":[null]}', b'{"choices":[{"delta":{"content":{"a":2}}}]}', b"\xff\xfe"],
)  # fmt: skip
def test_an_event_that_is_no_chunk_is_malformed(event: bytes) -> None:
    with pytest.raises(Malformed):
        Answer(10).feed(b"data: " + event + b"\n")


def test_json_that_is_no_stream_is_malformed_and_an_error_event_is_told() -> None:
    with pytest.raises(Malformed):
        Answer(10).feed(b'{"choices":[{"message":{"content":"all at once"}}]}\n')
    with pytest.raises(ServerError, match="out of memory") as caught:
        Answer(10).feed(b'data: {"error":{"message":"out of memory","code":503}}\n')
    assert caught.value.code == 503


def test_a_line_without_an_end_is_not_collected_for_ever() -> None:
    answer = Answer(10)
    with pytest.raises(Malformed):
        for _ in range(30):
            answer.feed(b"data: " + b"x" * 100_000)


def _stream(answer: Answer, text: str) -> int:
    """How many characters were taken before it was cut off."""
    for number, letter in enumerate(text):
        if not answer.feed(b"data: " + orjson.dumps({"choices": [{"delta": {"content": letter}}]}) + b"\n"):
            return number
    return len(text)


@pytest.mark.parametrize("piece", [" \n", "and so on and on. ", "x", "| a | b |\n", "word " * 30])
def test_loops_are_cut_off_soon(piece: str) -> None:
    start = "The Nile is a river in Africa, and 6,650 km long. "
    answer = Answer(10**6)
    cut = _stream(answer, start + piece * 2000)
    assert answer.finish == "loop"
    assert cut <= len(start) + max(240, 4 * len(piece)) + 70


def test_text_that_does_not_repeat_itself_is_no_loop() -> None:
    rng = random.Random(5)
    words = ["a", "river", "flows", "through", "the", "old", "town", "and", "its", "bridge", "was", "built", "by", "us"]
    for _ in range(50):
        text = " ".join(rng.choice(words) for _ in range(300))
        assert not any(is_loop(text[:end][-800:]) for end in range(0, len(text), 61))
    table = "".join(f"| row {n} | {n * n} |\n" for n in range(60))
    assert not any(is_loop(table[:end][-800:]) for end in range(0, len(table), 61))
    assert not is_loop("Heading\n" + "-" * 79)


def test_a_server_that_ignores_the_cap_is_cut_off() -> None:
    answer = Answer(100)
    rng = random.Random(1)
    assert _stream(answer, "".join(rng.choice("abcdefgh ") for _ in range(3000))) == 116
    assert answer.finish == "length"
