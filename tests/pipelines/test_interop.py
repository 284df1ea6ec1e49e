"""Other people's readers on our output: every field and every pixel of every sample equals what our reader gives."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from k3data.pipelines import card, energon, features
from k3data.pipelines import record as records
from k3data.pipelines.reader import Dataset
from k3data.tests.pipelines.samples import mixed, publish
from PIL import Image

COUNT = 260  # more than the loaders sample, with empty lists in the first rows and all kinds side by side


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = publish(tmp_path_factory.mktemp("out"), mixed(COUNT))
    dataset = Dataset.open(str(folder))
    front = card.front_matter(dataset, "demo/render")
    (folder / "README.md").write_text(f"---\n{yaml.safe_dump(front, sort_keys=False)}---\n")
    for path, data in energon.files(dataset.shards.to_pylist()):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def ours(folder):
    return {document.id: document for document in Dataset.open(str(folder), check=True)}


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def media_of(found: dict) -> bytes:
    """The one media member that a reader gave."""
    (content,) = [found[name] for name in ("png", "jpg", "webp", "media.bin") if found.get(name) is not None]
    return content


def test_webdataset_gives_the_same_samples(folder, ours):
    import webdataset

    shards = sorted(str(path) for path in (folder / "shards").iterdir())
    seen = set()
    for found in webdataset.WebDataset(shards, shardshuffle=False):
        original = ours[found["__key__"]]
        sample = json.loads(found["json"])
        assert sample == records.to_sample(original)
        assert media_of(found) == b"".join(part.media_bytes for part in original.media)
        for described, part in zip(sample["media"], original.media, strict=True):
            data = media_of(found)[described["offset"] : described["offset"] + described["bytes"]]
            assert np.array_equal(pixels(data), pixels(part.media_bytes))
        seen.add(original.id)
    assert seen == set(ours)


def test_hugging_face_datasets_gives_the_same_rows(folder, ours, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    datasets.disable_progress_bars()
    seen = set()
    for split, rows in datasets.load_dataset(str(folder), cache_dir=str(tmp_path)).items():
        for row in rows:
            original = ours[row["__key__"]]
            assert row["json"] == records.to_sample(original)
            assert row["json"]["split"] == split
            picture = row["png"] or row["jpg"]
            if picture is not None:
                (part,) = original.media
                assert np.array_equal(np.asarray(picture.convert("RGB")), pixels(part.media_bytes))
                assert row["media.bin"] is None
            else:
                assert row["media.bin"] == b"".join(part.media_bytes for part in original.media)
            seen.add(original.id)
    assert seen == set(ours)


def test_the_bare_loader_reads_all_shards_when_given_the_types(folder, ours, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    datasets.disable_progress_bars()
    stated = features.hugging_face(Dataset.open(str(folder)).shards["signature"].to_pylist())
    rows = datasets.load_dataset(
        "webdataset",
        data_files={"train": f"{folder}/shards/*.tar"},
        split="train",
        features=datasets.Features._from_yaml_list(stated),
        cache_dir=str(tmp_path),
    )
    assert {row["__key__"]: row for row in rows.select_columns(["json", "__key__"])} == {
        id: {"json": records.to_sample(original), "__key__": id} for id, original in ours.items()
    }


def test_stated_types_cover_exactly_what_is_stored(ours):
    def keys(value):
        if isinstance(value, dict):
            return {name: keys(one) for name, one in value.items()}
        return keys(value[0]) if isinstance(value, list) and value else None

    full = records.to_sample(next(one for one in ours.values() if one.metadata["tasks"] and one.media))
    full["lineage"]["parents"] = ["x"]
    full["tasks"] = [{**full["tasks"][1], "points": full["tasks"][1]["boxes"]}]
    assert keys(full) == keys(features.SAMPLE)


@pytest.fixture(scope="module")
def prepared(folder):
    """The folder with energon's own index, and the `energon` program."""
    program = Path(sys.executable).with_name("energon")
    command = [program, "prepare", "--tar-index-only", "--num-workers=1", "--no-progress", folder]
    subprocess.run(command, check=True, capture_output=True)
    return folder, program


def energon_samples(folder, split, **options):
    from megatron.energon import WorkerConfig, get_loader, get_val_dataset

    workers = WorkerConfig(rank=0, world_size=1, num_workers=0)
    return get_loader(get_val_dataset(str(folder), split_part=split, worker_config=workers, batch_size=None, **options))


def test_energon_gives_the_same_text_and_pixels_in_our_splits(prepared, ours):
    folder, _ = prepared
    seen = set()
    for split in ("train", "val"):
        for found in energon_samples(folder, split):
            original = ours[found.__key__]
            assert original.metadata["split"] == split
            pictures = [one for one in found.sequence if not isinstance(one, str)]
            text = "".join(one if isinstance(one, str) else records.OBJECT for one in found.sequence)
            assert text == original.text
            for tensor, part in zip(pictures, original.media, strict=True):
                read = (tensor.permute(1, 2, 0).numpy() * 255).round().astype(np.uint8)
                assert np.array_equal(read, pixels(part.media_bytes))
            seen.add(original.id)
    assert seen == set(ours)


def test_energon_cookers_get_every_field(prepared, ours):
    from megatron.energon import Cooker, DefaultTaskEncoder, stateless

    @stateless
    def cook(found):
        return found

    class Encoder(DefaultTaskEncoder):
        cookers = (Cooker(cook),)

    folder, _ = prepared
    seen = set()
    for split in ("train", "val"):
        for found in energon_samples(folder, split, task_encoder=Encoder(), dataset_config="crude.yaml"):
            original = ours[found["__key__"]]
            assert found["json"] == records.to_sample(original)
            if "media.bin" in found:
                assert found["media.bin"] == b"".join(part.media_bytes for part in original.media)
            seen.add(original.id)
    assert seen == set(ours)


@pytest.mark.slow
def test_energon_lint_finds_nothing_wrong_and_energon_prepare_accepts_the_folder(prepared):
    folder, program = prepared
    subprocess.run([program, "lint", folder], check=True, capture_output=True)
    anew = ["--non-interactive", "--force-overwrite", "--split-ratio=8,1,1", "--num-workers=1", "--no-progress"]
    subprocess.run([program, "prepare", *anew, folder], check=True, capture_output=True)
    info = json.loads((folder / ".nv-meta/.info.json").read_text())
    assert sum(info["shard_counts"].values()) == COUNT
