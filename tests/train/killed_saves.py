"""States that hold one number, and processes that save them and are killed, for the tests of checkpoints.

Run as a script: `killed` kills at moments drawn at random, `operations` before each operation on the disk, and
so after the one that goes before it. It prints, as JSON, which step was the newest after each kill.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import torch
from k3data.train import checkpoint_files
from k3data.train.checkpoint import Checkpoints
from k3data.train.checkpoint_files import LATEST


def filled(value: int) -> dict:
    """A state that holds this one number everywhere, one tensor of it large."""
    return {
        "model": {"a.weight": torch.full((65, 33), float(value)), "b": torch.full((3,), value, dtype=torch.int64)},
        "optimizers": {"muon": {"a.weight": {"momentum": torch.full((200_000,), float(value))}}},
        "guard": {"norms": [float(value), float(value)], "skipped": value},
    }


def number_in(state: dict) -> int:
    """Raises AssertionError when the state is of more than one step."""
    model, guard = state["model"], state["guard"]
    momentum = state["optimizers"]["muon"]["a.weight"]["momentum"]
    found = {*model["a.weight"].unique().tolist(), *model["b"].tolist(), *momentum.unique().tolist()}
    found |= {*guard["norms"], guard["skipped"]}
    assert len(found) == 1, f"a mixture of steps: {found}"
    return int(found.pop())


def spoil(state: dict) -> None:
    """Everything in it changes, as in the next step."""
    for tensor in (*state["model"].values(), state["optimizers"]["muon"]["a.weight"]["momentum"]):
        tensor.fill_(-1)
    state["guard"]["norms"][0] = -1.0


def loaded(checkpoints: Checkpoints, step: int) -> int:
    state = filled(-2)
    assert checkpoints.load(step, state) == []
    return number_in(state)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def saved(folder: Path, *steps: int, **options) -> Checkpoints:
    checkpoints = Checkpoints(folder, **options)
    for step in steps:
        checkpoints.save(step, filled(step), {"step": step})
    checkpoints.finish()
    return checkpoints


def child(work) -> int:
    """The id of a process that does it and ends."""
    if pid := os.fork():
        return pid
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def save_for_ever(folder: Path) -> None:
    checkpoints = Checkpoints(folder, keep=2, wait=random.random() < 0.3)
    step = checkpoints.newest() or 0
    while True:
        step += 1
        state = filled(step)
        checkpoints.save(step, state, {"step": step})
        spoil(state)


def killed(folder: Path, kills: int) -> dict:
    newest, while_writing = [], 0
    for number in range(kills):
        random.seed(number)
        pid = child(lambda: save_for_ever(folder))
        time.sleep(random.uniform(0.01, 0.2))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), "the process that saves has failed by itself"
        while_writing += any(".tmp-" in path.name for path in folder.iterdir())
        checkpoints = Checkpoints(folder)
        step = checkpoints.newest()
        assert step is None or loaded(checkpoints, step) == step == checkpoints.facts(step)["step"]
        newest.append(step or 0)
    return {"newest": newest, "while_writing": while_writing}


def operations(folder: Path) -> dict:
    """One save, of step 2 after step 1, for every operation that it is killed at."""
    newest = []
    for number in range(1, 100):
        run = folder / str(number)
        saved(run, 1)
        pid = child(lambda at=number, run=run: save_killed(run, at))
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
        checkpoints = Checkpoints(run, keep=1)
        step = checkpoints.newest()
        assert loaded(checkpoints, step) == step
        checkpoints.save(3, filled(3), {})
        checkpoints.finish()
        assert names(run) == [LATEST, "step-00000003"], "something is left over"
        newest.append(step)
        if os.WIFEXITED(status):
            break
    return {"newest": newest, "killed_last": os.WIFSIGNALED(status)}


def save_killed(folder: Path, at: int) -> None:
    counted = 0

    def wrapped(real):
        def operation(*arguments, **options):
            nonlocal counted
            counted += 1
            if counted == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return operation

    for module, name in (
        (checkpoint_files, "fsync_file"), (checkpoint_files, "fsync_folder"), (checkpoint_files, "rename"),
        (checkpoint_files.shutil, "rmtree"), (checkpoint_files.Path, "write_text"), (os, "fsync"), (os, "unlink"),
    ):  # fmt: skip
        setattr(module, name, wrapped(getattr(module, name)))
    saved(folder, 2, keep=1)


if __name__ == "__main__":
    torch.set_num_threads(1)
    what, where, *number = sys.argv[1:]
    print(json.dumps(killed(Path(where), int(number[0])) if what == "killed" else operations(Path(where))))
