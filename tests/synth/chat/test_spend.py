"""The account of a run: exact, capped, and not forgetful."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from k3data.pipelines.bench.s3 import Bucket
from k3data.synth.chat.accounts import Journal, State, Totals, journals, rented_usd
from k3data.synth.chat.spend import Price, Spend
from k3data.synth.chat.types import Message, Reply, Request, Stopped
from k3data.tests.synth.chat.asks import request

PRICE = Price(usd_in=1.0, usd_out=1e6)  # a dollar a token written


def test_the_highest_cost_is_never_below_the_true_one() -> None:
    price = Price(usd_in=2.0, usd_out=5.0)
    asked = Request((Message("system", "Kurz."), Message("user", "東京 Grüße " * 50)), max_tokens=100)
    assert price.highest(asked) >= price.of(sum(len(one.content.encode()) for one in asked.messages), 100)


def test_the_sum_is_that_of_all_processes_and_another_one_reads_it(tmp_path: Path) -> None:
    one, other = Spend(tmp_path, PRICE), Spend(tmp_path, PRICE)
    for account, keys in ((one, ("a", "b")), (other, ("c",))):
        for key in keys:
            account.reserve(key, request(1))
            account.settle(key, Reply("x", "stop", 0, 2))
    one.waste(0, 1)
    one.cached()
    one.accepted(1_000_000)
    one.close()
    for summary in (other.summary(), Spend.read(tmp_path)):
        assert (summary.totals.calls, summary.totals.cached, summary.totals.wasted, summary.usd) == (3, 1, 1, 7.0)
        assert summary.usd_per_accepted_million == 7.0
        assert "3 calls, 1 cached, 7.00 USD, 7.00 USD per accepted" in summary.line()
    other.close()
    assert Spend.read(tmp_path / "nothing").totals == Totals()


def test_the_cap_holds_over_processes_and_says_what_to_do(tmp_path: Path) -> None:
    accounts = [Spend(tmp_path, PRICE, cap_usd=10.0) for _ in range(2)]
    for number in range(4):
        accounts[number % 2].reserve(f"{number}", request(1, max_tokens=2))
        accounts[number % 2].settle(f"{number}", Reply("x", "stop", 0, 2))
    with pytest.raises(Stopped, match=r"8\.0000 of 10\.0000 USD.*cap_usd"):
        accounts[0].reserve("big", request(1, max_tokens=3))
    assert accounts[0].summary().totals.in_air == 0


def test_many_threads_use_the_cap_up_and_never_pass_it(tmp_path: Path) -> None:
    """Each call may cost 10 and costs 1, so that reservations alone would end it far too early."""
    accounts = [Spend(tmp_path, PRICE, cap_usd=60.0) for _ in range(3)]
    highest = 0.0

    def work(number: int) -> bool:
        nonlocal highest
        account = accounts[number % 3]
        try:
            account.reserve(f"{number}", request(1, max_tokens=10))
        except Stopped:
            return False
        summary = account.summary()
        highest = max(highest, summary.usd + summary.totals.reserved_usd)
        time.sleep(0.002)
        account.settle(f"{number}", Reply("x", "stop", 0, 1))
        return True

    with ThreadPoolExecutor(12) as pool:
        done = sum(pool.map(work, range(100)))
    assert highest <= 60
    assert 45 <= done == accounts[0].summary().usd <= 60


def test_a_call_that_fails_costs_nothing(tmp_path: Path) -> None:
    account = Spend(tmp_path, PRICE, cap_usd=5.0)
    for number in range(10):
        account.reserve(f"{number}", request(1, max_tokens=4))
        account.release(f"{number}", refused=number % 2 == 0)
    assert (account.summary().usd, account.summary().totals.refused) == (0.0, 5)


def _dead(folder: Path, *keys: str) -> str:
    """An account whose process died with these calls in the air. Returns its name."""
    account = Spend(folder, PRICE)
    for key in keys:
        account.reserve(key, request(1, max_tokens=4))
    account._journal.close()  # as the kernel does
    return account.name


def test_what_a_dead_process_left_is_settled_once(tmp_path: Path) -> None:
    name = _dead(tmp_path, "stored", "lost")
    with journals(tmp_path)[0].open("ab") as file:
        file.write(b'{"op":"settle","key":"sto')  # cut off by the kill
    assert Spend.read(tmp_path).totals.in_air == 2
    alive, other = Spend(tmp_path, PRICE), Spend(tmp_path, PRICE)

    def answered(key: str, account: str) -> Reply | None:
        return Reply("x", "stop", 0, 3) if (key, account) == ("stored", name) else None

    assert alive.recover(answered) == 2
    assert other.recover(answered) == alive.recover(answered) == 0
    totals = Spend.read(tmp_path).totals
    assert (totals.calls, totals.lost, totals.in_air) == (1, 1, 0)
    assert totals.usd == pytest.approx(3 + 4, abs=1e-3)


def test_a_living_process_is_left_alone(tmp_path: Path) -> None:
    alive, other = Spend(tmp_path, PRICE), Spend(tmp_path, PRICE)
    alive.reserve("a", request(1))
    assert other.recover(lambda key, account: None) == 0
    alive.settle("a", Reply("x", "stop", 0, 1))
    assert other.summary().usd == 1.0


def test_one_that_waits_for_a_dead_process_goes_on(tmp_path: Path) -> None:
    _dead(tmp_path, "a")  # 4 of 6 reserved
    account = Spend(tmp_path, PRICE, cap_usd=6.0)
    account.reserve("b", request(1, max_tokens=4), lambda: account.recover(lambda key, name: Reply("x", "stop", 0, 1)))
    account.settle("b", Reply("x", "stop", 0, 4))
    assert account.summary().usd == 5.0


def test_processes_one_after_the_other_share_one_journal(tmp_path: Path) -> None:
    for number in range(20):
        account = Spend(tmp_path, PRICE)
        account.reserve(f"{number}", request(1))
        account.settle(f"{number}", Reply("x", "stop", 0, 1))
        account.close()
    assert len(journals(tmp_path)) == 1
    assert Spend.read(tmp_path).usd == 20.0
    _dead(tmp_path, "a")
    assert Spend(tmp_path, PRICE).summary().totals.in_air == 1, "one with calls in the air is not gone on with"


def test_rented_machines_are_paid_once_for_processes_side_by_side(tmp_path: Path) -> None:
    def state(began: float, latest: float, rate: float = 3600.0) -> State:
        return State(Totals(), began, latest, rate)

    assert rented_usd([state(0, 10), state(2, 5), state(8, 12), state(100, 101)]) == 13.0
    assert rented_usd([state(0, 10, 0.0)]) == 0.0
    account = Spend(tmp_path, Price(usd_per_hour=36_000.0), cap_usd=2.0)
    begun = time.monotonic()
    with pytest.raises(Stopped):
        for number in range(1000):
            account.reserve(f"{number}", request(1))
            time.sleep(0.01)
            account.settle(f"{number}", Reply("x", "stop", 5, 5))
    assert 0.1 < time.monotonic() - begun < 2
    assert 2.0 <= account.summary().usd < 3.0


def test_on_an_object_store_a_later_machine_knows_what_was_spent(s3_bucket: Bucket, monkeypatch) -> None:
    url = f"{s3_bucket.url}/accounts"
    account = Spend(url, PRICE, **s3_bucket.options)
    account.reserve("a", request(1))
    account.settle("a", Reply("x", "stop", 0, 4))
    account.close()
    for path in journals(account._folder):
        path.unlink()
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    later = Spend(url, PRICE, cap_usd=5.0, **s3_bucket.options)
    assert later.summary().usd == 4.0
    with pytest.raises(Stopped):
        later.reserve("b", request(1, max_tokens=2))


def test_a_journal_of_a_living_process_cannot_be_opened(tmp_path: Path) -> None:
    account = Spend(tmp_path, PRICE)
    with pytest.raises(BlockingIOError):
        Journal(tmp_path / f"{account.name}.account", create=False)
