"""Kernels run on the GPU if there is one, else in Triton's interpreter, to be chosen before they are imported."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
    import triton.language as tl
    from triton.runtime import interpreter

    _patch, _convert = interpreter._patch_lang_tensor, interpreter._convert_float

    def _patch_with_an_index(tensor, scope):
        """The interpreter's numbers are arrays of one entry, which NumPy 2.4 no longer takes for an index."""
        _patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    def _convert_rounding(values, source, target, mode):
        """fp32 to bf16 to the nearest, even where it is halfway, as a GPU does; the interpreter cuts the bits off."""
        if (source, target) == (tl.float32, tl.bfloat16):
            bits = np.ascontiguousarray(values).view(np.uint32)
            rounded = bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)
            # What is nearer to infinity than to the largest number goes there; NaNs stay.
            return (np.where(np.isnan(values), bits | 0x400000, rounded) >> 16).astype(np.uint16)
        if (source, target) == (tl.bfloat16, tl.float32):
            return (np.ascontiguousarray(values).astype(np.uint32) << 16).view(np.float32)
        return _convert(values, source, target, mode)

    def _dot(self, a, b, d, input_precision, max_num_imprecise_acc):
        """Products of bf16 as well: rounded operands, sums in fp32."""
        operands = [
            _convert_rounding(x.data, tl.bfloat16, tl.float32, None) if x.dtype.scalar == tl.bfloat16 else x.data
            for x in (a, b)
        ]
        # Above the diagonal of a tile products may overflow, and are not used.
        with np.errstate(over="ignore", invalid="ignore"):
            return interpreter.TensorHandle(np.matmul(*operands, dtype=d.data.dtype) + d.data, d.dtype.scalar)

    interpreter._patch_lang_tensor = _patch_with_an_index
    interpreter._convert_float = _convert_rounding
    interpreter.InterpreterBuilder.create_dot = _dot


@pytest.fixture
def environment_without_interpreter(tmp_path) -> dict[str, str]:
    """Of a process of its own, with a cache of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    return {**environment, "TRITON_CACHE_DIR": str(tmp_path / "triton")}


@pytest.fixture
def compiled_for_h200(environment_without_interpreter):
    """Lines that a module of `registers` prints: in a process of its own, where nothing is interpreted."""

    def lines(module: str, *arguments: str) -> list[str]:
        command = [sys.executable, "-m", f"k3data.model.kernels.{module}", *arguments]
        done = subprocess.run(command, env=environment_without_interpreter, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout.splitlines()

    return lines


@pytest.fixture
def device() -> str:
    return DEVICE


@pytest.fixture
def limit_of():
    """How far off fp64 a tensor may be. In bf16 a few dozen tokens scatter more than FLA's tolerances, which the
    benchmark keeps at 1,000 tokens, and what cancels in a sum over so few says nothing."""
    from k3data.model.bench.kernels import LIMITS

    if DEVICE == "cpu":
        return lambda name: 5e-4 if name == "dA_log" else 5e-5
    room = {"o": 1.5, "dz": 2, "dbeta": 1.5, "dA_log": 1000, "ddt_bias": 10}
    return lambda name: LIMITS[name] * room.get(name, 1)


@pytest.fixture
def small_sorts(monkeypatch):
    """The interpreter takes seconds to sort a chunk of rows as long as on a GPU."""
    if DEVICE == "cpu":
        monkeypatch.setattr("k3data.model.kernels.moe.ordering.CHUNK", 64)
