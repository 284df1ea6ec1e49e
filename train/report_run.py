"""Reads a run's folder for its report: every line that counts, once, and a note about each that cannot be read.

A run that was resumed has done some steps twice, and the later ones count: a `start` at step s takes back what came
after s. Files that a run need not have (samples, predictions, scores) may be missing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..pipelines.errors import UserError

_BY_STEP = ("step", "evaluation", "diagnostics", "skip", "checkpoint", "stage")


@dataclass
class RunData:
    """Attributes:
    facts: run.json.
    events: name → the lines of that name that count, by step.
    resumed: steps from which the run went on.
    end: the last line, if it is an end.
    samples, predictions: step → the lines of that file; of predictions only the newest step's are read.
    scores: step → what `k3data eval` found; see `vision.score`.
    notes: what could not be read, one line each.
    """

    path: Path
    facts: dict[str, Any]
    events: dict[str, list[dict[str, Any]]]
    resumed: list[int]
    end: dict[str, Any] | None
    samples: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    predictions: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    scores: dict[int, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def steps(self) -> list[dict[str, Any]]:
        return self.events["step"]

    def column(self, name: str) -> np.ndarray:
        """A value of every step; NaN where it is missing or not finite."""
        return np.array([number(one.get(name)) for one in self.steps], dtype=np.float64)

    def by(self, what: str) -> dict[str, np.ndarray]:
        """Name → its loss at every step, in the order in which names come up; NaN where a step has none of it."""
        parts = [(one.get("by") or {}).get(what) or {} for one in self.steps]
        names = dict.fromkeys(name for part in parts for name in part)
        return {name: np.array([number(part.get(name)) for part in parts]) for name in names}


def number(value: object) -> float:
    """A float for what JSON calls a number, else NaN."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else math.nan  # type: ignore[arg-type]


def read_run(path: Path) -> RunData:
    """Raises UserError when the folder is not a run's."""
    try:
        facts = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is no run: it has no run.json") from None
    except ValueError as error:
        raise UserError(f"{path / 'run.json'} is damaged: {error}") from None
    if not isinstance(facts, dict) or facts.get("format") != 1:
        raise UserError(f"{path / 'run.json'}: not of format 1, which is all that this version reads")
    notes: list[str] = []
    run = RunData(path, facts, *_events(path / "metrics.jsonl", notes), notes=notes)
    last = run.steps[-1]["step"] if run.steps else 0
    for step, file in _of_steps(path / "samples", "jsonl", last):
        run.samples[step] = list(_lines(file, notes))
    for step, file in list(_of_steps(path / "predictions", "jsonl", last))[-1:]:
        run.predictions[step] = list(_lines(file, notes))
    for step, file in _of_steps(path / "scores", "json", last):
        try:
            run.scores[step] = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            notes.append(f"{file.relative_to(path)} is damaged: {error}")
    return run


def _events(path: Path, notes: list[str]) -> tuple[dict[str, list[dict[str, Any]]], list[int], dict[str, Any] | None]:
    found: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in _BY_STEP}
    resumed: list[int] = []
    end = None
    for one in _lines(path, notes) if path.exists() else ():
        name, step = one.get("event"), one.get("step")
        end = one if name == "end" else None
        if name == "start":
            start = one.get("resumed_from")
            resumed += [] if start is None else [start]
            for steps in found.values():
                for later in [step for step in steps if step > (start or 0)]:
                    del steps[later]
        elif name in found and isinstance(step, int):
            found[name][step] = one
    return {name: [steps[step] for step in sorted(steps)] for name, steps in found.items()}, resumed, end


def _lines(path: Path, notes: list[str]) -> Iterator[dict[str, Any]]:
    """The objects of a file, one a line. A last line without an end is still being written."""
    damaged = 0
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for line in file:
            try:
                one = json.loads(line)
            except ValueError:
                damaged += line.endswith("\n")
                continue
            if isinstance(one, dict):
                yield one
            else:
                damaged += 1
    if damaged:
        notes.append(f"{path.name}: {damaged} {'line' if damaged == 1 else 'lines'} cannot be read")


def _of_steps(folder: Path, ending: str, last: int) -> list[tuple[int, Path]]:
    """Files named after steps that the run still counts, in order; all of them if it counts none."""
    found = []
    for path in folder.glob(f"step-*.{ending}"):
        match = re.fullmatch(rf"step-(\d+)\.{ending}", path.name)
        if match and (not last or int(match[1]) <= last):
            found.append((int(match[1]), path))
    return sorted(found)
