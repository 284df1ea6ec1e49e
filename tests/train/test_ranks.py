"""Two processes over gloo, as torchrun starts them: one model, one order, and runs that change their ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

TRAIN = ["-m", "k3data.train", "train"]
SETTINGS = [
    "stages=[{stage: shapes, tokens: 24576, batch_tokens: 4096}]", "evaluation.every=0", "checkpoint.every=2",
    "model.layers=3", "model.mla_layers=[2]", "model.mtp_layers=1", "workers=1",
]  # fmt: skip


def run(packed: str, folder: Path, ranks: int, *more: str) -> subprocess.CompletedProcess:
    launcher = [sys.executable]
    if ranks > 1:
        launcher += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command = [*launcher, *TRAIN, "smoke", "--data", packed, "--out", str(folder), "--device", "cpu", "-q"]
    for setting in SETTINGS:
        command += ["--set", setting]
    command += more
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def steps(folder: Path) -> list[dict]:
    rows = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [row for row in rows if row["event"] == "step"]


@pytest.mark.timeout(400)
def test_one_rank_two_ranks_and_one_again_train_one_model(packed, tmp_path):
    assert run(packed, tmp_path / "one", 1).returncode == 0
    mixed = tmp_path / "mixed"
    for ranks in (1, 2, 1):
        done = run(packed, mixed, ranks, "--stop-after", "2")
        assert done.returncode == 0, done.stderr[-2000:]
    assert len(steps(mixed)) == 6
    for ours, theirs in zip(steps(mixed), steps(tmp_path / "one"), strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-3)
        assert ours["norm"] == pytest.approx(theirs["norm"], rel=2e-2)
        assert ours["by"]["kind"] == pytest.approx(theirs["by"]["kind"], rel=1e-3)
    assert (mixed / "model" / "config.json").exists()


@pytest.mark.timeout(300)
def test_a_step_that_does_not_divide_among_the_ranks_is_refused_by_all(packed, tmp_path):
    refused = run(packed, tmp_path / "run", 3)
    assert refused.returncode != 0
    assert "which do not divide among 3 ranks" in refused.stderr
    assert not (tmp_path / "run" / "checkpoints").exists()


@pytest.mark.timeout(200)
def test_a_rank_without_a_picture_keeps_nobody_waiting(tmp_path):
    script = str(Path(__file__).parent / "ranks_without_pictures.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", script]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "rank 0 is right" in done.stdout and "rank 1 is right" in done.stdout


@pytest.mark.timeout(300)
def test_a_rank_that_dies_ends_the_run_and_the_last_checkpoint_stays(packed, tmp_path):
    folder = tmp_path / "run"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*launcher, *TRAIN, "smoke", "--data", packed, "--out", str(folder), "--device", "cpu", "-q"]
    for setting in [*SETTINGS, "stages.0.tokens=4096000", "checkpoint.every=1"]:
        command += ["--set", setting]
    process = subprocess.Popen(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not list((folder / "checkpoints").glob("step-*[0-9]/complete.json")):
        assert process.poll() is None
        time.sleep(0.1)
    ranks = psutil.Process(process.pid).children()
    next(one for one in ranks if one.environ().get("RANK") == "1").kill()
    assert process.wait(60) != 0
    assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in ranks)
    before = len(steps(folder))
    done = run(packed, folder, 2, "--set", "stages.0.tokens=4096000", "--stop-after", "1")
    assert done.returncode == 0, done.stderr[-2000:]
    assert 0 < len(steps(folder)) - before <= 2
