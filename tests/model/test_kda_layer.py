"""The layer: token by token as all at once, packed as apart, and what a new one looks like."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest
import torch
from k3data.model.bench.oracles import kda_operands, relative_rms
from k3data.model.config import preset
from k3data.model.kda.cache import KDACache
from k3data.model.kda.layer import KimiDeltaAttention
from k3data.model.kda.recurrent import kda_recurrent
from k3data.model.kda.step import kda_step
from torch.utils.checkpoint import checkpoint

SMOKE = preset("smoke")


def layer(config=SMOKE):
    """With matrices so large that every part matters: gates open and close, queries and keys differ."""
    torch.manual_seed(0)
    return KimiDeltaAttention(dataclasses.replace(config, init_std=0.2))


def inputs(*shape):
    torch.manual_seed(1)
    return torch.randn(*shape, SMOKE.d_model)


def test_steps_equal_the_recurrence():
    q, k, v, log_decay, beta, state = kda_operands(12, 2, 32, "mixed", batch=3)
    expected, final = kda_recurrent(q, k, v, log_decay, beta, initial_state_NHKV=state, scale=1.0)
    for t in range(12):
        before = state.clone()
        o, state = kda_step(*(x[:, t] for x in (q, k, v, log_decay, beta)), before, scale=1.0)
        torch.testing.assert_close(o, expected[:, t], rtol=0, atol=1e-13)
    torch.testing.assert_close(state, final, rtol=0, atol=1e-13)


@torch.no_grad()
def test_decoding_token_by_token_equals_the_full_forward():
    attention, x = layer(), inputs(3, 150)
    cache = KDACache.empty(SMOKE.kda, 3)
    steps = torch.cat([attention(x[:, t : t + 1], cache=cache) for t in range(150)], 1)
    assert (steps - attention(x)).abs().max() <= 1e-5


@torch.no_grad()
def test_prefill_of_different_lengths_then_decoding_as_a_batch():
    attention = layer()
    lengths = [1, 2, 70, 64]
    prompts, rest = [inputs(1, 90)[:, :length] for length in lengths], inputs(4, 5)
    bounds = torch.tensor([0, *lengths]).cumsum(0)
    cache = KDACache.empty(SMOKE.kda, 4)
    attention(torch.cat(prompts, 1), bounds, cache)
    decoded = torch.cat([attention(rest[:, t : t + 1], cache=cache) for t in range(5)], 1)
    for n, prompt in enumerate(prompts):
        alone = attention(torch.cat([prompt, rest[n : n + 1]], 1))
        assert (decoded[n] - alone[0, -5:]).abs().max() <= 1e-5


@torch.no_grad()
def test_a_snapshot_is_a_place_to_go_on_from():
    attention, x = layer(), inputs(2, 100)
    cache = KDACache.empty(SMOKE.kda, 2)
    attention(x[:, :64], cache=cache)
    snapshot = cache.clone()
    first = attention(x[:, 64:], cache=cache)
    assert torch.equal(attention(x[:, 64:], cache=snapshot), first)
    assert (first - attention(x)[:, 64:]).abs().max() <= 1e-5


def test_packed_equals_separate_with_all_gradients():
    attention, x = layer().double(), inputs(1, 200).double().requires_grad_()
    bounds = torch.tensor([0, 3, 68, 68, 200])
    parameters = [x, *attention.parameters()]
    packed = attention(x, bounds)
    separate = torch.cat([attention(x[:, a:b]) for a, b in pairwise(bounds.tolist()) if b > a], 1)
    torch.testing.assert_close(packed, separate, rtol=1e-11, atol=1e-11)
    dy = torch.randn_like(packed)
    found, expected = (torch.autograd.grad(y, parameters, dy) for y in (packed, separate))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    assert all(gradient.any() for gradient in found), "every parameter takes part"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_later_tokens_change_neither_earlier_outputs_nor_gradients_by_a_bit(dtype):
    attention, x = layer().to(dtype), inputs(2, 100).to(dtype)

    def of_the_prefix(x, prefix=41):
        x = x.clone().requires_grad_()
        y = attention(x)[:, :prefix]
        y.float().square().sum().backward()
        return y, x.grad[:, :prefix]

    edited = x.clone()
    edited[:, 41:] = 3 * inputs(2, 100).flip(1)[:, 41:]
    for a, b in zip(of_the_prefix(x), of_the_prefix(edited), strict=True):
        assert torch.equal(a, b)


def test_bf16_is_near_fp32():
    attention, x = layer(SMOKE), inputs(2, 130)
    exact = attention(x)
    rounded = attention.bfloat16()(x.bfloat16())
    assert rounded.dtype == torch.bfloat16
    assert relative_rms(rounded, exact) < 0.03


def test_a_new_layer_is_as_specified():
    torch.manual_seed(0)
    attention = KimiDeltaAttention(preset("nano"))
    assert not attention.A_log.any()
    assert attention.dt_bias.shape == (256,)
    assert torch.equal(attention.o_norm.weight, torch.ones(64))
    assert attention.q_proj.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert attention.q_conv.weight.abs().max() <= 0.5 and attention.q_conv.weight.std() > 0.25
    alpha = torch.exp(-5 * torch.sigmoid(attention.dt_bias))
    assert 0.62 < alpha.min() < 0.7 and 0.99 < alpha.max() < 0.996


def test_no_parameter_has_a_bias_and_all_widths_are_k3s():
    with torch.device("meta"):
        shapes = {name: list(p.shape) for name, p in KimiDeltaAttention(preset("k3")).named_parameters()}
    assert shapes == {
        "A_log": [96], "dt_bias": [12288],
        "q_proj.weight": [12288, 7168], "k_proj.weight": [12288, 7168], "v_proj.weight": [12288, 7168],
        "q_conv.weight": [12288, 1, 4], "k_conv.weight": [12288, 1, 4], "v_conv.weight": [12288, 1, 4],
        "decay_down.weight": [128, 7168], "decay_up.weight": [12288, 128],
        "beta_proj.weight": [96, 7168], "gate_proj.weight": [12288, 7168],
        "o_norm.weight": [128], "o_proj.weight": [7168, 12288],
    }  # fmt: skip


def test_a_cache_of_another_model_or_batch_is_refused():
    attention, x = layer(), inputs(2, 3)
    with pytest.raises(ValueError, match=r"KDA cache's state is \[2, 4, 64, 64\], not \[2, 2, 32, 32\]"):
        attention(x, cache=KDACache.empty(preset("nano").kda, 2))
    with pytest.raises(ValueError, match=r"KDA cache's state is \[3, 2, 32, 32\], not \[2"):
        attention(x, cache=KDACache.empty(SMOKE.kda, 3))
    shorter = dataclasses.replace(SMOKE.kda, conv_kernel=3)
    with pytest.raises(ValueError, match=r"KDA cache's q tail is \[2, 2, 64\], not \[2, 3, 64\]"):
        attention(x, cache=KDACache.empty(shorter, 2))
    with pytest.raises(ValueError, match="must end at the number of tokens, 3, not at 2"):
        attention(x[:1], torch.tensor([0, 2]))


@torch.no_grad()
def test_a_refused_input_leaves_the_cache_as_it_was():
    attention, x = layer(), inputs(2, 8)
    cache = KDACache.empty(SMOKE.kda, 2)
    attention(x, cache=cache)
    before = cache.clone()
    with pytest.raises(ValueError, match="holds a value that is not finite"):
        attention(x * float("nan"), cache=cache)
    assert all(torch.equal(a, b) for a, b in zip(cache.tensors(), before.tensors(), strict=True))


@pytest.mark.parametrize("lower_bound", [-1e-3, -5.0, -5.9])
@pytest.mark.parametrize("A_log", [-8.0, 8.0])
def test_extreme_gates_and_inputs_stay_finite_with_their_gradients(lower_bound, A_log):
    attention = layer(dataclasses.replace(SMOKE, kda=dataclasses.replace(SMOKE.kda, gate_lower_bound=lower_bound)))
    torch.nn.init.constant_(attention.A_log, A_log)
    x = (1e4 * inputs(1, 130)).requires_grad_()
    y = attention(x)
    y.square().mean().backward()
    for tensor in (y, x.grad, *(parameter.grad for parameter in attention.parameters())):
        assert torch.isfinite(tensor).all()


def test_padding_of_zeros_gives_zeros_and_finite_gradients():
    attention, x = layer(), torch.zeros(1, 20, SMOKE.d_model, requires_grad=True)
    y = attention(x)
    y.sum().backward()
    assert not y.any() and torch.isfinite(x.grad).all()


def test_a_layer_trains_after_it_was_used_for_inference():
    """Both cut the same batch, and the cut is remembered."""
    attention, x = layer(), inputs(3, 77)
    with torch.inference_mode():
        expected = attention(x)
    y = attention(x)
    y.square().sum().backward()
    assert torch.equal(y, expected) and attention.dt_bias.grad.any()


def test_recomputing_in_the_backward_pass_gives_the_same_gradients():
    attention, x = layer(), inputs(2, 77).requires_grad_()
    leaves = [x, *attention.parameters()]
    once = torch.autograd.grad(attention(x).square().sum(), leaves)
    again = torch.autograd.grad(checkpoint(attention, x, use_reentrant=False).square().sum(), leaves)
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))
