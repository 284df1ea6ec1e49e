"""What is asked of windows of scattered facts, whose every token has a weight: each item, as its proof says."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from k3data.curriculum.reader import PackedReader
from k3data.pipelines import recipe as recipes
from k3data.pipelines.run import Options
from k3data.pipelines.run import run as run_recipe
from k3data.pipelines.screen import Quiet
from k3data.tokenizer.bpe import Tokenizer
from k3data.tokenizer.train import train
from k3data.train.questions import questions

_RECIPE = """
name: packed
seed: 3
jobs:
  - name: documents
    source:
      - jsonl: {glob: "texts.jsonl", licence: PSF-2.0, domain: code}
    stages:
      - curriculum.tokenise: {tokenizer: tokenizer}
  - name: windows
    source:
      - synth.scatter:
          {documents: [{job: documents}], tokenizer: tokenizer, window: 1024, windows: 6, items: [1, 2],
           clues: [2, 3], families: {needles: 1, ledger: 1}, picture_share: 0, reuse: true}
  - name: two
    source:
      - curriculum.pack:
          {documents: [{job: windows}], tokenizer: tokenizer, stage: {preset: 1k, name: two, window: 2048}}
splits: {val: 0.0, test: 0.0}
"""


@pytest.fixture(scope="module")
def windows(tmp_path_factory) -> tuple[PackedReader, Tokenizer]:
    """Sequences of two windows each."""
    folder: Path = tmp_path_factory.mktemp("windows")
    texts = [path.read_text("utf-8") for path in sorted(Path(sysconfig.get_path("stdlib")).glob("[a-c]*.py"))[:20]]
    (folder / "texts.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts) + "\n")
    (folder / "tokenizer").mkdir()
    (folder / "tokenizer" / "tokenizer.json").write_bytes(train(texts, 700))
    (folder / "packed.yaml").write_text(_RECIPE)
    made = recipes.load(folder / "packed.yaml")
    run_recipe(made, str(folder / "packed"), Options(file="packed.yaml", workers=1), Quiet())
    return PackedReader.open(str(folder / "packed"), "two"), Tokenizer.load(folder / "tokenizer")


def test_every_item_is_asked_with_its_window_before_it(windows):
    reader, tokenizer = windows
    asked, places = [], set()
    for sequence in (next(reader.read(iter([place]))) for place in reader.places(reader.start())):
        if sequence.place.epoch:
            break
        proofs = [json.loads(one) for one in sequence.spans["proofs"]]
        found = list(questions(sequence, tokenizer, 4096))
        assert len(found) == len(proofs) > 0
        for one, proof in zip(found, proofs, strict=True):
            text = tokenizer.decode(one.prompt)
            assert one.task == "scatter" and one.kind == "scatter"
            assert tokenizer.decode(one.answer).strip() == proof["answer"]["text"]
            assert one.prompt == sequence.tokens[proof["start"] :][: len(one.prompt)].tolist()
            assert all(clue["end"] <= len(one.prompt) for clue in proof["clues"])
            assert text.rstrip().endswith("Answer:") or proof["answer"]["text"] not in text[-80:]
            assert one.extra["family"] == proof["family"] and one.extra["length"] == proof["length"] <= 1024
            assert 0 < one.extra["distance"] <= len(one.prompt)
            # What ends the answer is what stands behind it.
            assert one.end == sequence.tokens[proof["start"] + len(one.prompt) + len(one.answer)]
            places.add(proof["start"] > 0)
        asked += found
    assert places == {False, True}  # windows at the beginning and behind another
    assert len({one.id for one in asked}) == len(asked) >= 6
    assert {one.extra["family"] for one in asked} == {"needles", "ledger"}


def test_a_window_that_is_too_long_is_not_asked(windows):
    reader, tokenizer = windows
    sequence = next(reader.iter())
    assert np.all(sequence.weights[:100] > 0)
    assert not list(questions(sequence, tokenizer, 100))
