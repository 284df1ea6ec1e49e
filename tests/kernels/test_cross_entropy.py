"""The loss of a slice by the kernel against the definition in fp64, and the whole loss by it against the operators."""

from __future__ import annotations

import pytest
import torch
from k3data.model.config import preset
from k3data.model.kernels.cross_entropy import _losses, of_chunk
from k3data.model.loss import Targets, cross_entropy
from k3data.model.loss import of_chunk as definition
from k3data.model.transformer import K3Model


def slice_of(tokens, words, device, spread=3.0):
    rng = torch.Generator().manual_seed(tokens * words)
    logits = spread * torch.randn(tokens, words, generator=rng)
    targets = torch.randint(0, words, (tokens, 1), generator=rng)
    weights = torch.rand(tokens, 1, generator=rng)
    return logits.to(device), targets.to(device), weights.to(device)


@pytest.mark.parametrize(("tokens", "words"), [(1, 1), (3, 500), (5, 4096), (4, 9001)])
def test_losses_and_gradients(tokens, words, device):
    logits, targets, weights = slice_of(tokens, words, device)
    before = logits.clone()
    losses, sums, gradient = of_chunk(logits, targets, weights, 1e-3, torch.float32)
    expected = definition(logits.double(), targets, weights.double(), 1e-3, torch.float64)
    assert torch.equal(logits, before)
    torch.testing.assert_close(losses.double(), expected[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(sums.double(), expected[1], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradient.double(), expected[2], rtol=1e-4, atol=1e-7)
    assert of_chunk(logits, targets, weights, 1e-3, torch.bfloat16)[2].dtype == torch.bfloat16
    assert of_chunk(logits, targets, weights, 1e-3, None)[2] is None


def test_logits_far_apart_and_words_that_cannot_be(device):
    logits, targets, weights = slice_of(4, 600, device, spread=300.0)
    logits[0, 100:] = -torch.inf
    targets[0] = 3
    losses, _, gradient = of_chunk(logits, targets, weights, 0.0, torch.float32)
    expected = definition(logits.double(), targets, weights.double(), 0.0, torch.float64)
    torch.testing.assert_close(losses.double(), expected[0], rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(gradient.double(), expected[2], rtol=1e-4, atol=1e-6)


def test_a_token_does_not_depend_on_the_others(device):
    logits, targets, weights = slice_of(6, 700, device)
    whole = of_chunk(logits, targets, weights, 0.0, torch.bfloat16)
    part = of_chunk(logits[:2], targets[:2], weights[:2], 0.0, torch.bfloat16)
    assert torch.equal(whole[0][:2], part[0])
    assert torch.equal(whole[2][:2], part[2])


def test_the_operator_says_what_it_is(device):
    logits, targets, weights = slice_of(3, 50, device)
    for gradient in (True, False):
        arguments = (logits, targets.flatten(), weights.flatten(), 0.1, torch.bfloat16, gradient)
        torch.library.opcheck(_losses.registered, arguments, test_utils=("test_schema", "test_faketensor"))
    with pytest.raises(ValueError, match=r"takes fp32 logits, not torch\.bfloat16"):
        of_chunk(logits.bfloat16(), targets, weights, 0.0, None)


def test_a_model_that_is_told_to_takes_it(device):
    torch.manual_seed(0)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    model = K3Model(preset("smoke")).to(device, dtype)
    hidden = torch.randn(70, 64, device=device, dtype=dtype, requires_grad=True)
    targets = Targets.of(torch.randint(0, 500, (70,)), torch.rand(70), 512).to(torch.device(device))
    head = model.head.weight
    results = []
    for function in (None, of_chunk):
        loss = cross_entropy(hidden, head, targets, z_loss=1e-3, chunk_size=32, of_chunk=function)
        results.append((loss.total.detach(), *torch.autograd.grad(loss.total, [hidden, head])))
    for found, expected in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(found, expected, rtol=2e-2 if device == "cuda" else 1e-5, atol=1e-6)
    model.use_kernels("triton")
    assert model.of_chunk is of_chunk
    model.use_kernels("torch")
    assert model.of_chunk is None
