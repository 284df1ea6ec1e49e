"""The endpoint against a real server that does what it is told."""

from __future__ import annotations

import logging
import socket
import threading
import time
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from k3data.pipelines.errors import UserError
from k3data.synth.chat.limits import Breaker, Concurrency
from k3data.synth.chat.spend import Price, Spend
from k3data.synth.chat.store import Calls
from k3data.synth.chat.types import Refused, Reply, Stopped
from k3data.tests.synth.chat.asks import PRICE, endpoint, request
from k3data.tests.synth.chat.server import PROMPT_TOKENS, Server, answer_to


def first(action: str, times: int = 1):
    """Do `action` the first few times, then answer."""
    return lambda message, nth: action if nth < times else "ok"


def test_an_answer_comes_whole_with_its_counts() -> None:
    with Server() as server:
        back_end = endpoint(server.url)
        for _ in range(3):
            reply = back_end.reply(request("Grüße, 東京", max_tokens=40, stop=("END",), seed=2**80))
            assert reply.text == answer_to("message Grüße, 東京")
            assert (reply.finish, reply.prompt_tokens, reply.completion_tokens) == ("stop", PROMPT_TOKENS, 7)
        assert len(server.seen) == 3
        assert server.connections == 1, "a connection is used again"
        back_end.close()


@pytest.mark.parametrize(
    "action",
    ["429", "429:0.3", "500", "503", "502", "408", "cut", "reset", "malformed", "html", "error", "hang"],
)
def test_what_may_pass_is_tried_again(action: str) -> None:
    with Server(first(action, 2)) as server:
        back_end = endpoint(server.url, read_s=0.5 if action == "hang" else 10.0, overall_s=20.0)
        back_end.reply(request("warm"))
        begun = time.monotonic()
        assert back_end.reply(request(1)).text == answer_to("message 1")
        assert server.asked()["message 1"] == 3
        if action == "429:0.3":
            assert time.monotonic() - begun >= 0.6
        assert back_end.counts.total() - back_end.counts["loop"] == 4  # warming up met it twice as well


def test_an_answer_that_is_empty_cut_or_without_usage_is_an_answer() -> None:
    with Server(lambda message, nth: message.split()[-1]) as server:
        back_end = endpoint(server.url)
        assert back_end.reply(request("empty")).text == ""
        assert back_end.reply(request("length")).finish == "length"
        bare = back_end.reply(request("bare"))
        assert (bare.text, bare.finish) == (answer_to("message bare"), "stop")
        assert bare.completion_tokens == 6  # as many as came
        assert server.asked().total() == 3


@pytest.mark.parametrize("action", ["spaces", "circles"])
def test_a_loop_is_cut_off_and_counted(action: str) -> None:
    with Server(lambda message, nth: action) as server:
        back_end = endpoint(server.url, overall_s=10.0)
        reply = back_end.reply(request(1, max_tokens=100_000))
        assert reply.finish == "loop"
        assert 10 < reply.completion_tokens < 300
        assert back_end.counts["loop"] == 1
        assert server.asked().total() == 1


def test_a_trickle_ends_with_the_time_for_the_whole() -> None:
    with Server(first("trickle")) as server:
        back_end = endpoint(server.url, overall_s=0.5)
        begun = time.monotonic()
        assert back_end.reply(request(1)).finish == "stop"
        assert time.monotonic() - begun < 10
        assert back_end.counts["timeout"] == 1


@pytest.mark.parametrize(("action", "code"), [("400", "http_400"), ("413", "http_413"), ("422", "http_422")])
def test_a_permanent_error_refuses_the_request_at_once(action: str, code: str) -> None:
    with Server(lambda message, nth: action) as server:
        with pytest.raises(Refused, match=f"no: {action}") as caught:
            endpoint(server.url).reply(request(1))
        assert caught.value.code == code
        assert server.asked().total() == 1


@pytest.mark.parametrize(("action", "code"), [("500", "http_500"), ("cut", "cut"), ("malformed", "malformed")])
def test_what_never_passes_refuses_the_request_after_its_tries(action: str, code: str) -> None:
    with Server(lambda message, nth: action if message == "message 1" else "ok") as server:
        back_end = endpoint(server.url, tries=4)
        with pytest.raises(Refused) as caught:
            back_end.reply(request(1))
        assert caught.value.code == code
        assert server.asked()["message 1"] == 4
        assert back_end.reply(request(2)).finish == "stop"


def test_a_server_that_refuses_everything_is_left() -> None:
    with Server(lambda message, nth: "400") as server:
        back_end = endpoint(server.url, breaker=Breaker(5, 1.0))
        for number in range(4):
            with pytest.raises(Refused):
                back_end.reply(request(number))
        with pytest.raises(Stopped, match="each of the first 5"):
            back_end.reply(request(4))
        with pytest.raises(Stopped):
            back_end.reply(request(5))
        assert len(server.seen) == 5


def test_endless_rate_limits_stop_with_the_reason_for_all_threads() -> None:
    with Server(lambda message, nth: "429") as server:
        back_end = endpoint(server.url, breaker=Breaker(10, 0.3), server_tries=10_000)
        with ThreadPoolExecutor(8) as pool:
            ends = [pool.submit(back_end.reply, request(number)) for number in range(30)]
            errors = [end.exception(timeout=20) for end in ends]
        assert {type(error) for error in errors} == {Stopped}
        assert len({str(error) for error in errors}) == 1
        assert "http_429: no: 429" in str(errors[0])
        assert back_end.concurrency.limit <= 2


def test_one_request_among_endless_limits_stops_by_its_own_tries() -> None:
    with Server(lambda message, nth: "503") as server, pytest.raises(Stopped, match="7 tries"):
        endpoint(server.url, server_tries=7).reply(request(1))


def test_a_pause_of_a_day_is_not_waited_for() -> None:
    with Server(lambda message, nth: "429:86400") as server, pytest.raises(Stopped, match="pause of 86400 s"):
        endpoint(server.url).reply(request(1))


@pytest.mark.parametrize("status", ["401", "402", "403", "404"])
def test_a_server_that_takes_nobody_stops_the_run(status: str) -> None:
    with Server(lambda message, nth: status) as server:
        with pytest.raises(Stopped, match=status):
            endpoint(server.url).reply(request(1))
        assert len(server.seen) == 1


def test_a_server_that_is_started_again_refuses_nothing() -> None:
    with Server() as server:
        back_end = endpoint(server.url, breaker=Breaker(1000, 60.0), tries=2)
        back_end.check()
        server.stop_listening()
        with ThreadPoolExecutor(4) as pool:
            ends = [pool.submit(back_end.reply, request(number)) for number in range(8)]
            deadline = time.monotonic() + 20
            while back_end.counts["unreachable"] < 12 and time.monotonic() < deadline:
                time.sleep(0.01)
            server.listen_again()
            assert [end.result(timeout=10).text for end in ends] == [answer_to(f"message {n}") for n in range(8)]
        assert back_end.counts["unreachable"] >= 12, "each of four was tried more often than another failure allows"


def test_a_forbidden_request_among_others_is_only_refused() -> None:
    with Server(lambda message, nth: "403" if message == "message bad" else "ok") as server:
        back_end = endpoint(server.url)
        back_end.reply(request(1))
        with pytest.raises(Refused):
            back_end.reply(request("bad"))
        assert back_end.reply(request(2)).finish == "stop"


def test_calls_in_flight_stay_within_the_limit_and_fall_under_load() -> None:
    with Server(latency_s=0.02) as server:
        back_end = endpoint(server.url, concurrency=Concurrency(limit=3, highest=5))
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda number: back_end.reply(request(number)), range(60)))
        assert server.most == 5
    with Server(first("503"), latency_s=0.01) as server:
        back_end = endpoint(server.url, concurrency=Concurrency(limit=16, highest=16))
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda number: back_end.reply(request(number)), range(16)))
        assert back_end.concurrency.limit < 10


def test_a_server_that_is_down_is_told_within_ten_seconds() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        for call in (lambda one: one.check(), lambda one: one.reply(request(1))):
            begun = time.monotonic()
            with pytest.raises(Stopped, match=r"http://127\.0\.0\.1:\d+/v1 cannot be reached"):
                call(endpoint(url))
            assert time.monotonic() - begun < 3
        taken.listen()  # takes connections and says nothing
        begun = time.monotonic()
        with pytest.raises(Stopped):
            endpoint(url).check()
        assert time.monotonic() - begun < 4


def test_a_name_that_is_none_is_told_within_ten_seconds() -> None:
    begun = time.monotonic()
    with pytest.raises(Stopped, match=r"no-such-host\.invalid"):
        endpoint("http://no-such-host.invalid/v1", check_s=2.0).check()
    assert time.monotonic() - begun < 10


def test_the_check_gives_a_fingerprint_of_the_weights() -> None:
    with Server() as server:
        one = endpoint(server.url).check()
        server.models[0]["created"] = 12345
        assert endpoint(server.url).check() == one
        server.models[0]["root"] = "other weights"
        assert endpoint(server.url).check() != one
        assert endpoint(server.url, fingerprint="mine").check() == "mine"
        server.models[0]["id"] = "bigger"
        with pytest.raises(UserError, match="no model 'toy'; it has bigger"):
            endpoint(server.url).check()
        server.models_status = 404
        assert endpoint(server.url).check()
        server.models_status = 500
        with pytest.raises(Stopped, match="500"):
            endpoint(server.url).check()
        assert not server.seen


def test_the_key_is_sent_and_never_told(monkeypatch, caplog, tmp_path: Path) -> None:
    key = "sk-very-secret-123"
    monkeypatch.setenv("TOY_KEY", key)
    caplog.set_level(logging.DEBUG)
    with Server(lambda message, nth: "ok" if message == "message 1" else "400") as server:
        server.models[0]["id"] = "toy"
        back_end = endpoint(server.url, key_variable="TOY_KEY")
        calls = Calls(tmp_path)
        calls.reply(back_end, request(1))
        assert server.headers[0]["authorization"] == f"Bearer {key}"
        with pytest.raises(Refused) as refused:
            calls.reply(back_end, request(2))
        server.decide = lambda message, nth: "401"
        with pytest.raises(Stopped, match="TOY_KEY") as stopped:
            calls.reply(back_end, request(3))
        server.models_status = 401
        with pytest.raises(UserError, match="TOY_KEY") as wrong:
            endpoint(server.url, key_variable="TOY_KEY").check()
    told = f"{refused.value!r}{stopped.value!r}{wrong.value!r}{caplog.text}"
    assert key not in told + "".join(path.read_text() for path in tmp_path.rglob("*.json"))


def test_a_server_that_echoes_the_key_does_not_give_it_away(monkeypatch) -> None:
    monkeypatch.setenv("TOY_KEY", "no: 4")  # what the server says holds it
    with Server(lambda message, nth: "400") as server, pytest.raises(Refused, match=r"\*\*\*00"):
        endpoint(server.url, key_variable="TOY_KEY").reply(request(1))


def test_a_missing_key_and_a_url_that_is_none_are_told_before_any_call(monkeypatch) -> None:
    monkeypatch.setenv("TOY_KEY", " ")
    with Server() as server:
        with pytest.raises(UserError, match="TOY_KEY holds no API key"):
            endpoint(server.url, key_variable="TOY_KEY")
        assert not server.seen
    for url in ("localhost:8000", "ftp://x/v1", "http://", "http://user:secret@host/v1", "http://host/v1?key=secret"):
        with pytest.raises(UserError) as caught:
            endpoint(url)
        assert "secret" not in str(caught.value)


def test_closing_ends_those_who_wait() -> None:
    with Server(lambda message, nth: "429:100") as server:
        back_end = endpoint(server.url)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(back_end.reply, request(1))
            while not server.seen:
                time.sleep(0.01)
            time.sleep(0.05)
            back_end.close()
            assert isinstance(waiting.exception(timeout=5), Stopped)


_KINDS = (
    "ok", "ok", "ok", "slow", "429", "429:0.05", "500", "503", "hang", "cut", "reset", "malformed", "html", "error",
    "spaces", "circles", "length", "empty", "bare", "400", "trickle",
)  # fmt: skip
_ANSWERS = {"ok", "slow", "length", "empty", "bare", "spaces", "circles"}


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 5))])
def test_whatever_a_flaky_server_does_nothing_is_lost_or_counted_twice(seed: int, tmp_path: Path) -> None:
    def decide(message: str, nth: int) -> str:
        return _KINDS[zlib.crc32(f"{seed} {message} {nth}".encode()) % len(_KINDS)]

    numbers = [number for number in range(60) for _ in range(2)]  # each is wanted by two
    ends: list[tuple[int, str, Reply | Refused]] = []
    guard = threading.Lock()
    with Server(decide) as server:
        spend = Spend(tmp_path / "spend", PRICE)
        calls = Calls(tmp_path / "calls", spend)
        back_end = endpoint(
            server.url, read_s=1.0, overall_s=2.0, breaker=Breaker(100, 5.0), wasted=spend.waste,
            concurrency=Concurrency(limit=16, lowest=8, highest=32),
        )  # fmt: skip

        def one(number: int) -> None:
            try:
                end: Reply | Refused = calls.reply(back_end, request(number))
            except Refused as error:
                end = error
            with guard:
                ends.append((number, f"message {number}", end))

        with ThreadPoolExecutor(24) as pool:
            list(pool.map(one, numbers))
        assert sorted(number for number, _, _ in ends) == numbers
        given = Counter(message for message, action in server.seen if action in _ANSWERS)
        assert set(given.values()) == {1}, "an answer that was given is never asked for again"
        for number, message, end in ends:
            last = [action for told, action in server.seen if told == message][-1]
            if isinstance(end, Refused):
                assert message not in given
                assert last == "400" or len([1 for told, _ in server.seen if told == message]) >= 6
            elif last in ("ok", "slow", "bare"):
                assert end.text == answer_to(f"message {number}")
            else:
                assert end.finish == {"length": "length", "empty": "stop"}.get(last, "loop")
        asked = [end for _, _, end in ends if isinstance(end, Reply) and not end.cached]
        totals = spend.summary().totals
        assert totals.calls == len(asked) == len(given)
        assert totals.cached == sum(isinstance(end, Reply) for _, _, end in ends) - len(asked)
        assert (totals.in_air, totals.lost, totals.reserved_usd) == (0, 0, 0)
        paid = sum(PRICE.of(one.prompt_tokens, one.completion_tokens) for one in asked)
        assert spend.summary().usd >= paid
        before = len(server.seen)
        for number, _, end in ends:  # all that was answered is there without a call
            if isinstance(end, Reply):
                assert calls.reply(back_end, request(number)).text == end.text
        assert len(server.seen) == before
        assert not calls.verify().damage


def test_tries_that_gave_tokens_and_were_cut_are_paid(tmp_path: Path) -> None:
    with Server(first("cut", 2)) as server:
        spend = Spend(tmp_path, Price(usd_out=1e6))
        endpoint(server.url, wasted=spend.waste).reply(request(1))
        assert spend.summary().totals.wasted == 2
        assert spend.summary().totals.completion_tokens == 4
        assert spend.summary().usd == 4.0
