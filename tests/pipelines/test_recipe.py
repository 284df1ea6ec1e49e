"""Recipes: every mistake is one line that says where, what, and what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from k3data.pipelines import recipe as recipes
from k3data.pipelines import shipped
from k3data.pipelines.catalogue import catalogue, catalogue_text, recipe_schema
from k3data.pipelines.errors import UserError
from k3data.tests.pipelines.toy import recipe_text

GOOD = recipe_text()


def parse(text: str, *overrides: str) -> recipes.Recipe:
    return recipes.parse(text, "r.yaml", Path(), overrides)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed: 5", "sed: 5", "r.yaml:2: unknown key 'sed' (did you mean 'seed'?)"),
        ("units: {items", "units: {itms", "r.yaml:8: unknown key 'itms' (did you mean 'items'?)"),
        ("jsonl:", "jsnl:", "r.yaml:6: unknown source 'jsnl' (did you mean 'jsonl'?)"),
        ("glob:", "globb:", "r.yaml:6: unknown key 'globb' (did you mean 'glob'?)"),
        ("glob: items.jsonl, ", "", "r.yaml:6: 'glob' is missing"),
        ("seed: 5", "seed: five", "r.yaml:2: seed: input should be a valid integer"),
        ("items: 10", "items: 0", "r.yaml:8: jobs.0.units.items: input should be greater than or equal to 1"),
        ("stages: []", "stages: [vision.rendr: {}]", "r.yaml:7: unknown stage 'vision.rendr' (did you mean"),
        ("stages: []", "stages: [datatrove.LambdaFiltr: {}]", "did you mean 'LambdaFilter'?"),
        ("stages: []", "stages: [datatrove.URLFilter: {soft_word: 1}]", "r.yaml:7: datatrove.URLFilter: unknown key"),
        ("stages: []", "stages: [datatrove.LambdaFilter: {}]", "missing a required argument: 'filter_function'"),
        ("stages: []", "stages: ['os:getcwd': {}]", "is neither a k3data Stage nor a datatrove step"),
        ("stages: []", "stages: ['nosuchmodule:X': {}]", "needs nosuchmodule, which is not installed"),
        ("stages: []", "stages: [{a: 1, b: 2}]", "r.yaml:7: a stage is one `name: {parameters}`, not 2 keys"),
        ("name: work", "name: Work-1", "r.yaml:4: jobs.0.name: string should match pattern"),
        ("seed: 5", "seed: 5\nseed: 6", "r.yaml:3: key 'seed' stands twice"),
        ("seed: 5", "seed: 5\n<<: [7]", "r.yaml:3: `<<` takes a mapping"),
        ("seed: 5", "seed: [5", "r.yaml:"),
        ("items.jsonl", "'${K3DATA_NO_SUCH}'", "r.yaml:6: the environment has no K3DATA_NO_SUCH"),
        ("items.jsonl", "${K3DATA_NO_SUCH}", 'but got \'{\' (quote "${…}" inside { })'),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(old, new, message):
    assert old in GOOD
    with pytest.raises(UserError) as caught:
        parse(GOOD.replace(old, new, 1))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("r.yaml:")


def test_a_second_job_of_the_same_name_is_refused():
    with pytest.raises(UserError, match="a second job is called 'work'"):
        parse(GOOD + "  - name: work\n    source: [jsonl: {glob: x}]\n")


def test_overrides_reach_into_lists_by_name_and_by_position():
    found = parse(GOOD, "seed=9", "jobs.work.units.items=3", "jobs.0.source.jsonl.glob=[a, b]", "executor.workers=2")
    assert (found.seed, found.jobs[0].unit_items, found.executor.workers) == (9, 3, 2)
    assert found.jobs[0].sources[0].build.glob == ["a", "b"]
    assert "seed: 9" in found.text
    with pytest.raises(UserError, match="there is no 'wrk' here"):
        parse(GOOD, "jobs.wrk.units.items=3")
    with pytest.raises(UserError, match="unknown key 'sed'"):
        parse(GOOD, "sed=3")


def test_one_step_can_be_written_once_and_changed_where_it_is_used_again():
    more = "executor: {<<: {kind: local, workers: 3}, workers: 2}\n"
    parsed = parse(GOOD + more)
    assert (parsed.executor.kind, parsed.executor.workers) == ("local", 2)


def test_the_environment_fills_values_and_the_text_stays_unresolved(monkeypatch):
    monkeypatch.setenv("K3DATA_TEST_UNIT", "7")
    text = GOOD.replace("items: 10", "items: '${K3DATA_TEST_UNIT}'").replace("seed: 5", "seed: ${K3DATA_TEST_SEED:-8}")
    found = parse(text)
    assert (found.seed, found.jobs[0].unit_items) == (8, 7)
    assert found.text == text


def test_sizes_are_written_with_units():
    more = "shards: {max_bytes: 1.5GB}\nexecutor: {memory: 2GiB}"
    found = parse(recipe_text(more=more))
    assert (found.shards.max_bytes, found.executor.memory) == (1_500_000_000, 2 * 2**30)


def test_every_shipped_recipe_reads_and_runs_by_its_name():
    assert shipped.names()
    for name in shipped.names():
        assert recipes.load(shipped.find(name)).name == name
        assert shipped.find(f"pipelines/{name}.yaml").name == f"{name}.yaml"
    with pytest.raises(UserError, match="did you mean 'code_render'"):
        shipped.find("code_rendr")


def test_init_writes_a_recipe_under_its_own_name(tmp_path):
    shipped.copy_as("code_render", tmp_path / "my-first.yaml")
    assert recipes.load(tmp_path / "my-first.yaml").name == "my_first"
    with pytest.raises(UserError, match="exists"):
        shipped.copy_as("code_render", tmp_path / "my-first.yaml")


def test_the_catalogue_lists_parameters_and_the_schema_knows_them():
    entries = {entry["name"]: entry for entry in catalogue()}
    assert {
        "files",
        "jsonl",
        "vision.render",
        "datatrove.GopherQualityFilter",
        "datatrove.JsonlReader",
    } <= entries.keys()
    assert "timeout_s" in catalogue_text([entries["vision.render"]])
    schema = recipe_schema()
    stages = schema["$defs"]["_Job"]["properties"]["stages"]["items"]["anyOf"]
    assert any("vision.render" in option.get("properties", {}) for option in stages)
    with pytest.raises(UserError, match=r"did you mean 'vision\.render'"):
        catalogue("vision.rendr")
