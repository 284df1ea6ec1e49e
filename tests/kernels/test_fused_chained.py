"""Mixes that hand their sources on: as those that do not, in a stream of several layers."""

from __future__ import annotations

import pytest
import torch
from k3data.model.attn_res import AttentionResidual
from k3data.model.bench.oracles import relative_rms
from k3data.model.kernels.fused import chained_mix, mix
from k3data.model.norm import rms_norm
from torch.utils.checkpoint import checkpoint

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPE = torch.bfloat16 if DEVICE == "cuda" else torch.float32
DIM, READS = 24, 5


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, DTYPE)


def weights_of():
    """Of each read: query, norm weight, weight of the norm behind."""
    return [
        part
        for n in range(READS)
        for part in (0.3 * draw(DIM, seed=n), 1 + 0.2 * draw(DIM, seed=30 + n), 1 + 0.2 * draw(DIM, seed=60 + n))
    ]


def by_chain(weights, partial, added, blocks):
    return chained_mix(weights[0], weights[1], 1e-5, weights[2], 1e-4, partial, added, *blocks)


def one_by_one(weights, partial, added, blocks):
    return *mix(weights[0], weights[1], 1e-5, weights[2], 1e-4, partial, added, *blocks), blocks


def by_checkpoint(*inputs):
    return checkpoint(by_chain, *inputs, use_reentrant=False)


def by_operators(weights, partial, added, blocks):
    partial = partial if added is None else partial + added
    residual = AttentionResidual(DIM)
    del residual.query, residual.norm_weight
    residual.query, residual.norm_weight = weights[0], weights[1]
    h = residual([*blocks, partial]) if blocks else partial
    return partial, rms_norm(h, weights[2], 1e-4), blocks


def stream(read, embedding, *weights):
    """A block closed every second read; what a sublayer adds is its input, bent."""
    partial, added, blocks, total = embedding, None, (), 0.0
    for n in range(READS):
        partial, x, blocks = read(weights[3 * n : 3 * n + 3], partial, added, blocks)
        total = total + (x * (1 + n)).square().mean()
        added = torch.tanh(x)
        if n % 2 == 0:
            blocks, partial, added = (*blocks, partial), added, None
    return total


def gradients(read, dtype=DTYPE):
    leaves = [one.detach().to(dtype).requires_grad_() for one in (draw(1, 6, DIM, seed=90), *weights_of())]
    found = torch.autograd.grad(stream(read, *leaves), leaves, allow_unused=True)
    return [torch.zeros_like(leaf) if one is None else one for one, leaf in zip(found, leaves, strict=True)]


@pytest.mark.parametrize("read", [by_chain, one_by_one, by_checkpoint])
def test_gradients_are_the_operators(read):
    limit = 0.05 if DEVICE == "cuda" else 1e-5
    for one, other in zip(gradients(read), gradients(by_operators, torch.float64), strict=True):
        assert (not other.any() and not one.any()) or relative_rms(one, other) <= limit


def test_blocks_are_handed_on_as_they_are():
    weights, blocks = weights_of(), [draw(1, 6, DIM, seed=n) for n in range(2)]
    partial, added = draw(1, 6, DIM, seed=3).requires_grad_(), draw(1, 6, DIM, seed=4)
    total, x, onward = by_chain(weights, partial, added, tuple(blocks))
    assert [one.data_ptr() for one in onward] == [one.data_ptr() for one in blocks]
    for one, other in zip((total, x), mix(*weights[:2], 1e-5, weights[2], 1e-4, partial, added, *blocks), strict=True):
        assert torch.equal(one, other)
    with torch.no_grad():
        again = by_chain(weights, partial, added, tuple(blocks))
    assert all(one is other for one, other in zip(again[2], blocks, strict=True))
    assert torch.equal(again[1], x)
    assert not again[1].requires_grad


def test_a_stream_compiles_into_one_graph():
    leaves = [one.requires_grad_() for one in (draw(1, 6, DIM, seed=90), *weights_of())]
    compiled = torch.compile(stream, fullgraph=True, backend="aot_eager")
    found = torch.autograd.grad(compiled(by_chain, *leaves), leaves[:1] + leaves[3:])
    expected = torch.autograd.grad(stream(by_chain, *leaves), leaves[:1] + leaves[3:])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"block 0 is \[1, 5, 24\], but must be"):
        by_chain(weights_of(), draw(1, 6, DIM), None, [draw(1, 5, DIM)])
