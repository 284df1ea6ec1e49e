"""Conditions and statistics over the index, on a local disk and on S3."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import k3data
import orjson
import pytest
from k3data.pipelines import query
from k3data.pipelines.errors import UserError
from k3data.tests.pipelines.samples import mixed, publish, upload
from k3data.tests.pipelines.test_card import STATS


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("out")
    folder = publish(root, mixed(60))
    (folder / "stats.json").write_bytes(orjson.dumps(STATS))
    return root


@pytest.fixture(scope="module")
def bucket(root, s3_endpoint):
    return upload(root, s3_endpoint, "query")


@pytest.fixture(params=["local", "s3"])
def dataset(request, root):
    if request.param == "local":
        return k3data.open(str(root))
    bucket = request.getfixturevalue("bucket")
    return k3data.open(f"{bucket.url}/out", **bucket.options)


def test_a_condition_finds_the_same_samples_as_reading_them_all(dataset):
    found = query.where(dataset, "kind = 'svg' and width > 62", ["id", "width"]).fetchall()
    expected = [
        (record.id, record.media[0].metadata["width"])
        for record in dataset
        if record.metadata["kind"] == "svg" and record.media[0].metadata["width"] > 62
    ]
    assert found == expected and expected


def test_lists_of_checks_and_tasks_can_be_asked_for(dataset):
    found = query.where(dataset, "list_contains(tasks, 'grounding') and checks[1].score > 50", ["id"]).fetchall()
    assert {id for (id,) in found} == {
        record.id
        for record in dataset
        if record.metadata["checks"] and record.metadata["checks"][0]["score"] > 50 and record.media
    }


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("knd = 'svg'", "kind"),
        ("kind = ", "syntax"),
        ("kind = 'svg'; drop table samples", "--where"),
        ("", "--where"),
    ],
)
def test_a_wrong_condition_is_said_in_one_line(root, condition, message):
    with pytest.raises(UserError, match=message) as caught:
        query.where(k3data.open(str(root)), condition)
    assert "\n" not in str(caught.value)


def test_statistics_count_what_is_there(dataset):
    found = query.stats(dataset)
    documents = list(dataset)
    assert found["samples"] == len(documents) == sum(found["counts"]["kind"].values())
    assert found["counts"]["kind"] == Counter(record.metadata["kind"] for record in documents)
    assert found["counts"]["split"] == Counter(record.metadata["split"] for record in documents)
    assert found["counts"]["spdx"] == Counter(record.metadata["licence"]["spdx"] for record in documents)
    assert found["tasks"] == Counter(task["name"] for record in documents for task in record.metadata["tasks"])
    lengths = sorted(len(record.text) for record in documents)
    assert (found["sizes"]["text_chars"]["min"], found["sizes"]["text_chars"]["max"]) == (lengths[0], lengths[-1])
    assert found["rejects"] == STATS["codes"] and found["stages"] == STATS["stages"]
    assert orjson.loads(orjson.dumps(found)) == found


def test_the_command_reads_a_bucket_with_credentials_from_the_environment(bucket, tmp_path):
    def k3data_(*words):
        command = [sys.executable, "-m", "k3data.pipelines.cli", *words]
        environment = {**os.environ, **bucket.environment}
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    out = f"{bucket.url}/out"
    assert orjson.loads(k3data_("stats", out, "--json"))["samples"] == 60
    rows = orjson.loads(k3data_("inspect", out, "--where", "kind='cad' and width>400", "--json"))
    assert rows == []
    rows = orjson.loads(k3data_("inspect", out, "--where", "kind='cad' and width>60", "--json"))
    assert rows and {row["kind"] for row in rows} == {"cad"}
    k3data_("view", out, "--to", str(tmp_path / "page.html"), "--count", "4")
    assert (tmp_path / "page.html").stat().st_size > 10_000
