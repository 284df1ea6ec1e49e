"""Reading by id, by number, in order and by SQL; and what is refused."""

from __future__ import annotations

import hashlib
import json
import pickle

import k3data
import pytest
from k3data.pipelines import record as records
from k3data.pipelines.errors import UserError
from k3data.pipelines.reader import Dataset, ShardError
from k3data.tests.pipelines.samples import mixed, publish, upload


@pytest.fixture(scope="module")
def documents():
    return {document.id: document for document in mixed()}


@pytest.fixture(scope="module")
def root(tmp_path_factory, documents):
    root = tmp_path_factory.mktemp("out")
    publish(root, list(documents.values()))
    return root


@pytest.fixture(scope="module")
def bucket(root, s3_endpoint):
    return upload(root, s3_endpoint, "reader")


@pytest.fixture(params=["local", "s3"])
def dataset(request, root):
    if request.param == "local":
        return k3data.open(str(root))
    bucket = request.getfixturevalue("bucket")
    return k3data.open(f"{bucket.url}/out", **bucket.options)


def same(read, original):
    assert records.to_sample(read) == records.to_sample(original)
    assert [part.media_bytes for part in read.media] == [part.media_bytes for part in original.media]


def test_every_record_comes_back_whole_by_id_by_number_and_in_order(dataset, documents):
    assert len(dataset) == len(documents)
    seen = []
    for number, document in enumerate(dataset):
        same(document, documents[document.id])
        same(dataset[number], document)
        same(dataset[document.id], document)
        assert dataset.number(document.id) == number
        seen.append(document.id)
    assert sorted(seen) == sorted(documents) and seen == dataset.samples["id"].to_pylist()
    same(dataset[-1], documents[seen[-1]])


def test_raw_members_are_the_stored_bytes(dataset):
    whole = list(dataset.iter_raw())
    assert len(whole) == len(dataset)
    for number, members in enumerate(whole):
        assert members == dataset.raw(number)
        assert next(iter(members)) == "json" and len(members) == 2
    part = list(dataset.iter_raw(7, 19))
    assert part == whole[7:19]
    assert list(dataset.iter_raw(5, 5)) == []


def test_samples_asked_for_in_sequence_share_reads_of_an_object_store(bucket, monkeypatch):
    dataset = k3data.open(f"{bucket.url}/out", **bucket.options)
    whole = [{suffix: bytes(view) for suffix, view in members.items()} for members in dataset.iter_raw()]
    reads = []
    read = dataset.store.read
    monkeypatch.setattr(dataset.store, "read", lambda *where: reads.append(where) or read(*where))
    assert [dataset.raw(number) for number in range(len(dataset))] == whole
    assert len(reads) <= 2 * len(dataset.shards)
    reads.clear()
    assert [dataset.raw(number) for number in (30, 3, 21)] == [whole[30], whole[3], whole[21]]
    assert [stop - start for _, start, stop in reads] == [
        dataset.samples["size"][number].as_py() for number in (30, 3, 21)
    ]


def test_unknown_ids_and_numbers_raise_what_python_raises(dataset):
    with pytest.raises(KeyError):
        dataset["nothing"]
    with pytest.raises(KeyError):
        dataset["zzzz"]
    for number in (len(dataset), -len(dataset) - 1):
        with pytest.raises(IndexError):
            dataset[number]


def test_sql_sees_samples_and_shards(dataset):
    found = dataset.sql(
        "select sum(bytes), (select count(*) from samples where kind = 'svg' and width > 62) from shards"
    ).fetchall()[0]
    svg = [row for row in dataset.samples.to_pylist() if row["kind"] == "svg" and row["width"] > 62]
    assert found == (sum(dataset.shards["bytes"].to_pylist()), len(svg)) and svg
    assert dataset.relation().filter("len(checks) > 0").count("*").fetchall()[0][0] == 10


def test_a_data_set_travels_to_another_process(dataset):
    dataset.raw(0)
    copy = pickle.loads(pickle.dumps(dataset))
    same(copy[3], dataset[3])


def test_a_job_folder_opens_like_its_run(root):
    assert Dataset.open(str(root / "render")).samples == Dataset.open(str(root), job="render").samples


@pytest.fixture
def own(tmp_path):
    """A data set that the test may damage: (folder, path of its first shard, index of that shard's first sample)."""
    folder = publish(tmp_path, mixed(12), units=1)
    dataset = Dataset.open(str(folder))
    return folder, folder / dataset.shards["path"][0].as_py()


def test_a_truncated_shard_is_refused_by_name(own):
    folder, shard = own
    size = shard.stat().st_size
    with shard.open("r+b") as file:
        file.truncate(size - 512)
    with pytest.raises(ShardError, match=f"{shard.name} is truncated: has {size - 512} bytes, the index says {size}"):
        Dataset.open(str(folder)).raw(0)


def test_a_shard_with_bytes_too_many_and_a_missing_one_are_refused(own):
    folder, shard = own
    data = shard.read_bytes()
    shard.write_bytes(data + b"\0")
    with pytest.raises(ShardError, match="too long"):
        list(Dataset.open(str(folder)).iter_raw())
    shard.unlink()
    with pytest.raises(ShardError, match=f"{shard.name} is missing"):
        Dataset.open(str(folder))[0]


def test_another_sample_in_the_place_of_one_is_refused(own):
    folder, shard = own
    dataset = Dataset.open(str(folder))
    id = dataset.samples["id"][0].as_py().encode()
    shard.write_bytes(shard.read_bytes().replace(b'"id":"' + id, b'"id":"' + b"x" * len(id)))
    with pytest.raises(ShardError, match=f"sample {id.decode()}: the shard holds sample xxx"):
        Dataset.open(str(folder))[0]


def test_damaged_json_and_damaged_pixels_are_named(own):
    folder, shard = own
    dataset = Dataset.open(str(folder), check=True)
    first = dataset.samples.to_pylist()[0]
    data = bytearray(shard.read_bytes())
    data[first["members"][1]["offset"] + 30] ^= 1
    shard.write_bytes(data)
    Dataset.open(str(folder))[0]  # unchecked reading does not hash
    with pytest.raises(ShardError, match="differs from its SHA-256"):
        Dataset.open(str(folder), check=True)[0]
    data[first["members"][0]["offset"]] = ord("x")
    shard.write_bytes(data)
    with pytest.raises(ShardError, match="its JSON is damaged"):
        Dataset.open(str(folder))[0]


@pytest.mark.parametrize("name", ["samples", "shards"])
def test_a_damaged_or_missing_index_is_named(own, name):
    folder, _ = own
    path = folder / f"index/{name}.parquet"
    data = path.read_bytes()
    stated = {f"index/{name}.parquet": {"sha256": hashlib.sha256(data).hexdigest()}}
    (folder / "dataset.json").write_text(json.dumps({"complete": True, "files": stated}))
    path.write_bytes(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    with pytest.raises(ShardError, match=f"{name}.parquet differs from its SHA-256"):
        list(Dataset.open(str(folder), check=True))
    path.write_bytes(data[:100])
    with pytest.raises(ShardError, match=f"{name}.parquet is damaged"):
        list(Dataset.open(str(folder)))
    path.unlink()
    with pytest.raises(ShardError, match=f"{name}.parquet is missing"):
        list(Dataset.open(str(folder)))


def test_damaged_description_is_named(own):
    folder, _ = own
    (folder / "dataset.json").write_text('{"complete": tru')
    with pytest.raises(UserError, match=r"dataset\.json is damaged"):
        Dataset.open(str(folder))


def test_a_data_set_without_samples_is_empty_and_no_error(tmp_path):
    publish(tmp_path, [])
    dataset = k3data.open(str(tmp_path))
    assert len(dataset) == 0 and list(dataset) == [] and list(dataset.iter_raw()) == []
    with pytest.raises(KeyError):
        dataset["x"]
    assert dataset.sql("select count(*) from samples").fetchall() == [(0,)]


def test_a_place_without_a_complete_data_set_is_said_in_one_line(root, own, tmp_path_factory):
    folder, _ = own
    (folder / "dataset.json").write_text('{"complete": false}')
    for url, job in ((tmp_path_factory.mktemp("empty"), None), (folder, None), (root, "nothing"), ("/nowhere", None)):
        with pytest.raises(UserError, match="no complete data set") as caught:
            Dataset.open(str(url), job=job)
        assert "\n" not in str(caught.value)
