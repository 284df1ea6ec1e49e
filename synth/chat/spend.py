"""What a run has spent, over all its processes and through kills, and the cap that it may not pass.

A call's highest possible cost is reserved before it is made and replaced by its true cost after. Settled and reserved
money together never exceed the cap: a call that does not fit waits for those in the air, which mostly turn out cheaper,
and if even the settled money leaves no room, the run stops. Two things cannot be reserved, and may pass the cap by what
is in the air: tries that were cut off and made again, and what is paid by the hour.

A process that dies between an answer and its settling leaves a reservation. The next process settles it: at its true
cost if the answer was stored, otherwise as lost, at the highest cost.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...pipelines.store import Store, disk_errors, open_store
from .accounts import SUFFIX, Journal, State, Totals, journals, last_state, rented_usd
from .types import Reply, Request, Stopped

FLUSH_S = 1.0
"""How often what costs nothing (cached answers, accepted tokens) is written down, at most."""

_WAIT_S = 0.05
_SAME_SESSION_S = 60.0
_TOKENS_A_MESSAGE = 16
"""Upper bound of what a chat template adds to a message."""


@dataclass(frozen=True)
class Price:
    """What a back end costs.

    Attributes:
        usd_in, usd_out: USD per million prompt and completion tokens.
        usd_per_hour: of the machines that serve, all together, while a run uses them.
    """

    usd_in: float = 0.0
    usd_out: float = 0.0
    usd_per_hour: float = 0.0

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """USD for tokens."""
        return (prompt_tokens * self.usd_in + completion_tokens * self.usd_out) / 1e6

    def highest(self, request: Request) -> float:
        """USD that one answer can cost at most: no byte is more than one token, and `max_tokens` holds."""
        prompt = sum(len(one.content.encode()) + _TOKENS_A_MESSAGE for one in request.messages) + _TOKENS_A_MESSAGE
        return self.of(prompt, request.max_tokens)


@dataclass(frozen=True)
class Summary:
    """A run's account. `usd` is all that was spent, rented machines included."""

    totals: Totals
    usd: float

    @property
    def usd_per_accepted_million(self) -> float | None:
        """USD per million accepted tokens; None before the first."""
        return self.usd * 1e6 / self.totals.accepted_tokens if self.totals.accepted_tokens else None

    def line(self) -> str:
        """A few words for the live line."""
        each = self.usd_per_accepted_million
        price = f", {each:,.2f} USD per accepted million tokens" if each is not None else ""
        return f"{self.totals.calls:,} calls, {self.totals.cached:,} cached, {self.usd:,.2f} USD{price}"


class Spend:
    """One process's part in a run's account. Any number of threads may use it.

    Args:
        url: the run's folder of accounts. On an object store they are kept on this machine while the run goes on and
            uploaded when a process ends, so a cap holds for the processes of one machine and for what ended before.
        cap_usd: None = no cap.
        storage_options: for fsspec.
    """

    def __init__(
        self, url: str | os.PathLike[str], price: Price, cap_usd: float | None = None, **storage_options: Any
    ):
        self.price = price
        self.cap_usd = cap_usd
        self._store = open_store(url, **storage_options)
        self._folder = _local_folder(self._store)
        with disk_errors(f"writing {self._folder}"):
            self._folder.mkdir(parents=True, exist_ok=True)
        self._fetch()
        self._guard = threading.RLock()
        self._lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with self._alone():
            self._journal, state = self._own_journal()
        self.name = self._journal.path.stem
        self._totals = state.totals if state else Totals()
        self._began = state.began if state and state.usd_per_hour else 0.0
        self._reserved: dict[str, float] = {}
        self._seen: dict[Path, tuple[int, State | None]] = {}
        self._written = 0.0

    def reserve(self, key: str, request: Request, recover: Callable[[], Any] = lambda: None) -> None:
        """Set the call's highest cost aside, waiting for calls in the air if it does not fit beside them.

        Args:
            recover: called while waiting, to settle what dead processes have left.

        Raises:
            Stopped: the cap leaves no room for it.
        """
        usd = self.price.highest(request)
        while not self._try_reserve(key, usd):
            time.sleep(_WAIT_S)
            recover()

    def settle(self, key: str, reply: Reply) -> None:
        """The call's answer has come and is stored."""
        self._close(key, "settle", answer_totals(reply, self.price))

    def release(self, key: str, *, refused: bool) -> None:
        """The call gave no answer and cost nothing (what its attempts cost has been told to `waste`)."""
        self._close(key, "release", Totals(refused=int(refused)))

    def waste(self, prompt_tokens: int, completion_tokens: int) -> None:
        """An attempt was cut off after it had given tokens."""
        usd = self.price.of(prompt_tokens, completion_tokens)
        told = Totals(wasted=1, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, usd=usd)
        with self._guard:
            self._totals.add(told)
            self._write("waste", "", usd)

    def cached(self) -> None:
        """An answer was there already."""
        with self._guard:
            self._totals.cached += 1
            self._flush()

    def accepted(self, tokens: int) -> None:
        """Tokens of rewrites that passed. A unit that is done again after a kill reports them again."""
        with self._guard:
            self._totals.accepted_tokens += tokens
            self._flush()

    def recover(self, answered: Callable[[str, str], Reply | None]) -> int:
        """Settle what dead processes left open.

        Args:
            answered: (key, name of the account) → the stored reply, if that process's call gave it.

        Returns:
            How many reservations were settled.
        """
        settled = 0
        for path in journals(self._folder):
            with suppress(BlockingIOError, FileNotFoundError):
                settled += self._recover_one(Journal(path, create=False), answered)
        return settled

    def summary(self) -> Summary:
        """The run's, up to this moment."""
        with self._guard:
            return _summary(self._states())

    def close(self) -> None:
        """Write down what is left, and on an object store upload the account."""
        with self._guard:
            self._write("close", "", 0.0)
            if self._store.local("") is None:
                self._store.put_bytes(self._journal.path.name, self._journal.path.read_bytes())
            self._journal.close()
            os.close(self._lock)

    @classmethod
    def read(cls, url: str | os.PathLike[str]) -> Summary:
        """The account of a run that other processes are writing: one short read a process. Empty if there is none."""
        states = (last_state(path) for path in journals(_local_folder(open_store(url))))
        return _summary([state for state in states if state])

    def _try_reserve(self, key: str, usd: float) -> bool:
        with self._guard, self._alone():
            if self.cap_usd is not None:
                summary = _summary(self._states())
                if summary.usd + usd > self.cap_usd:
                    raise Stopped(
                        f"the budget is spent: {summary.usd:,.4f} of {self.cap_usd:,.4f} USD, and the next call may "
                        f"cost {usd:,.4f}; raise cap_usd to go on from here"
                    )
                if summary.usd + summary.totals.reserved_usd + usd > self.cap_usd:
                    return False
            self._began = self._began or time.time()
            self._reserved[key] = usd
            self._write("reserve", key, usd)
            return True

    def _close(self, key: str, op: str, told: Totals) -> None:
        with self._guard:
            self._reserved.pop(key)
            self._totals.add(told)
            self._write(op, key, told.usd)

    def _recover_one(self, journal: Journal, answered: Callable[[str, str], Reply | None]) -> int:
        try:
            state = journal.mend()
            if state is None or not state.totals.in_air:
                return 0
            reserved: dict[str, float] = {}
            for line in journal.lines():
                if line["op"] == "reserve":
                    reserved[line["key"]] = line["usd"]
                elif line["key"]:
                    reserved.pop(line["key"], None)
            left = list(reserved.items())
            for key, usd in left:
                reply = answered(key, journal.path.stem)
                told = Totals(lost=1, usd=usd) if reply is None else answer_totals(reply, self.price)
                state.totals.add(told)
                del reserved[key]
                state.totals.in_air, state.totals.reserved_usd = len(reserved), sum(reserved.values())
                journal.append("lost" if reply is None else "settle", key, told.usd, state)
            return len(left)
        finally:
            journal.close()

    def _states(self) -> list[State]:
        """The state of every account of the run; journals that have not grown are not read again."""
        states = []
        for path in journals(self._folder):
            if path.stem == self.name:
                continue
            size = path.stat().st_size
            known = self._seen.get(path)
            if known is None or known[0] != size:
                known = self._seen[path] = (size, last_state(path))
            if known[1]:
                states.append(known[1])
        return [*states, self._state()]

    def _state(self) -> State:
        now = time.time()
        totals = replace(self._totals, in_air=len(self._reserved), reserved_usd=sum(self._reserved.values()))
        return State(totals, self._began or now, now, self.price.usd_per_hour if self._began else 0.0)

    def _write(self, op: str, key: str, usd: float) -> None:
        with disk_errors(f"writing {self._journal.path}"):
            self._journal.append(op, key, usd, self._state())
        self._written = time.monotonic()

    def _flush(self) -> None:
        if time.monotonic() - self._written > FLUSH_S:
            self._write("count", "", 0.0)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process reserves meanwhile."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _own_journal(self) -> tuple[Journal, State | None]:
        """A journal that was left settled on this machine, to go on with, or else a new one: a stage is opened for each
        unit, and a journal each would be thousands."""
        for path in journals(self._folder):
            if path.name.startswith(_host()):
                with suppress(BlockingIOError):
                    journal = Journal(path, create=False)
                    state = journal.mend()
                    if state is None or self._continues(state):
                        return journal, state
                    journal.close()
        name = f"{_host()}{os.getpid()}-{uuid.uuid4().hex[:8]}{SUFFIX}"
        return Journal(self._folder / name, create=True), None

    def _continues(self, state: State) -> bool:
        """Whether what this process does can be added to it. Where machines are rented it covers the time between."""
        rate = self.price.usd_per_hour
        recent = time.time() - state.latest < _SAME_SESSION_S
        return not state.totals.in_air and (not state.usd_per_hour or (state.usd_per_hour == rate and recent))

    def _fetch(self) -> None:
        """On an object store: the accounts of processes that have ended elsewhere."""
        if self._store.local("") is None:
            for entry in self._store.list():
                place = self._folder / entry.path
                if place.suffix == SUFFIX and not place.name.startswith(_host()):
                    temporary = place.with_name(f"{place.name}.{os.getpid()}.tmp")
                    temporary.write_bytes(self._store.read(entry.path))
                    temporary.replace(place)


def _host() -> str:
    """How the names of this machine's journals begin."""
    return f"{socket.gethostname()}-"


def answer_totals(reply: Reply, price: Price) -> Totals:
    """What one answer adds to an account."""
    usd = price.of(reply.prompt_tokens, reply.completion_tokens)
    return Totals(calls=1, prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens, usd=usd)


def _local_folder(store: Store) -> Path:
    return store.local("") or store.scratch() / "accounts"


def _summary(states: list[State]) -> Summary:
    totals = Totals()
    for state in states:
        totals.add(state.totals)
    return Summary(totals, totals.usd + rented_usd(states))
