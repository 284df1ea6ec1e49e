"""Attention residuals: the mix and its gradients by formula, K3's schedule source by source, the two-phase form."""

from __future__ import annotations

import pytest
import torch
from k3data.model.attn_res import AttentionResidual, ResidualStream, TwoPhaseStream, block_mixes
from k3data.model.config import preset
from torch import Tensor


def mixes(count: int, dim: int = 24, seed: int = 0) -> list[AttentionResidual]:
    rng = torch.Generator().manual_seed(seed)
    made = [AttentionResidual(dim).double() for _ in range(count)]
    for mix in made:
        mix.query.data = torch.randn(dim, generator=rng, dtype=torch.float64)
        mix.norm_weight.data = 0.5 + torch.rand(dim, generator=rng, dtype=torch.float64)
    return made


def vectors(count: int, dim: int = 24, seed: int = 1) -> list[Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return list(torch.randn(count, 2, 5, dim, generator=rng, dtype=torch.float64) * 3)


def by_definition(mix: AttentionResidual, sources: list[Tensor]) -> Tensor:
    keys = [v * torch.rsqrt(v.square().mean(-1, keepdim=True) + mix.eps) * mix.norm_weight for v in sources]
    p = torch.stack([key @ mix.query for key in keys]).softmax(0)
    return (p[..., None] * torch.stack(sources)).sum(0)


@pytest.mark.parametrize("count", [1, 2, 9])
def test_the_mix_and_its_gradients_equal_the_definition(count):
    (mix,) = mixes(1)
    sources = [v.requires_grad_() for v in vectors(count)]
    leaves = [mix.query, mix.norm_weight, *sources]
    ours, theirs = mix(sources), by_definition(mix, sources)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-13)
    weights = torch.randn_like(ours)
    for one, other in zip(
        torch.autograd.grad((ours * weights).sum(), leaves),
        torch.autograd.grad((theirs * weights).sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_a_new_mix_is_the_mean_and_its_query_learns():
    mix, sources = AttentionResidual(24).double(), vectors(4)
    h = mix(sources)
    torch.testing.assert_close(h, torch.stack(sources).mean(0))
    h.square().sum().backward()
    assert mix.query.grad.abs().min() > 0


def test_bf16_rounds_once():
    (mix,) = mixes(1)
    sources = [v.bfloat16() for v in vectors(5)]
    exact = by_definition(mix, [v.double() for v in sources])
    got = mix.float()(sources)
    assert got.dtype == torch.bfloat16
    torch.testing.assert_close(got.double(), exact, rtol=2**-8, atol=1e-6)


def test_backward_keeps_nothing_but_the_sources():
    (mix,) = mixes(1)
    sources = [v.requires_grad_() for v in vectors(6)]
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        mix(sources)
    known = {x.data_ptr() for x in (mix.query, mix.norm_weight, *sources)}
    assert {x.data_ptr() for x in kept} == known


def run(stream: ResidualStream, layers: int, block: int, attention_mixes, ffn_mixes, output_mix, outputs) -> Tensor:
    """The loop of a model whose sublayers give what they read, turned by a fixed amount."""
    reads = []
    for number in range(layers):
        x = stream.read(attention_mixes[number])
        if number % block == 0:
            stream.close_block()
        stream.add(torch.tanh(x) + outputs[2 * number])
        reads.append(x)
        x = stream.read(ffn_mixes[number])
        stream.add(torch.tanh(x) + outputs[2 * number + 1])
        reads.append(x)
    return torch.stack([*reads, stream.read(output_mix)])


class Spy(ResidualStream):
    def __init__(self, embedding: Tensor) -> None:
        super().__init__(embedding)
        self.seen: list[int] = []

    def read(self, mix: AttentionResidual) -> Tensor:
        self.seen.append(len(self.sources()))
        return super().read(mix)


def test_the_schedule_of_k3_source_by_source():
    """Every sublayer gives 1, so that a source tells how many of them it sums."""
    config = preset("k3")
    zero = AttentionResidual(1).double()
    stream = Spy(torch.tensor([[[0.5]]], dtype=torch.float64))
    for number in range(config.layers):
        stream.read(zero)
        if number % config.attn_res_block == 0:
            stream.close_block()
        stream.add(torch.full((1, 1, 1), 1.0, dtype=torch.float64))
        stream.read(zero)
        stream.add(torch.full((1, 1, 1), 1.0, dtype=torch.float64))
    stream.read(zero)
    assert len(stream.seen) == 2 * 93 + 1
    # The embedding alone; then block m's readers see b_0 … b_m and the running sum, its first attention the one before.
    expected = [1] + [2 + number // 12 for number in range(93) for _ in range(2)]
    assert stream.seen == expected
    assert len(stream.blocks) == 8
    assert [b.item() for b in stream.blocks] == [0.5] + [24.0] * 7
    assert stream.partial.item() == 18  # nine layers, two sublayers each
    assert stream.seen[-1] == 9


def test_a_block_starts_with_the_finished_one_as_its_running_sum():
    embedding, first, second = vectors(3)
    (mix,) = mixes(1)
    stream = ResidualStream(embedding)
    assert stream.read(mix) is embedding
    stream.close_block()
    stream.add(first)
    stream.add(second)
    before = stream.read(mix)
    torch.testing.assert_close(before, by_definition(mix, [embedding, first + second]), rtol=0, atol=1e-13)
    stream.close_block()
    assert torch.equal(stream.read(mix), before)


@pytest.mark.parametrize(("layers", "block"), [(1, 1), (5, 2), (9, 4), (13, 12), (4, 4)])
def test_two_phases_equal_the_direct_form(layers, block):
    made = mixes(2 * layers + 1)
    attention_mixes, ffn_mixes, output_mix = made[0:-1:2], made[1:-1:2], made[-1]
    embedding, *outputs = vectors(2 * layers + 1)
    schedule = block_mixes(attention_mixes, ffn_mixes, output_mix, block)
    assert [mix for group in schedule for mix in group] == made[1:]
    assert all(len(group) == 2 * block for group in schedule[:-1])
    parts = (layers, block, attention_mixes, ffn_mixes, output_mix, outputs)
    direct = run(ResidualStream(embedding), *parts)
    torch.testing.assert_close(run(TwoPhaseStream(embedding, schedule), *parts), direct, rtol=0, atol=1e-12)


def test_scores_of_any_size_stay_finite():
    (mix,) = mixes(1)
    mix.query.data *= 1e4
    sources = [v.requires_grad_() for v in vectors(3)]
    out = mix(sources)
    out.sum().backward()
    assert out.isfinite().all()
    assert all(v.grad.isfinite().all() for v in sources)


def test_wrong_input_is_told():
    (mix,) = mixes(1)
    with pytest.raises(ValueError, match="no source"):
        mix([])
    with pytest.raises(ValueError, match=r"one shape, not \[2, 5, 24\] and \[2, 4, 24\]"):
        mix([vectors(1)[0], vectors(1)[0][:, :4]])
    stream = ResidualStream(vectors(1)[0])
    stream.close_block()
    with pytest.raises(ValueError, match="must add something"):
        stream.close_block()
