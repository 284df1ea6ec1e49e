"""Samples made of token ids: what is written comes back, and what contradicts itself or is damaged is named."""

from __future__ import annotations

import io
import itertools
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from k3data.pipelines import tokens
from k3data.pipelines.errors import BrokenRecord
from k3data.pipelines.look import sample_text
from k3data.pipelines.query import stats
from k3data.pipelines.reader import Dataset, ShardError
from k3data.pipelines.record import licence, new_record, validate
from k3data.pipelines.stage import Context, Item, Slice, Source
from k3data.pipelines.tokens import TokenSample, from_label_weights, runs, spread, token_record
from k3data.pipelines.verify import verify
from k3data.tests.pipelines.samples import picture
from k3data.tests.pipelines.toy import run, toy_recipe

PAD = 7


def token_sample(number: int, length: int = 40) -> TokenSample:
    """Two groups, two documents, and every third time one picture of 2 x 3 tokens in the first."""
    ids = np.arange(number, number + length, dtype=np.uint32)
    cut = length // 2
    data, images = b"", []
    if number % 3 == 0:
        data, ids[4:10] = picture(number, 40, 50), PAD
        images = [
            {"start": 4, "tokens": 6, "grid": [2, 3], "frames": 1, "offset": 0, "bytes": len(data),
             "mime": "image/png", "width": 40, "height": 50}
        ]  # fmt: skip
    groups = [{"start": 0, "end": cut}, {"start": cut, "end": length}]
    labels = np.ones(length, np.float32)
    labels[3:11] = 0
    return TokenSample(
        tokens=ids,
        groups=groups,
        docs=[
            {**one, "id": f"doc-{number}-{at}", "domain": "web", "kind": "text", "copy": at, "part": 0}
            for at, one in enumerate(groups)
        ],
        images=images,
        weights=from_label_weights(labels, groups),
        proofs=[{"start": cut, "family": "chain", "clues": [{"at": 3}], "answer": "zwölf"}] if number % 2 else [],
        media=data,
    )


class Made(Source):
    """Token samples, made on the spot."""

    count: int = 12

    def plan(self, context: Context, unit_items: int | None):
        for start in range(0, self.count, 6):
            yield Slice({"start": start}, min(6, self.count - start))

    def read(self, where: dict[str, Any], inputs: tuple, context: Context):
        for at in range(where["start"], min(where["start"] + 6, self.count)):
            yield Item(str(at), f"made-{at}", lambda at=at: self.make(at))

    def make(self, at: int):
        about = new_record("", kind="scatter", domain="knowledge", uri="made", item=str(at), content=b"",
                           licence=licence("MIT"))  # fmt: skip
        return token_record(token_sample(at), like={**about.metadata, "note": {"hops": at}})


def recipe(folder: Path, more: str = ""):
    return toy_recipe(folder, source=f'"{__name__}:Made": {{}}', more=more)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tokens")
    text = recipe(folder).text + "  - name: large\n    source:\n      - compact: {job: work}\n"
    from k3data.pipelines import recipe as recipes

    run(recipes.parse(text, "recipe.yaml", folder), folder / "out")
    return folder / "out"


def test_what_is_written_comes_back(finished):
    dataset = Dataset.open(str(finished), job="work", check=True)
    assert len(dataset) == 12
    assert dataset.samples["tokens"].to_pylist() == [40] * 12
    for at, record in enumerate(dataset):
        wanted, found = token_sample(at), record.metadata["sample"]
        assert found.tokens.dtype == np.uint32 and (found.tokens == wanted.tokens).all()
        for name in ("groups", "docs", "images", "weights", "proofs", "media"):
            assert getattr(found, name) == getattr(wanted, name)
        assert record.metadata["extra"] == f'{{"note":{{"hops":{at}}}}}'
        assert record.text == "" and record.metadata["kind"] == "scatter"


def test_tokens_are_a_view_of_the_shard(finished):
    dataset = Dataset.open(str(finished), job="work")
    found = tokens.read_token_sample(dataset.raw(2)).tokens
    assert not found.flags.owndata and not found.flags.writeable and found.ctypes.data % 4 == 0


def test_compaction_changes_no_byte(finished):
    small, large = (Dataset.open(str(finished), job=job) for job in ("work", "large"))
    assert len(large.shards) == 1 < len(small.shards)
    for number, id in enumerate(large.samples["id"].to_pylist()):
        before, after = small.raw(small.number(id)), large.raw(number)
        assert {name: bytes(one) for name, one in before.items()} == {name: bytes(one) for name, one in after.items()}


def test_numpy_reads_the_member_and_webdataset_finds_three(finished):
    import webdataset

    shard = next((finished / "large" / "shards").glob("*.tar"))
    found = list(webdataset.WebDataset([str(shard)], shardshuffle=False))
    assert len(found) == 12 and {*found[0]} >= {tokens.TOKENS, tokens.SPANS, tokens.MEDIA}
    assert (np.load(io.BytesIO(found[3][tokens.TOKENS])) == token_sample(3).tokens).all()


def test_the_hugging_face_loader_reads_them(finished, tmp_path):
    import datasets

    found = datasets.load_dataset(str(finished / "large"), split="train", cache_dir=str(tmp_path))
    assert found[3]["tokens.npy"] == token_sample(3).tokens.tolist()
    assert found[3]["spans.json"]["docs"] == token_sample(3).docs


def test_verify_recounts_them(finished):
    report = verify(str(finished))
    assert report.problems == []
    assert [job.samples for job in report.jobs] == [12, 12]


@pytest.mark.parametrize("member", [tokens.TOKENS, tokens.SPANS, tokens.MEDIA])
def test_damage_is_named_with_its_sample(finished, tmp_path, member):
    out = Path(shutil.copytree(finished, tmp_path / "out"))
    dataset = Dataset.open(str(out), job="work")
    row = dataset.samples.slice(3, 1).to_pylist()[0]
    place = next(one for one in row["members"] if one["name"] == member)
    with (out / "work" / "shards" / row["shard"]).open("r+b") as file:
        file.seek(place["offset"] + place["size"] - 4)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    assert any(f"sample {row['id']} is corrupt" in one.line for one in verify(str(out)).problems)
    with pytest.raises(ShardError, match=f"shard {row['shard']}, sample {row['id']}"):
        Dataset.open(str(out), job="work", check=True)[3]


def test_looking_at_them(finished):
    dataset = Dataset.open(str(finished), job="work")
    assert "40 tokens" in sample_text(dataset[3])
    assert stats(dataset)["sizes"]["tokens"]["median"] == 40
    card = (finished / "work" / "README.md").read_text()
    assert "480 tokens" in card and "tokens.npy" in card


def broken(**changes: Any) -> TokenSample:
    sample = token_sample(3)
    for name, value in changes.items():
        setattr(sample, name, value)
    return sample


@pytest.mark.parametrize(
    ("sample", "code"),
    [
        (broken(tokens=np.arange(40)), "broken_tokens"),
        (broken(groups=[{"start": 0, "end": 39}]), "broken_groups"),
        (broken(groups=[{"start": 0, "end": 20}, {"start": 21, "end": 40}]), "broken_groups"),
        (broken(weights=[{"start": 0, "end": 40, "weight": 1.0}]), "broken_weights"),
        (broken(docs=[{"start": 5, "end": 41}]), "broken_docs"),
        (broken(docs=[{"start": 5, "end": 20}, {"start": 19, "end": 40}]), "broken_docs"),
        (broken(images=[{**token_sample(3).images[0], "grid": [2, 2]}]), "broken_images"),
        (broken(images=[{**token_sample(3).images[0], "bytes": 10**6}]), "broken_images"),
        (broken(proofs=[{"start": 3}]), "broken_proofs"),
    ],
)  # fmt: skip
def test_a_sample_that_contradicts_itself_is_refused(sample, code):
    record = token_record(sample, like={})
    with pytest.raises(BrokenRecord) as error:
        validate(record)
    assert error.value.code == code


@given(npst.arrays(np.uint32, st.integers(0, 300)))
def test_the_member_is_what_numpy_writes(ids):
    written = io.BytesIO()
    np.save(written, ids)
    assert tokens.tokens_member(ids) == written.getvalue()
    assert (tokens.tokens_view(written.getvalue()) == ids).all()


@settings(max_examples=60)
@given(npst.arrays(np.float32, st.integers(1, 60), elements=st.sampled_from([0, 0.5, 1])), st.data())
def test_weights_survive_as_runs_and_shift_by_one(labels, data):
    assert (spread(runs(labels)) == labels).all()
    cuts = sorted({0, len(labels), *data.draw(st.lists(st.integers(1, len(labels)), max_size=4))})
    groups = [{"start": a, "end": b} for a, b in itertools.pairwise(cuts)]
    found = spread(from_label_weights(labels, groups))
    ends = {one["end"] for one in groups}
    assert found.tolist() == [0 if at + 1 in ends else labels[at + 1] for at in range(len(labels))]


def test_another_output_is_a_source(finished, tmp_path):
    """Beside each other, named by the folder alone; ids do not depend on where they lie."""
    shutil.copytree(finished, tmp_path / "first")
    other = toy_recipe(tmp_path, source="dataset: {out: first, job: work}")
    run(other, tmp_path / "second")
    found = Dataset.open(str(tmp_path / "second"))
    parents = {record.metadata["lineage"]["parents"][0] for record in found}
    assert parents == set(Dataset.open(str(finished), job="work").samples["id"].to_pylist())
