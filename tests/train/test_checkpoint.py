"""Checkpoints of one process: what comes back is what was saved, to the bit, and the folder holds what it should."""

from __future__ import annotations

import json
import logging
import os
import time

import pytest
import torch
from k3data.train import checkpoint, checkpoint_files
from k3data.train.checkpoint import CheckpointError, Checkpoints, differences
from k3data.train.checkpoint_files import LATEST, MARKER

from .killed_saves import filled, loaded, names, saved, spoil

# ---------------------------------------------------------------------------------------------- what is saved


def everything(seed: int) -> dict:
    rng = torch.Generator().manual_seed(seed)
    return {
        "fp32": torch.randn(5, 7, generator=rng),
        "deeper": {
            "bf16": torch.randn(9, generator=rng).bfloat16(),
            "int64": torch.randint(-(2**62), 2**62, (4,), generator=rng),
            "zero_dim": torch.randn((), generator=rng),
            "empty": torch.zeros(0, 3),
            "strided": torch.randn(6, 4, generator=rng).t(),
            "part": torch.randn(1000, generator=rng)[seed : seed + 3],
            "bytes": torch.randint(0, 255, (16,), generator=rng, dtype=torch.uint8),
            "odd": torch.tensor([float("nan"), float("inf"), -0.0, 1e-42]),
        },
        "plain": {"int": 2**70 + seed, "float": 0.1 + seed, "text": f"ä{seed}", "none": None, "yes": seed == 1},
        "list": [1.5, [seed, "x"], {"k": (seed, None)}], "nothing": {},
    }  # fmt: skip


def bits(x: torch.Tensor) -> list[int]:
    return x.contiguous().flatten().view(torch.uint8).tolist()


@pytest.mark.parametrize("wait", [True, False])
def test_everything_comes_back_to_the_bit_and_in_place(tmp_path, wait):
    checkpoints = Checkpoints(tmp_path, wait=wait)
    checkpoints.save(7, everything(1), {"config": "x", "pair": (1, 2)})
    checkpoints.finish()
    state, wanted = everything(2), everything(1)
    tensors = {"fp32": state["fp32"], **state["deeper"]}
    assert Checkpoints(tmp_path).load(7, state) == []
    assert Checkpoints(tmp_path).facts(7) == {"config": "x", "pair": [1, 2]}
    assert state["fp32"] is tensors["fp32"]
    for name, tensor in {"fp32": wanted["fp32"], **wanted["deeper"]}.items():
        assert bits(tensors[name]) == bits(tensor), name
        assert tensors[name].dtype == tensor.dtype
    for name in ("plain", "list", "nothing"):
        assert state[name] == wanted[name]


def test_what_changes_after_save_is_not_in_the_file(tmp_path, monkeypatch):
    """Also while the writer has not begun, and for the copies of a second save into the same memory."""
    begin = checkpoint_files.CheckpointFiles.begin
    monkeypatch.setattr(
        checkpoint_files.CheckpointFiles, "begin", lambda self, step: (time.sleep(0.2), begin(self, step))[1]
    )
    checkpoints = Checkpoints(tmp_path)
    state = filled(1)
    checkpoints.save(1, state, {})
    spoil(state)
    second = filled(2)
    checkpoints.save(2, second, {})
    spoil(second)
    checkpoints.finish()
    assert [loaded(checkpoints, step) for step in (1, 2)] == [1, 2]


def test_save_returns_before_it_is_written_unless_it_is_to_wait(tmp_path, monkeypatch):
    begin = checkpoint_files.CheckpointFiles.begin
    monkeypatch.setattr(
        checkpoint_files.CheckpointFiles, "begin", lambda self, step: (time.sleep(0.3), begin(self, step))[1]
    )
    checkpoints = Checkpoints(tmp_path / "beside")
    checkpoints.save(1, filled(1), {})
    assert not (tmp_path / "beside").exists()
    assert checkpoints.newest() == 1
    Checkpoints(tmp_path / "wait", wait=True).save(1, filled(1), {})
    assert names(tmp_path / "wait") == [LATEST, "step-00000001"]


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ({"a": {"b": object()}}, "a/b of the state is a object: neither a tensor nor a plain value"),
        ({"a": [torch.zeros(1)]}, "a of the state is a list: neither a tensor nor a plain value"),
        ({"a": {3: 1}}, "the key 'a/3' of the state is not a text without a slash"),
        ({"a/b": 1}, "the key 'a/b' of the state is not a text without a slash"),
    ],
)
def test_what_no_checkpoint_can_hold_is_refused(tmp_path, state, line):
    with pytest.raises(TypeError, match=line):
        Checkpoints(tmp_path).save(1, state, {})
    assert names(tmp_path) == []


def test_a_checkpoint_of_another_state_is_refused_before_anything_is_read(tmp_path):
    checkpoints = saved(tmp_path, 1)
    state = filled(5)
    del state["model"]["b"]
    state["model"]["c"] = torch.zeros(2)
    state["model"]["a.weight"] = torch.full((65, 34), 5.0)
    state["guard"]["skipped"] = torch.tensor(5)
    state["optimizers"]["muon"]["a.weight"]["momentum"] = torch.full((200_000,), 5.0).double()
    with pytest.raises(CheckpointError) as caught:
        checkpoints.load(1, state)
    assert str(caught.value) == (
        f"{tmp_path}/step-00000001 lacks model/c; holds model/b, which the state does not have; holds model/a.weight "
        "as [65, 33] torch.float32 instead of [65, 34] torch.float32, optimizers/muon/a.weight/momentum as [200000] "
        "torch.float32 instead of [200000] torch.float64, guard/skipped as a plain value instead of [] torch.int64"
    )
    assert (state["model"]["a.weight"] == 5).all()


def test_a_value_that_would_run_code_when_read_is_not_read(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, wait=True)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_is_plain", lambda value: True)
        checkpoints.save(1, {"x": time.sleep}, {})
    with pytest.raises(CheckpointError, match=r"step-00000001 could not be read: UnpicklingError: Weights only load"):
        checkpoints.load(1, {"x": 1})


def test_optional_keys_may_be_missing_on_either_side(tmp_path):
    checkpoints = Checkpoints(tmp_path, wait=True)
    rng = torch.get_rng_state()
    checkpoints.save(1, {"x": torch.ones(2), "rng": {"rank0": {"cpu": rng}, "rank1": {"cpu": rng}}}, {})
    state = {"x": torch.zeros(2), "rng": {"rank0": {"cpu": torch.zeros_like(rng), "cuda": torch.zeros(3)}}}
    with pytest.raises(CheckpointError, match=r"lacks rng/rank0/cuda; holds rng/rank1/cpu, which"):
        checkpoints.load(1, state)
    with pytest.raises(CheckpointError, match="lacks rng/rank0/cuda"):
        checkpoints.load(1, state, optional=("rn",))  # a key, not the beginning of one
    assert checkpoints.load(1, state, optional=("rng",)) == ["rng/rank0/cuda"]
    assert torch.equal(state["rng"]["rank0"]["cpu"], rng)
    assert torch.equal(state["x"], torch.ones(2))


def test_differences_are_named_by_their_keys():
    own = {"config": "a", "data": {"8k": "x", "64k": "y"}, "pair": (1, 2), "new": None}
    stored = {"config": "b", "data": {"8k": "x", "64k": "z"}, "pair": [1, 2], "old": 1}
    assert differences(own, stored) == ["config", "data.64k", "new", "old"]
    assert differences(own, json.loads(json.dumps(own))) == []


# ------------------------------------------------------------------------------------------------ the folder


def test_the_newest_are_kept(tmp_path):
    saved(tmp_path / "two", 1, 2, 3, 4, keep=2)
    assert names(tmp_path / "two") == [LATEST, "step-00000003", "step-00000004"]
    saved(tmp_path / "all", 1, 2, 3, 4, keep=0)
    assert len(names(tmp_path / "all")) == 5


def test_a_course_that_was_abandoned_is_replaced(tmp_path):
    """`latest` may name an older step, by hand or by a kill before it was replaced; then that is gone on from."""
    checkpoints = saved(tmp_path, 1, 2, 3)
    (tmp_path / LATEST).write_text("step-00000001\n")
    assert checkpoints.newest() == 1
    checkpoints.save(2, filled(20), {})
    assert (checkpoints.newest(), loaded(checkpoints, 2)) == (2, 20)
    assert names(tmp_path) == [LATEST, "step-00000001", "step-00000002"]


def test_what_the_run_would_go_on_from_is_not_replaced(tmp_path):
    checkpoints = saved(tmp_path, 1)
    checkpoints.save(1, filled(10), {})
    with pytest.raises(CheckpointError, match=r"step-00000001 is there already, and is what the run would go on from$"):
        checkpoints.finish()
    assert loaded(checkpoints, 1) == 1


def test_a_torn_newest_is_passed_over_and_said_so_then_written_anew(tmp_path, caplog):
    checkpoints = saved(tmp_path, 1, 2, 3)
    data = tmp_path / "step-00000003" / "__0_0.distcp"
    os.truncate(data, data.stat().st_size - 1)
    (tmp_path / "step-00000002" / MARKER).unlink()
    with caplog.at_level(logging.WARNING, logger="k3data.train.checkpoint_files"):
        caplog.clear()
        assert checkpoints.newest() == 1
    torn = f"{tmp_path}/step-00000003 is torn: __0_0.distcp has {data.stat().st_size:,} bytes of "
    assert caplog.messages[0].startswith(torn)
    assert caplog.messages[0].endswith(f"; going on from {tmp_path}/step-00000001")
    with pytest.raises(CheckpointError, match=r"step-00000003 is torn: __0_0.distcp has [\d,]+ bytes of [\d,]+$"):
        checkpoints.load(3, filled(0))
    with pytest.raises(CheckpointError, match=r"step-00000002 is torn: complete.json is missing$"):
        checkpoints.facts(2)
    checkpoints.save(3, filled(30), {})
    assert (checkpoints.newest(), loaded(checkpoints, 3)) == (3, 30)


def test_damage_is_named(tmp_path):
    checkpoints = saved(tmp_path, 1)
    metadata = tmp_path / "step-00000001" / ".metadata"
    content = bytearray(metadata.read_bytes())
    content[len(content) // 2] ^= 1
    metadata.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"is damaged: the content of \.metadata has changed$"):
        checkpoints.load(1, filled(0))
    with pytest.raises(CheckpointError, match=r"no checkpoint of the run is complete: .*step-00000001 is damaged"):
        checkpoints.newest()
    metadata.unlink()
    with pytest.raises(CheckpointError, match=r"is torn: \.metadata is missing$"):
        checkpoints.load(1, filled(0))
    (metadata.parent / MARKER).write_text('{"format": 2}')
    with pytest.raises(CheckpointError, match=r"complete.json is not of format 1, the one that this version reads$"):
        checkpoints.facts(1)
    (metadata.parent / MARKER).write_text('{"format": 1')
    with pytest.raises(CheckpointError, match=r"is torn: complete.json cannot be read: "):
        checkpoints.facts(1)


def test_a_folder_without_checkpoints_is_a_run_that_has_none(tmp_path):
    checkpoints = Checkpoints(tmp_path / "not there")
    assert checkpoints.newest() is None
    (tmp_path / "step-00000001.tmp-12345678").mkdir()
    assert Checkpoints(tmp_path).newest() is None
    saved(tmp_path, 4, 6)
    for read in (checkpoints.facts, lambda step: checkpoints.load(step, filled(0))):
        with pytest.raises(CheckpointError, match=r"step-00000005: there is no such .* that have one: none$"):
            read(5)
    with pytest.raises(CheckpointError, match=r"the steps that have one: 4, 6$"):
        Checkpoints(tmp_path).facts(5)
    (tmp_path / LATEST).write_text("step-00000009\n")
    assert Checkpoints(tmp_path).newest() == 6


def test_impossible_options_are_refused(tmp_path):
    with pytest.raises(ValueError, match="keep is -1"):
        Checkpoints(tmp_path, keep=-1)
    with pytest.raises(ValueError, match="2 ranks need a group"):
        Checkpoints(tmp_path, world=2)
