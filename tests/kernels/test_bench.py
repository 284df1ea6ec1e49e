"""The benchmark of variants, rehearsed: it is to be right the first time it meets a GPU."""

from __future__ import annotations

import json

import pytest
from k3data.model.bench import kda_variants


@pytest.mark.slow
def test_every_section_ends_with_figures(monkeypatch):
    few = {kernel: dict(list(ways.items())[:1]) for kernel, ways in kda_variants.VARIANTS.items()}
    monkeypatch.setattr(kda_variants, "VARIANTS", few)
    monkeypatch.setattr(kda_variants, "compile_all", dict)
    found = json.loads(json.dumps(kda_variants.study(600.0)))
    assert {name: value for name, value in found.items() if isinstance(value, str)} == {}
    assert all(value == 1 for name, value in found.items() if name.startswith("bitwise.") and "seconds" not in name)
    assert all(value == 0 for name, value in found.items() if name.endswith(".over"))
