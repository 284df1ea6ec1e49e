"""Kills a run at an exact step, leaves steps out, and plays a power cut that takes what was not made durable.

The engine publishes through the operations of `durable` and through `Ledger.record`. A process started with
`K3DATA_FAULTS` in its environment (see `environment`) has each of them wrapped: it is journalled, it can be left out,
and at the wanted step the whole run is killed with SIGKILL. A kill alone loses nothing that the kernel holds, so
`power_cut` afterwards does what a disk might have done: files renamed into place without an fsync lose their content,
and names whose folder was not synced disappear.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

VARIABLE = "K3DATA_FAULTS"
LOCAL_STEPS = ("fsync_file", "fsync_folder", "rename", "link", "ledger")
OBJECT_STEPS = ("put_object", "create_object", "ledger")


@dataclass(frozen=True)
class Faults:
    """What goes wrong in a run.

    Attributes:
        journal: file to which every process of the run writes its steps.
        kill_at: number of the step (counted over all processes, from 0) at which everything is killed; None = never.
        after: kill after the step, not before it.
        omit: name of a step that is not done.
        of: leave it out only for paths that contain this.
    """

    journal: str
    kill_at: int | None = None
    after: bool = False
    omit: str | None = None
    of: str = ""


def environment(faults: Faults, folder: Path) -> dict[str, str]:
    """Environment variables that make every Python process of a run faulty. Writes a `sitecustomize` into `folder`."""
    hook = f"import os\nif os.environ.get({VARIABLE!r}):\n    from {__name__} import install\n    install()\n"
    (folder / "sitecustomize.py").write_text(hook)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, VARIABLE: json.dumps(asdict(faults)), "PYTHONPATH": path}


def install() -> None:
    """Wrap the engine's durable steps in this process, as the environment says."""
    from .. import durable
    from ..ledger import Ledger

    faults = Faults(**json.loads(os.environ[VARIABLE]))
    journal = Journal(Path(faults.journal))
    for name in ("fsync_file", "fsync_folder", "rename", "link", "put_object", "create_object"):
        setattr(durable, name, _faulty(name, getattr(durable, name), faults, journal))
    Ledger.record = _faulty("ledger", Ledger.record, faults, journal)  # type: ignore[method-assign]


class Journal:
    """The steps of all processes of a run, in order, one JSON object a line."""

    def __init__(self, path: Path):
        self.path = path

    def append(self, **step: Any) -> int:
        """Write a step. Returns its number."""
        with self.path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            number = sum(1 for _ in file)
            file.write(json.dumps({"pid": os.getpid(), **step}) + "\n")
        return number

    def steps(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []


def _faulty(name: str, real: Callable[..., Any], faults: Faults, journal: Journal) -> Callable[..., Any]:
    def step(*args: Any) -> Any:
        paths = [str(one) for one in args if isinstance(one, Path | str)]
        number = journal.append(step=name, paths=paths, done=False)
        if number == faults.kill_at and not faults.after:
            _kill_everything()
        if name == faults.omit and (not faults.of or any(faults.of in path for path in paths)):
            # What is left out reports success: that is what makes it a fault.
            result = True if name in ("link", "create_object", "ledger") else None
        else:
            result = real(*args)
            journal.append(step=name, paths=paths, done=True)
        if number == faults.kill_at and faults.after:
            _kill_everything()
        return result

    return step


def _kill_everything() -> None:
    """SIGKILL the run's main process (its workers follow it by their parent-death signal) and this one."""
    parent = int(os.environ.get("K3DATA_FAULTS_MAIN", "0")) or os.getppid()
    if _is_worker():
        os.kill(parent, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _is_worker() -> bool:
    return "pipelines.worker" in Path("/proc/self/cmdline").read_text()


def power_cut(journal: Journal, output: Path) -> int:
    """Take from the disk what the journalled run had not made durable, in the way that hurts most.

    The ledger's own names survive although their folder was not synced: the disk may well write the later entry and
    lose the earlier ones, and only that order can make a ledger lie.

    Returns:
        How many files were damaged or lost.
    """
    synced: set[str] = set()
    published: dict[str, bool] = {}  # target → its content was synced
    loose: set[str] = set()  # targets whose folder entry is not durable
    for step in journal.steps():
        if not step["done"]:
            continue
        if step["step"] == "fsync_file":
            synced.add(step["paths"][0])
        elif step["step"] in ("rename", "link"):
            source, target = step["paths"]
            published[target] = source in synced
            loose.add(target)
        elif step["step"] == "fsync_folder":
            loose = {target for target in loose if str(Path(target).parent) != step["paths"][0]}
    hurt = 0
    for target, whole in published.items():
        path = Path(target)
        if not path.exists() or output not in path.parents:
            continue
        if target in loose and path.parent.name not in ("ledger", "lease"):
            path.unlink()
            hurt += 1
        elif not whole:
            os.truncate(path, path.stat().st_size // 2)
            hurt += 1
    return hurt
