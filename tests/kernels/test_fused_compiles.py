"""Every fused kernel compiles for an H200, with no GPU there: in a process of its own, where nothing is interpreted."""

from __future__ import annotations

import ast

import pytest


@pytest.mark.slow
def test_every_kernel_compiles_and_only_the_widest_rows_spill(compiled_for_h200):
    found = dict(line.split(": ", 1) for line in compiled_for_h200("fused.registers"))
    assert len(found) == 44
    for name, figures in found.items():
        assert "mix backward 7168" in name or ast.literal_eval(figures)["spills"] == 0, (name, figures)
