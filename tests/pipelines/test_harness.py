"""Finding and running benchmarks."""

from __future__ import annotations

import json

import pytest
from k3data.pipelines.bench import harness
from k3data.pipelines.errors import UserError


def test_benchmarks_are_found_in_every_folder_by_name():
    found = harness.discover()
    assert {"shards", "resilience", "hostile"} <= set(found)
    assert all(one.summary and "\n" not in one.summary for one in found.values())


def test_cases_take_turns_and_give_their_median():
    calls = []

    def case(name, values):
        left = iter(values)

        def run():
            calls.append(name)
            return next(left)

        return run

    # The first value of each is the warm-up's and does not count.
    result = harness.interleaved({"a": case("a", [99, 3, 1, 2]), "b": case("b", [99, 7, 7, 9])}, repeats=3)
    assert result == {"a": 2, "b": 7}
    assert calls == ["a", "b"] * 4


def test_an_unknown_benchmark_is_refused_with_those_there_are():
    with pytest.raises(UserError, match=r"no benchmark 'shard'; there are: .*shards"):
        harness.run("shard", quick=True)


@pytest.mark.slow
def test_the_shards_benchmark_gives_every_figure():
    result = harness.run("shards", quick=True)
    assert {
        "write_samples_per_s",
        "write_ratio_vs_shardwriter",
        "read_samples_per_s",
        "read_ratio_vs_webdataset",
    } <= set(result["figures"])
    assert result["machine"]["cores"] >= 1 and "webdataset" in result["versions"]
    assert json.loads(json.dumps(result)) == result
