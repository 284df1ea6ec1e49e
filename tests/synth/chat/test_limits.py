"""Concurrency, breaker and waits, by a clock of our own."""

from __future__ import annotations

import random

from k3data.synth.chat.limits import Backoff, Breaker, Concurrency


def test_the_limit_grows_by_one_for_as_many_successes_as_it_is_high() -> None:
    limits = Concurrency(limit=8, highest=6)
    limits.trouble(began=0.0, now=1.0)
    for _ in range(4):
        limits.success()
    assert 4.8 < limits.limit <= 5
    for _ in range(100):
        limits.success()
    assert limits.limit == 6


def test_until_the_first_trouble_it_doubles_from_round_to_round() -> None:
    limits = Concurrency(limit=8, highest=30)
    for _ in range(8):
        limits.success()
    assert limits.limit == 16
    for _ in range(16):
        limits.success()
    assert limits.limit == 30


def test_calls_that_were_in_flight_together_halve_it_once() -> None:
    limits = Concurrency(limit=16)
    limits.trouble(began=1.0, now=2.0)
    limits.trouble(began=1.5, now=2.1)
    assert limits.limit == 8
    limits.trouble(began=2.0, now=3.0)
    assert limits.limit == 4
    for step in range(10):
        limits.trouble(began=4.0 + step, now=4.0 + step)
    assert limits.limit == 1


def test_nobody_begins_beyond_the_limit_or_within_the_pause() -> None:
    limits = Concurrency(limit=2)
    assert limits.wait(0.0) == 0
    limits.begin()
    limits.begin()
    assert limits.wait(0.0) is None
    limits.end()
    assert limits.wait(0.0) == 0
    limits.trouble(began=0.0, now=10.0, retry_after=5.0)
    assert limits.wait(12.0) == 3.0
    limits.end()
    assert limits.wait(15.0) == 0


def test_a_pause_is_never_shortened() -> None:
    limits = Concurrency()
    limits.trouble(began=0.0, now=0.0, retry_after=30.0)
    limits.trouble(began=0.0, now=1.0, retry_after=1.0)
    assert limits.wait(2.0) == 28.0


def test_the_breaker_opens_after_so_many_failures_and_so_long() -> None:
    breaker = Breaker(failures=3, patience_s=10)
    assert not any(breaker.failure("burst", 0.1 * n) for n in range(8))  # many at once are one piece of news
    assert breaker.failure("still", 10.0)
    assert "9 failures" in breaker.told(10.0)
    assert "still" in breaker.told(10.0)


def test_a_success_starts_the_count_again() -> None:
    breaker = Breaker(failures=2, patience_s=0)
    assert not breaker.failure("a", 0.0)
    breaker.success()
    assert not breaker.failure("b", 100.0)
    assert breaker.failure("c", 101.0)


def test_waits_double_up_to_the_highest_and_never_undercut_the_server() -> None:
    backoff, rng = Backoff(first_s=1.0, highest_s=8.0), random.Random(1)
    for tries, longest in ((1, 1), (2, 2), (3, 4), (4, 8), (9, 8), (10_000, 8)):
        waits = [backoff.wait(tries, rng) for _ in range(200)]
        assert longest / 2 <= min(waits) < max(waits) <= longest
    assert backoff.wait(1, rng, retry_after=60.0) == 60.0
