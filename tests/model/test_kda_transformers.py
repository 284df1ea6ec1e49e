"""Kimi Delta Attention of the transformers library, with the same weights: an implementation by others.

Two of theirs come near K3's layer. `kimi_linear` is Kimi Linear: its forget gate is −e^A·softplus(z), without a bound.
`glm5_next` has K3's bounded gate. Both pass the output gate through a bottleneck as wide as a head where K3's is full
rank (K3 report, Eq. 6), and both compute β in the activations' dtype where K3 takes fp32, which in fp32 is the same. So
the bottleneck is taken out of theirs, and kimi_linear's layer gets glm5_next's gate; all else is as they wrote it.
"""

from __future__ import annotations

import dataclasses

import pytest
import torch
from k3data.model.bench.oracles import kda_operands
from k3data.model.config import preset
from k3data.model.kda.chunked import kda_chunked
from k3data.model.kda.gate import bounded_log_decay
from k3data.model.kda.layer import KimiDeltaAttention
from k3data.model.kda.recurrent import kda_recurrent

SMOKE = preset("smoke")


@pytest.fixture(scope="module")
def theirs():
    pytest.importorskip("transformers", minversion="5.24")
    from transformers.models.glm5_next import modeling_glm5_next
    from transformers.models.kimi_linear import modeling_kimi_linear

    return {"kimi_linear": modeling_kimi_linear, "glm5_next": modeling_glm5_next}


def their_config():
    """The few fields that their layer reads."""
    from types import SimpleNamespace

    return SimpleNamespace(
        hidden_size=SMOKE.d_model, linear_num_heads=SMOKE.kda.heads, linear_head_dim=SMOKE.kda.head_dim,
        linear_conv_kernel_dim=4, hidden_act="silu", rms_norm_eps=SMOKE.norm_eps, linear_lower_bound=-5.0,
        layer_types=["linear_attention"],
    )  # fmt: skip


def their_layer(theirs, name, ours):
    module, config = theirs[name], their_config()
    kind = module.KimiLinearDeltaAttention if name == "kimi_linear" else module.Glm5NextTextLinearAttention
    layer = kind(config, 0)
    layer.forget_gate = theirs["glm5_next"].Glm5NextTextForgetGate(config)
    layer.g_a_proj, layer.g_b_proj = torch.nn.Identity(), torch.nn.Linear(SMOKE.d_model, SMOKE.kda.width, bias=False)
    layer.load_state_dict({
        **{f"{name}.weight": getattr(ours, name).weight for name in ("q_proj", "k_proj", "v_proj", "o_norm", "o_proj")},
        "conv1d.weight": torch.cat([ours.q_conv.weight, ours.k_conv.weight, ours.v_conv.weight]),
        "forget_gate.f_a_proj.weight": ours.decay_down.weight,
        "forget_gate.f_b_proj.weight": ours.decay_up.weight,
        "forget_gate.A_log": ours.A_log,
        "forget_gate.dt_bias": ours.dt_bias,
        "b_proj.weight": ours.beta_proj.weight,
        "g_b_proj.weight": ours.gate_proj.weight,
    })  # fmt: skip
    return layer


@pytest.mark.parametrize("length", [1, 64, 130])
@pytest.mark.parametrize("name", ["kimi_linear", "glm5_next"])
def test_their_layer_and_its_gradients_agree(theirs, name, length):
    torch.manual_seed(0)
    ours = KimiDeltaAttention(dataclasses.replace(SMOKE, init_std=0.1))
    with torch.no_grad():
        ours.A_log.uniform_(-1, 1)
        ours.o_norm.weight.uniform_(0.5, 2)
    layer = their_layer(theirs, name, ours)
    x = torch.randn(2, length, SMOKE.d_model, requires_grad=True)
    found, expected = ours(x), layer(x)
    assert expected.abs().max() > 0.1
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    dy = torch.randn_like(found)
    (dx,), (expected_dx,) = torch.autograd.grad(found, x, dy), torch.autograd.grad(expected, x, dy)
    torch.testing.assert_close(dx, expected_dx, rtol=0, atol=1e-5 * max(1.0, float(expected_dx.abs().max())))


@pytest.mark.parametrize("gate", ["saturated", "near_zero", "mixed", "initial"])
def test_their_operators_agree(theirs, gate):
    operands = [x.float() for x in kda_operands(100, 2, 32, gate, batch=2)]
    q, k, v, log_decay, beta, initial = operands
    for function in (kda_chunked, kda_recurrent):
        o, state = function(*operands[:5], initial_state_NHKV=initial)
        for name in ("chunk_kimi_delta_attention", "recurrent_kimi_delta_attention"):
            call = getattr(theirs["kimi_linear"], name)
            expected = call(q, k, v, g=log_decay, beta=beta, initial_state=initial, output_final_state=True)
            torch.testing.assert_close((o, state), tuple(expected), rtol=0, atol=1e-5)


def test_their_bounded_gate_agrees(theirs):
    torch.manual_seed(0)
    gate = theirs["glm5_next"].Glm5NextTextForgetGate(their_config())
    torch.nn.init.normal_(gate.A_log), torch.nn.init.normal_(gate.dt_bias)
    x = 5 * torch.randn(2, 9, SMOKE.d_model)
    z = gate.f_b_proj(gate.f_a_proj(x)).unflatten(-1, (SMOKE.kda.heads, -1))
    torch.testing.assert_close(bounded_log_decay(z, gate.A_log, gate.dt_bias), gate(x), rtol=0, atol=1e-6)
