"""datatrove's readers, filters and formatters run as they are, and each document's fate is known."""

from __future__ import annotations

import gzip
import json

import k3data
from datatrove.data import Document
from datatrove.pipeline.base import PipelineStep
from k3data.pipelines import recipe as recipes
from k3data.pipelines.adapters import DatatroveStep
from k3data.pipelines.look import rejects_relation
from k3data.pipelines.verify import verify
from k3data.tests.pipelines.toy import run

RECIPE = """
name: trove
jobs:
  - name: work
    source:
      - datatrove.JsonlReader: {data_folder: texts, glob_pattern: "*.jsonl.gz", licence: MIT, kind: text}
    stages:
      - datatrove.PIIFormatter: {email_replacement: hidden}
      - datatrove.RegexFilter: {regex_exp: "forbidden"}
errors: {budget: 0.5}
"""


def test_a_reader_a_formatter_and_a_filter_work_unchanged(tmp_path):
    (tmp_path / "texts").mkdir()
    for part in range(2):
        rows = [
            {"text": f"number {at} of part{part}@k3data.org", "id": f"{part}-{at}", "stars": at} for at in range(10)
        ]
        rows[4]["text"] = "this is forbidden"
        data = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"texts/{part}.jsonl.gz").write_bytes(gzip.compress(data.encode()))
    run(recipes.parse(RECIPE, "r.yaml", tmp_path), tmp_path / "out", workers=2)
    texts = {record.text for record in k3data.open(tmp_path / "out")}
    assert texts == {f"number {at} of hidden" for at in range(10) if at != 4}
    rows = rejects_relation(str(tmp_path / "out"), None, None).select("outcome, stage, code").fetchall()
    assert rows == [("filtered", "datatrove.RegexFilter", "dropped")] * 2
    extra = json.loads(k3data.open(tmp_path / "out")[0].metadata["extra"])
    assert set(extra["row"]) == {"id", "stars"}
    assert verify(str(tmp_path / "out")).problems == []


class Picky(PipelineStep):
    """A step of the ordinary kind: a generator that drops, changes and fails."""

    name, type = "picky", "test"

    def run(self, data, rank=0, world_size=1):
        for document in data:
            if document.text == "fail":
                raise ValueError("cannot")
            if document.text == "edit":
                document.text = "edited"
            if document.text != "drop":
                yield document


def document(text: str, at: int) -> Document:
    return Document(text, f"id{at}", [], {"turns": [{"role": "user", "channel": "", "start": 0, "end": 2}]})


def test_each_document_a_step_is_given_is_accounted_for():
    step = DatatroveStep(step_name="picky", step=Picky, parameters={})
    step._built = Picky()
    rejected = []
    words = ["keep", "fail", "drop", "edit", "fail", "keep"]
    stream = step.stream(
        (document(word, at) for at, word in enumerate(words)), lambda doc, why: rejected.append((doc.id, why.outcome))
    )
    kept = [(doc.id, doc.text) for doc in stream]
    assert kept == [("id0", "keep"), ("id3", "edited"), ("id5", "keep")]
    assert sorted(rejected) == [("id1", "error"), ("id2", "filtered"), ("id4", "error")]


def test_spans_of_an_edited_text_are_dropped_and_it_is_said():
    step = DatatroveStep(step_name="picky", step=Picky, parameters={})
    step._built = Picky()
    edited, kept = step.stream(iter([document("edit", 0), document("keep", 1)]), lambda doc, why: None)
    assert "turns" not in edited.metadata
    assert edited.metadata["checks"][0]["name"] == "turns_kept"
    assert "turns" in kept.metadata
