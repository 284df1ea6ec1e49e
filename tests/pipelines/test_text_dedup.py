"""Each content once: duplicates are found across jobs, end as merged, and never straddle splits."""

from __future__ import annotations

import json
import random
from collections import Counter

import k3data
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.pipelines import recipe as recipes
from k3data.pipelines.dedup.cluster import clusters
from k3data.pipelines.dedup.minhash import MinHash
from k3data.pipelines.dedup.shingles import _CHUNK, ngram_hashes, word_hashes
from k3data.pipelines.errors import UserError
from k3data.pipelines.look import rejects_relation
from k3data.pipelines.verify import verify
from k3data.tests.pipelines.toy import run, tar_bytes

RECIPE = """
name: twice
seed: 3
jobs:
  - name: one
    source: [{{jsonl: {{glob: one.jsonl, licence: MIT}}}}]
    units: {{items: 40}}
  - name: two
    source: [{{jsonl: {{glob: two.jsonl, licence: MIT}}}}]
  - name: unique
    source: [{{dedup: {{job: [one, two]{more}}}}}]
    units: {{items: 50}}
splits: {{val: 0.3, test: 0.3}}
"""


def sentence(rng: random.Random, words: int = 120) -> list[str]:
    return [f"word{rng.randrange(5000)}" for _ in range(words)]


def planted(folder):
    """200 different texts in two files, 20 exact copies, 20 near copies; returns the pairs (original, copy)."""
    rng = random.Random(5)
    texts = [sentence(rng) for _ in range(200)]
    exact = [" ".join(texts[at]) for at in range(20)]
    near = []
    for at in range(20, 40):
        edited = list(texts[at])
        edited[50] = "changed"
        near.append(" ".join([*edited, "and", "longer"]))
    plain = [" ".join(words) for words in texts]
    for name, rows in (("one", plain[:150]), ("two", plain[150:] + exact + near)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    return list(zip(plain[:20], exact, strict=True)), list(zip(plain[20:40], near, strict=True))


def test_planted_duplicates_are_merged_and_nothing_else(tmp_path):
    exact, near = planted(tmp_path)
    run(recipes.parse(RECIPE.format(more=""), "r.yaml", tmp_path), tmp_path / "out", workers=2)
    texts = Counter(record.text for record in k3data.open(tmp_path / "out"))
    assert len(texts) == sum(texts.values()) == 200
    assert all(texts[original] for original, _ in exact)
    assert all(texts[copy] and not texts[original] for original, copy in near)  # the longer one is kept
    rows = rejects_relation(str(tmp_path / "out"), "unique", None).select("outcome, code, detail, item").fetchall()
    assert Counter(row[:2] for row in rows) == {("merged", "exact"): 20, ("merged", "near"): 20}
    kept = {record.metadata["lineage"]["item"] for record in k3data.open(tmp_path / "out")}
    assert all(detail.split()[1].rstrip(",") in kept and item not in kept for _, _, detail, item in rows)
    report = verify(str(tmp_path / "out"))
    assert report.problems == []
    assert report.jobs[-1].outcomes == {"published": 200, "merged": 40}
    told = pq.read_table(tmp_path / "out/unique/clusters.parquet").to_pylist()
    assert Counter(row["how"] for row in told) == {"kept": 40, "exact": 20, "near": 20}


def test_duplicates_that_are_all_kept_are_in_one_split(tmp_path):
    planted(tmp_path)
    run(recipes.parse(RECIPE.format(more=", keep: all"), "r.yaml", tmp_path), tmp_path / "out")
    splits: dict[str, set[str]] = {}
    by_item = {record.metadata["lineage"]["item"]: record for record in k3data.open(tmp_path / "out")}
    for row in pq.read_table(tmp_path / "out/unique/clusters.parquet").to_pylist():
        splits.setdefault(row["kept"], set()).add(by_item[row["id"]].metadata["split"])
    assert len(by_item) == 240
    assert len(splits) == 40
    assert all(len(found) == 1 for found in splits.values())
    assert set.union(*splits.values()) == {"train", "val", "test"}


def test_going_on_with_a_run_does_not_search_again(tmp_path, monkeypatch):
    planted(tmp_path)
    recipe = recipes.parse(RECIPE.format(more=""), "r.yaml", tmp_path)
    run(recipe, tmp_path / "out")
    before = tar_bytes(tmp_path / "out")
    monkeypatch.setattr("k3data.pipelines.dedup.source.clusters", lambda *_: pytest.fail("searched again"))
    run(recipe, tmp_path / "out")
    assert tar_bytes(tmp_path / "out") == before


def test_the_clusters_are_the_same_whatever_the_processes(tmp_path, monkeypatch):
    planted(tmp_path)
    run(recipes.parse(RECIPE.format(more=""), "r.yaml", tmp_path), tmp_path / "out")
    datasets = [k3data.open(tmp_path / "out", job=name) for name in ("one", "two")]
    alone = clusters(datasets, MinHash(), True, tmp_path, processes=1)
    monkeypatch.setattr("k3data.pipelines.dedup.cluster._RANGE", 25)
    assert clusters(datasets, MinHash(), True, tmp_path, processes=2) == alone
    assert len(alone) == 80


def test_an_empty_data_set_is_told(tmp_path):
    (tmp_path / "one.jsonl").write_text("{}\n")
    (tmp_path / "two.jsonl").write_text("{}\n")
    with pytest.raises(UserError, match="job 'unique': its source holds no items"):
        run(recipes.parse(RECIPE.format(more=""), "r.yaml", tmp_path), tmp_path / "out")


@pytest.mark.parametrize(("more", "said"), [(", exact: false, minhash: null", "nothing is sought"),
                                            (", minhash: {bnads: 3}", "bnads"), (", keep: two", "keep")])  # fmt: skip
def test_wrong_parameters_are_one_line(tmp_path, more, said):
    with pytest.raises(UserError, match=rf"^r.yaml:\d+: .*{said}"):
        recipes.parse(RECIPE.format(more=more), "r.yaml", tmp_path)


def test_signatures_estimate_jaccard_similarity():
    """The estimate is unbiased and its error is that of 112 draws, over texts from 0 to 100 % alike."""
    rng, errors, search = random.Random(1), [], MinHash()
    for changed in (0, 1, 2, 5, 10, 20, 40):
        for _ in range(12):
            one = sentence(rng, 400)
            other = list(one)
            for at in rng.sample(range(400), changed):
                other[at] = f"other{at}"
            grams = [{tuple(words[at : at + 5]) for at in range(396)} for words in (one, other)]
            true = len(grams[0] & grams[1]) / len(grams[0] | grams[1])
            signatures = [search.signature(" ".join(words)) for words in (one, other)]
            errors.append((signatures[0] == signatures[1]).mean() - true)
    assert abs(np.mean(errors)) < 0.015
    assert np.std(errors) < 0.5 / 112**0.5


words = st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=8), max_size=30)


@settings(max_examples=150, deadline=None)
@given(words, st.sampled_from([" ", "\n", ", ", " — ", "\u3000", "! "]))
def test_words_are_the_same_however_they_are_set(found, between):
    text = between.join(found)
    hashes = word_hashes(text)
    assert hashes.tolist() == word_hashes(f"“{text.lower()}”").tolist()
    alone = [word_hashes(word) for word in found]
    assert hashes.tolist() == [one for part in alone for one in part.tolist()]


def test_long_texts_are_hashed_in_pieces_that_cut_no_word():
    text = "x" * (_CHUNK - 5) + " " + "y" * 20 + " zz"
    assert word_hashes(text).tolist() == [*word_hashes("x" * (_CHUNK - 5)), *word_hashes("y" * 20), *word_hashes("zz")]
    assert len(set(ngram_hashes(word_hashes("a b a b a b"), 2).tolist())) == 2
    assert MinHash().signature(" ... ") is None
    assert (MinHash().signature("short text") == MinHash().signature("Short, text!")).all()
