"""The dataset card: true numbers, credits, pictures; and text from the data stays text."""

from __future__ import annotations

import io

import pytest
import yaml
from k3data.pipelines import card
from k3data.pipelines.markdown import fence, inline, size, table
from k3data.pipelines.reader import Dataset
from k3data.tests.pipelines.samples import mixed, publish, record
from PIL import Image

STATS = {
    "job": "render",
    "items": 63,
    "outcomes": {"published": 60, "filtered": 2, "error": 1, "merged": 0},
    "stages": [{"name": "vision.render", "in": 63, "out": 60, "filtered": 2, "rejected": 1, "seconds": 3.5}],
    "codes": {"vision.quality/nearly_blank": 2, "vision.render/timeout": 1},
}


def make(tmp_path, documents):
    dataset = Dataset.open(str(publish(tmp_path, documents)))
    recipe = "name: demo  # ``` not the end\njobs: []\n"
    return dataset, dict(card.files(dataset, "demo/render", recipe, [STATS], {"chromium": "150.0"}))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make(tmp_path_factory.mktemp("out"), mixed(60))


def split(readme):
    _, front, body = readme.decode().split("---\n", 2)
    return yaml.safe_load(front), body


def test_the_head_states_splits_files_sizes_and_licences(made):
    dataset, files = made
    front, _ = split(files["README.md"])
    assert front["license"] == ["cc-by-4.0", "mit"]
    assert front["size_categories"] == ["n<1K"]
    assert front["configs"][0]["data_files"] == [
        {"split": "train", "path": "shards/train-*.tar"},
        {"split": "val", "path": "shards/val-*.tar"},
    ]
    counts = {one["name"]: one["num_examples"] for one in front["dataset_info"]["splits"]}
    assert counts == {"train": 54, "val": 6} and sum(counts.values()) == len(dataset)
    assert "object-detection" in front["task_categories"]


def test_the_body_tells_what_is_in_it_what_is_not_and_how_it_was_made(made):
    _, files = made
    _, body = split(files["README.md"])
    assert "| svg | 15 |" in body and "| MIT | programs:svg |" in body
    assert (
        "| vision.quality | nearly_blank | 2 |" in body
        and "63 items of job render: 60 published, 2 filtered, 1 error." in body
    )
    assert "| render | vision.render | 63 | 60 | 2 | 1 | 0 |" in body and "| chromium | 150.0 |" in body
    assert "````yaml\nname: demo  # ``` not the end" in body


def test_every_picture_shown_is_there_and_every_picture_there_is_shown(made):
    _, files = made
    _, body = split(files["README.md"])
    pictures = [path for path in files if path.startswith("samples/")]
    assert {path.split("/")[1].split("-")[0] for path in pictures} == {"svg", "web", "cad"}
    assert sorted(pictures) == sorted(part.split('"')[0] for part in body.split('src="')[1:])
    for path in pictures:
        assert Image.open(io.BytesIO(files[path])).format == "PNG"


def test_every_credit_is_in_the_attribution_file(made):
    _, files = made
    text = files["ATTRIBUTION"].decode()
    assert "CC-BY-4.0: " in text and "    A. Author\n" in text and "no credit asked for" in text


def test_the_same_data_set_gives_the_same_card(tmp_path, made):
    _, files = make(tmp_path, mixed(60))
    assert files == made[1]


def test_text_from_the_data_stays_text(tmp_path):
    hostile = record(40, "svg", text="````\n</details><script>alert(1)</script>\n````")
    hostile.metadata["licence"]["attribution"] = "<img src=x onerror=alert(1)> | [a](javascript:alert(1))\nB"
    _, files = make(tmp_path, [hostile])
    _, body = split(files["README.md"])
    assert "`````\n````\n</details><script>" in body  # inside a longer fence, where nothing is markup
    assert "<img src=x" not in body and "&lt;img src=x onerror=alert(1)&gt; \\| \\[a\\](javascript" in body


def test_an_empty_data_set_has_a_card_too(tmp_path):
    _, files = make(tmp_path, [])
    front, body = split(files["README.md"])
    assert front["dataset_info"]["splits"] == [] and "0 samples of 0 kinds" in body


def test_pieces_of_markdown():
    assert table(["a", "b"], [["x|y", 1234]]) == "| a | b |\n| --- | ---: |\n| x\\|y | 1,234 |"
    assert fence("a `` b") == "```\na `` b\n```"
    assert inline("a\n <b> *c*") == "a &lt;b&gt; \\*c\\*"
    assert [size(one) for one in (12, 1500, 2_000_000)] == ["12 B", "1.5 kB", "2.0 MB"]
