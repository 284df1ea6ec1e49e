"""The mixture and the measures: shares that are kept, openings that are not let through, counts that are right."""

from __future__ import annotations

import json

import k3data
import orjson
import pytest
from k3data.pipelines import recipe as recipes
from k3data.pipelines.errors import UserError
from k3data.synth.rephrase.measures import copied, differences, edit_distance, opening
from k3data.tests.pipelines.toy import run

RECIPE = """
name: mixing
seed: 3
jobs:
  - name: own
    source: [{{jsonl: {{glob: own.jsonl, licence: MIT}}}}]
  - name: written
    source: [{{jsonl: {{glob: written.jsonl, licence: MIT}}}}]
  - name: mixed
    source: [{{synth.mix: {mix}}}]
    units: {{items: 50}}
"""


def mixed(folder, **parameters):
    mix = json.dumps({"originals": "own", "rewrites": "written", **parameters})
    run(recipes.parse(RECIPE.format(mix=mix), "r.yaml", folder), folder / "out")
    facts = orjson.loads((folder / "out/mixed/mix.json").read_bytes())
    return [one.text for one in k3data.open(folder / "out", job="mixed")], facts


def lines(path, texts):
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def written(number: int) -> str:
    return f"Text {number} of {number * 7} says in its own words and order what {number} says, and no more. " * 2


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
def test_the_originals_stay_and_the_rewrites_keep_their_share(tmp_path, share):
    own = [f"Original {number}. " * 12 for number in range(60)]
    lines(tmp_path / "own.jsonl", own)
    lines(tmp_path / "written.jsonl", map(written, range(120)))
    texts, facts = mixed(tmp_path, share=share)
    assert set(own) <= set(texts)
    got = sum(len(text) for text in texts if text.startswith("Text")) / sum(map(len, texts))
    assert facts["share_got"] == pytest.approx(got, abs=1e-4)
    assert f"Rewrites make up {got:.1%} of the characters" in (tmp_path / "out/mixed/README.md").read_text()
    assert got <= share
    most = sum(len(written(number)) for number in range(120))
    there = most / (most + sum(map(len, own)))
    assert got == pytest.approx(min(share, there), abs=0.02)


def test_texts_that_begin_alike_are_a_small_share(tmp_path):
    lines(tmp_path / "own.jsonl", [f"Original {number}. " * 100 for number in range(60)])
    alike = [f"In the following we will see what is {number} meant, in short: {number}." for number in range(40)]
    lines(tmp_path / "written.jsonl", [*map(written, range(100)), *alike])
    texts, facts = mixed(tmp_path, openings=0.05)
    assert sum(text.startswith("In the following") for text in texts) == 7
    assert sum(text.startswith("Text") for text in texts) == 100
    assert facts["jobs"]["written"]["left_out_alike"] == 33
    texts, facts = mixed(tmp_path, openings=None)
    assert sum(text.startswith("In the following") for text in texts) == 40
    assert facts["jobs"]["written"]["left_out_alike"] == 0


def test_a_job_cannot_be_mixed_with_itself(tmp_path):
    lines(tmp_path / "own.jsonl", ["x"])
    lines(tmp_path / "written.jsonl", ["y"])
    with pytest.raises(UserError, match="originals and rewrites are both 'own'"):
        mixed(tmp_path, rewrites="own")


def test_measures_of_texts():
    source = "One two three four five six seven eight nine ten."
    assert copied(source, source) == 1
    assert copied(source, "one two three four five six seven EIGHT and more") == pytest.approx(1 / 3)
    assert copied(source, "short") == 0
    assert edit_distance(source, source) == 0
    assert edit_distance("a b c d", "a x c d") == 0.25
    gone, new = differences("The old cat sat.", "The cat sat down.")
    assert (gone, new) == ([(4, 7)], [(12, 16)])
    told = " ".join(opening("It's one, two — three four five six seven eight nine"))
    assert told == "it's one two three four five six seven"
    assert opening("| term | fact |\n|---|---|\n| cat | sat |\n| dog | ran |") == ("cat", "sat", "dog", "ran")
