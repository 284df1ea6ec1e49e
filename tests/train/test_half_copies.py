"""bf16 copies in the parameters' place give what FSDP gives one rank, to the last bit."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
import torch.distributed as dist
from k3data.model.config import preset
from k3data.model.transformer import K3Model
from k3data.train.half_copies import HalfCopies
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method


def small_model() -> K3Model:
    torch.manual_seed(0)
    smoke = preset("smoke")
    return K3Model(replace(smoke, d_model=32, layers=2, mla_layers=(1,), dense_inner=48, mtp_layers=1, vision=None))


def tokens(seed: int) -> torch.Tensor:
    return torch.randint(0, 300, (1, 24), generator=torch.Generator().manual_seed(seed))


def gradients(model: K3Model, computing) -> tuple[list[float], dict[str, torch.Tensor]]:
    """Losses of two microbatches, and the gradients of both together."""
    losses = []
    for seed in (1, 2):
        with computing():
            loss = model.loss(tokens(seed), torch.ones(1, 24))
            (loss.next_token.total + loss.next_next_token.total).backward()
        losses.append(float(loss.next_token.total.detach()))
    return losses, {name: one.grad for name, one in model.named_parameters() if one.grad is not None}


@pytest.fixture
def alone():
    """A process group of this process."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


def test_one_rank_computes_what_fsdp_does(alone):
    sharded = small_model()
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, cast_forward_inputs=False)
    fully_shard(sharded, mesh=alone, mp_policy=policy)
    register_fsdp_forward_method(sharded, "loss")
    expected_losses, expected = gradients(sharded, nullcontext)

    model = small_model()
    losses, found = gradients(model, HalfCopies(model).in_place)
    assert losses == expected_losses
    assert found.keys() == expected.keys() and len(found) > 40
    for name, gradient in found.items():
        assert gradient.dtype == torch.float32
        assert torch.equal(gradient, expected[name].full_tensor()), name


class Twice(nn.Module):
    """One weight in two places, and one that takes no part."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.idle = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False), nn.Linear(2, 2)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x))


def test_places_of_one_weight_and_weights_without_gradients():
    model = Twice()
    weight = model.first.weight
    copies = HalfCopies(model)
    with copies.in_place():
        assert model.first.weight is model.second.weight is not weight
        assert model.first.weight.dtype == torch.bfloat16
        model(torch.ones(1, 2, dtype=torch.bfloat16)).sum().backward()
    assert model.first.weight is model.second.weight is weight
    assert weight.grad.dtype == torch.float32 and model.idle.weight.grad is None
    once = weight.grad.clone()
    with torch.no_grad():
        weight += 1  # what an optimiser does is seen by the next copies
    with copies.in_place():
        assert torch.equal(model.first.weight, weight.bfloat16())
        model(torch.ones(1, 2, dtype=torch.bfloat16)).sum().backward()
    assert not torch.equal(weight.grad, 2 * once) and torch.all(weight.grad != once)


def test_an_error_leaves_the_parameters_as_they_were():
    model = Twice()
    weight = model.first.weight
    with pytest.raises(RuntimeError, match="in between"), HalfCopies(model).in_place():
        model(torch.ones(1, 2, dtype=torch.bfloat16)).sum().backward()
        raise RuntimeError("in between")
    assert model.first.weight is weight and weight.grad is None
