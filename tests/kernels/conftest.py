"""Kernels run on the GPU if there is one, else in Triton's interpreter, to be chosen before they are imported."""

from __future__ import annotations

import os

import pytest
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
    from triton.runtime import interpreter

    _patch = interpreter._patch_lang_tensor

    def _patch_with_an_index(tensor, scope):
        """The interpreter's numbers are arrays of one entry, which NumPy 2.4 no longer takes for an index."""
        _patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = _patch_with_an_index


@pytest.fixture
def device() -> str:
    return DEVICE
