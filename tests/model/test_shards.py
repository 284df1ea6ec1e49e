"""Folders of tensors: in Hugging Face's layout, whole after any kill, and with a reason where they are not."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from k3data.model.shards import ModelFileError, TensorFiles, listed, write_folder
from safetensors.torch import load_file
from torch import Tensor

LIMIT = 1000
"""Bytes of a file: 25 tensors of `made` need four, and the largest one of its own."""


def made(seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    tensors = {f"part.{n}.weight": torch.randn(n, 3, generator=generator) for n in range(24)}
    return tensors | {"large": torch.randn(20, 20, generator=generator)}


def write(folder: Path, seed: int = 0, limit: int = 10**9) -> None:
    tensors = made(seed)
    write_folder(folder, f"config {seed}", tensors, {name: one.dtype for name, one in tensors.items()}, limit)


def same(found, expected) -> bool:
    return set(found) == set(expected) and all(torch.equal(found[name], one) for name, one in expected.items())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_are_hugging_face_s_and_no_larger_than_asked(tmp_path):
    write(tmp_path, limit=LIMIT)
    shards = [f"model-{n:05d}-of-00005.safetensors" for n in range(1, 6)]
    assert names(tmp_path) == ["config.json", *shards, "model.safetensors.index.json"]
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == sum(one.nbytes for one in made().values())
    left = made()
    for shard in shards:
        held = load_file(tmp_path / shard)
        assert {name for name, place in index["weight_map"].items() if place == shard} == set(held)
        assert len(held) == 1 or sum(one.nbytes for one in held.values()) <= LIMIT
        assert same(held, {name: left.pop(name) for name in held})
    assert not left


@pytest.mark.parametrize("limit", [LIMIT, 10**9])
def test_tensors_are_a_mapping_that_reads_when_asked(tmp_path, limit):
    write(tmp_path, limit=limit)
    files = TensorFiles(tmp_path)
    assert files.shapes == {name: tuple(one.shape) for name, one in made().items()}
    assert len(files) == 25 and all(torch.equal(files[name], one) for name, one in reversed(made().items()))
    parts = list(files.files())
    assert len(parts) == (5 if limit == LIMIT else 1)
    assert same({name: one for part in parts for name, one in part.items()}, made())


def test_fewer_files_than_before_leave_no_old_one_behind(tmp_path):
    write(tmp_path, limit=LIMIT)
    (tmp_path / "notes.txt").write_text("mine")
    write(tmp_path, seed=1)
    assert names(tmp_path) == ["config.json", "model.safetensors", "notes.txt"]
    assert same(TensorFiles(tmp_path), made(1))
    write(tmp_path, limit=LIMIT)
    assert "model.safetensors" not in names(tmp_path) and same(TensorFiles(tmp_path), made())


def killed_at(step: int, folder: Path, limit: int) -> bool:
    """Writes in a process of its own that dies before its `step`-th step on the disk. False if it had fewer."""
    if child := os.fork():
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 9)
        return code == 9
    with suppress(BaseException):  # no exception may reach the test runner that this process is a copy of
        left = [step]

        def dying(operation):
            def once(*arguments, **options):
                if not left[0]:
                    os._exit(9)
                left[0] -= 1
                return operation(*arguments, **options)

            return once

        for name in ("fsync", "replace", "rename", "unlink"):
            setattr(os, name, dying(getattr(os, name)))
        write(folder, 1, limit)
        os._exit(0)
    os._exit(1)


@pytest.mark.parametrize("limits", [(LIMIT, LIMIT), (LIMIT, 10**9), (10**9, LIMIT), (None, LIMIT)])
def test_a_kill_at_any_step_leaves_one_whole_model_or_none(tmp_path, limits):
    before, after = limits
    outcomes = []
    for step in range(100):
        folder = tmp_path / str(step)
        if before:
            write(folder, 0, before)
        killed = killed_at(step, folder, after)
        config = (folder / "config.json").read_text() if (folder / "config.json").exists() else "none"
        outcomes.append(config)
        if config != "none":
            assert same(TensorFiles(folder), made(int(config[-1])))
        if not killed:
            break
        write(folder, 1, 10**9 if after == LIMIT else LIMIT)  # what is left does not stand in the way, nor stay
        assert same(TensorFiles(folder), made(1)) and not any(name.endswith(".partial") for name in names(folder))
    order = ["config 0", "none", "config 1"] if before else ["none", "config 1"]
    assert [one for one, last in zip(outcomes, [None, *outcomes], strict=False) if one != last] == order
    assert not killed and len(outcomes) > 8


def test_nothing_takes_its_name_before_it_is_on_the_disk(tmp_path, monkeypatch):
    """What a power cut would undo: a name without its content, or names in another order."""
    write(tmp_path)
    steps = []

    def noted(step, operation, named):
        def once(*arguments):
            steps.append((step, named(*arguments)))
            return operation(*arguments)

        return once

    monkeypatch.setattr(os, "fsync", noted("disk", os.fsync, lambda fd: Path(f"/proc/self/fd/{fd}").readlink().name))
    monkeypatch.setattr(os, "replace", noted("name", os.replace, lambda source, target: Path(target).name))
    monkeypatch.setattr(os, "rename", noted("name", os.rename, lambda source, target: Path(target).name))
    monkeypatch.setattr(os, "unlink", noted("gone", os.unlink, lambda path: Path(path).name))
    write(tmp_path, seed=1)
    assert steps == [
        ("disk", "model.safetensors.partial"), ("disk", "config.json.partial"),
        ("gone", "config.json"), ("disk", tmp_path.name),
        ("gone", "model.safetensors.index.json"), ("name", "model.safetensors"), ("disk", tmp_path.name),
        ("name", "config.json"), ("disk", tmp_path.name),
    ]  # fmt: skip


def test_a_write_that_fails_leaves_the_old_model_and_nothing_else(tmp_path, monkeypatch):
    write(tmp_path)
    saved = []

    def full(tensors, path, **options):
        if saved:
            raise OSError(28, "No space left on device")
        saved.append(path.write_bytes(bytes(100)))

    monkeypatch.setattr("k3data.model.shards.save_file", full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path, 1, LIMIT)
    assert saved and names(tmp_path) == ["config.json", "model.safetensors"]
    assert same(TensorFiles(tmp_path), made())


@pytest.mark.parametrize("length", [0, 4, 100, 1_000, -1])
def test_a_truncated_file_is_told(tmp_path, length):
    write(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ModelFileError, match=r"model\.safetensors is torn, or no safetensors file: "):
        TensorFiles(tmp_path)


def test_a_file_of_zeros_is_told(tmp_path):
    write(tmp_path, limit=LIMIT)
    path = tmp_path / "model-00003-of-00005.safetensors"
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(ModelFileError, match=r"model-00003-of-00005\.safetensors is torn, or no safetensors file: "):
        TensorFiles(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda places: places.update({"x": "model-9.safetensors"}), "model-9.safetensors is missing, but .* names it"),
        (lambda places: places.update({"x": places["part.1.weight"]}), r"lacks x, which .*index\.json places there"),
        (lambda places: places.pop("part.1.weight"), r"holds part\.1\.weight, which .*\.json does not place there"),
        (lambda places: places.update({"x": "../y"}), r"places x in '\.\./y', which is no file of this folder"),
        (lambda places: places.update({"x": 3}), r"places x in 3, which is no file of this folder"),
        (lambda places: places.clear(), "names no tensor"),
    ],
)
def test_an_index_that_does_not_fit_the_files_is_told(tmp_path, change, message):
    write(tmp_path, limit=LIMIT)
    path = tmp_path / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    change(index["weight_map"])
    path.write_text(json.dumps(index))
    with pytest.raises(ModelFileError, match=message):
        TensorFiles(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weight_map": []}'])
def test_an_index_that_is_none_is_told(tmp_path, text):
    write(tmp_path, limit=LIMIT)
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(ModelFileError, match=r"index\.json (is no index of tensors|names no tensor)"):
        TensorFiles(tmp_path)


def test_a_shard_that_is_gone_is_told(tmp_path):
    write(tmp_path, limit=LIMIT)
    (tmp_path / "model-00002-of-00005.safetensors").unlink()
    with pytest.raises(ModelFileError, match=r"00002-of-00005\.safetensors is missing, but .*index\.json names it"):
        TensorFiles(tmp_path)


def test_a_folder_without_tensors_or_with_two_models_is_told(tmp_path):
    write(tmp_path / "a", limit=LIMIT)
    write(tmp_path / "b")
    (tmp_path / "b" / "model.safetensors").rename(tmp_path / "a" / "model.safetensors")
    with pytest.raises(ModelFileError, match=r"holds both model\.safetensors and model\.safetensors\.index\.json"):
        TensorFiles(tmp_path / "a")
    with pytest.raises(ModelFileError, match=r"holds neither model\.safetensors nor model\.safetensors\.index\.json"):
        TensorFiles(tmp_path / "b")


def test_a_list_names_three():
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed([*"abcdefghijklmnopqrst"]) == "a, b, c and 17 more"
