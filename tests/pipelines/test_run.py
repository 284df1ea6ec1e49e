"""Runs: every item's fate is known, the same bytes come out every time, and whatever is changed is told."""

from __future__ import annotations

import signal
import time
from collections import Counter
from pathlib import Path

import k3data
import orjson
import pytest
from k3data.pipelines import query
from k3data.pipelines.errors import K3DataError, UserError
from k3data.pipelines.ledger import Ledger
from k3data.pipelines.look import preview_results, rejects_relation, status_facts
from k3data.pipelines.plan import Plan
from k3data.pipelines.run import Options
from k3data.pipelines.run import run as run_recipe
from k3data.pipelines.screen import Quiet
from k3data.pipelines.store import open_store
from k3data.pipelines.verify import verify
from k3data.tests.pipelines.toy import HERE, command, recipe_text, run, stage, tar_bytes, toy_recipe, write_lines

BUDGET = "errors: {budget: 0.5}"


def fates(out: Path) -> dict[str, tuple[str, str, str]]:
    """Item number → (outcome, stage, code) of what was not published."""
    rows = rejects_relation(str(out), None, None).select("item, outcome, stage, code").fetchall()
    return {item: rest for item, *rest in rows}


def test_every_item_ends_published_or_rejected_with_its_reason(tmp_path):
    write_lines(tmp_path, 30)
    stages = stage("Sieve", filtered=[3, 13], invalid=[4], raised=[5])
    (dataset,) = run(toy_recipe(tmp_path, stages, more=BUDGET), tmp_path / "out")
    assert dataset.outcomes == {"published": 26, "filtered": 2, "invalid_input": 1, "error": 1, "merged": 0}
    rows = rejects_relation(str(tmp_path / "out"), None, None).select("outcome, code, detail").fetchall()
    assert sorted(rows) == [
        ("error", "exception", "ValueError: cannot do 5"),
        ("filtered", "chosen", "number 13"),
        ("filtered", "chosen", "number 3"),
        ("invalid_input", "refused", "number 4"),
    ]
    texts = {record.text for record in k3data.open(tmp_path / "out")}
    assert texts == {f"item {at}" for at in range(30)} - {"item 3", "item 13", "item 4", "item 5"}
    logs = list((tmp_path / "out/work/logs").iterdir())
    assert len(logs) == 1
    assert "ValueError: cannot do 5" in logs[0].read_text()
    assert verify(str(tmp_path / "out")).problems == []


def test_any_number_of_workers_gives_the_same_bytes(tmp_path):
    write_lines(tmp_path, 60)
    more = BUDGET + "\n" + "splits: {val: 0.2, test: 0.2}"
    recipe = toy_recipe(tmp_path, stage("Sieve", filtered=[3], raised=[50]), more=more)
    run(recipe, tmp_path / "one", workers=1)
    run(recipe, tmp_path / "four", workers=4)
    one = tar_bytes(tmp_path / "one")
    assert one == tar_bytes(tmp_path / "four")
    assert {path.split("/")[-1].split("-")[0] for path in one} == {"train", "val", "test"}


def test_records_that_wait_at_once_give_the_same_bytes_and_fates_sooner(tmp_path):
    write_lines(tmp_path, 40)
    told = {"filtered": [3], "raised": [5], "timed_out": [7]}
    seconds = []
    for at_once in (1, 10):
        recipe = toy_recipe(tmp_path, stage("Wait", at_once=at_once, **told), more=BUDGET)
        started = time.monotonic()
        run(recipe, tmp_path / f"out{at_once}", workers=1)
        seconds.append(time.monotonic() - started)
    assert fates(tmp_path / "out1") == fates(tmp_path / "out10")
    assert len(fates(tmp_path / "out1")) == 3
    one, ten = ([record.text for record in k3data.open(tmp_path / f"out{at_once}")] for at_once in (1, 10))
    assert one == ten
    assert seconds[0] - seconds[1] > 2.0  # of the 4.4 s that forty waits take one after another


def test_a_stage_tells_of_itself_on_the_live_line(tmp_path):
    write_lines(tmp_path, 4)
    shown: list[dict[str, str]] = []

    class Heard(Quiet):
        def show(self, progress):
            shown.append(progress.notes)

    run_recipe(toy_recipe(tmp_path, stage("Wait", at_once=2)), str(tmp_path / "out"), Options("recipe.yaml"), Heard())
    assert shown[-1] == {f"{HERE}:Wait": "2 at once in work"}


def test_one_reject_shifts_no_other_shard(tmp_path):
    write_lines(tmp_path, 40)
    run(toy_recipe(tmp_path), tmp_path / "all")
    run(toy_recipe(tmp_path, stage("Sieve")), tmp_path / "none")
    run(toy_recipe(tmp_path, stage("Sieve", filtered=[3])), tmp_path / "some")
    sizes = [Counter(len(data) for data in tar_bytes(tmp_path / name).values()) for name in ("none", "some")]
    assert len(tar_bytes(tmp_path / "none")) == len(tar_bytes(tmp_path / "some"))
    assert sum((sizes[0] - sizes[1]).values()) == 1


def test_a_second_run_does_nothing_and_a_changed_recipe_keeps_what_is_the_same(tmp_path):
    write_lines(tmp_path, 40)
    text = recipe_text(source="jsonl: {glob: '*.jsonl', licence: MIT}")
    (tmp_path / "recipe.yaml").write_text(text)
    out = tmp_path / "out"

    def said(*more: str) -> str:
        process = command("run", "recipe.yaml", "--out", str(out), "--json", *more, cwd=tmp_path)
        told, log = process.communicate()
        assert process.returncode == 0, log
        assert orjson.loads(told)["jobs"][0]["complete"]
        return log

    said()
    before = tar_bytes(out)
    assert "complete, 40 samples" in said()
    assert tar_bytes(out) == before
    assert "4 units kept, 0 new" not in said("--set", "shards.max_bytes=1MB")  # it cannot change any unit

    log = said("--set", "seed=6")
    assert "0 units kept, 4 new, 4 dropped, because seed: 5 → 6" in log
    log = said()
    assert "4 new, 4 dropped, because seed: 6 → 5" in log
    assert len(k3data.open(out)) == 40
    assert verify(str(out)).problems == []


def test_inputs_that_changed_are_named_and_nothing_is_lost(tmp_path):
    write_lines(tmp_path, 40)
    recipe, out = toy_recipe(tmp_path), tmp_path / "out"
    run(recipe, out)
    lines = (tmp_path / "items.jsonl").read_text()
    (tmp_path / "items.jsonl").write_text(lines + '{"text": "item 40", "number": 40}\n')
    with pytest.raises(UserError, match=r"inputs of job 'work' changed .*items\.jsonl has changed; give --replan"):
        run(recipe, out)
    assert len(k3data.open(out)) == 40
    kept = set(tar_bytes(out))
    run(recipe, out, replan=True)
    assert len(k3data.open(out)) == 41
    assert kept <= set(tar_bytes(out))  # appended lines leave the units before them as they are
    assert Plan.load(open_store(out / "work")).revision == 2


def test_an_input_that_changes_while_we_run_stops_the_run(tmp_path):
    write_lines(tmp_path, 20)
    recipe, out = toy_recipe(tmp_path), tmp_path / "out"
    (tmp_path / "items.jsonl").write_text((tmp_path / "items.jsonl").read_text())
    run(recipe, out)
    path = out / "work/ledger"
    for file in path.iterdir():
        file.unlink()
    (out / "work/dataset.json").unlink()
    text = (tmp_path / "items.jsonl").read_text()
    plan = Plan.load(open_store(out / "work"))
    (tmp_path / "items.jsonl").write_text(text.replace("item 15", "item 51"))
    from k3data.pipelines import run as engine

    original, engine.freeze = engine.freeze, lambda *_: plan
    try:
        with pytest.raises(K3DataError, match="has changed since the plan was frozen"):
            run(recipe, out)
    finally:
        engine.freeze = original


def test_too_many_errors_end_the_run_and_a_larger_budget_finishes_it(tmp_path):
    write_lines(tmp_path, 20)
    stages, out = stage("Sieve", raised=[5, 6]), tmp_path / "out"
    with pytest.raises(K3DataError, match=r"2 of 20 items ended as error .*exception 2.* over the budget of 1\.0%"):
        run(toy_recipe(tmp_path, stages), out)
    assert not (out / "work/dataset.json").exists()
    (dataset,) = run(toy_recipe(tmp_path, stages, more=BUDGET), out)
    assert dataset.samples == 18


def test_one_item_may_give_several_samples_and_the_counts_add_up(tmp_path):
    write_lines(tmp_path, 10)
    (dataset,) = run(toy_recipe(tmp_path, stage("Double")), tmp_path / "out")
    assert (dataset.items, dataset.samples, dataset.outcomes["published"]) == (10, 20, 10)
    assert verify(str(tmp_path / "out")).problems == []
    stats = query.stats(k3data.open(tmp_path / "out"))
    assert [(one["in"], one["out"], one["added"]) for one in stats["stages"]] == [
        (10, 10, 0),
        (10, 20, 10),
        (20, 20, 0),
    ]
    assert len({record.metadata["split"] for record in k3data.open(tmp_path / "out")}) <= 3


def test_a_fickle_outcome_is_stored_once_and_replayed(tmp_path):
    write_lines(tmp_path, 10)
    recipe, out = toy_recipe(tmp_path, stage("Sieve", timed_out=[3]), more=BUDGET), tmp_path / "out"
    run(recipe, out)
    first = {path.name: path.read_bytes() for path in (out / "work/rejects").iterdir()}
    for file in [*(out / "work/ledger").iterdir(), out / "work/dataset.json"]:
        file.unlink()
    run(recipe, out)  # the stage would now say another number of seconds
    assert {path.name: path.read_bytes() for path in (out / "work/rejects").iterdir()} == first


def test_a_broken_span_is_a_typed_reject(tmp_path):
    write_lines(tmp_path, 10)
    (dataset,) = run(toy_recipe(tmp_path, stage("BreakSpans")), tmp_path / "out")
    assert dataset.outcomes["invalid_input"] == 10
    assert set(rejects_relation(str(tmp_path / "out"), None, None).select("code").fetchall()) == {("broken_span",)}


def test_the_same_content_in_two_sources_is_two_samples(tmp_path):
    for name in ("a/data", "b/data"):  # which the samples' provenance calls the same
        (tmp_path / name).mkdir(parents=True)
        write_lines(tmp_path / name, 10)
    source = "jsonl: {root: a/data, glob: '*', licence: MIT}\n      - jsonl: {root: b/data, glob: '*', licence: MIT}"
    (dataset,) = run(toy_recipe(tmp_path, source=source), tmp_path / "out")
    assert dataset.samples == 20
    assert verify(str(tmp_path / "out")).problems == []


def test_a_record_that_cannot_be_written_is_its_own_error(tmp_path):
    write_lines(tmp_path, 10)
    (dataset,) = run(toy_recipe(tmp_path, stage("Unwritable", at=4), more=BUDGET), tmp_path / "out")
    assert dataset.outcomes == {"published": 9, "filtered": 0, "invalid_input": 0, "error": 1, "merged": 0}
    assert rejects_relation(str(tmp_path / "out"), None, None).select("stage, code").fetchall() == [
        ("publish", "unwritable")
    ]
    assert verify(str(tmp_path / "out")).problems == []


def test_an_unknown_licence_is_refused_unless_allowed(tmp_path):
    write_lines(tmp_path, 10)
    source = "jsonl: {glob: items.jsonl}"
    (dataset,) = run(toy_recipe(tmp_path, source=source), tmp_path / "out")
    assert dataset.outcomes["invalid_input"] == 10
    more = "licences: {allow_unknown: true}"
    (dataset,) = run(toy_recipe(tmp_path, source=source, more=more), tmp_path / "out2")
    assert dataset.samples == 10
    assert all("-unknown-" in path for path in tar_bytes(tmp_path / "out2"))


def test_compaction_keeps_every_sample_and_its_bytes(tmp_path):
    write_lines(tmp_path, 60)
    more = "  - name: pack\n    source: [compact: {job: work, max_bytes: 30kB}]"
    work, pack = run(toy_recipe(tmp_path, more=more), tmp_path / "out", workers=2)
    before, after = k3data.open(tmp_path / "out", job="work"), k3data.open(tmp_path / "out", job="pack")
    assert work.shards > pack.shards > 1
    assert all(len(data) < 32_000 for path, data in tar_bytes(tmp_path / "out" / "pack").items())
    members = {before.samples["id"][at].as_py(): dict(before.raw(at)) for at in range(len(before))}
    assert {after.samples["id"][at].as_py(): dict(after.raw(at)) for at in range(len(after))} == members


def test_a_limit_does_whole_units_of_the_full_plan(tmp_path):
    write_lines(tmp_path, 100)
    recipe, out = toy_recipe(tmp_path), tmp_path / "out"
    (some,) = run(recipe, out, limit=25)
    assert some.samples == 30
    units = set(Ledger(open_store(out / "work")).records())
    (all_,) = run(recipe, out)
    assert all_.samples == 100
    assert units < set(Ledger(open_store(out / "work")).records())


def test_a_preview_shows_results_and_writes_nothing(tmp_path):
    write_lines(tmp_path, 30)
    recipe = toy_recipe(tmp_path, stage("Sieve", filtered=list(range(10))))
    results = [result for _, result in preview_results(recipe, str(tmp_path / "out"), 6)]
    assert {getattr(result, "text", "rejected") for result in results} >= {"item 10", "item 20", "rejected"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.jsonl", "recipe.yaml"]


def test_no_secret_of_the_environment_reaches_an_output(tmp_path, monkeypatch):
    secret = "s3cr3t-0f-th3-t3st"
    monkeypatch.setenv("K3DATA_TEST_TOKEN", secret)
    write_lines(tmp_path, 10)
    stages = stage("Sieve", secret="${K3DATA_TEST_TOKEN}", raised=[3])
    run(toy_recipe(tmp_path, stages, more=BUDGET), tmp_path / "out")
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path
    assert "${K3DATA_TEST_TOKEN}" in (tmp_path / "out/recipe.yaml").read_text()


def test_an_output_that_is_not_ours_or_of_another_recipe_is_left_alone(tmp_path):
    write_lines(tmp_path, 10)
    recipe = toy_recipe(tmp_path)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.txt").write_text("precious")
    with pytest.raises(UserError, match=r"is not empty and not an output of k3data \(it holds thesis.txt\)"):
        run(recipe, tmp_path / "theirs")
    assert [path.name for path in (tmp_path / "theirs").iterdir()] == ["thesis.txt"]
    run(recipe, tmp_path / "out")
    other = toy_recipe(tmp_path)
    object.__setattr__(other, "name", "other")
    with pytest.raises(UserError, match="holds the output of recipe 'toy'"):
        run(other, tmp_path / "out")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_so_and_resume_finishes_it(tmp_path, number):
    write_lines(tmp_path, 150)
    toy_recipe(tmp_path, stage("Sieve", delay_s=0.03))
    process = command("run", "recipe.yaml", "--out", "out", "--workers", "1", cwd=tmp_path)
    ledger = tmp_path / "out/work/ledger"
    deadline = time.monotonic() + 30
    while not (ledger.exists() and any(ledger.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    _, log = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "k3data: interrupted; what is done is kept" in log
    (job,) = status_facts(str(tmp_path / "out"))["jobs"]
    assert job["state"] == "not complete"
    assert 0 < job["units_done"] < job["units"]
    again = command("resume", "out", "-q", cwd=tmp_path)
    assert again.wait(timeout=60) == 0
    assert verify(str(tmp_path / "out")).problems == []
    assert len(k3data.open(tmp_path / "out")) == 150


def test_a_second_run_at_the_same_time_is_refused(tmp_path):
    write_lines(tmp_path, 40)
    recipe = toy_recipe(tmp_path, stage("Sieve", delay_s=0.05))
    process = command("run", "recipe.yaml", "--out", "out", "-q", cwd=tmp_path)
    deadline = time.monotonic() + 30
    while not (tmp_path / "out/work/plan.parquet").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    with pytest.raises(UserError, match=rf"another run is at work here \(host .*, process {process.pid}"):
        run(recipe, tmp_path / "out")
    assert process.wait(timeout=60) == 0
    assert list((tmp_path / "out/lease").iterdir()) == []


def test_a_bucket_works_like_a_folder(tmp_path, s3_bucket, monkeypatch):
    for name, value in s3_bucket.environment.items():
        monkeypatch.setenv(name, value)
    write_lines(tmp_path, 20)
    more = "  - name: pack\n    source: [compact: {job: work}]"
    recipe, out = toy_recipe(tmp_path, stage("Sieve", filtered=[7]), more=more), f"{s3_bucket.url}/data"
    _, packed = run(recipe, out, workers=2)
    assert packed.samples == 19
    assert verify(out).problems == []
    assert {record.text for record in k3data.open(out)} == {f"item {at}" for at in range(20) if at != 7}
    local = tmp_path / "local"
    run(recipe, local)
    store = open_store(out)
    assert {entry.path: store.read(entry.path) for entry in store.list() if entry.path.endswith(".tar")} == tar_bytes(
        local
    )
