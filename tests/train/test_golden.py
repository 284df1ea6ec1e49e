"""Fifty losses that are known: to the last digit on the build that made them, within a thousandth elsewhere."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
import torch

_spec = importlib.util.spec_from_file_location("golden", Path(__file__).parent / "golden.py")
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)


def test_the_smoke_configuration_gives_its_golden_losses(packed):
    known = json.loads(golden.FILE.read_text())
    losses = golden.losses(packed)
    assert len(losses) == len(known["losses"]) == 50
    assert losses == pytest.approx(known["losses"], rel=1e-3)
    if torch.__version__ == known["torch"]:
        assert losses == known["losses"]
