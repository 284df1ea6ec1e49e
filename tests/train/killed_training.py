"""A training run of a process of its own, to be killed: the tiny model on the packed data given."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from conftest import ONE, tiny
from k3data.train.config import CheckpointConfig, StageConfig
from k3data.train.loop import train


def configuration(steps: int):
    return tiny(stages=(StageConfig("shapes", steps * 1024, 1024),), checkpoint=CheckpointConfig(every=2))


if __name__ == "__main__":
    torch.set_num_threads(1)
    packed, run, steps = sys.argv[1:]
    print(train(configuration(int(steps)), packed, run, ONE, quiet=True), flush=True)
