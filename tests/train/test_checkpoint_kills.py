"""Checkpoints on disks that are full, and in processes that are killed: the one before is intact, or the new one is."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from k3data.train import checkpoint_files
from k3data.train.checkpoint import CheckpointError, Checkpoints
from k3data.train.checkpoint_files import LATEST

from . import killed_saves
from .killed_saves import filled, loaded, names, saved


@pytest.mark.parametrize("wait", [True, False])
def test_a_file_that_does_not_fit_is_one_line_and_leaves_the_one_before(tmp_path, wait):
    checkpoints = saved(tmp_path, 1, wait=wait)
    (tmp_path / "step-00000009.tmp-12345678").mkdir()  # takes up room: it goes before anything is written
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, before[1]))
        with pytest.raises(CheckpointError) as caught:
            checkpoints.save(2, filled(2), {})
            checkpoints.finish()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(caught.value) == f"{tmp_path}/step-00000002 could not be written: {os.strerror(errno.EFBIG)}"
    assert names(tmp_path) == [LATEST, "step-00000001"]
    assert (checkpoints.newest(), loaded(checkpoints, 1)) == (1, 1)
    checkpoints.save(2, filled(2), {})
    assert (checkpoints.newest(), loaded(checkpoints, 2)) == (2, 2)


def test_a_disk_that_is_full_at_any_later_point_leaves_the_one_before(tmp_path, monkeypatch):
    """The next save raises it, and the one after that finds a folder to go on in."""
    operations = ("fsync_file", "fsync_folder", "rename")
    fail_at, counted = 0, 0

    def failing(real):
        def operation(*paths):
            nonlocal counted
            counted += 1
            if counted == fail_at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*paths)

        return operation

    for name in operations:
        monkeypatch.setattr(checkpoint_files, name, failing(getattr(checkpoint_files, name)))
    checkpoints = saved(tmp_path, 1, keep=1)
    outcomes = []
    for fail_at in range(1, 100):  # noqa: B007  (read by `operation`)
        counted = 0
        newest = checkpoints.newest()
        checkpoints.save(newest + 1, filled(newest + 1), {})
        try:
            checkpoints.finish()
        except CheckpointError as error:
            assert str(error).endswith("could not be written: No space left on device")
            after = Checkpoints(tmp_path).newest()
            assert after in (newest, newest + 1)
            assert loaded(checkpoints, after) == after
            outcomes.append(after - newest)
        else:
            break
    assert sorted(outcomes) == outcomes, "a failure after the checkpoint was the newest lost it"
    assert len(outcomes) >= 10
    assert {0, 1} == set(outcomes)


def test_the_order_of_steps_on_the_disk(tmp_path, monkeypatch):
    """Content, marker, name, pointer, and only then old ones, each forced to the disk before the next begins."""
    happened: list[str] = []

    def short(path: Path) -> str:
        return "/".join("temporary" if ".tmp-" in part else part for part in path.relative_to(tmp_path).parts)

    def noted(name, real):
        def operation(*paths):
            happened.append(" ".join([name, *map(short, paths)]))
            return real(*paths)

        return operation

    saved(tmp_path / "run", 1)
    for name in ("fsync_file", "fsync_folder", "rename"):
        monkeypatch.setattr(checkpoint_files, name, noted(name, getattr(checkpoint_files, name)))
    saved(tmp_path / "run", 2, keep=1)
    assert happened == [
        "fsync_file run/temporary/.metadata", "fsync_file run/temporary/__0_0.distcp",
        "fsync_file run/temporary/complete.json", "fsync_folder run/temporary",
        "rename run/temporary run/step-00000002", "fsync_folder run",
        "fsync_file run/latest.partial", "rename run/latest.partial run/latest", "fsync_folder run",
        "rename run/step-00000001 run/temporary",
    ]  # fmt: skip


def script(*arguments: object, timeout: float = 110) -> dict:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, killed_saves.__file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_killed_at_any_moment_the_newest_loads_and_is_one_step(tmp_path, kills):
    report = script("killed", tmp_path, kills, timeout=500)
    assert len(report["newest"]) == kills
    assert report["newest"] == sorted(report["newest"]), "a kill lost a checkpoint"
    assert report["newest"][-1] > 0
    assert report["while_writing"] >= kills // 5, "the kills fell between the saves: they show nothing"


def test_killed_at_every_operation_on_the_disk_the_newest_loads(tmp_path):
    report = script("operations", tmp_path)
    assert len(report["newest"]) >= 20
    assert set(report["newest"]) == {1, 2}
    assert report["newest"] == sorted(report["newest"])
    assert report["killed_last"] is False, "not all operations were met"
