"""QK-Clip: the largest logit of the sample is the threshold afterwards, and of each logit exactly the same share."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from k3data.model.attention import Groups
from k3data.model.config import preset
from k3data.model.mla import GatedMLA
from k3data.model.transformer import K3Model
from k3data.train.optim.qk_clip import QKClip, largest_logits, shrink_
from torch import Tensor

SMOKE = preset("smoke")
CONFIG = replace(SMOKE, mla=replace(SMOKE.mla, heads=3))
LENGTHS = [5, 1, 40, 0, 12, 6]


def layer(std: float = 1.0, dtype=torch.float32) -> GatedMLA:
    torch.manual_seed(3)
    made = GatedMLA(CONFIG)
    made.reset_parameters(std)
    return made.to(dtype)


def hidden(length: int, dtype=torch.float32) -> Tensor:
    return torch.randn(1, length, CONFIG.d_model, generator=torch.Generator().manual_seed(length)).to(dtype)


def bounds() -> Tensor:
    return torch.tensor([0, *LENGTHS]).cumsum(0)


def logits(made: GatedMLA, x_BTD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """[H, T, T] scaled, of one group and without a mask: the whole, and its parts of nope and of rope channels."""
    mla = made.config
    q = made.q_up(made.q_norm(made.q_down(x_BTD)))[0].unflatten(-1, (mla.heads, -1))
    c, shared = made.kv_down(x_BTD)[0].split([mla.kv_lora_rank, mla.qk_rope_dim], dim=-1)
    k = made.kv_up(made.kv_norm(c)).unflatten(-1, (mla.heads, -1))[..., : mla.qk_nope_dim]
    nope = torch.einsum("thk,shk->hts", q[..., : mla.qk_nope_dim], k) * mla.qk_dim**-0.5
    rope = torch.einsum("thk,sk->hts", q[..., mla.qk_nope_dim :], shared) * mla.qk_dim**-0.5
    return nope + rope, nope, rope


def largest(made: GatedMLA, x_BTD: Tensor, lengths: list[int]) -> Tensor:
    """[H]: group by group, from the layer's own parts."""
    groups = [logits(made, part)[0] for part in x_BTD.split(lengths, dim=1) if part.numel()]
    causal = [one.masked_fill(torch.ones_like(one).triu(1).bool(), -math.inf).amax((1, 2)) for one in groups]
    return torch.stack(causal).amax(0)


@torch.no_grad()
def test_the_largest_logit_of_every_head_is_the_threshold_afterwards():
    made, x = layer(), hidden(sum(LENGTHS))
    clip = QKClip(made, threshold=30.0)
    made(x, Groups.of(bounds(), 1, x.shape[1]))
    before = largest(made, x, LENGTHS)
    assert before.min() > 60
    torch.testing.assert_close(clip.clip()[0], before)
    torch.testing.assert_close(largest(made, x, LENGTHS), torch.full((3,), 30.0), rtol=1e-5, atol=0)


@torch.no_grad()
def test_below_the_threshold_not_a_bit_changes_head_by_head():
    made, x = layer(), hidden(30)
    before = {name: value.clone() for name, value in made.state_dict().items()}
    heads = largest(made, x, [30]).sort()
    clip = QKClip(made, threshold=heads.values[1:].mean().item())  # between the second and the largest
    made(x)
    clip.clip()
    mla, loud = made.config, heads.indices[2]
    for name, value in made.state_dict().items():
        if name in ("q_up.weight", "kv_up.weight"):
            now, then = (one.unflatten(0, (mla.heads, -1)) for one in (value, before[name]))
            changed = (now != then).flatten(1).any(1)
            assert changed.tolist() == [head == loud for head in range(3)], name
        else:
            assert torch.equal(value, before[name]), name
    values = made.kv_up.weight.unflatten(0, (mla.heads, -1))[:, mla.qk_nope_dim :]
    assert torch.equal(values, before["kv_up.weight"].unflatten(0, (mla.heads, -1))[:, mla.qk_nope_dim :])


@torch.no_grad()
def test_both_parts_of_every_logit_shrink_by_gamma():
    made, x = layer(dtype=torch.float64), hidden(20, torch.float64)
    gamma = torch.tensor([0.3, 1.0, 0.007], dtype=torch.float64)
    before = logits(made, x)
    root = made.q_up.weight.clone()
    shrink_(made, gamma)
    for now, then in zip(logits(made, x), before, strict=True):
        torch.testing.assert_close(now, gamma[:, None, None] * then, rtol=1e-12, atol=1e-12)
    nope = made.q_up.weight[: made.config.qk_nope_dim]
    torch.testing.assert_close(nope, 0.3**0.5 * root[: made.config.qk_nope_dim], rtol=1e-12, atol=0)


@torch.no_grad()
def test_a_key_after_its_query_and_one_of_another_group_do_not_count():
    made, x = layer(), hidden(8)
    x[0, 4:] *= -1
    clip = QKClip(made, threshold=1e9)
    made(x, torch.tensor([0, 4, 8]))
    grouped = clip.clip()[0]
    full = logits(made, x)[0]
    hidden_pairs = torch.ones(8, 8).triu(1).bool()
    hidden_pairs[4:, :4] = True
    torch.testing.assert_close(grouped, full.masked_fill(hidden_pairs, -math.inf).amax((1, 2)))
    assert (full.amax((1, 2)) > grouped + 1).any()


@torch.no_grad()
def test_a_long_group_is_thinned_and_keeps_its_ends():
    made, x = layer(), hidden(101)
    clip = QKClip(made, tokens_per_group=11, groups=2)
    made(x)
    sample, real = clip._samples[""]
    assert torch.equal(sample[0], x[0, ::10]) and real.all()
    made(x, torch.tensor([0, 30, 37, 90, 101]))  # every second group
    sample, real = clip._samples[""]
    assert torch.equal(sample[0], x[0, [0, 2, 5, 8, 11, 14, 17, 20, 23, 26, 29]])
    assert real.sum(1).tolist() == [11, 11] and torch.equal(sample[1, [0, -1]], x[0, [37, 89]])
    made(hidden(3))
    sample, real = clip._samples[""]
    assert torch.equal(sample, hidden(3)) and real.all()


@torch.no_grad()
def test_the_maximum_is_taken_over_ranks_in_one_go_for_all_layers():
    torch.manual_seed(0)
    model = K3Model(SMOKE)
    calls = []

    def all_reduce_max(tensor: Tensor) -> None:
        calls.append(tensor.clone())
        tensor[1, 0] = 400.0

    clip = QKClip(model, all_reduce_max=all_reduce_max)
    model(torch.arange(20)[None])
    names = ["layers.3.attention", "layers.4.attention"]
    before = [model.get_submodule(name).q_up.weight.clone() for name in names]
    told = clip.clip()
    assert [tuple(call.shape) for call in calls] == [(2, 2)]
    assert told[1, 0] == 400 and told.flatten()[[0, 1, 3]].max() < 100
    after = [model.get_submodule(name).q_up.weight for name in names]
    assert torch.equal(after[0], before[0])
    quarter = torch.cat([torch.full((32,), 0.5), torch.full((16,), 0.25), torch.ones(48)])[:, None]
    torch.testing.assert_close(after[1], quarter * before[1], rtol=1e-6, atol=0)


@torch.no_grad()
def test_it_sees_training_forwards_alone_and_nothing_once_removed():
    made = layer()
    clip = QKClip(made)
    made.eval()
    made(hidden(4))
    with pytest.raises(RuntimeError, match="no batch has passed through"):
        clip.clip()
    made.train()
    made(hidden(4))
    clip.clip()
    with pytest.raises(RuntimeError, match="no batch has passed through"):
        clip.clip()
    clip.remove()
    made(hidden(4))
    assert not clip._samples


@torch.no_grad()
def test_a_logit_that_is_no_number_is_an_error_and_spoils_nothing():
    made = layer()
    clip = QKClip(made)
    before = made.q_up.weight.clone()
    made(hidden(4) * math.nan)
    with pytest.raises(FloatingPointError, match=r"a logit of .* is not finite"):
        clip.clip()
    assert torch.equal(made.q_up.weight, before)


def test_a_model_without_latent_attention_has_nothing_to_clip():
    assert QKClip(torch.nn.Linear(2, 2)).clip().shape == (0, 0)


@pytest.mark.parametrize("options", [{"threshold": 0.0}, {"tokens_per_group": 0}, {"groups": 0}])
def test_options_that_measure_nothing_are_refused(options):
    with pytest.raises(ValueError, match="all must be above 0"):
        QKClip(layer(), **options)


@torch.no_grad()
def test_the_measure_does_not_depend_on_padding():
    made = layer()
    x = torch.cat([hidden(9), hidden(10)[:, :9]])
    real = torch.arange(9) < torch.tensor([[9], [4]])
    both = largest_logits(made, x, real)
    assert (largest(made, x[1:], [9]) > both + 1).any()
    alone = torch.maximum(largest(made, x[:1], [9]), largest(made, x[1:, :4], [4]))
    torch.testing.assert_close(both, alone)
