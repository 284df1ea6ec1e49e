"""Workers die in every way, and the run goes on."""

from __future__ import annotations

import psutil
import pytest
from k3data.pipelines.errors import K3DataError
from k3data.pipelines.look import rejects_relation
from k3data.pipelines.verify import verify
from k3data.tests.pipelines.toy import run, stage, toy_recipe, write_lines

BUDGET = "errors: {budget: 0.5}"


def the_reject(out):
    (row,) = rejects_relation(str(out), None, None).select("item, stage, code, detail").fetchall()
    return row


@pytest.mark.parametrize(("code", "cause"), [(None, "killed by SIGKILL"), (0, "exited with code 0")])
def test_an_item_that_always_kills_its_worker_is_rejected_alone(tmp_path, code, cause):
    write_lines(tmp_path, 30)
    recipe, out = toy_recipe(tmp_path, stage("Die", at=14, code=code), more=BUDGET), tmp_path / "out"
    (dataset,) = run(recipe, out)
    assert (dataset.samples, dataset.outcomes["error"]) == (29, 1)
    item, where, code_, detail = the_reject(out)
    assert (where, code_, detail) == ("source", "worker_died", cause)
    assert item.startswith(f"{tmp_path.name}/items.jsonl@")
    assert verify(str(out)).problems == []


@pytest.mark.parametrize("times", [1, 2])
def test_an_accident_costs_nothing(tmp_path, times):
    write_lines(tmp_path, 30)
    stages = stage("DieOnce", at=14, marks=str(tmp_path / "marks"), times=times)
    (dataset,) = run(toy_recipe(tmp_path, stages), tmp_path / "out")
    assert dataset.samples == 30
    assert (tmp_path / "marks").read_text() == "x" * times


def test_a_worker_over_its_memory_is_killed_and_the_item_named(tmp_path):
    write_lines(tmp_path, 20)
    more = BUDGET + "\nexecutor: {memory: 500MB}"
    (dataset,) = run(toy_recipe(tmp_path, stage("Hog", at=4, megabytes=700), more=more), tmp_path / "out")
    assert dataset.samples == 19
    assert "executor.memory allows 500 MB" in the_reject(tmp_path / "out")[3]


def test_an_item_without_end_is_ended(tmp_path):
    write_lines(tmp_path, 10)
    more = BUDGET + "\nexecutor: {item_timeout_s: 1}"
    (dataset,) = run(toy_recipe(tmp_path, stage("Hog", at=4, megabytes=1), more=more), tmp_path / "out")
    assert dataset.samples == 9
    assert "over 1 s (executor.item_timeout_s)" in the_reject(tmp_path / "out")[3]


def test_a_stage_that_cannot_open_ends_the_run_with_its_own_words(tmp_path):
    write_lines(tmp_path, 10)
    with pytest.raises(K3DataError, match=r"ended its worker 3 times outside any item .*RuntimeError: cannot open"):
        run(toy_recipe(tmp_path, stage("Stuck")), tmp_path / "out")


def test_no_worker_outlives_a_run(tmp_path):
    write_lines(tmp_path, 10)
    run(toy_recipe(tmp_path), tmp_path / "out", workers=3)
    assert not [child for child in psutil.Process().children(recursive=True) if "worker" in " ".join(child.cmdline())]
