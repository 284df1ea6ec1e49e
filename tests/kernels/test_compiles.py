"""Every kernel compiles for an H200, with no GPU there: in a process of its own, where nothing is interpreted."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("head_dim", [32, 64, 128])
def test_every_kernel_compiles(head_dim, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"} | {"TRITON_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "k3data.model.kernels.kda.registers", str(head_dim)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == 23
    assert all("'registers': " in line for line in lines)
