"""Where a run shows itself: one live line a job on a terminal, JSON heartbeats in a log, nothing when asked."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from .supervisor import Progress

_BEAT_S = 10.0


def choose(quiet: bool, as_json: bool) -> Quiet:
    """The screen that suits where the output goes; all of them write to stderr."""
    if quiet:
        return Quiet()
    if as_json or not sys.stderr.isatty():
        return Heartbeat()
    return Terminal()


class Quiet:
    """Says nothing."""

    def say(self, line: str) -> None:
        pass

    def show(self, progress: Progress) -> None:
        pass

    def done(self, progress: Progress) -> None:
        pass

    def close(self) -> None:
        pass


class Heartbeat(Quiet):
    """One JSON object a line: at the start of a job, every ten seconds, at its end."""

    def __init__(self) -> None:
        self._next = 0.0
        self._pace = _Pace()

    def say(self, line: str) -> None:
        _emit({"event": "message", "message": line})

    def show(self, progress: Progress) -> None:
        self._pace.see(progress)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _BEAT_S
            _emit({"event": "progress", **_facts(progress, self._pace)})

    def done(self, progress: Progress) -> None:
        _emit({"event": "job_done", **_facts(progress, self._pace)})
        self._next = 0.0


class Terminal(Quiet):
    """One live line for the job at work, which stays when it is done."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._pace = _Pace()

    def say(self, line: str) -> None:
        self._console.print(line, markup=False)

    def show(self, progress: Progress) -> None:
        self._pace.see(progress)
        if self._live is None:
            self._live = Live(console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
        self._live.update(self._line(progress))

    def done(self, progress: Progress) -> None:
        self.close()
        self._console.print(self._line(progress, over=True))

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _line(self, progress: Progress, over: bool = False) -> Text:
        facts = _facts(progress, self._pace)
        total = facts["items"]
        share = facts["items_done"] / total if total else facts["units_done"] / max(progress.units, 1)
        width = 24
        filled = width if over else min(width, round(width * share))
        line = Text(f"{progress.job:<10} ", style="bold")
        line.append("━" * filled, style="green" if over else "cyan").append(
            "━" * (width - filled), style="bright_black"
        )
        line.append(f" {facts['items_done']:,}" + (f"/{total:,}" if total else "") + " items", style="default")
        line.append(f" · {facts['samples']:,} samples", style="default")
        for name, style in (("filtered", "yellow"), ("invalid_input", "yellow"), ("error", "red")):
            if facts[name]:
                line.append(f" · {facts[name]:,} {name.replace('_input', '')}", style=style)
        if progress.deaths:
            line.append(f" · {progress.deaths} workers died", style="red")
        for note in progress.notes.values():
            line.append(f" · {note}", style="default")
        line.append(f" · {facts['items_per_s']:.1f}/s", style="bright_black")
        if not over and facts["eta_s"] is not None:
            line.append(f" · {_duration(facts['eta_s'])} left", style="bright_black")
        return line


@dataclass
class _Pace:
    """Items per second of this run, not of the runs before it."""

    job: str = ""
    began: float = 0.0
    at_start: int = 0

    def see(self, progress: Progress) -> None:
        if progress.job != self.job:
            self.job, self.began, self.at_start = progress.job, time.monotonic(), _items(progress)

    def rate(self, progress: Progress) -> float:
        return (_items(progress) - self.at_start) / max(time.monotonic() - self.began, 1e-3)


def _items(progress: Progress) -> int:
    return progress.items_done + progress.in_work


def _facts(progress: Progress, pace: _Pace) -> dict[str, Any]:
    rate = pace.rate(progress)
    left = None if progress.items is None or rate <= 0 else (progress.items - _items(progress)) / rate
    return {
        "job": progress.job,
        "units": progress.units,
        "units_done": progress.units_done,
        "items": progress.items,
        "items_done": _items(progress),
        "samples": progress.samples,
        **{name: progress.outcomes[name] for name in ("filtered", "invalid_input", "error", "merged")},
        "worker_deaths": progress.deaths,
        **({"notes": progress.notes} if progress.notes else {}),
        "items_per_s": round(rate, 2),
        "eta_s": None if left is None else round(left),
    }


def _emit(event: dict[str, Any]) -> None:
    print(json.dumps({"time": round(time.time(), 3), **event}, ensure_ascii=False), file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
