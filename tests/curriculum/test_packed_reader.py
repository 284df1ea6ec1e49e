"""The order of training: a permutation, the same for any number of ranks, gone on with from any cut; and shards that
are not what was written."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.curriculum.loader import PackedLoader
from k3data.curriculum.order import Permutation
from k3data.curriculum.reader import Cursor, PackedReader
from k3data.curriculum.shard_files import DataError
from k3data.pipelines.errors import UserError
from k3data.pipelines.reader import Dataset
from k3data.pipelines.tokens import spread
from k3data.tests.curriculum.packed import copied
from k3data.tests.pipelines.samples import upload


@pytest.fixture(scope="module")
def reader(packed_out) -> PackedReader:
    return PackedReader.open(str(packed_out), "short")


def take(iterator, count):
    return list(itertools.islice(iterator, count))


@given(st.integers(1, 3000), st.integers(), st.data())
def test_the_order_is_a_permutation_computed_at_any_point(count, key, data):
    order = Permutation(count, key)
    whole = order.block(0, count)
    assert sorted(whole.tolist()) == list(range(count))
    start = data.draw(st.integers(0, count))
    stop = data.draw(st.integers(start, count))
    assert (order.block(start, stop) == whole[start:stop]).all()
    assert stop == count or order[stop] == whole[stop]


def test_orders_are_even():
    """Every element comes to every place about equally often, over many keys."""
    counts = np.zeros((7, 7))
    for key in range(4200):
        counts[np.arange(7), Permutation(7, "even", key).block(0, 7)] += 1
    assert ((counts - 600) ** 2 / 600).sum() < 90  # chi-square with 36 degrees of freedom: 90 has p = 2e-6


def test_sequences_are_those_of_the_data_set(reader, packed_out):
    dataset = Dataset.open(str(packed_out), job="short")
    train = [record for record in dataset if record.metadata["split"] == "train"]
    assert len(reader) == len(train)
    found = {one.spans["id"]: one for one in take(reader.iter(), len(reader))}
    assert set(found) == {record.id for record in train}
    for record in train:
        sample, one = record.metadata["sample"], found[record.id]
        assert (one.tokens == sample.tokens).all() and (one.weights == spread(sample.weights)).all()
        assert one.cu_seqlens.tolist() == [0, *(group["end"] for group in sample.groups)]
        assert [bytes(one.picture(at)) for at in range(len(one.images))] == [
            sample.picture(at) for at in range(len(sample.images))
        ]
        for at, image in enumerate(one.images):
            assert one.pixels(at).shape == (image["height"], image["width"], 3)


def test_epochs_differ_and_seeds_differ(reader):
    places = take(reader.places(reader.start()), 2 * len(reader))
    first, second = places[: len(reader)], places[len(reader) :]
    assert sorted(one.number for one in first) == sorted(one.number for one in second) == list(range(len(reader)))
    assert [one.number for one in first] != [one.number for one in second]
    assert [one.epoch for one in places] == [0] * len(reader) + [1] * len(reader)
    assert [one.number for one in take(reader.places(reader.start(1)), len(reader))] != [one.number for one in first]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 40)), max_size=8), st.integers(0, 3))
def test_any_cuts_and_any_numbers_of_ranks_give_one_order(reader, cuts, seed):
    """Runs of (ranks, steps), each going on where the one before stopped."""
    cursor = reader.start(seed)
    total = sum(ranks * steps for ranks, steps in cuts)
    wanted = take(reader.places(cursor), total)
    found = []
    for ranks, steps in cuts:
        streams = [take(reader.places(cursor, rank, ranks), steps) for rank in range(ranks)]
        found += [place for step in zip(*streams, strict=True) for place in step]
        cursor = reader.advance(cursor, ranks * steps)
    assert found == wanted
    assert reader.between(reader.start(seed), cursor) == total


def test_one_to_three_to_two_ranks(reader):
    self = test_any_cuts_and_any_numbers_of_ranks_give_one_order.hypothesis.inner_test
    self(reader, [(1, 10), (3, 20), (2, 33)], 7)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_going_on_is_exact_and_quick(packed_out, reader, share):
    cut = int(share * len(reader))
    wanted = take(reader.iter(cursor=reader.start(5)), len(reader) + 3)[cut:]
    started = time.perf_counter()
    again = PackedReader.open(str(packed_out), "short")
    found = again.iter(cursor=again.advance(again.start(5), cut))
    first = next(found)
    assert time.perf_counter() - started < 1
    for one, other in zip([first, *take(found, len(wanted) - 1)], wanted, strict=True):
        assert one.place == other.place and (one.tokens == other.tokens).all()


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_for_torch_go_on_from_a_state_of_other_ranks(reader, workers):
    wanted = take(reader.iter(cursor=reader.start(2)), 30)
    loaders = [PackedLoader(reader, rank=rank, world=3, batch=2, cursor=reader.start(2)) for rank in range(3)]
    rows = []
    for batches in zip(*(take(iter(one), 2) for one in loaders), strict=True):
        rows += [row for pair in range(2) for batch in batches for row in [batch.tokens[pair]]]
    states = [one.state_dict() for one in loaders]
    assert states[0] == states[1] == states[2] and all(type(one) is int for one in states[0]["cursor"])
    later = PackedLoader(reader, batch=3, workers=workers)
    later.load_state_dict(json.loads(json.dumps(states[0])))
    for batch in itertools.islice(later, 6):
        assert batch.tokens.shape == batch.weights.shape == (3, 512)
        rows += list(batch.tokens)
    assert len(rows) == 30
    for row, one in zip(rows, wanted, strict=True):
        assert (row.numpy() == one.tokens).all()


def test_pictures_are_decoded_when_asked(reader):
    batch = next(iter(PackedLoader(reader, batch=16, decode=True)))
    images = [one for row in batch.images for one in row]
    assert images and all(tuple(one["pixels"].shape) == (one["height"], one["width"], 3) for one in images)


def test_a_stage_is_found_by_its_name_and_by_its_jobs(packed_out):
    by_stage, by_folder = PackedReader.open(str(packed_out), "long"), PackedReader.open(str(packed_out / "long"))
    assert by_stage.start() == by_folder.start() and by_stage.window == 2048
    assert len(PackedReader.open(str(packed_out), "long", split="val")) > 0


@pytest.mark.parametrize(
    ("stage", "split", "message"),
    [
        ("middle", "train", r"no stages called 'middle'; there are: short \(job short\), long \(job long\)"),
        ("short", "test", "no sequences of split 'test'"),
        ("tokens", "train", "no stages called 'tokens'"),
    ],
)
def test_what_is_not_there_is_one_line(packed_out, stage, split, message):
    with pytest.raises(UserError, match=message):
        PackedReader.open(str(packed_out), stage, split=split)


def test_a_cursor_of_other_data_is_refused(packed_out, reader):
    long = PackedReader.open(str(packed_out), "long")
    with pytest.raises(UserError, match="it was packed anew"):
        next(reader.iter(cursor=long.start()))
    with pytest.raises(UserError, match=r"a stage of 2,048 tokens, this one has 512"):
        next(reader.iter(cursor=reader.start()._replace(stage=2048)))
    with pytest.raises(UserError, match="rank 3 of 3"):
        next(reader.places(reader.start(), 3, 3))


def damage(out, member=0):
    """Change a byte of a member of one of the first sequences; gives its position, its shard and its id."""
    reader = PackedReader.open(str(out), "short", check=False)
    dataset = Dataset.open(str(out), job="short")
    for place in take(reader.places(reader.start()), len(reader))[4:]:
        id = reader.files.ids[place.number].as_py()
        row = dataset.samples.slice(dataset.number(id), 1).to_pylist()[0]
        where = row["members"][member]
        if where["size"]:  # not every sequence has pictures
            break
    with (out / "short" / "shards" / row["shard"]).open("r+b") as file:
        file.seek(where["offset"] + where["size"] - 40)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    return place.position, row["shard"], id


@pytest.mark.parametrize("member", [0, 1, 2])
def test_damage_stops_with_the_shard_and_the_sample(packed_out, tmp_path, member):
    out = copied(packed_out, tmp_path)
    at, shard, id = damage(out, member)
    reader = PackedReader.open(str(out), "short")
    name = ("tokens.npy", "spans.json", "media.bin")[member]
    with pytest.raises(DataError, match=f"shard {shard}, sample {id}: its {name} does not match") as error:
        for one in take(reader.iter(), at + 1):
            one.sample()
    assert "\n" not in str(error.value)
    assert len(take(PackedReader.open(str(out), "short").iter(), at)) == at


def test_what_a_second_fetch_mends_is_read(packed_out, tmp_path):
    out = copied(packed_out, tmp_path)
    at, _, _ = damage(out)
    reader = PackedReader.open(str(out), "short")
    wanted = take(PackedReader.open(str(packed_out), "short").iter(), at + 1)
    read, tries = reader.files._read, []

    def mended_after_one(number, checked):
        tries.append(number)
        if tries.count(number) == 2:
            for path in (packed_out / "short" / "shards").iterdir():
                (out / "short" / "shards" / path.name).write_bytes(path.read_bytes())
        return read(number, checked)

    reader.files._read = mended_after_one
    found = take(reader.iter(), at + 1)
    assert [one.tokens.tolist() for one in found] == [one.tokens.tolist() for one in wanted]
    assert len(tries) == at + 2


@pytest.mark.parametrize("check", [True, False])
def test_a_shard_that_vanished_or_was_cut_is_named(packed_out, tmp_path, check):
    out = copied(packed_out, tmp_path)
    shards = sorted((out / "short" / "shards").glob("train*.tar"))
    shards[0].write_bytes(shards[0].read_bytes()[:-1024])
    with pytest.raises(DataError, match=r"has \d+ bytes, the index says"):
        take(PackedReader.open(str(out), "short", check=check).iter(), 200)
    for path in shards:
        path.unlink()
    with pytest.raises(DataError, match=r"shard train-.*\.tar, sample .*: the shard is missing"):
        next(PackedReader.open(str(out), "short", check=check).iter())


def test_an_object_store_gives_the_same(packed_out, reader, s3_endpoint):
    bucket = upload(packed_out, s3_endpoint, "packed")
    remote = PackedReader.open("s3://packed/out", "short", **bucket.options)
    assert remote.start(4) == reader.start(4)
    for one, other in zip(
        take(remote.iter(1, 2, remote.start(4)), 40), reader.iter(1, 2, reader.start(4)), strict=False
    ):
        assert one.place == other.place and (one.tokens == other.tokens).all()
        assert [bytes(one.picture(at)) for at in range(len(one.images))] == [
            bytes(other.picture(at)) for at in range(len(other.images))
        ]


def test_a_machine_that_trains_needs_nothing_of_the_data_side(packed_out):
    blocked = ["pydantic", "datatrove", "duckdb", "orjson", "typer", "rich", "psutil", "regex", "tokenizers"]
    code = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ImportError(f"{{name}} is blocked")
sys.meta_path.insert(0, Block())
from k3data.curriculum.loader import PackedLoader
from k3data.curriculum.reader import PackedReader
reader = PackedReader.open({str(packed_out)!r}, "short")
batch = next(iter(PackedLoader(reader, batch=8, decode=True)))
print(tuple(batch.tokens.shape), len([one for row in batch.images for one in row]) > 0)
sample = next(reader.iter()).sample()
print(len(sample.tokens))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stdout.split("\n")[:2] == ["(8, 512) True", "512"], found.stderr


def test_a_cursor_is_five_integers(reader):
    cursor = reader.advance(reader.start(3), 2 * len(reader) + 5)
    assert len(cursor) == 5 and cursor == Cursor(reader.files.digest, 3, 512, 2, 5)
