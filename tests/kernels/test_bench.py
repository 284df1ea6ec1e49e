"""The benchmarks rehearsed: they are to be right the first time they meet a GPU."""

from __future__ import annotations

import json

import pytest
from k3data.model.bench import kda_variants, layers


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_section_ends_with_figures(monkeypatch):
    few = {kernel: dict(list(ways.items())[:1]) for kernel, ways in kda_variants.VARIANTS.items()}
    monkeypatch.setattr(kda_variants, "VARIANTS", few)
    found = json.loads(json.dumps(kda_variants.study(600.0)))
    assert {name: value for name, value in found.items() if isinstance(value, str)} == {}
    assert all(value == 1 for name, value in found.items() if name.startswith("bitwise.") and "seconds" not in name)
    assert all(value == 0 for name, value in found.items() if name.endswith(".over"))


def rehearsed(names):
    found = layers.main(names)["parts"]
    assert [name for name, part in found.items() if "over" in part or "failed" in part] == []
    assert all(part["kept_mib"]["kernels"] <= part["kept_mib"]["torch"] for part in found.values())


def test_parts_of_a_layer():
    rehearsed(["attention_1500", "gated_kda", "gated_mla", "activation", "norm"])


@pytest.mark.slow
def test_all_parts_of_a_layer():
    rehearsed([])


def test_a_part_that_is_wrong_is_not_timed(monkeypatch):
    monkeypatch.setattr("k3data.model.kernels.fused.rms_norm", lambda x, weight, eps: 1.01 * x * weight)
    part = layers.main(["norm"])["parts"]["norm"]
    assert "output 0" in part["over"]
    assert "kept_mib" not in part
