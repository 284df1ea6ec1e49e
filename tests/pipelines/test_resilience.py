"""Killed anywhere, the run finishes; and an engine that leaves out any one durable step is found out."""

from __future__ import annotations

import pytest
from k3data.pipelines.bench.faults import LOCAL_STEPS, OBJECT_STEPS
from k3data.pipelines.bench.resilience import Storm

slow = pytest.mark.slow
_ALWAYS = {("rename", True), ("ledger", False), ("fsync_folder", False)}


@pytest.fixture(scope="module")
def storm(tmp_path_factory) -> Storm:
    return Storm(tmp_path_factory.mktemp("storm"), items=24)


@pytest.fixture(scope="module")
def slow_storm(tmp_path_factory) -> Storm:
    return Storm(tmp_path_factory.mktemp("slow-storm"), items=48, delay_s=0.05)


@pytest.fixture(scope="module")
def steps(storm) -> list[tuple[int, str]]:
    """(number, name) of every durable step of a run."""
    return [(number, step["step"]) for number, step in enumerate(storm.steps()) if not step["done"]]


def one_of_each(steps: list[tuple[int, str]]) -> dict[str, int]:
    """A step of every kind, each from another part of the run."""
    found = {}
    for place, name in enumerate(LOCAL_STEPS, start=1):
        of_kind = [number for number, step in steps if step == name]
        found[name] = of_kind[len(of_kind) * place // (len(LOCAL_STEPS) + 1)]
    return found


def test_every_kind_of_step_takes_place(steps):
    assert {name for _, name in steps} == set(LOCAL_STEPS)


@pytest.mark.parametrize(
    ("step", "after"),
    [
        pytest.param(step, after, marks=() if (step, after) in _ALWAYS else slow)
        for step in LOCAL_STEPS
        for after in (False, True)
    ],
)
def test_a_kill_before_and_after_a_durable_step_loses_nothing(storm, steps, step, after):
    tally = storm.kill_at_step(one_of_each(steps)[step], after)
    assert tally.kills == 1
    assert not tally.found, tally.details


def test_a_kill_between_the_first_two_files_leaves_the_place_ours(storm):
    begun = [(number, step) for number, step in enumerate(storm.steps()) if not step["done"]]
    first = next(number for number, step in begun if any("recipe.yaml" in path for path in step["paths"]))
    tally = storm.kill_at_step(first, after=False)
    assert tally.kills == 1
    assert not tally.found, tally.details


@pytest.mark.parametrize("whom", [pytest.param("worker", marks=slow), pytest.param("main", marks=slow), "everything"])
def test_a_kill_at_any_moment_loses_nothing(slow_storm, whom):
    tally = slow_storm.kill_at_random(whom, 0.6, hash(whom) % 1000)
    assert not tally.found, tally.details


@pytest.mark.parametrize(
    ("step", "of"),
    [
        ("fsync_file", ".tar"),
        pytest.param("fsync_file", "recipe.yaml", marks=slow),
        ("fsync_folder", "/shards"),
        ("rename", ".tar"),
        pytest.param("rename", "rejects", marks=slow),
        ("link", ""),
        ("ledger", ""),
    ],
)
def test_an_engine_without_one_of_the_steps_is_found_out(storm, step, of):
    assert storm.omit_step(step, of).found, f"nobody noticed that {step} of {of or 'anything'} is left out"


@pytest.fixture(scope="module")
def bucket_storm(tmp_path_factory, s3_endpoint) -> Storm:
    from k3data.pipelines.bench.s3 import new_bucket

    bucket = new_bucket(s3_endpoint, "storm-of-tests")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in bucket.environment.items():
            patch.setenv(name, value)
        yield Storm(tmp_path_factory.mktemp("bucket-storm"), f"{bucket.url}/x", items=24)


@pytest.mark.parametrize("share", [pytest.param(0.3, marks=slow), pytest.param(0.6, marks=slow), 0.8])
def test_a_kill_at_an_upload_loses_nothing(bucket_storm, share):
    steps = [(number, step["step"]) for number, step in enumerate(bucket_storm.steps()) if not step["done"]]
    assert {name for _, name in steps} == set(OBJECT_STEPS)
    tally = bucket_storm.kill_at_step(steps[int(len(steps) * share)][0], after=share < 0.5)
    assert tally.kills == 1
    assert not tally.found, tally.details


@pytest.mark.parametrize(
    ("step", "of"),
    [("put_object", ".tar"), pytest.param("create_object", "", marks=slow), pytest.param("ledger", "", marks=slow)],
)
def test_an_engine_without_one_of_the_uploads_is_found_out(bucket_storm, step, of):
    assert bucket_storm.omit_step(step, of).found
