"""How many calls may be in flight, how long to wait before another try, and when to give up. No clock and no network:
times come in as arguments (seconds of any monotonic clock), so that all of it can be tested without waiting.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Concurrency:
    """Additive increase, multiplicative decrease of the calls in flight.

    Until the first trouble (429, 503, timeouts) the limit grows by one a success, which doubles it while as many calls
    end as it is high; after that by one for as many successes as it is high. Trouble halves it, but only that of a call
    which began after the last halving: calls that were in flight together tell the same news.

    Attributes:
        limit: calls that may be in flight; it stays within `lowest` and `highest`.
        in_flight: calls that are.
        paused_until: the server has asked that nothing be begun before (Retry-After).
    """

    limit: float = 8.0
    lowest: int = 1
    highest: int = 256
    in_flight: int = 0
    paused_until: float = float("-inf")
    _halved: float = float("-inf")

    def wait(self, now: float) -> float | None:
        """Seconds until a call may begin: 0 = now, None = once another has ended."""
        if now < self.paused_until:
            return self.paused_until - now
        return 0.0 if self.in_flight < int(self.limit) else None

    def begin(self) -> None:
        self.in_flight += 1

    def end(self) -> None:
        self.in_flight -= 1

    def success(self) -> None:
        step = 1.0 if self._halved == float("-inf") else 1 / self.limit
        self.limit = min(float(self.highest), self.limit + step)

    def trouble(self, began: float, now: float, retry_after: float = 0.0) -> None:
        """A call that began at `began` has met an overloaded server, which asks for `retry_after` seconds of quiet."""
        if began >= self._halved:
            self.limit = max(float(self.lowest), self.limit / 2)
            self._halved = now
        self.paused_until = max(self.paused_until, now + retry_after)


@dataclass
class Breaker:
    """Opens after failures in a row without a success, for good.

    Attributes:
        failures: how many in a row open it.
        patience_s: and how long it must have been since the first of them: calls in flight together fail together.
        last: what the last one said.
    """

    failures: int = 20
    patience_s: float = 60.0
    last: str = ""
    _count: int = field(default=0, init=False)
    _first: float = field(default=0.0, init=False)

    def success(self) -> None:
        self._count = 0

    def failure(self, reason: str, now: float) -> bool:
        """Count one. Returns whether the breaker is open."""
        if not self._count:
            self._first = now
        self._count += 1
        self.last = reason
        return self._count >= self.failures and now - self._first >= self.patience_s

    def told(self, now: float) -> str:
        """Why it is open, in one line."""
        return f"{self._count} failures in a row over {now - self._first:.0f} s without an answer, the last {self.last}"


@dataclass(frozen=True)
class Backoff:
    """Waits between the tries of one request.

    Attributes:
        first_s: before the second try, doubled from try to try up to `highest_s`.
    """

    first_s: float = 0.5
    highest_s: float = 30.0

    def wait(self, tries: int, rng: random.Random, retry_after: float = 0.0) -> float:
        """Seconds after that many tries: half of it certain, half drawn, and never less than the server asks."""
        longest = min(self.highest_s, self.first_s * 2.0 ** min(tries - 1, 30))
        return max(retry_after, longest / 2 + longest / 2 * rng.random())
