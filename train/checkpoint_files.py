"""The checkpoints of a run as folders on the disk, which no kill can tear: who is complete, who is newest, who goes.

    FOLDER/step-00000100/              files of `torch.distributed.checkpoint`, and complete.json
           step-00000200/
           step-00000300.tmp-5f0c…/    being written, or left by a process that was killed
           latest                      the one line "step-00000200"

A checkpoint is written under a temporary name and forced to the disk; then comes complete.json, which lists its files;
then its name; then `latest` is replaced; and only then do old checkpoints go. So whenever the process is killed,
`latest` names a complete checkpoint, or there is none yet. One process at a time writes to a folder.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
import shutil
from pathlib import Path
from typing import Any

from ..model.shards import listed
from ..pipelines.durable import fsync_file, fsync_folder, rename

MARKER = "complete.json"
LATEST = "latest"
FORMAT = 1
_HASHED_BYTES = 4 * 2**20
"""Files up to this size are compared by content, larger ones by size: reading all of a large one would cost minutes."""

log = logging.getLogger(__name__)


class CheckpointError(RuntimeError):
    """A checkpoint could not be written, is not there, is torn or does not fit; one line names it and the cause."""


class CheckpointFiles:
    """See the head of this file. Attributes: folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"

    # ---------------------------------------------------------------------------------------------- writing

    def begin(self, step: int) -> Path:
        """A new temporary folder for this step; what killed processes left goes.

        Raises CheckpointError when `latest` names this very step and it is complete: replacing it would leave a
        moment without it.
        """
        if not self.folder.exists():
            self.folder.mkdir(parents=True)
            fsync_folder(self.folder.parent)
        self._sweep()
        if self._pointer() == self.path(step).name and not self.problem(step):
            raise CheckpointError(f"{self.path(step)} is there already, and is what the run would go on from")
        temporary = self._temporary(step)
        temporary.mkdir()
        return temporary

    def commit(self, step: int, temporary: Path, facts: dict[str, Any], world: int, keep: int) -> None:
        """Makes the written files the checkpoint of this step, and the newest; keeps that many, or all if 0."""
        files = sorted(path for path in temporary.iterdir() if path.is_file())
        for path in files:
            fsync_file(path)
        marker = {
            "format": FORMAT, "step": step, "world": world, "facts": facts,
            "files": {path.name: _print(path) for path in files},
        }  # fmt: skip
        _write_durably(temporary / MARKER, json.dumps(marker, indent=2) + "\n")
        fsync_folder(temporary)
        target = self.path(step)
        if target.exists():  # torn, or of a course that was abandoned: `begin` has refused what is needed
            rename(target, self._temporary(step))
        rename(temporary, target)
        fsync_folder(self.folder)
        _write_durably(self.folder / f"{LATEST}.partial", target.name + "\n")
        rename(self.folder / f"{LATEST}.partial", self.folder / LATEST)
        fsync_folder(self.folder)
        self._prune(step, keep)

    def discard(self, temporary: Path) -> None:
        """After a failure: a full disk should not stay full. What cannot be removed goes with the next save."""
        shutil.rmtree(temporary, ignore_errors=True)

    def _prune(self, newest: int, keep: int) -> None:
        """Removes all but the last `keep` up to the newest; later steps belong to a course that was abandoned."""
        steps = self.steps()
        kept = [step for step in steps if step <= newest][-keep:]
        for step in steps if keep else []:
            if step not in kept:  # renamed first, else a kill would leave a torn one under a good name
                rename(self.path(step), self._temporary(step))
        self._sweep()

    def _sweep(self) -> None:
        for leftover in self.folder.glob("step-*.tmp-*"):
            shutil.rmtree(leftover)

    def _temporary(self, step: int) -> Path:
        return self.folder / f"{self.path(step).name}.tmp-{secrets.token_hex(4)}"

    # ---------------------------------------------------------------------------------------------- reading

    def steps(self) -> list[int]:
        """Of all that have a final name, complete or torn, in order."""
        if not self.folder.exists():
            return []
        named = (re.fullmatch(r"step-(\d{8,})", path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in named if match)

    def newest(self) -> int | None:
        """The step that `latest` names; if that is torn, the last complete one, and a warning says so.

        None for a run that has no checkpoint. Raises CheckpointError when there are some but none is complete.
        """
        named, steps = self._pointer(), self.steps()
        if named is None and not steps:
            return None
        trouble = f"{self.folder / LATEST} is missing"
        if named is not None:
            step = next((step for step in steps if self.path(step).name == named), None)
            if step is None:
                trouble = f"{self.folder / LATEST} names {named!r}, which is not there"
            elif not (problem := self.problem(step)):
                return step
            else:
                trouble = problem
        problems = []
        for step in reversed(steps):
            if not (problem := self.problem(step)):
                log.warning("%s; going on from %s", trouble, self.path(step))
                return step
            problems.append(problem)
        raise CheckpointError(f"no checkpoint of the run is complete: {listed(problems) or trouble}")

    def marker(self, step: int) -> dict[str, Any]:
        """Raises CheckpointError when there is no checkpoint of this step, or it has no marker that can be read."""
        path = self.path(step)
        if not path.is_dir():
            there = ", ".join(map(str, self.steps())) or "none"
            raise CheckpointError(f"{path}: there is no such checkpoint; the steps that have one: {there}")
        try:
            marker = json.loads((path / MARKER).read_text())
        except FileNotFoundError:
            raise CheckpointError(f"{path} is torn: {MARKER} is missing") from None
        except ValueError as error:
            raise CheckpointError(f"{path} is torn: {MARKER} cannot be read: {error}") from None
        if not isinstance(marker, dict) or marker.get("format") != FORMAT:
            raise CheckpointError(f"{path / MARKER} is not of format {FORMAT}, the one that this version reads")
        return marker

    def problem(self, step: int) -> str | None:
        """What is wrong with the files of a checkpoint, in one line; None if they are as they were written."""
        try:
            files = self.marker(step)["files"]
        except CheckpointError as error:
            return str(error)
        for name, written in files.items():
            path = self.path(step) / name
            if not path.is_file():
                return f"{self.path(step)} is torn: {name} is missing"
            if (size := path.stat().st_size) != written["size"]:
                return f"{self.path(step)} is torn: {name} has {size:,} bytes of {written['size']:,}"
            if _print(path) != written:
                return f"{self.path(step)} is damaged: the content of {name} has changed"
        return None

    def _pointer(self) -> str | None:
        try:
            return (self.folder / LATEST).read_text(errors="replace").strip()
        except FileNotFoundError:
            return None


def _print(path: Path) -> dict[str, Any]:
    """By which a file is known again."""
    size = path.stat().st_size
    return {"size": size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest() if size <= _HASHED_BYTES else None}


def _write_durably(path: Path, text: str) -> None:
    path.write_text(text)
    fsync_file(path)
