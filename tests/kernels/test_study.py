"""Studies and the benchmark of the kernels: what they have found is on stderr before they go on."""

from __future__ import annotations

import json
import runpy
import sys

import pytest
from k3data.model.bench import kernels
from k3data.model.bench.study import Study, command_line

STUDIES = ("attention_variants", "expert_variants", "fused_variants", "kda_variants")


def said(capsys):
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_each_finding_is_printed_before_the_next_is_begun(capsys):
    study = Study(600.0)
    lines = []

    def second():
        lines.extend(said(capsys))
        return {"b": 2}

    study.note("first", lambda: {"a": 1})
    study.note("second", second)
    study.note("third", lambda: 1 / 0)
    lines += said(capsys)
    study.seconds = 0.0
    study.note("late", lambda: {"c": 3})
    lines += said(capsys)
    assert [list(line) for line in lines] == [
        ["first.a", "first.seconds"], ["second.b", "second.seconds"], ["third", "third.seconds"], ["late"],
    ]  # fmt: skip
    found = {name: value for line in lines for name, value in line.items()}
    assert found == study.found
    assert (found["first.a"], found["second.b"], found["late"]) == (1, 2, "no time")
    assert found["third"].startswith("ZeroDivisionError: ")


@pytest.mark.parametrize(("arguments", "seconds"), [([], 170.0), (["--seconds", "12.5"], 12.5)])
def test_a_caller_bounds_a_study(arguments, seconds, capsys):
    command_line(lambda given: {"given": given}, 170.0, arguments=arguments)
    assert json.loads(capsys.readouterr().out) == {"given": seconds}


def test_a_process_that_compiles_studies_nothing(capsys):
    calls = []
    command_line(lambda _: {}, 170.0, lambda *given: calls.append(given), ["--warm", "3", "14"])
    assert calls == [(3, 14)]
    assert capsys.readouterr().out == ""


def test_what_a_study_does_not_know_is_refused(capsys):
    for arguments in (["--warm", "3", "14"], ["--second", "x"]):
        with pytest.raises(SystemExit):
            command_line(lambda _: {}, 170.0, arguments=arguments)
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("name", STUDIES)
def test_no_study_begins_anything_after_its_seconds(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--seconds", "0"])
    runpy.run_module(f"k3data.model.bench.{name}", run_name="__main__")
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found.pop("seconds") < 5
    assert set(found.values()) == {"no time"}
    assert [json.loads(line) for line in captured.err.splitlines()] == [{key: "no time"} for key in found]


def test_figures_of_a_shape_are_printed_before_the_next_is_measured(monkeypatch, capsys):
    def measure(key, function, shape, repeats=30):
        if key == "second":
            raise KeyboardInterrupt
        return {f"{key}_forward_ms": 1.0 if function is not kernels.composed else 2.0}

    monkeypatch.setattr(kernels, "measure", measure)
    found = kernels.Found()
    with pytest.raises(KeyboardInterrupt):
        kernels._shapes(found, print, None, {"first": (1, 64, 2, 128), "second": (1, 64, 2, 128)})
    assert said(capsys) == [{"first_forward_ms": 1.0}, {"pytorch": {"first_forward_ms": 2.0}}]
    assert (found.figures, found.peers) == ({"first_forward_ms": 1.0}, {"pytorch": {"first_forward_ms": 2.0}})


def test_errors_of_a_head_size_are_printed_and_one_that_is_wrong_is_not_right(monkeypatch, capsys):
    def errors(function, head_dim):
        return dict.fromkeys(kernels.TENSORS, 0.001 if head_dim == 128 else 0.05)

    monkeypatch.setattr(kernels, "errors", errors)
    assert kernels._right(kernels.Found(), print, (128, 64)) == {128}
    first, second = said(capsys)
    assert (first["d128_rms_dq"], first["d128_tensors_over_the_limit"]) == (0.001, 0)
    assert (second["d64_rms_dq"], second["d64_tensors_over_the_limit"]) == (0.05, 8)


def test_figures_of_a_part_are_printed_once_and_found(capsys):
    found = kernels.Found()
    kernels._parts(found, ["norm"])
    (line,) = said(capsys)
    assert line["norm"]["kept_mib"]["kernels"] == found.figures["norm_kept_mib"]
    assert line["norm"]["kept_mib"]["torch"] == found.peers["pytorch"]["norm_kept_mib"]
    assert found.figures["norm_tensors_over_the_limit"] == 0
