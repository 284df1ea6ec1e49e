"""A run's weights as a folder of safetensors, from any of its checkpoints."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

from ..model.checkpoint import save_state
from ..model.config import ConfigError, ModelConfig
from ..model.transformer import K3Model
from .checkpoint import Checkpoints
from .run_folder import RunFolder


def export_run(folder: Path, to: Path, step: int | None = None, dtype: torch.dtype | None = None) -> int:
    """Writes the model of a checkpoint, with its tokenizer beside it, and returns the checkpoint's step.

    Raises ConfigError when the folder is no run or has no checkpoint of that step.
    """
    run = RunFolder(folder, writes=False)
    facts = run.facts()
    if facts is None:
        raise ConfigError(f"{folder} is no run: it has no run.json")
    checkpoints = Checkpoints(run.checkpoints)
    step = checkpoints.newest() if step is None else step
    if step is None:
        raise ConfigError(f"{folder} has no checkpoint yet")
    config = ModelConfig.from_dict(facts["config"]["model"])
    model = K3Model(config)
    checkpoints.load(step, {"model": model.state_dict()}, optional=("optimizers", "guard", "rng"))
    save_state(model.state_dict(), config, to, dtype=dtype)
    shutil.copyfile(run.path / "tokenizer" / "tokenizer.json", to / "tokenizer.json")
    return step
