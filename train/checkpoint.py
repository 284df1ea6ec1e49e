"""Checkpoints of a training run: copied in a moment, written beside the next steps, complete or not there at all.

    checkpoints = Checkpoints("run/checkpoints")
    checkpoints.save(step, state, facts)            # a nested dict of tensors, DTensors and plain values
    if (step := checkpoints.newest()) is not None:
        checkpoints.load(step, state)               # in place, whatever number of ranks has written it

The tensors' files are those of `torch.distributed.checkpoint`, which knows how shards of one number of ranks become
those of another; how a folder of them comes to be without being torn by a kill, `checkpoint_files` says.

What is no DTensor is taken to be the same on all ranks, and one of them writes it. What differs, as random states do,
has a key of its own on each: {"rng": {f"rank{rank}": …}}.
"""

from __future__ import annotations

import copy
import json
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.metadata import MetadataIndex, TensorStorageMetadata

from ..model.shards import listed
from ..model.typed import differing
from .checkpoint_files import CheckpointError, CheckpointFiles
from .optim.sharding import local

__all__ = ["CheckpointError", "Checkpoints", "differences"]

T = TypeVar("T")


class Checkpoints:
    """Of one run. With several ranks all must make every call, and in the same order."""

    def __init__(
        self, folder: str | Path, *, keep: int = 3, wait: bool = False, rank: int = 0, world: int = 1,
        group: dist.ProcessGroup | None = None,
    ) -> None:  # fmt: skip
        """
        Args:
            folder: for this run's checkpoints alone.
            keep: how many stay, the newest ones; 0 for all.
            wait: whether `save` returns only when all is on the disk.
            group: of all ranks, on the CPU (gloo), and for nothing else: a thread uses it beside the training.

        Raises ValueError for a negative `keep`, or several ranks without a group.
        """
        if keep < 0:
            raise ValueError(f"keep is {keep}, and must be 0 or more")
        if world > 1 and group is None:
            raise ValueError(f"{world} ranks need a group of their own to write checkpoints together")
        self.files = CheckpointFiles(folder)
        self._keep, self._wait, self._rank, self._world, self._group = keep, wait, rank, world, group
        self._copies: dict[str, Tensor] = {}
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        # One process is what is meant here; the library warns of it at every call.
        warnings.filterwarnings("ignore", "torch.distributed is disabled, unavailable or uninitialized", UserWarning)

    # ---------------------------------------------------------------------------------------------- writing

    def save(self, step: int, state: dict[str, Any], facts: dict[str, Any]) -> None:
        """Copies the state to host memory, and writes it from there; what `state` holds may change at once.

        Waits for the save before this one. The memory for the copy is kept for the next.

        Args:
            facts: JSON values; they can be read without the tensors, to see whether the checkpoint is the right one.

        Raises:
            CheckpointError: this save (with `wait`) or the one before it failed; the checkpoints before are intact.
            TypeError: the state holds what is neither a tensor nor plain, or `facts` what JSON does not have.
        """
        self.finish()
        facts = json.loads(json.dumps(facts))
        leaves = _leaves(state)
        held = {name: self._copied(name, leaf.value) for name, leaf in leaves.items()}
        self._copies = {name: value for name, value in held.items() if isinstance(value, Tensor)}
        planned = {name: leaf.value for name, leaf in leaves.items()}
        if self._wait:
            self._write(step, planned, held, facts)
            return
        self._thread = threading.Thread(
            target=self._write_beside, args=(step, planned, held, facts), name="checkpoint writer"
        )
        self._thread.start()

    def finish(self) -> None:
        """Waits for the write under way. Raises CheckpointError when it failed."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _write_beside(self, *what: Any) -> None:
        try:
            self._write(*what)
        except BaseException as error:  # for `finish` to raise
            self._failure = error

    def _write(self, step: int, planned: dict[str, Any], held: dict[str, Any], facts: dict[str, Any]) -> None:
        try:
            temporary = self._on_first(lambda: self.files.begin(step))
            try:
                dcp.save(
                    planned, storage_writer=_Writer(temporary), planner=_SavePlanner(held),
                    process_group=self._group, no_dist=self._group is None,
                )  # fmt: skip
                self._on_first(lambda: self.files.commit(step, temporary, facts, self._world, self._keep))
            except BaseException:
                if self._rank == 0:
                    self.files.discard(temporary)
                raise
        except (Exception, CheckpointException) as error:
            raise CheckpointError(f"{self.files.path(step)} could not be written: {_cause(error)}") from error

    def _copied(self, name: str, value: Any) -> Any:
        """On the host, in memory that nobody else has."""
        if not isinstance(value, Tensor):
            return copy.deepcopy(value)
        held = local(value).detach()
        kept = self._copies.get(name)
        if kept is None or kept.shape != held.shape or kept.dtype != held.dtype:
            kept = torch.empty(held.shape, dtype=held.dtype, device="cpu")
        return kept.copy_(held)

    # ---------------------------------------------------------------------------------------------- reading

    def newest(self) -> int | None:
        """The step to go on from: the one that `latest` names. If that is torn it is the last complete one, and a
        warning says so. None where there is none. Raises CheckpointError when all that are there are torn.
        """
        self.finish()
        return self._on_first(self.files.newest)

    def facts(self, step: int) -> dict[str, Any]:
        """What `save` was given. Raises CheckpointError when the step has no checkpoint, or one without its marker."""
        facts: dict[str, Any] = self.files.marker(step)["facts"]
        return facts

    def load(self, step: int, state: dict[str, Any], optional: Sequence[str] = ()) -> list[str]:
        """Fills the tensors of `state` in place, sharded as they are now, and puts plain values in their places.

        Args:
            optional: keys such as "rng" or "rng/rank0". What is under them may be missing in the checkpoint, and then
                stays as it is; what the checkpoint has under them beyond the state is not read.

        Returns:
            The names of what stayed as it was: "rng/rank1/cpu".

        Raises CheckpointError when there is no such checkpoint, it is torn, or keys, shapes or dtypes differ from the
        state's, which is as it was then; also when reading fails, and then the state is of no use.
        """
        self.finish()
        absent: list[str] = []
        problem: str | None = None
        try:
            absent = self._load(step, state, optional)
        except (Exception, CheckpointException) as error:
            own = isinstance(error, CheckpointError)
            problem = str(error) if own else f"{self.files.path(step)} could not be read: {_cause(error)}"
        problems = [problem]
        if self._group is not None:
            problems = [None] * self._world
            dist.all_gather_object(problems, problem, group=self._group)
        if first := next((one for one in problems if one), None):
            raise CheckpointError(first)
        return absent

    def _load(self, step: int, state: dict[str, Any], optional: Sequence[str]) -> list[str]:
        if damage := self.files.problem(step):
            raise CheckpointError(damage)
        leaves = _leaves(state)
        path = self.files.path(step)
        stored = dcp.FileSystemReader(path).read_metadata().state_dict_metadata
        absent = _check_fit(path, leaves, stored, optional)
        wanted = {name: leaf.value for name, leaf in leaves.items() if name not in absent}
        # Every rank reads what it needs by itself, so that keys may differ between them.
        dcp.load(wanted, storage_reader=dcp.FileSystemReader(path), planner=_LoadPlanner(), no_dist=True)
        for name, value in wanted.items():
            if not isinstance(value, Tensor):
                leaves[name].parent[leaves[name].key] = value
        return absent

    def _on_first(self, work: Callable[[], T]) -> T:
        """Done by the first rank; its result, or its error, is that of all."""
        outcome: list[Any] = [None, None]
        if self._rank == 0:
            try:
                outcome[0] = work()
            except Exception as error:
                if self._group is None:
                    raise
                outcome[1] = _cause(error)
        if self._group is not None:
            dist.broadcast_object_list(outcome, src=dist.get_global_rank(self._group, 0), group=self._group)
        if outcome[1] is not None:
            raise CheckpointError(outcome[1])
        result: T = outcome[0]
        return result


def differences(own: dict[str, Any], stored: dict[str, Any]) -> list[str]:
    """The dotted keys whose values are not the same in the facts of a run and in those of a checkpoint."""
    return [key for key, _, _ in differing(json.loads(json.dumps(own)), stored)]


# ------------------------------------------------------------------------------------------------ state dicts


class _Leaf(NamedTuple):
    """A value of a nested dict, and where it lies: `parent[key]`."""

    parent: dict[str, Any]
    key: str
    value: Any


def _leaves(state: dict[str, Any], prefix: str = "") -> dict[str, _Leaf]:
    """All values by their path, "model/embed.weight". Raises TypeError for one that no checkpoint can hold."""
    found: dict[str, _Leaf] = {}
    for key, value in state.items():
        name = f"{prefix}{key}"
        if not isinstance(key, str) or "/" in key:
            raise TypeError(f"the key {name!r} of the state is not a text without a slash")
        if isinstance(value, dict):
            found |= _leaves(value, f"{name}/")
        elif isinstance(value, Tensor) or _is_plain(value):
            found[name] = _Leaf(state, key, value)
        else:
            raise TypeError(f"{name} of the state is a {type(value).__name__}: neither a tensor nor a plain value")
    return found


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):  # in a list
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return value is None or type(value) in (bool, int, float, str)


def _check_fit(
    path: Path, leaves: dict[str, _Leaf], stored: dict[str, Any], optional: Sequence[str]
) -> list[str]:  # fmt: skip
    """Returns the optional names that the checkpoint lacks. Raises CheckpointError for any other difference."""
    may_differ = tuple(f"{key}/" for key in optional)
    lacking = [name for name in leaves if name not in stored]
    absent = [name for name in lacking if f"{name}/".startswith(may_differ)]
    missing = [name for name in lacking if name not in absent]
    extra = [name for name in stored if name not in leaves and not f"{name}/".startswith(may_differ)]
    unlike = []
    for name, leaf in leaves.items():
        if name in stored and (there := _kind_of(stored[name])) != (here := _kind_of(leaf.value)):
            unlike.append(f"{name} as {there} instead of {here}")
    wrong = [f"lacks {listed(missing)}"] if missing else []
    wrong += [f"holds {listed(extra)}, which the state does not have"] if extra else []
    wrong += [f"holds {listed(unlike)}"] if unlike else []
    if wrong:
        raise CheckpointError(f"{path} {'; '.join(wrong)}")
    return absent


def _kind_of(value: Any) -> str:
    """In words, of a value of the state or of the library's description of one."""
    if isinstance(value, TensorStorageMetadata):
        return f"{list(value.size)} {value.properties.dtype}"
    return f"{list(value.shape)} {value.dtype}" if isinstance(value, Tensor) else "a plain value"


# ------------------------------------------------------------------------------- torch.distributed.checkpoint


class _SavePlanner(dcp.DefaultSavePlanner):
    """Plans with the live tensors, of which it needs shapes and placements, and writes what was copied of them."""

    def __init__(self, held: dict[str, Any]) -> None:
        super().__init__(flatten_state_dict=False, flatten_sharded_tensors=False)
        self._held = held

    def lookup_object(self, index: MetadataIndex) -> Any:
        return self._held[index.fqn]


class _LoadPlanner(dcp.DefaultLoadPlanner):
    """Unpickles nothing but tensors and plain values."""

    def __init__(self) -> None:
        super().__init__(flatten_state_dict=False, flatten_sharded_tensors=False)

    def load_bytes(self, read_item: Any, value: Any) -> None:
        self.state_dict[read_item.dest_index.fqn] = torch.load(value, weights_only=True)


class _Writer(dcp.FileSystemWriter):
    """Says what went wrong before the library wraps it, and sends it to other ranks without what led to it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, sync_files=True)

    def write_data(self, plan: Any, planner: Any) -> Any:
        try:
            return super().write_data(plan, planner)
        except Exception as error:
            raise CheckpointError(_cause(error)) from None


def _cause(error: BaseException) -> str:
    """The error, or the one of the system that led to it, in one line."""
    if isinstance(error, CheckpointException):  # of the library, which has collected those of all ranks
        rank, (failure, _) = min(error.failures.items(), key=lambda item: item[0])
        return f"{_cause(failure)} on rank {rank}" if rank else _cause(failure)
    if isinstance(error, CheckpointError):
        return str(error)
    at: BaseException | None = error
    while at is not None and not isinstance(at, OSError):
        at = at.__cause__ or at.__context__
    if at is not None and at.strerror:
        return f"{at.strerror} ({at.filename})" if at.filename else at.strerror
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
