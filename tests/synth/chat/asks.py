"""Requests for tests, a back end that counts, and a process of its own that asks a server through a store.

Run as a program, it forks a process that asks each time it reads a line, so that a test can kill many within seconds:
`python -m k3data.tests.synth.chat.asks URL CALLS SPEND COUNT THREADS`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from k3data.synth.chat.endpoint import Endpoint
from k3data.synth.chat.limits import Backoff, Breaker, Concurrency
from k3data.synth.chat.spend import Price, Spend
from k3data.synth.chat.store import Calls
from k3data.synth.chat.types import Message, Reply, Request
from k3data.tests.synth.chat.server import MODEL, answer_to

PRICE = Price(usd_in=1.0, usd_out=10.0)


def request(number: int | str, **parts: object) -> Request:
    return Request((Message("system", "Repeat."), Message("user", f"message {number}")), **parts)  # type: ignore[arg-type]


class Counting:
    """A back end that answers at once, or does what `act` says, and counts."""

    name, model, fingerprint, stored = "endpoint", "toy", "f", True

    def __init__(self, act=lambda request: None, seconds: float = 0.0):
        self.asked: Counter[str] = Counter()
        self._act = act
        self._seconds = seconds
        self._guard = threading.Lock()

    def reply(self, request: Request) -> Reply:
        message = request.messages[-1].content
        with self._guard:
            self.asked[message] += 1
        time.sleep(self._seconds)
        return self._act(request) or Reply(answer_to(message), "stop", 100, 50, 0.5)

    def close(self) -> None:
        pass


def endpoint(url: str, **options: object) -> Endpoint:
    """One that is in a hurry to try again. It waits long for a server: this machine may be busy."""
    quick = {
        "read_s": 10.0,
        "overall_s": 20.0,
        "check_s": 1.0,
        "backoff": Backoff(0.005, 0.05),
        "breaker": Breaker(20, 1.0),
        "concurrency": Concurrency(limit=8, highest=32),
    }
    return Endpoint(url, MODEL, **{**quick, **options})  # type: ignore[arg-type]


def asking(url: str, folder: Path, count: int, threads: int = 8) -> list[str]:
    """The command of a process that asks."""
    places = [str(folder / "calls"), str(folder / "spend")]
    return [sys.executable, "-m", __name__, url, *places, str(count), str(threads)]


def ask_all(url: str, calls: Path, spend: Path, count: int, threads: int) -> None:
    """Ask for `count` answers and check each."""
    account = Spend(spend, PRICE)
    store, server = Calls(calls, account), endpoint(url, read_s=5.0, fingerprint="f")

    def one(number: int) -> None:
        reply = store.reply(server, request(number))
        assert reply.text == answer_to(f"message {number}")

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, range(count)))
    for part in (server, store, account):
        part.close()


def main() -> None:
    url, calls, spend, count, threads = sys.argv[1:]
    print("ready", flush=True)
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                ask_all(url, Path(calls), Path(spend), int(count), int(threads))
            except BaseException as error:
                print(f"failed {error!r}", file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
