"""Replies in the store: asked once, never torn, never lost."""

from __future__ import annotations

import errno
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from k3data.pipelines import durable
from k3data.pipelines.bench.s3 import Bucket
from k3data.pipelines.errors import StoreError, UserError
from k3data.pipelines.store import open_store
from k3data.synth.chat.replay import Replay
from k3data.synth.chat.spend import Price, Spend
from k3data.synth.chat.store import Calls
from k3data.synth.chat.stored import DamagedReply, key_of, parts_of
from k3data.synth.chat.types import Message, Refused, Reply, Stopped
from k3data.tests.synth.chat.asks import PRICE, Counting, asking, request
from k3data.tests.synth.chat.server import Server, answer_to


def key(number: int | str) -> str:
    return key_of(parts_of(request(number), Counting()))


def fill(calls: Calls, count: int, back_end: Counting | None = None) -> Counting:
    back_end = back_end or Counting()
    for number in range(count):
        calls.reply(back_end, request(number))
    return back_end


def test_all_that_shapes_an_answer_is_in_the_key_and_nothing_else() -> None:
    one = request(1)
    others = [
        replace(one, **changed)
        for changed in ({"seed": 1}, {"attempt": 2}, {"max_tokens": 1}, {"temperature": 0.0}, {"top_p": 0.5},
                        {"stop": ("x",)}, {"messages": (Message("user", "message 1"),)})
    ]  # fmt: skip
    back_ends = [Counting(), Counting()]
    back_ends[0].model, back_ends[1].fingerprint = "m", "g"
    keys = [key_of(parts_of(asked, Counting())) for asked in (one, *others)]
    keys += [key_of(parts_of(one, back_end)) for back_end in back_ends]
    assert len(set(keys)) == len(keys)
    same = replace(one, source="another document", style="faq")
    assert key_of(parts_of(same, Counting())) == keys[0]


def test_an_answer_is_asked_for_once_over_openings(tmp_path: Path) -> None:
    back_end = fill(Calls(tmp_path), 5)
    again = Calls(tmp_path)
    for number in range(5):
        reply = again.reply(back_end, request(number))
        assert reply == Reply(answer_to(f"message {number}"), "stop", 100, 50, 0.5, cached=True)
    assert set(back_end.asked.values()) == {1}
    assert again.verify().replies == 5


def test_an_answer_is_on_the_disk_before_it_is_returned(tmp_path: Path) -> None:
    calls = Calls(tmp_path)
    calls.reply(Counting(), request(1))
    assert (tmp_path / "answers" / key(1)[:2] / f"{key(1)}.json").exists()


def test_an_answer_that_cannot_be_stored_is_paid_and_not_used(tmp_path: Path, monkeypatch) -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "no space")

    spend = Spend(tmp_path / "spend", PRICE)
    calls, back_end = Calls(tmp_path / "calls", spend), Counting()
    with monkeypatch.context() as patch, pytest.raises(StoreError, match="no space left"):
        patch.setattr(durable, "fsync_file", full)
        calls.reply(back_end, request(1))
    assert (spend.summary().totals.calls, spend.summary().totals.in_air) == (1, 0)
    assert not calls.reply(back_end, request(1)).cached
    assert back_end.asked.total() == 2


@pytest.mark.parametrize("reply", [Reply(""), Reply("half", "length"), Reply("\ud7ff\n\u2028€\x00", "loop", 1, 2, 3)])
def test_empty_and_cut_answers_are_kept_too(tmp_path: Path, reply: Reply) -> None:
    back_end = Counting(lambda asked: reply)
    for _ in range(2):
        found = Calls(tmp_path).reply(back_end, request(1))
        assert replace(found, cached=False) == reply
    assert back_end.asked.total() == 1


def test_permanent_refusals_hold_for_a_time_and_others_not_at_all(tmp_path: Path) -> None:
    passing = iter(["http_500", "http_408", "http_409", "http_425", "http_429", "timeout", "cut", "malformed"])

    def refuse(asked):
        raise Refused("http_400" if "bad" in asked.messages[1].content else next(passing), "no")

    back_end = Counting(refuse)
    calls = Calls(tmp_path)
    for number in ("bad", "bad", *[1] * 8):
        with pytest.raises(Refused):
            calls.reply(back_end, request(number))
    with pytest.raises(Refused, match="http_400: no"):
        Calls(tmp_path).reply(back_end, request("bad"))
    assert back_end.asked == {"message bad": 1, "message 1": 8}
    assert calls.verify().refusals == 1
    short = Calls(tmp_path, refusal_s=0.0)
    for _ in range(3):
        with pytest.raises(Refused):
            short.reply(back_end, request("bad too"))
    assert back_end.asked["message bad too"] == 3
    back_end._act = lambda asked: None
    assert short.reply(back_end, request("bad too")).text == answer_to("message bad too")


def test_a_back_end_that_costs_nothing_is_not_stored(tmp_path: Path) -> None:
    back_end = Counting()
    back_end.stored = False
    fill(Calls(tmp_path), 3, back_end)
    assert not list(tmp_path.rglob("*.json"))


def test_beyond_the_cap_what_is_stored_is_still_given_and_a_higher_cap_goes_on(tmp_path: Path) -> None:
    price = Price(usd_out=1e4)  # at most 5.12 a call, truly 0.5
    spend = Spend(tmp_path / "spend", price, cap_usd=10.0)
    calls, back_end = Calls(tmp_path / "calls", spend), Counting()
    with pytest.raises(Stopped, match="cap_usd"):
        fill(calls, 100, back_end)
    done = back_end.asked.total()
    assert spend.summary().usd == pytest.approx(done * 0.5)
    assert 4 < spend.summary().usd <= 10
    fill(calls, done, back_end)
    spend.close()
    richer = Spend(tmp_path / "spend", price, cap_usd=20.0)
    fill(Calls(tmp_path / "calls", richer), done + 5, back_end)
    assert set(back_end.asked.values()) == {1}
    assert richer.summary().totals.calls == done + 5


def test_threads_that_want_the_same_wait_for_one_call(tmp_path: Path) -> None:
    spend = Spend(tmp_path / "spend", PRICE)
    calls, back_end = Calls(tmp_path, spend), Counting(seconds=0.05)
    with ThreadPoolExecutor(32) as pool:
        replies = list(pool.map(lambda number: calls.reply(back_end, request(number % 4)), range(64)))
    assert back_end.asked == {f"message {number}": 1 for number in range(4)}
    assert sum(not reply.cached for reply in replies) == 4
    assert (spend.summary().totals.calls, spend.summary().totals.cached) == (4, 60)


def test_what_ends_the_call_ends_all_who_wait_and_the_next_one_asks_again(tmp_path: Path) -> None:
    def stop(asked):
        time.sleep(0.05)
        raise Stopped("down")

    calls, back_end = Calls(tmp_path), Counting(stop)
    with ThreadPoolExecutor(8) as pool:
        ends = [pool.submit(calls.reply, back_end, request(1)) for _ in range(8)]
        assert {str(end.exception()) for end in ends} == {"down"}
    asked = back_end.asked.total()
    back_end._act = lambda asked: None
    assert not calls.reply(back_end, request(1)).cached
    assert back_end.asked.total() == asked + 1


def test_two_processes_at_once_make_each_call_once(tmp_path: Path) -> None:
    with Server(latency_s=0.03) as server:
        command = asking(server.url, tmp_path, count=40)
        both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        assert all(one.stdout.readline() == "ready\n" for one in both)
        outputs: list[str] = []
        threads = [
            threading.Thread(target=lambda one=one: outputs.append(one.communicate("go\n", timeout=60)[0]))
            for one in both
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [output.split()[-1] for output in outputs] == ["0", "0"]
    assert server.asked() == {f"message {number}": 1 for number in range(40)}
    totals = Spend.read(tmp_path / "spend").totals
    assert (totals.calls, totals.cached, totals.in_air) == (40, 40, 0)


@pytest.mark.parametrize("damage", ["", "cut", "zeros", "another"])
def test_a_torn_object_is_an_error_that_names_it_and_not_a_miss(tmp_path: Path, damage: str) -> None:
    back_end = fill(Calls(tmp_path), 2)
    path = tmp_path / "answers" / key(1)[:2] / f"{key(1)}.json"
    whole = path.read_bytes()
    other = (tmp_path / "answers" / key(0)[:2] / f"{key(0)}.json").read_bytes()
    path.write_bytes({"": b"", "cut": whole[:-5], "zeros": b"\0" * len(whole), "another": other}[damage])
    with pytest.raises(DamagedReply, match=str(path)):
        Calls(tmp_path).reply(back_end, request(1))
    assert back_end.asked["message 1"] == 1
    assert [line for line in Calls(tmp_path).verify().damage if str(path) in line]


def test_an_object_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "answers" / key(1)[:2] / f"{key(1)}.json"
    path.mkdir(parents=True, exist_ok=True)
    back_end = Counting()
    with pytest.raises(StoreError, match=str(path)):
        Calls(tmp_path).reply(back_end, request(1))
    assert not back_end.asked


def test_a_changed_letter_is_found_by_verify(tmp_path: Path) -> None:
    calls = Calls(tmp_path)
    fill(calls, 3)
    path = tmp_path / "answers" / key(1)[:2] / f"{key(1)}.json"
    path.write_bytes(path.read_bytes().replace(b"What you said", b"What I said  "))
    assert [str(path) in line for line in calls.verify().damage] == [True]


def test_a_pack_answers_like_the_objects_it_was_made_of(tmp_path: Path) -> None:
    calls = Calls(tmp_path)
    back_end = fill(calls, 50)
    open_before = Calls(tmp_path)
    assert calls.pack(remove=True) == 50
    assert not list((tmp_path / "answers").rglob("*.json"))
    fill(calls, 60, back_end)
    for store in (calls, open_before, Calls(tmp_path)):
        fill(store, 60, back_end)
        assert store.verify().replies == 60
    assert set(back_end.asked.values()) == {1}
    assert Calls(tmp_path).pack(remove=True) == 60
    assert len(list((tmp_path / "packs").iterdir())) == 1
    fill(open_before, 60, back_end)
    assert set(back_end.asked.values()) == {1}


@pytest.mark.parametrize("keep", [1.0, 0.999, 0.5])
def test_a_cut_pack_is_an_error_that_names_it(tmp_path: Path, keep: float) -> None:
    calls = Calls(tmp_path)
    fill(calls, 10)
    calls.pack()
    (pack,) = (tmp_path / "packs").iterdir()
    whole = pack.read_bytes()
    pack.write_bytes(whole[: int(len(whole) * keep)])
    if keep == 1.0:
        assert not Calls(tmp_path).verify().damage
        pack.write_bytes(whole.replace(b"What", b"what", 1))
        assert len(Calls(tmp_path).verify().damage) == 1
    else:
        with pytest.raises(DamagedReply, match=pack.name):
            Calls(tmp_path)


def test_a_replay_gives_what_was_exported(tmp_path: Path) -> None:
    calls = Calls(tmp_path / "calls")
    fill(calls, 8)
    calls.pack()
    fill(calls, 12)
    assert calls.export(tmp_path / "all.jsonl") == 12
    assert calls.export(tmp_path / "some.jsonl", [key(3), key(9), key(3)]) == 2
    with pytest.raises(KeyError):
        calls.export(tmp_path / "none.jsonl", [key(99)])
    everything = Replay(tmp_path / "all.jsonl")
    assert (everything.model, everything.fingerprint, everything.stored) == ("toy", "f", False)
    assert all(everything.reply(request(n)).text == answer_to(f"message {n}") for n in range(12))
    some = Replay(tmp_path / "some.jsonl")
    assert some.reply(request(9)).cached
    with pytest.raises(Refused) as caught:
        some.reply(request(4))
    assert caught.value.code == "not_recorded"


def test_a_replay_of_several_models_asks_which(tmp_path: Path) -> None:
    calls = Calls(tmp_path / "calls")
    for model in ("small", "large"):
        back_end = Counting()
        back_end.model = model
        fill(calls, 2, back_end)
    calls.export(tmp_path / "all.jsonl")
    with pytest.raises(UserError, match=r"large .*small"):
        Replay(tmp_path / "all.jsonl")
    assert Replay(tmp_path / "all.jsonl", "small").model == "small"
    with pytest.raises(UserError, match="no replies of medium"):
        Replay(tmp_path / "all.jsonl", "medium")
    with pytest.raises(UserError, match="no such file"):
        Replay(tmp_path / "nothing.jsonl")


def test_an_object_store_keeps_the_first_answer(s3_bucket: Bucket) -> None:
    url = f"{s3_bucket.url}/calls"
    calls, other = Calls(url, **s3_bucket.options), Calls(url, **s3_bucket.options)
    back_end = fill(calls, 3)
    fill(other, 3, back_end)
    assert set(back_end.asked.values()) == {1}

    def late(asked):  # another machine has answered meanwhile
        first = fill(other, 4)
        assert first.asked == {"message 3": 1}
        return Reply("a second answer")

    other._flights = Calls(f"{s3_bucket.url}/elsewhere", **s3_bucket.options)._flights  # its locks are not seen here
    assert calls.reply(Counting(late), request(3)).text == answer_to("message 3")
    assert calls.pack(remove=True) == 4
    fill(Calls(url, **s3_bucket.options), 4, back_end)
    assert set(back_end.asked.values()) == {1}
    assert not [one for one in open_store(url, **s3_bucket.options).list("answers") if one.size]
    assert not calls.verify().damage
