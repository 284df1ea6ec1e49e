"""Every kernel compiles for an H200, with no GPU there: in a process of its own, where nothing is interpreted."""

from __future__ import annotations

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("head_dim", [32, 64, 128])
def test_every_kernel_compiles(head_dim, compiled_for_h200):
    lines = compiled_for_h200("kda.registers", str(head_dim))
    assert len(lines) == 23
    assert all("'registers': " in line for line in lines)
