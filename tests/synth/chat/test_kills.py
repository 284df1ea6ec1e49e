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
from k3data.pipelines.bench.faults import Faults, Journal, environment, power_cut
from k3data.synth.chat.spend import Spend
from k3data.synth.chat.store import Calls
from k3data.synth.chat.stored import DamagedReply, key_of, parts_of
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


def _ask_with(faults: Faults | None, url: str, folder: Path, count: int) -> int:
    """Let one process ask with one thread. Returns its exit code, or the signal that ended it."""
    command = asking(url, folder, count, threads=1)
    surroundings = environment(faults, folder) if faults else None
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=surroundings
    ) as asker:
        assert asker.stdin and asker.stdout
        told = asker.communicate("go\n", timeout=60)[0].split()
    return int(told[-1])


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", [pytest.param("fsync_file", marks=pytest.mark.slow), "link", "fsync_folder"])
def test_a_power_cut_at_each_step_of_storing_loses_no_stored_answer(tmp_path: Path, step: str, after: bool) -> None:
    """The second answer's steps, one after the other; what the disk had not been told to keep is taken away."""
    count = 3
    with Server() as server:
        dry = Journal(tmp_path / "dry")
        (tmp_path / "other").mkdir()
        assert _ask_with(Faults(str(dry.path)), server.url, tmp_path / "other", count) == 0
        begun = [one for one in dry.steps() if not one["done"]]
        numbers = [number for number, one in enumerate(dry.steps()) if not one["done"] and one["step"] == step]
        assert [one["step"] for one in begun][-9:] == ["fsync_file", "link", "fsync_folder"] * 3
        before = len(server.seen)
        journal = Journal(tmp_path / "journal")
        faults = Faults(str(journal.path), kill_at=numbers[-2], after=after)
        assert _ask_with(faults, server.url, tmp_path, count) == -signal.SIGKILL
        power_cut(journal, tmp_path)
        stored = stored_messages(tmp_path / "calls", count)
        assert len(stored) == (2 if step == "fsync_folder" and after else 1)
        asked_before = len(server.seen)
        assert _ask_with(None, server.url, tmp_path, count) == 0
        assert not stored & {message for message, _ in server.seen[asked_before:]}
        assert len(server.seen) - before == count + (2 - len(stored))
    totals = Spend.read(tmp_path / "spend").totals
    assert (totals.calls, totals.lost, totals.in_air) == (count, 2 - len(stored), 0)


def test_without_the_sync_a_power_cut_leaves_an_error_and_not_a_second_call(tmp_path: Path) -> None:
    with Server() as server:
        journal = Journal(tmp_path / "journal")
        assert _ask_with(Faults(str(journal.path), omit="fsync_file"), server.url, tmp_path, 2) == 0
        assert power_cut(journal, tmp_path) == 2
        calls = Calls(tmp_path / "calls")
        with pytest.raises(DamagedReply, match=r"answers/.*\.json is damaged"):
            calls.reply(_BACK_END, request(0))
        assert len(calls.verify().damage) == 2
        assert server.asked().total() == 2


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
