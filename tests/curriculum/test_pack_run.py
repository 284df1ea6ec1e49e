"""Packing as a job of a recipe: what lies in the sequences is what lay in the documents, and all of it is counted."""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter, defaultdict

import numpy as np
import pyarrow.parquet as pq
import pytest
from k3data.curriculum.planning import FATES
from k3data.pipelines import recipe as recipes
from k3data.pipelines import tokens
from k3data.pipelines.errors import K3DataError, UserError
from k3data.pipelines.reader import Dataset
from k3data.pipelines.shipped import find
from k3data.pipelines.tokens import spread
from k3data.pipelines.verify import verify
from k3data.tests.curriculum.packed import LONG, SHORT, copied, parsed, recipe_text
from k3data.tests.curriculum.texts import sources
from k3data.tests.pipelines.toy import run, tar_bytes
from k3data.tokenizer.train import train

STAGES = {"short": 512, "long": 2048}


@pytest.fixture(scope="module")
def documents(packed_out) -> dict[str, tokens.TokenSample]:
    return {record.id: record.metadata["sample"] for record in Dataset.open(str(packed_out), job="tokens")}


def fates(out, job):
    return pq.read_table(out / job / "documents.parquet").to_pylist()


def about(out, job):
    return json.loads((out / job / "curriculum.json").read_text())


def test_verify_finds_nothing_wrong(packed_out):
    assert verify(str(packed_out)).problems == []


@pytest.mark.parametrize("job", STAGES)
def test_sequences_hold_their_documents_token_for_token(packed_out, documents, tokenizer, job):
    dataset = Dataset.open(str(packed_out), job=job, check=True)
    assert len(dataset) == sum(about(packed_out, job)["sequences"].values())
    seen = defaultdict(list)
    for record in dataset:
        sample = record.metadata["sample"]
        tokens.check(sample)
        assert len(sample.tokens) == STAGES[job]
        weights = spread(sample.weights)
        pictures = iter(sample.images)
        # One group a document piece; padding is the last group and no document.
        groups = [(one["start"], one["end"]) for one in sample.groups]
        placed = [(one["start"], one["end"]) for one in sample.docs]
        assert groups[: len(placed)] == placed and len(groups) - len(placed) in (0, 1)
        for start, stop in groups[len(placed) :]:
            assert (sample.tokens[start:stop] == tokenizer.special["pad"]).all() and not weights[start:stop].any()
        rows = [row for row in fates(packed_out, job) if row["sequence"] == int(record.metadata["source"]["item"][-8:])]
        rows = {(row["id"], row["copy"], row["part"]): row for row in rows if row["split"] == record.metadata["split"]}
        assert len(rows) == len(placed)
        for one in sample.docs:
            row = rows[one["id"], one["copy"], one["part"]]
            whole = documents[one["id"]]
            cut = slice(row["start"], row["stop"])
            assert (sample.tokens[one["start"] : one["end"]] == whole.tokens[cut]).all()
            assert (weights[one["start"] : one["end"] - 1] == spread(whole.weights)[cut][:-1]).all()
            for number, image in enumerate(whole.images):
                if row["start"] <= image["start"] < row["stop"]:
                    found = next(pictures)
                    assert found["start"] - one["start"] == image["start"] - row["start"]
                    data = sample.media[found["offset"] : found["offset"] + found["bytes"]]
                    assert data == whole.picture(number)
            seen[one["id"], one["copy"]].append((row["start"], row["stop"]))
        assert next(pictures, None) is None
    assert all(len(set(pieces)) == len(pieces) for pieces in seen.values())


def test_one_split_a_sequence_and_the_strictest_licence(packed_out, documents):
    sources = Dataset.open(str(packed_out), job="tokens")
    split = dict(zip(sources.samples["id"].to_pylist(), sources.samples["split"].to_pylist(), strict=True))
    classes = dict(zip(sources.samples["id"].to_pylist(), sources.samples["licence"].to_pylist(), strict=True))
    found = Counter()
    for record in Dataset.open(str(packed_out), job="long"):
        docs = record.metadata["sample"].docs
        assert {split[one["id"]] for one in docs} == {record.metadata["split"]}
        strict = "share-alike" in {classes[one["id"]] for one in docs}
        assert record.metadata["licence"]["class"] == ("share-alike" if strict else "permissive")
        assert set(record.metadata["licence"]["attribution"].splitlines()) <= {"Author 0", "Author 1", "Author 2"}
        found[record.metadata["split"], record.metadata["licence"]["class"]] += 1
    assert {name for name, _ in found} == {"train", "val"}


def test_fates_add_up_to_every_token(packed_out, documents):
    for job in STAGES:
        rows = fates(packed_out, job)
        pieces = defaultdict(list)
        for row in rows:
            pieces[row["id"], row["copy"]].append((row["start"], row["stop"]))
            assert (row["sequence"] is None) == (row["fate"] != "placed")
        assert {id for id, _ in pieces} == set(documents)
        for (id, _), found in pieces.items():
            assert sum(stop - start for start, stop in found) == len(documents[id].tokens)
        told = about(packed_out, job)
        for name in FATES:
            these = [row for row in rows if row["fate"] == name]
            assert told["fates"][name] == {
                "pieces": len(these), "tokens": sum(row["stop"] - row["start"] for row in these)
            }  # fmt: skip
        assert told["tokens"]["placed"] + told["tokens"]["padding"] == told["tokens"]["positions"]
        assert told["padding_share"] <= told["stage"]["max_padding"]


def test_no_document_is_in_two_stages(packed_out):
    first, second = (
        {row["id"] for row in fates(packed_out, job) if row["fate"] == "placed"} for job in ("short", "long")
    )
    assert first and second and not first & second
    used = {row["id"] for row in fates(packed_out, "long") if row["fate"] == "used"}
    assert used == first
    carried = {row["id"] for row in fates(packed_out, "short") if row["fate"] == "carried"}
    assert carried & second


def test_the_output_says_what_a_trainer_needs(packed_out, tokenizer):
    told = about(packed_out, "short")
    assert told["tokenizer"]["digest"] == tokenizer.digest
    assert told["tokenizer"]["vocab_size"] == tokenizer.vocab_size
    assert told["images"]["max_tokens"] == 1024 and told["images"]["patch"] == 14
    stored = (packed_out / "short" / "tokenizer.json").read_bytes()
    assert json.loads(stored)["model"]["type"] == "BPE"
    mixture = {one["name"]: one for one in told["mixture"]["train"]}
    assert abs(mixture["vision"]["got_tokens"] - mixture["vision"]["wanted_tokens"]) <= 512
    assert abs(mixture["vision"]["got_share"] - 0.25) < 0.05


def test_a_limited_run_counts_what_it_made(tmp_path, tokenizer_folder, packed_out):
    shutil.copytree(packed_out / "tokens", tmp_path / "all" / "tokens")
    shutil.copy(packed_out / "k3data.json", tmp_path / "all")
    text = json.loads(recipe_text(tokenizer_folder, long=LONG))
    text["jobs"] = text["jobs"][1:]
    text["jobs"][0]["source"][0]["curriculum.pack"]["documents"] = [{"out": "all", "job": "tokens"}]
    (made,) = run(parsed(tmp_path, json.dumps(text)), tmp_path / "out", limit=8)
    told = about(tmp_path / "out", "long")
    assert made.samples == sum(told["sequences"].values()) < about(packed_out, "long")["tokens"]["positions"] // 2048
    assert told["tokens"]["positions"] == made.samples * 2048
    placed = {row["sequence"] for row in fates(tmp_path / "out", "long") if row["fate"] == "placed"}
    assert len(placed) <= made.samples
    assert verify(str(tmp_path / "out")).problems == []


def test_another_tokenizer_is_refused(packed_out, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "tokenizer.json").write_bytes(train(sources(), 1024))
    text = json.loads(recipe_text(other, long=LONG))
    text["jobs"] = text["jobs"][1:]
    text["jobs"][0]["source"][0]["curriculum.pack"]["documents"] = [{"out": str(packed_out), "job": "tokens"}]
    with pytest.raises(UserError, match=r"small/tokens was made with another tokenizer \(\w{12}\) than"):
        run(parsed(tmp_path, json.dumps(text)), tmp_path / "out")


def changed(packed_out, tmp_path, tokenizer_folder, stage=LONG, **changes):
    """A recipe that packs what another output has tokenised."""
    text = json.loads(recipe_text(tokenizer_folder, **{stage["name"]: {**stage, **changes}}))
    text["jobs"] = text["jobs"][1:]
    text["jobs"][0]["source"][0]["curriculum.pack"]["documents"] = [{"out": str(packed_out), "job": "tokens"}]
    return parsed(tmp_path, json.dumps(text))


def test_another_number_of_workers_gives_the_same_bytes(packed_out, tmp_path, tokenizer_folder):
    run(changed(packed_out, tmp_path, tokenizer_folder, SHORT), tmp_path / "out", workers=2)
    assert tar_bytes(tmp_path / "out" / "short") == tar_bytes(packed_out / "short")
    assert about(tmp_path / "out", "short") == about(packed_out, "short")


def test_another_bound_on_pictures_is_refused(packed_out, tmp_path, tokenizer_folder):
    with pytest.raises(UserError, match="has pictures of up to 1024 tokens, stage long says max_image_tokens: 16"):
        run(changed(packed_out, tmp_path, tokenizer_folder, max_image_tokens=16), tmp_path / "out")


def test_a_mixture_that_cannot_be_met_is_refused(packed_out, tmp_path, tokenizer_folder):
    recipe = changed(packed_out, tmp_path, tokenizer_folder, mixture={"maths": 1, "code": 1})
    with pytest.raises(UserError, match="maths has no documents that fit a window"):
        run(recipe, tmp_path / "out")


def test_records_that_are_not_tokenised_are_refused(tmp_path, tokenizer_folder):
    text = json.loads(recipe_text(tokenizer_folder, long=LONG))
    text["jobs"][0]["stages"] = []
    with pytest.raises(UserError, match="does not say which tokenizer made it"):
        run(parsed(tmp_path, json.dumps(text)), tmp_path / "out")


def test_a_shard_that_vanished_is_named(packed_out, tmp_path, tokenizer_folder):
    out = copied(packed_out, tmp_path)
    shard = next((out / "tokens" / "shards").glob("train*.tar"))
    shard.unlink()
    text = recipe_text(tokenizer_folder, other={**LONG, "name": "other"})
    with pytest.raises(K3DataError, match=shard.name):
        run(parsed(tmp_path, text), out)


def test_samples_in_a_packed_shard_open_with_numpy(packed_out):
    dataset = Dataset.open(str(packed_out), job="short")
    members = dataset.raw(0)
    assert list(members) == [tokens.TOKENS, tokens.SPANS, tokens.MEDIA]
    assert np.load(io.BytesIO(members[tokens.TOKENS])).shape == (512,)


def test_the_card_tells_the_mixture_and_every_credit(packed_out):
    card = (packed_out / "short" / "README.md").read_text()
    assert "Mixture of the train split" in card and "PackedReader" in card
    for author in range(3):
        assert f"| Author {author} |" in card
    assert "CC-BY-SA-4.0, MIT" in card
    credits = (packed_out / "short" / "ATTRIBUTION").read_text()
    assert credits.count("Author 1 (") == 1


@pytest.mark.parametrize("name", ["curriculum", "curriculum_small"])
def test_the_shipped_recipes_are_read(name):
    recipe = recipes.load(find(name))
    stages = {job.name: job.sources[0].build.stage for job in recipe.jobs if job.name.startswith("stage_")}
    assert [one.window for one in stages.values()] == [2**13, 2**16, 2**18, 2**20]
    packing = [job for job in recipe.jobs if job.name in stages]
    for at, job in enumerate(packing):
        assert job.sources[0].build.after == [one.name for one in packing[:at]]


def test_the_smallest_scattered_task_has_windows_to_hold_out():
    jobs = {job.name: job.sources[0].build for job in recipes.load(find("recall")).jobs}
    assert (jobs["windows"].split, jobs["windows_held_out"].split) == ("train", "val")
    assert jobs["windows"].window == jobs["windows_held_out"].window == jobs["recall"].stage.window == 1024
