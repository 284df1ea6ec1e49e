"""Killed at random moments, the same command finishes the same run: every loss and every weight to the last bit."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from k3data.model.checkpoint import load_model

SCRIPT = str(Path(__file__).parent / "killed_training.py")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def started(packed: str, run: Path, steps: int) -> subprocess.Popen:
    command = [sys.executable, SCRIPT, packed, str(run), str(steps)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)


def losses(run: Path) -> dict[int, float]:
    """By step; of a step that was done twice both must have had the same."""
    found: dict[int, float] = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["event"] == "step":
            assert found.setdefault(row["step"], row["loss"]) == row["loss"]
    return found


@pytest.mark.parametrize(
    "kills, steps",
    [
        pytest.param(3, 24, marks=pytest.mark.timeout(300)),
        pytest.param(50, 400, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_kills_at_random_moments_change_nothing(packed, tmp_path, kills, steps):
    whole = started(packed, tmp_path / "whole", steps)
    assert whole.communicate()[0].strip() == "finished"
    draw, killed, resumed = random.Random(7), 0, set()
    while True:
        process = started(packed, tmp_path / "killed", steps)
        metrics = tmp_path / "killed" / "metrics.jsonl"
        if killed < kills:
            # From the moment that it trains, anywhere in a step or a save.
            before = metrics.stat().st_size if metrics.exists() else 0
            while process.poll() is None and (not metrics.exists() or metrics.stat().st_size == before):
                time.sleep(0.005)
            if killed == kills - 1:  # on a busy machine all of the others may have come before the first checkpoint
                while process.poll() is None and not (tmp_path / "killed" / "checkpoints" / "latest").exists():
                    time.sleep(0.005)
            time.sleep(draw.uniform(0, 0.9))
            process.send_signal(signal.SIGKILL)
            killed += 1
        out = process.communicate()[0].strip()
        if process.returncode == 0:
            assert out == "finished"
            break
        assert process.returncode == -signal.SIGKILL
    assert killed == kills
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    resumed = [row["resumed_from"] for row in rows if row["event"] == "start"]
    assert any(resumed), "no kill came after a checkpoint: nothing was shown"
    assert losses(tmp_path / "killed") == losses(tmp_path / "whole")
    one, other = (load_model(tmp_path / name / "model").state_dict() for name in ("whole", "killed"))
    assert all(torch.equal(one[name], other[name]) for name in one)
