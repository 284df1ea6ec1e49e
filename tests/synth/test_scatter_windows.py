"""Scattered windows through the engine, and the second program that re-derives their proofs."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from k3data.pipelines.errors import UserError
from k3data.pipelines.proofs import ProofChecker, verify_proofs
from k3data.pipelines.reader import Dataset
from k3data.pipelines.tokens import TokenSample, check, read_token_sample, spread
from k3data.synth.bench.corrupt import KINDS, corrupt_and_check
from k3data.synth.scatter.families import FAMILIES
from k3data.tokenizer.train import train

from .conftest import World, run

_RECIPE = """
name: scattered
seed: 5
jobs:
  - name: windows
    source:
      - synth.scatter:
          documents: [{out: world, job: documents}]
          pictures: [{out: world, job: pictures}]
          tokenizer: tokenizer
          window: WINDOW
          windows: COUNT
          items: [2, 4]
          clues: [4, 9]
          picture_share: 0.4
          reuse: true
    units: {items: 3}
"""


def recipe(window: int = 16384, count: int = 12) -> str:
    return _RECIPE.replace("WINDOW", str(window)).replace("COUNT", str(count))


@pytest.fixture(scope="module")
def windows(world: World) -> Path:
    return run(recipe(), world.folder, "scattered")


@pytest.fixture(scope="module")
def samples(windows: Path) -> list[TokenSample]:
    return [read_token_sample(members) for members in Dataset.open(str(windows)).iter_raw()]


def test_every_window_is_whole_and_every_item_carries_a_proof(samples: list[TokenSample]) -> None:
    assert len(samples) == 12
    for sample in samples:
        check(sample)
        assert 0.97 * 16384 <= len(sample.tokens) <= 16384
        assert len(sample.groups) == 1
        assert sample.proofs and all(proof["span"] >= 0.75 for proof in sample.proofs)
        assert sum(one["end"] - one["start"] for one in sample.docs) == len(sample.tokens)


def test_clues_lie_in_every_tenth_of_the_windows(samples: list[TokenSample]) -> None:
    tenths: Counter[int] = Counter()
    for sample in samples:
        for proof in sample.proofs:
            tenths.update(int(10 * clue["start"] / len(sample.tokens)) for clue in proof["clues"])
    assert set(tenths) == set(range(10))


def test_all_proofs_hold_when_pictures_are_rendered_again(windows: Path, world: World) -> None:
    report = verify_proofs(str(windows), tokenizer=str(world.folder / "tokenizer"))
    assert report.problems == []
    assert report.found.checked == report.found.items > 24
    assert report.found.pictured >= 0.2 * report.found.items


def test_any_number_of_workers_makes_the_same_bytes(world: World, windows: Path) -> None:
    again = run(recipe(), world.folder, "scattered-two", workers=2)
    names = [sorted(path.name for path in (out / "windows" / "shards").iterdir()) for out in (windows, again)]
    assert names[0] == names[1]


def test_more_windows_leave_the_first_as_they_are(world: World, samples: list[TokenSample]) -> None:
    more = run(recipe(count=15), world.folder, "scattered-more")
    dataset = Dataset.open(str(more))
    first = {sample.tokens.tobytes() for sample in samples}
    found = {read_token_sample(members).tokens.tobytes() for members in dataset.iter_raw()}
    assert len(found) == 15 and first <= found


def test_answers_weigh_what_is_asked_and_nothing_else_changes(world: World, samples: list[TokenSample]) -> None:
    weighed = recipe(count=3).replace("reuse: true", "reuse: true\n          answer_weight: 8")
    heavy = run(weighed, world.folder, "heavy")
    gap = len(world.tokenizer.encode("\n\n"))
    plain = {sample.tokens.tobytes(): sample for sample in samples}
    for members in Dataset.open(str(heavy)).iter_raw():
        sample = read_token_sample(members)
        before, after = (spread(one.weights) for one in (plain[sample.tokens.tobytes()], sample))
        answers = np.zeros(len(sample.tokens), bool)
        for proof in sample.proofs:  # weights belong to the position before the token, the gap is weighed as well
            answers[proof["answer"]["start"] - 1 : proof["answer"]["end"] - 1 + gap] = True
        assert answers.sum() and (after[answers] == 8).all() and (before[answers] == 1).all()
        assert (after[~answers] == before[~answers]).all()


def test_the_second_program_imports_nothing_of_the_first(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "import k3data.curriculum.proofs, k3data.pipelines.proofs, k3data.vision.facts\n"
        "assert not [name for name in sys.modules if name.startswith('k3data.synth')], 'imports synth'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_a_window_smaller_than_an_item_is_refused(world: World) -> None:
    with pytest.raises(UserError, match=r"a window of 1,024 tokens is too small for an item of family '\w+'"):
        run(recipe(window=1024), world.folder, "scattered-small")


def test_too_few_documents_are_refused_unless_they_may_be_used_again(world: World) -> None:
    with pytest.raises(UserError, match=r"the documents hold [\d,]+ tokens, 400 windows of 16,384 need"):
        run(recipe(count=400).replace("reuse: true", "reuse: false"), world.folder, "scattered-many")


def test_documents_of_another_tokenizer_are_refused(world: World) -> None:
    (world.folder / "other").mkdir()
    (world.folder / "other" / "tokenizer.json").write_bytes(train(["one two three " * 50], 520))
    with pytest.raises(UserError, match=r"world/documents was made with another tokenizer \(\w+\) than other"):
        run(recipe().replace("tokenizer: tokenizer", "tokenizer: other"), world.folder, "scattered-other")


def test_an_unknown_family_is_named_with_the_nearest_known_one(world: World) -> None:
    text = recipe().replace("picture_share: 0.4", "families: {ledgers: 1}")
    with pytest.raises(UserError, match="unknown family 'ledgers' \\(did you mean 'ledger'\\?\\)"):
        run(text, world.folder, "scattered-unknown")


def test_corrupted_proofs_are_caught(samples: list[TokenSample], world: World) -> None:
    """At least 100 corruptions of fourteen kinds: each must be found in the item that was corrupted."""
    with ProofChecker() as checker:
        tried, missed = corrupt_and_check(
            samples, world.tokenizer, lambda one: checker.problems(one, world.tokenizer), 140
        )
    assert not missed, missed
    assert sum(tried.values()) >= 100 and len(tried) == len(KINDS) == 14


def test_all_families_appear_when_asked_for(world: World) -> None:
    names = ", ".join(f"{name}: 1" for name in FAMILIES)
    text = recipe(window=32768, count=14).replace("picture_share: 0.4", f"families: {{{names}}}")
    dataset = Dataset.open(str(run(text, world.folder, "scattered-all")))
    found = Counter(proof["family"] for members in dataset.iter_raw() for proof in read_token_sample(members).proofs)
    assert len(found) >= 12, found
