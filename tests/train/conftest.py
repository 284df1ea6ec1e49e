"""A small packed data set, made once by the recipes themselves, and a model that trains on it in seconds."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from k3data.model.config import preset
from k3data.train.config import CheckpointConfig, EvaluationConfig, OptimiserConfig, StageConfig, TrainConfig
from k3data.train.parallel import Ranks

sys.path.insert(0, str(Path(__file__).parent))

from packing import make_packed


@pytest.fixture(scope="session")
def packed(tmp_path_factory) -> str:
    """90 drawings and their programs, as `shapes_packed` packs them."""
    return make_packed(tmp_path_factory.mktemp("packed"))


@pytest.fixture(autouse=True)
def one_thread():
    """Sums in one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


ONE = Ranks(0, 1, torch.device("cpu"), None, None)


def tiny(**changes) -> TrainConfig:
    """Two layers, one of each kind, and steps of one sequence."""
    smoke = preset("smoke")
    model = replace(
        smoke, name="tiny", d_model=32, layers=2, mla_layers=(1,), dense_inner=48, attn_res_block=1, mtp_layers=1,
        kda=replace(smoke.kda, head_dim=16, decay_rank=16), vision=replace(smoke.vision, layers=1),
    )  # fmt: skip
    made = TrainConfig(
        name="tiny", model=model, stages=(StageConfig("shapes", 12 * 1024, 1024),),
        optimiser=OptimiserConfig(learning_rate=1e-2), checkpoint=CheckpointConfig(every=5),
        evaluation=EvaluationConfig(every=0), workers=1,
    )  # fmt: skip
    return replace(made, **changes)
