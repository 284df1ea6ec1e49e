"""Grouping, naming and reproducibility of shards, and their index."""

from __future__ import annotations

import hashlib
from collections import Counter

import orjson
import pyarrow.parquet as pq
import pytest
from k3data.pipelines import index
from k3data.pipelines import record as records
from k3data.pipelines.shards import ShardSet, split_media
from k3data.pipelines.tar import scan
from k3data.tests.pipelines.samples import mixed, publish, record


def finish(folder, documents):
    folder.mkdir()
    writing = ShardSet(folder, "unit7")
    for document in documents:
        writing.add(document)
    return writing.finish()


def test_a_shard_holds_one_split_one_licence_class_and_one_signature(tmp_path):
    shards = finish(tmp_path / "a", mixed())
    assert sum(shard.samples for shard in shards) == 40
    for shard in shards:
        data = shard.path.read_bytes()
        assert shard.path.name == shard.name and len(data) == shard.bytes
        assert hashlib.sha256(data).hexdigest() == shard.sha256
        assert shard.name == f"{shard.split}-{shard.licence}-unit7-{shards.index(shard):03d}-{shard.sha256[:16]}.tar"
        members: dict[str, list[str]] = {}
        for member in scan(data):
            members.setdefault(member.key, []).append(member.suffix)
        assert {"+".join(found) for found in members.values()} == {shard.signature}
        stored = [orjson.loads(data[m.offset : m.offset + m.size]) for m in scan(data) if m.suffix == "json"]
        assert {(s["split"], s["licence"]["class"]) for s in stored} == {(shard.split, shard.licence)}
    assert {shard.signature for shard in shards} == {"json+png", "json+jpg", "json+media.bin"}


def test_rows_lead_to_the_bytes_of_every_member(tmp_path):
    documents = {document.id: document for document in mixed()}
    for shard in finish(tmp_path / "a", documents.values()):
        data = shard.path.read_bytes()
        for row in shard.rows:
            head, media = (data[m["offset"] : m["offset"] + m["size"]] for m in row["members"])
            original = documents.pop(row["id"])
            assert orjson.loads(head) == records.to_sample(original)
            assert split_media(orjson.loads(head), media) == [part.media_bytes for part in original.media]
            assert row["shard"] == shard.name and row["template"] == f"{row['kind']}_plain"
            assert (row["media"], row["text_chars"]) == (len(original.media), len(original.text))
            assert data[row["offset"] :].startswith(row["key"].encode() + b".json\0")
    assert not documents


def test_same_records_same_files(tmp_path):
    first, second = (finish(tmp_path / name, mixed()) for name in "ab")
    assert [(shard.name, shard.rows) for shard in first] == [(shard.name, shard.rows) for shard in second]
    assert [shard.path.read_bytes() for shard in first] == [shard.path.read_bytes() for shard in second]


def test_two_media_of_one_name_and_an_unknown_picture_type_survive(tmp_path):
    document = record(9, "svg")
    document.media[0].metadata["mime"] = "image/bmp"
    (shard,) = finish(tmp_path / "a", [document])
    assert shard.signature == "json+media.bin"


def test_discard_leaves_nothing(tmp_path):
    writing = ShardSet(tmp_path, "u")
    for document in mixed(8):
        writing.add(document)
    writing.discard()
    assert list(tmp_path.iterdir()) == []


def test_merging_keeps_order_and_gives_the_same_bytes_each_time(tmp_path):
    a, b = publish(tmp_path / "a", mixed(), units=3), publish(tmp_path / "b", mixed(), units=3)
    for name in (index.SAMPLES_FILE, index.SHARDS_FILE):
        assert (a / "index" / name).read_bytes() == (b / "index" / name).read_bytes()
    samples = pq.read_table(a / "index" / index.SAMPLES_FILE)
    shards = pq.read_table(a / "index" / index.SHARDS_FILE)
    assert samples.schema == index.SAMPLES and shards.schema == index.SHARDS
    order = list(dict.fromkeys(samples["shard"].to_pylist()))
    assert order == shards["shard"].to_pylist()
    assert Counter(samples["shard"].to_pylist()) == dict(
        zip(shards["shard"].to_pylist(), shards["samples"].to_pylist(), strict=True)
    )


def test_an_index_that_does_not_fit_its_shards_is_refused(tmp_path):
    shards = finish(tmp_path / "a", [record(1, "svg"), record(2, "svg")])
    index.write_unit_index(shards[0].rows, tmp_path / "rows.parquet")
    table = index.read_unit_index((tmp_path / "rows.parquet").read_bytes())
    wrong = {**index.shard_row(shards[0]), "samples": 3}
    with pytest.raises(ValueError, match=r"has 3 samples, the index 2"):
        index.merge([table], [wrong], tmp_path)
    with pytest.raises(ValueError, match="is not a shard of this data set"):
        index.merge([table], [], tmp_path)
