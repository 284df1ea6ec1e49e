"""A process that asks is killed again and again: what was stored is never asked for again, no money is forgotten."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from k3data.synth.chat.spend import Spend
from k3data.synth.chat.store import Calls
from k3data.synth.chat.stored import key_of, parts_of
from k3data.tests.synth.chat.asks import PRICE, Counting, asking, request
from k3data.tests.synth.chat.server import Server

THREADS = 8


def stored_messages(folder: Path, count: int) -> set[str]:
    """The messages whose answers are on the disk, by the names of files alone."""
    names = {path.stem for path in (folder / "answers").rglob("*.json")}
    return {f"message {n}" for n in range(count) if key_of(parts_of(request(n), _BACK_END)) in names}


_BACK_END = Counting()
_BACK_END.model = "toy"


@pytest.mark.parametrize("kills", [20, pytest.param(50, marks=pytest.mark.slow)])
def test_no_answer_that_was_stored_is_asked_for_again(tmp_path: Path, kills: int) -> None:
    rng = random.Random(kills)
    count = kills * 40
    killed = 0
    with Server(latency_s=0.01) as server:
        command = asking(server.url, tmp_path, count, THREADS)
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asker:
            assert asker.stdin and asker.stdout
            assert asker.stdout.readline() == "ready\n"
            while True:
                stored = stored_messages(tmp_path / "calls", count)
                before = len(server.seen)
                print("go", file=asker.stdin, flush=True)
                child = int(asker.stdout.readline())
                if killed < kills:
                    wanted = before + rng.randint(1, 25)
                    deadline = time.monotonic() + 20
                    while len(server.seen) < wanted and time.monotonic() < deadline:
                        time.sleep(0.001)
                    time.sleep(rng.random() * 0.02)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                code = int(asker.stdout.readline())
                time.sleep(0.02)  # the server's threads see that it has gone
                again = stored & {message for message, _ in server.seen[before:]}
                assert not again, f"paid twice: {sorted(again)[:3]}"
                if code == 0:
                    break
                assert code == -signal.SIGKILL
                killed += 1
            asker.stdin.close()
    assert killed == kills, "it was done too early"
    assert len(stored_messages(tmp_path / "calls", count)) == count
    # Answers that were in the air when the process died have to be asked for again: as many as were in flight, at most.
    twice = server.asked().total() - count
    assert 0 < twice <= kills * THREADS
    assert max(server.asked().values()) <= 1 + kills
    spend = Spend(tmp_path / "spend", PRICE)
    calls = Calls(tmp_path / "calls", spend)
    totals = spend.summary().totals
    assert not calls.verify().damage
    assert totals.in_air == 0
    assert totals.calls == count, "each stored answer is paid for once"
    assert totals.lost <= kills * THREADS
    assert server.whole.total() <= totals.calls + totals.lost, "an answer that the server gave is in the account"


def test_two_processes_killed_in_turns_finish_together(tmp_path: Path) -> None:
    """The lock on a key dies with its holder: nobody waits for a dead process."""
    rng = random.Random(3)
    count = 300
    with Server(latency_s=0.01) as server:
        ends: list[int] = []

        def keep_asking() -> None:
            with subprocess.Popen(
                asking(server.url, tmp_path, count, THREADS), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            ) as asker:
                assert asker.stdin and asker.stdout
                assert asker.stdout.readline() == "ready\n"
                for kill in (True, True, True, False):
                    print("go", file=asker.stdin, flush=True)
                    child = int(asker.stdout.readline())
                    if kill:
                        time.sleep(0.1 + rng.random() * 0.1)
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(child, signal.SIGKILL)
                    ends.append(int(asker.stdout.readline()))
                asker.stdin.close()

        both = [threading.Thread(target=keep_asking) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join(60)
        assert ends.count(-signal.SIGKILL) == 6
        assert ends.count(0) == 2
    assert len(server.asked()) == count
    assert server.asked().total() - count <= 6 * THREADS
    spend = Spend(tmp_path / "spend", PRICE)
    calls = Calls(tmp_path / "calls", spend)
    totals = spend.summary().totals
    assert (totals.calls, totals.in_air) == (count, 0)
    assert not calls.verify().damage
