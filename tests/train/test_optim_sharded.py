"""The optimisers under FSDP2 on two ranks against one process: the same weights, norms, clips and verdicts.

One process trains two steps and saves; from there it and two ranks, which have loaded that, take the same further
steps, two with gradients drawn at random and one with real ones; what the ranks saved is read by one process again.
Little in this model divides evenly by two ranks.

Run as a script with a folder, this file is the two ranks.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from k3data.model.config import preset
from k3data.model.transformer import K3Model
from k3data.train.optim.clip import clip_gradients
from k3data.train.optim.groups import IDLE
from k3data.train.optim.guard import SkipStepGuard
from k3data.train.optim.muon import Muon
from k3data.train.optim.optimizers import Optimizers
from k3data.train.optim.qk_clip import QKClip
from k3data.train.optim.sharding import row_shards, whole
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

SMOKE = preset("smoke")
ODD = replace(
    SMOKE, dense_inner=125, mtp_layers=1,
    kda=replace(SMOKE.kda, heads=3, decay_rank=31),
    mla=replace(SMOKE.mla, heads=3, q_lora_rank=45, kv_lora_rank=39, qk_nope_dim=24, qk_rope_dim=8, v_dim=40),
    moe=replace(SMOKE.moe, experts=7, inner=23),
)  # fmt: skip
RATE = 0.01


def new_model() -> K3Model:
    torch.manual_seed(0)
    model = K3Model(ODD)
    for layer in model.layers:  # logits that are worth clipping
        layer.attention.reset_parameters(0.3)
    return model


def sharded(model: K3Model) -> K3Model:
    for layer in model.layers:
        fully_shard(layer.attention)
        fully_shard(layer.ffn)
    fully_shard(model)
    register_fsdp_forward_method(model, "loss")
    return model


def random_step(model: K3Model, optimizers: Optimizers, seed: int) -> Tensor:
    """Gradients drawn alike however the model is sharded, and not clipped. Returns their norm."""
    for number, (name, parameter) in enumerate(model.named_parameters()):
        if name in IDLE:
            continue
        rng = torch.Generator().manual_seed(1000 * seed + number)
        gradient = torch.randn(parameter.shape, generator=rng)
        if isinstance(parameter, DTensor):
            gradient = distribute_tensor(gradient, parameter.device_mesh, parameter.placements)
        parameter.grad = gradient
    norm = clip_gradients(model.parameters(), 1e6)
    optimizers.step(RATE)
    optimizers.zero_grad()
    return norm


def loss_step(model: K3Model, optimizers: Optimizers) -> Tensor:
    tokens = torch.arange(24)[None] % 11
    weights = torch.ones(1, 24)
    weights[:, -1] = 0
    losses = model.loss(tokens, weights)
    (losses.next_token.total + losses.next_next_token.total).backward()
    norm = clip_gradients(model.parameters(), 1.0)
    optimizers.step(RATE)
    optimizers.zero_grad()
    return norm


def clipped(model: K3Model, rows: Tensor, **options) -> Tensor:
    clip = QKClip(model, threshold=1.0, **options)
    with torch.no_grad():
        model.loss(rows, torch.zeros_like(rows, dtype=torch.float32))
    return clip.clip()


def rows() -> Tensor:
    """One for each rank."""
    return torch.stack([torch.arange(16) * 7 % 64, torch.arange(16) * 5 % 64])


def state(model: K3Model, optimizers: Optimizers) -> dict:
    return {"model": model.state_dict(), "optimizers": optimizers.state_dict()}


def few_rows(mesh: DeviceMesh | None) -> list[Tensor]:
    """Two small matrices after a step, by one Muon each: fewer matrices than ranks, and fewer rows."""
    after = []
    for shape in ((5, 6), (1, 6)):
        values, gradient = torch.randn(2, *shape, generator=torch.Generator().manual_seed(7))
        if mesh is not None:
            values, gradient = (distribute_tensor(one, mesh, [Shard(0)]) for one in (values, gradient))
        parameter = nn.Parameter(values)
        parameter.grad = gradient
        Muon([parameter], lr=0.1).step()
        after.append(whole(parameter.detach()))
    return after


def one_rank(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2)
    model = sharded(new_model())
    optimizers = Optimizers(model)
    loaded = state(model, optimizers)
    dcp.load(loaded, checkpoint_id=folder / "one")
    optimizers.load_state_dict(loaded["optimizers"])
    norms = [random_step(model, optimizers, seed) for seed in (2, 3)]
    dcp.save(state(model, optimizers), checkpoint_id=folder / "two")
    norms.append(loss_step(model, optimizers))
    largest = clipped(model, rows()[rank : rank + 1], all_reduce_max=lambda t: dist.all_reduce(t, dist.ReduceOp.MAX))
    guard = SkipStepGuard()
    verdicts = [
        guard.judge(torch.tensor(loss if rank else 1.0), torch.tensor(2.0), norms[-1], dist.all_reduce)
        for loss in (3.0, math.nan)
    ]
    dcp.save(state(model, optimizers), checkpoint_id=folder / "three")
    held = {
        "norms": norms, "largest": largest, "verdicts": [tuple(verdict) for verdict in verdicts],
        "digest": optimizers.digest, "few_rows": few_rows(init_device_mesh("cpu", (2,))),
        "cut": [entry.name for entry in optimizers.table if _is_cut(model, entry)],
        "here": [entry.name for entry in optimizers.table if entry.block_rows and not _is_cut(model, entry)],
    }  # fmt: skip
    torch.save(held, folder / f"rank{rank}.pt")
    dist.destroy_process_group()


def _is_cut(model: K3Model, entry) -> bool:
    return bool(entry.block_rows) and row_shards(model.get_parameter(entry.name)).cuts(entry.block_rows)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> SimpleNamespace:
    folder = tmp_path_factory.mktemp("ranks")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model = new_model()
    optimizers = Optimizers(model)
    for seed in (0, 1):
        random_step(model, optimizers, seed)
    dcp.save(state(model, optimizers), checkpoint_id=folder / "one", no_dist=True)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100)
    assert done.returncode == 0, done.stderr

    norms = [random_step(model, optimizers, seed) for seed in (2, 3)]
    pairs = [(copied(model, optimizers), read(folder / "two"))]
    norms.append(loss_step(model, optimizers))
    largest = clipped(model, rows())
    pairs.append((copied(model, optimizers), read(folder / "three")))
    torch.set_num_threads(threads)
    ranks = [torch.load(folder / f"rank{rank}.pt", weights_only=False) for rank in (0, 1)]
    return SimpleNamespace(norms=norms, largest=largest, ranks=ranks, digest=optimizers.digest, pairs=pairs)


def copied(model: K3Model, optimizers: Optimizers) -> dict[str, Tensor]:
    """All tensors by name, weights and state."""
    held = {f"model.{name}": parameter.detach().clone() for name, parameter in model.named_parameters()}
    for kind in ("muon", "adamw"):
        for name, tensors in optimizers.state_dict()[kind].items():
            held |= {f"{kind}.{name}.{key}": tensor.clone() for key, tensor in tensors.items()}
    return held


def read(checkpoint: Path) -> dict[str, Tensor]:
    model = new_model()
    optimizers = Optimizers(model)
    loaded = state(model, optimizers)
    dcp.load(loaded, checkpoint_id=checkpoint, no_dist=True)
    optimizers.load_state_dict(loaded["optimizers"])
    return copied(model, optimizers)


def test_matrices_are_cut_in_this_test_and_whole_in_others(runs):
    held = runs.ranks[0]
    assert "layers.0.attention.q_proj.weight" in held["cut"]
    assert "layers.3.attention.kv_up.weight" in held["cut"]
    assert "layers.1.ffn.experts.gate_EIL" in held["here"]
    assert len(held["cut"]) > 50


def test_with_the_same_gradients_two_ranks_do_to_the_bit_what_one_process_does(runs):
    """What Muon has; AdamW's fused kernel rounds by where in memory an element lies, so it may differ by that."""
    ours, theirs = runs.pairs[0]
    assert ours.keys() == theirs.keys()
    muon = [name.removeprefix("muon.").removesuffix(".momentum") for name in ours if name.startswith("muon.")]
    assert len(muon) > 80
    for name in muon:
        for key in (f"model.{name}", f"muon.{name}.momentum"):
            assert torch.equal(theirs[key], ours[key]), f"{key} differs by {(theirs[key] - ours[key]).abs().max()}"
    for name, tensor in ours.items():
        torch.testing.assert_close(theirs[name], tensor, rtol=1e-6, atol=1e-8, msg=lambda text, n=name: f"{n}: {text}")


def test_two_ranks_train_the_weights_of_one_process_but_for_rounding(runs):
    """With gradients of a real backward and the clips, where sums over ranks have another order."""
    for name, ours in runs.pairs[1][0].items():
        theirs = runs.pairs[1][1][name]
        assert (theirs - ours).norm() <= 2e-5 * ours.norm() + 1e-12, f"{name} differs by {(theirs - ours).abs().max()}"


def test_norms_and_logits_are_those_of_one_process(runs):
    for held in runs.ranks:
        torch.testing.assert_close(torch.stack(held["norms"]), torch.stack(runs.norms), rtol=1e-5, atol=0)
        torch.testing.assert_close(held["largest"], runs.largest, rtol=1e-5, atol=1e-6)
    assert (runs.largest > 1).any()


def test_a_rank_may_have_no_matrix_to_work_on_and_no_row(runs):
    for held in runs.ranks:
        for theirs, ours in zip(held["few_rows"], few_rows(None), strict=True):
            torch.testing.assert_close(theirs, ours, rtol=0, atol=1e-7)


def test_both_ranks_have_the_table_of_one_process(runs):
    assert runs.ranks[0]["digest"] == runs.ranks[1]["digest"] == runs.digest


def test_the_verdict_is_one_on_both_ranks(runs):
    first, second = (held["verdicts"] for held in runs.ranks)
    assert first[0] == second[0]
    assert first[0][:3] == (False, "", 1.0)
    assert first[1][:2] == second[1][:2] == (True, "the loss is nan")


def test_a_parameter_cut_along_its_columns_is_refused(tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        weight = torch.zeros(4, 6)
        with pytest.raises(ValueError, match=r"a parameter \[4, 6\] is placed as .*cut once, along their first"):
            row_shards(distribute_tensor(weight, mesh, [Shard(1)]))
        assert row_shards(distribute_tensor(weight, mesh, [Replicate()])) is None
        assert row_shards(distribute_tensor(weight, mesh, [Shard(0)])).bounds == (0, 4)
        copies_and_shards = init_device_mesh("cpu", (1, 1))
        assert row_shards(distribute_tensor(weight, copies_and_shards, [Replicate(), Shard(0)])).bounds == (0, 4)
        with pytest.raises(ValueError, match="cut once"):
            row_shards(distribute_tensor(weight, copies_and_shards, [Shard(0), Shard(0)]))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(one_rank, args=(Path(sys.argv[1]),), nprocs=2)
