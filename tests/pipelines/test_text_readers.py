"""datatrove's readers as sources: JSON Lines, Parquet, WARC and Hugging Face datasets, each to a complete data set."""

from __future__ import annotations

import gzip
import io
import json

import k3data
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from k3data.pipelines import recipe as recipes
from k3data.pipelines.errors import UserError
from k3data.pipelines.verify import verify
from k3data.tests.pipelines.toy import run

ROWS = [{"text": f"row number {at} has words", "id": f"r{at}", "stars": at} for at in range(25)]
RECIPE = """
name: readers
jobs:
  - name: work
    source: [{{datatrove.{reader}: {{{parameters}, licence: MIT}}}}]
    stages: [{stages}]
    units: {{items: 10}}
"""


def texts(folder, reader: str, parameters: str, stages: str = "") -> list[str]:
    recipe = recipes.parse(RECIPE.format(reader=reader, parameters=parameters, stages=stages), "r.yaml", folder)
    run(recipe, folder / "out", workers=2)
    assert verify(str(folder / "out")).problems == []
    return [record.text for record in k3data.open(folder / "out")]


def test_json_lines(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, ROWS)).encode()))
    assert sorted(texts(tmp_path, "JsonlReader", "data_folder: in")) == sorted(row["text"] for row in ROWS)


def test_parquet(tmp_path):
    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "in/a.parquet")
    assert sorted(texts(tmp_path, "ParquetReader", "data_folder: in")) == sorted(row["text"] for row in ROWS)


def test_warc_pages_become_text(tmp_path):
    warcio = pytest.importorskip("warcio")
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    assert warcio is not None
    (tmp_path / "in").mkdir()
    with (tmp_path / "in/crawl.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for at, page in enumerate(["<nav>menu</nav><p>Hello from <b>page</b> one", "<script>only()</script>"]):
            headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            more = {"WARC-Identified-Payload-Type": "text/html"}
            payload = io.BytesIO(page.encode())
            writer.write_record(
                writer.create_warc_record(
                    f"https://example.org/{at}", "response", payload=payload, http_headers=headers,
                    warc_headers_dict=more,
                )
            )  # fmt: skip
    found = texts(tmp_path, "WarcReader", "data_folder: in", "{text.extract: {}}")
    assert found == ["Hello from page one\n"]


@pytest.mark.slow
def test_hugging_face_datasets(tmp_path):
    pytest.importorskip("datasets")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    parameters = "dataset: in, dataset_options: {split: train}, streaming: true"
    assert texts(tmp_path, "HuggingFaceDatasetReader", parameters) == [row["text"] for row in ROWS]
    assert k3data.open(tmp_path / "out").info["units"] == 3
    extra = json.loads(k3data.open(tmp_path / "out")[3].metadata["extra"])
    assert extra["row"]["stars"] == 3


def test_a_dataset_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    pytest.importorskip("datasets")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=r"^datatrove.HuggingFaceDatasetReader: nobody/nothing: "):
        texts(tmp_path, "HuggingFaceDatasetReader", "dataset: nobody/nothing, dataset_options: {split: train}")
