"""Every fused kernel compiles for an H200, with no GPU there: in a process of its own, where nothing is interpreted."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_every_kernel_compiles_and_only_the_widest_rows_spill(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"} | {"TRITON_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "k3data.model.kernels.fused.registers"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert len(found) == 44
    for name, figures in found.items():
        assert "mix backward 7168" in name or ast.literal_eval(figures)["spills"] == 0, (name, figures)
