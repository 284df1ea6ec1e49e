"""The estimate of memory against what a forward really keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from k3data.model.config import preset
from k3data.model.transformer import K3Model
from k3data.train.config import load_config
from k3data.train.memory import activation_bytes, estimate, total_memory


def kept_bytes(config, tokens: int, recompute: bool) -> int:
    """Bytes of all tensors that autograd keeps for the backward, each storage once, parameters left out."""
    torch.manual_seed(0)
    model = K3Model(replace(config, vision=None))
    model.recompute(recompute)
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    ids = torch.randint(0, 200, (1, tokens))
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        losses = model.loss(ids, torch.ones(1, tokens))
    held = sum(kept.values())
    del losses
    return held


@pytest.mark.parametrize("name", ["smoke", "nano", "small"])
def test_activations_are_estimated_within_a_third(name):
    config = preset(name)
    tokens = 512
    # The head's gradient and the states of the loss do not grow with the layers.
    measured = kept_bytes(config, tokens, recompute=False) / tokens
    estimated = activation_bytes(config, 4, recompute=False)
    assert 0.67 < estimated / measured < 1.5, f"{estimated:.0f} estimated, {measured:.0f} measured"


def test_recomputing_needs_far_less():
    config = preset("nano")
    assert activation_bytes(config, 4, True) < 0.3 * activation_bytes(config, 4, False)
    assert kept_bytes(config, 512, True) < 0.3 * kept_bytes(config, 512, False)


def test_the_estimate_grows_with_tokens_and_shrinks_with_ranks():
    config = load_config("nano")
    assert estimate(config, 8192) < estimate(config, 65536)
    assert estimate(config, 1024, 8) < estimate(config, 1024, 1)
    assert total_memory(torch.device("cpu")) > 2**30
