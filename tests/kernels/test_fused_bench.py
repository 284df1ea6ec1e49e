"""The benchmark of other launches, rehearsed: it is to be right the first time it meets a GPU."""

from __future__ import annotations

import json

import pytest
from k3data.model.bench import fused_variants


@pytest.mark.slow
def test_every_launch_ends_with_figures_and_the_results_of_the_tables():
    found = json.loads(json.dumps(fused_variants.study(600.0)))
    assert {name: value for name, value in found.items() if isinstance(value, str)} == {}
    over = {name: value for name, value in found.items() if name.endswith(".over")}
    assert len(over) == sum(len(fused_variants.variants(name)) for name in fused_variants.CASES)
    assert not any(over.values())
