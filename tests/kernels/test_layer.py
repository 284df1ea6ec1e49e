"""The layer by the kernels against the layer by the PyTorch operators: chosen by name, the same in all that it does."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from k3data.model.bench.oracles import relative_rms
from k3data.model.cache import HybridCache
from k3data.model.config import ConfigError, preset
from k3data.model.kda.cache import KDACache
from k3data.model.kda.layer import KimiDeltaAttention
from k3data.model.operators import use_kernels
from k3data.model.transformer import K3Model

SMOKE = preset("smoke")


def layers(device):
    """Two with the same weights, one by each."""
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    made = []
    for kernels in ("torch", "triton"):
        torch.manual_seed(1)
        layer = KimiDeltaAttention(SMOKE)
        layer.reset_parameters(0.2)
        use_kernels(layer, kernels)
        made.append(layer.to(device, dtype))
    return made, dtype


@pytest.mark.parametrize("bounds", [None, [0, 5, 5, 70, 80]])
def test_outputs_and_gradients_are_the_operators(device, bounds):
    made, dtype = layers(device)
    results = []
    for layer in made:
        x = torch.randn(1, 80, SMOKE.d_model, generator=torch.Generator().manual_seed(2)).to(device, dtype)
        x.requires_grad_()
        y = layer(x, None if bounds is None else torch.tensor(bounds))
        weight = torch.randn(y.shape, generator=torch.Generator().manual_seed(3)).to(y)
        (y * weight).sum().backward()
        gradients = {name: parameter.grad for name, parameter in layer.named_parameters()}
        results.append({"y": y.detach(), "dx": x.grad, **gradients})
    for name, expected in results[0].items():
        limit = 0.05 if device == "cuda" else 1e-4
        assert relative_rms(results[1][name], expected) <= limit, (name, relative_rms(results[1][name], expected))


def test_a_prompt_by_the_kernels_is_gone_on_from_token_by_token(device, small_sorts):
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    tokens = torch.randint(0, 200, (2, 40), generator=torch.Generator().manual_seed(0)).to(device)
    logits = []
    for kernels in ("torch", "triton"):
        torch.manual_seed(0)
        model = K3Model(SMOKE).to(device, dtype).eval()
        model.use_kernels(kernels)
        with torch.no_grad():
            cache = HybridCache.empty(SMOKE, 2, dtype, device)
            parts = [model.logits(tokens[:, :37], cache=cache).view(2, 37, -1)]
            parts += [model.logits(tokens[:, at : at + 1], cache=cache).view(2, 1, -1) for at in range(37, 40)]
        logits.append(torch.cat(parts, 1))
    tolerance = 0.05 if device == "cuda" else 1e-5
    torch.testing.assert_close(logits[1], logits[0], rtol=0, atol=tolerance)


def test_a_single_token_changes_the_state_in_place_by_the_step_kernel(device, monkeypatch):
    made, dtype = layers(device)
    x = torch.randn(3, 1, SMOKE.d_model, generator=torch.Generator().manual_seed(2)).to(device, dtype)
    caches = []
    for _ in made:
        cache = KDACache.empty(SMOKE.kda, 3, dtype, device)
        cache.state_NHKV.normal_(generator=torch.Generator(device).manual_seed(4))
        caches.append(cache)
    before = caches[1].state_NHKV
    monkeypatch.setattr("k3data.model.kda.layer.kda_chunked", None)
    with torch.no_grad():
        outputs = [layer(x, cache=cache) for layer, cache in zip(made, caches, strict=True)]
    assert caches[1].state_NHKV is before
    limit = 0.02 if device == "cuda" else 1e-5
    assert relative_rms(outputs[1], outputs[0]) <= limit
    assert relative_rms(before, caches[0].state_NHKV) <= limit


def test_heads_without_kernels_are_refused():
    odd = replace(SMOKE, kda=replace(SMOKE.kda, head_dim=48))
    with pytest.raises(ConfigError, match="kernels: triton has none for heads of 48 channels, only of"):
        K3Model(odd).use_kernels("triton")
