"""Checkpoints of two ranks under FSDP2: written by one process, read by two, written by two, read by one.

No size in this model divides by two, and one tensor leaves the second rank nothing. Run as a script with a folder, this
file is one of the ranks; the second of them dies in the end, while it writes.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from k3data.train import checkpoint
from k3data.train.checkpoint import CheckpointError, Checkpoints
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def new_model(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 3), nn.Linear(3, 1))
    model.register_buffer("count", torch.tensor([seed]))
    return model


def state_of(model: nn.Module, rank: int, seed: int) -> dict:
    """Weights, what AdamW would have for them, and values of this rank and of all."""
    return {
        "model": model.state_dict(),
        "moments": {name: torch.zeros_like(weight) + weight.detach() ** 2 for name, weight in model.named_parameters()},
        "step": torch.tensor(float(seed)), "seed": seed,
        "rng": {f"rank{rank}": {"cpu": torch.full((4,), 10 * seed + rank, dtype=torch.uint8), "number": rank}},
    }  # fmt: skip


def whole(state: dict) -> dict[str, Tensor]:
    """All tensors of a state that all ranks share, in one piece."""
    held = {f"model.{name}": tensor for name, tensor in state["model"].items()}
    held |= {f"moments.{name}": tensor for name, tensor in state["moments"].items()}
    held["step"] = state["step"]
    return {name: x.full_tensor() if isinstance(x, DTensor) else x for name, x in held.items()}


def same(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> bool:
    return ours.keys() == theirs.keys() and all(torch.equal(theirs[name], ours[name]) for name in ours)


def message(work) -> str:
    try:
        work()
    except CheckpointError as error:
        return str(error)
    return "no error"


def one_rank(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2)
    run = folder / "run"
    group = dist.new_group(backend="gloo")
    checkpoints = Checkpoints(run, keep=0, rank=rank, world=2, group=group)
    held: dict = {"newest": [checkpoints.newest()]}

    # What one process has written.
    state = state_of(new_sharded(8), rank, 8)
    held["shapes"] = {name: list(x.to_local().shape) for name, x in state["model"].items() if isinstance(x, DTensor)}
    held["absent"] = checkpoints.load(1, state, optional=("rng",))
    held["one"] = same(whole(state_of(new_model(1), 0, 1)), whole(state))
    held["seed"] = state["seed"]

    # Two ranks write, and all that was saved changes while they do.
    state = state_of(new_sharded(2), rank, 2)
    checkpoints.save(2, state, {"ranks": 2})
    with torch.no_grad():
        for tensor in (*state["model"].values(), *state["moments"].values(), state["step"]):
            (tensor.to_local() if isinstance(tensor, DTensor) else tensor).fill_(-1)
    dist.all_reduce(torch.ones(1000))  # of the training, beside the writer's
    held["newest"].append(checkpoints.newest())
    model = new_sharded(9)
    again = state_of(model, rank, 9)
    held["absent"] += checkpoints.load(2, again, optional=("rng",))
    held["two"] = same(whole(state_of(new_model(2), rank, 2)), whole(again))
    held["in_place"] = same(
        whole({**again, "model": new_model(2).state_dict()}), whole({**again, "model": model.state_dict()})
    )
    held["own"] = [again["rng"][f"rank{rank}"]["cpu"].tolist(), again["rng"][f"rank{rank}"]["number"]]

    # The second rank sees another folder, as with a network's disk that is behind: the first decides.
    elsewhere = Checkpoints(folder / "none" if rank else run, rank=rank, world=2, group=group)
    held["newest"].append(elsewhere.newest())

    # One rank's trouble is that of both.
    held["errors"] = [message(lambda: checkpoints.load(5, again))]
    other = {**again, "mine": 1} if rank else again
    held["errors"].append(message(lambda: checkpoints.load(2, other, optional=("rng",))))
    held["errors"].append(message(lambda: failing_save(checkpoints, again, NO_SPACE if rank else None)))
    checkpoints.save(2, again, {})
    held["errors"].append(message(checkpoints.finish))
    held["newest"].append(checkpoints.newest())
    held["left"] = sorted(path.name for path in run.iterdir())
    (folder / f"rank{rank}.json").write_text(json.dumps(held))
    dist.barrier()  # else the first rank may have begun the next save before the second has looked

    # The second rank is killed while it writes.
    text = message(lambda: failing_save(checkpoints, again, signal.SIGKILL if rank else None))
    (folder / "survivor.json").write_text(json.dumps(text))
    os._exit(0)  # without saying goodbye to the rank that is gone


def new_sharded(seed: int) -> nn.Module:
    model = new_model(seed)
    fully_shard(model)
    return model


def failing_save(checkpoints: Checkpoints, state: dict, trouble: OSError | int | None) -> None:
    write_data = checkpoint.dcp.FileSystemWriter.write_data

    def failing(self, plan, planner):
        if isinstance(trouble, OSError):
            raise trouble
        os.kill(os.getpid(), trouble)

    if trouble is not None:
        checkpoint.dcp.FileSystemWriter.write_data = failing
    try:
        checkpoints.save(3, state, {})
        checkpoints.finish()
    finally:
        checkpoint.dcp.FileSystemWriter.write_data = write_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    checkpoints = Checkpoints(folder / "run", wait=True)
    checkpoints.save(1, state_of(new_model(1), 0, 1), {"ranks": 1})
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen([sys.executable, __file__, str(folder), str(rank)], env=environment, stderr=subprocess.PIPE)
        for rank in (0, 1)
    ]
    try:
        errors = [process.communicate(timeout=100)[1].decode() for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    assert [process.returncode for process in ranks] == [0, -signal.SIGKILL], "\n".join(errors)
    return folder


@pytest.fixture(scope="module")
def ranks(folder) -> list[dict]:
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in (0, 1)]


def test_nothing_divides_and_one_rank_has_nothing_of_one_tensor(ranks):
    first, second = (held["shapes"] for held in ranks)
    assert (first["0.weight"], second["0.weight"]) == ([4, 5], [3, 5])
    assert (first["2.weight"], second["2.weight"]) == ([1, 3], [0, 3])


def test_two_ranks_read_what_one_process_has_written(ranks):
    for held in ranks:
        assert held["one"]
        assert held["seed"] == 1
    assert ranks[0]["absent"] == []
    assert ranks[1]["absent"] == ["rng/rank1/cpu", "rng/rank1/number"]


def test_two_ranks_read_what_they_have_written_each_its_own(ranks):
    for rank, held in enumerate(ranks):
        assert held["two"]
        assert held["in_place"]
        assert held["own"] == [[20 + rank] * 4, rank]


def test_one_process_reads_what_two_ranks_have_written(folder):
    checkpoints = Checkpoints(folder / "run")
    model = new_model(0)
    state = state_of(model, 0, 0)
    assert checkpoints.facts(2) == {"ranks": 2}
    assert checkpoints.load(2, state, optional=("rng",)) == []
    assert same(whole(state_of(new_model(2), 0, 2)), whole(state))
    assert torch.equal(model[0].weight, new_model(2)[0].weight), "not in place"
    assert state["rng"] == {"rank0": {"cpu": state["rng"]["rank0"]["cpu"], "number": 0}}
    with pytest.raises(CheckpointError, match="holds rng/rank1/cpu, rng/rank1/number, which the state does not have"):
        checkpoints.load(2, state)


def test_the_trouble_of_one_rank_is_an_error_on_both_and_the_last_checkpoint_stays(folder, ranks):
    run = folder / "run"
    assert ranks[0]["errors"] == ranks[1]["errors"]
    absent, lacking, full, taken = ranks[0]["errors"]
    assert absent == f"{run}/step-00000005: there is no such checkpoint; the steps that have one: 1, 2"
    assert lacking == f"{run}/step-00000002 lacks mine"
    assert full == f"{run}/step-00000003 could not be written: No space left on device on rank 1"
    assert taken.endswith(f"{run}/step-00000002 is there already, and is what the run would go on from")
    for held in ranks:
        assert held["newest"] == [1, 2, 2, 2]
        assert held["left"] == ["latest", "step-00000001", "step-00000002"]


def test_a_rank_that_is_killed_while_it_writes_is_an_error_of_the_other_and_the_last_checkpoint_stays(folder):
    text = json.loads((folder / "survivor.json").read_text())
    assert text.startswith(f"{folder}/run/step-00000003 could not be written: ")
    assert "\n" not in text
    assert Checkpoints(folder / "run").newest() == 2


if __name__ == "__main__":
    one_rank(int(sys.argv[2]), Path(sys.argv[1]))
