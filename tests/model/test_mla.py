"""Gated latent attention against transformers' NoPE-MLA, against its own equations, and decoded token by token."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from k3data.model import mla as mla_module
from k3data.model.attention import Groups
from k3data.model.config import preset
from k3data.model.counts import count_parameters
from k3data.model.mla import GatedMLA
from k3data.model.mla_cache import MLACache
from torch import Tensor, nn

SMOKE = preset("smoke")


def layer(dtype=torch.float32, latent_norm_eps=1e-5, **options) -> GatedMLA:
    torch.manual_seed(1)
    made = GatedMLA(replace(SMOKE, mla=replace(SMOKE.mla, latent_norm_eps=latent_norm_eps)), **options)
    made.reset_parameters(0.2)
    with torch.no_grad():
        for norm in (made.q_norm, made.kv_norm):
            norm.weight.uniform_(0.5, 1.5)
    return made.to(dtype)


def hidden(batch: int, length: int, dtype=torch.float32) -> Tensor:
    return torch.randn(batch, length, SMOKE.d_model, generator=torch.Generator().manual_seed(length)).to(dtype)


def test_it_equals_transformers_latent_attention():
    """`kimi_linear` has the same latent attention but no output gate: ours is opened by logits of 40, where σ is 1 in
    fp32. Its latent norms have eps 1e-6 fixed, so ours are set to that."""
    modeling = pytest.importorskip("transformers.models.kimi_linear.modeling_kimi_linear")
    mla = SMOKE.mla
    config = modeling.KimiLinearConfig(
        hidden_size=SMOKE.d_model, num_attention_heads=mla.heads, num_key_value_heads=mla.heads, num_hidden_layers=1,
        q_lora_rank=mla.q_lora_rank, kv_lora_rank=mla.kv_lora_rank, qk_nope_head_dim=mla.qk_nope_dim,
        qk_rope_head_dim=mla.qk_rope_dim, v_head_dim=mla.v_dim, attn_implementation="eager",
    )  # fmt: skip
    theirs = modeling.KimiLinearAttention(config, 0)
    ours = layer(latent_norm_eps=1e-6)
    pairs = {
        "q_a_proj": ours.q_down, "q_a_layernorm": ours.q_norm, "q_b_proj": ours.q_up,
        "kv_a_proj_with_mqa": ours.kv_down, "kv_a_layernorm": ours.kv_norm, "kv_b_proj": ours.kv_up,
        "o_proj": ours.o_proj,
    }  # fmt: skip
    theirs.load_state_dict({f"{name}.weight": module.weight for name, module in pairs.items()})
    x = hidden(2, 50)
    x[..., 0] = 1
    with torch.no_grad():
        ours.gate_proj.weight.zero_()
        ours.gate_proj.weight[:, 0] = 40
        mask = torch.full((50, 50), -torch.inf).triu(1)[None, None]
        torch.testing.assert_close(ours(x), theirs(x, mask)[0], rtol=0, atol=1e-5)


def test_the_gate_takes_the_layers_input():
    ours, x = layer(torch.float64), hidden(1, 20, torch.float64)
    gate = torch.sigmoid(x @ ours.gate_proj.weight.T)
    nn.init.zeros_(ours.gate_proj.weight)  # σ = 1/2
    ours.o_proj = nn.Identity()
    half = ours(x)
    with torch.no_grad():
        ours.gate_proj.weight.copy_(layer(torch.float64).gate_proj.weight)
    torch.testing.assert_close(ours(x), 2 * half * gate, rtol=0, atol=1e-12)


def test_nothing_tells_positions_apart():
    """Without positions, the order of the tokens that the last one sees does not matter to it."""
    ours, x = layer(torch.float64), hidden(1, 30, torch.float64)
    shuffled = torch.cat([x[:, torch.randperm(29)], x[:, 29:]], dim=1)
    torch.testing.assert_close(ours(shuffled)[:, -1], ours(x)[:, -1], rtol=0, atol=1e-12)


def test_packed_equals_separate_with_gradients():
    ours, x = layer(torch.float64), hidden(1, 40, torch.float64).requires_grad_()
    bounds = torch.tensor([0, 7, 8, 40])
    packed = ours(x, bounds)
    separate = torch.cat([ours(x[:, start:end]) for start, end in ((0, 7), (7, 8), (8, 40))], dim=1)
    torch.testing.assert_close(packed, separate, rtol=0, atol=1e-12)
    leaves = [x, *ours.parameters()]
    for one, other in zip(
        torch.autograd.grad(packed.sin().sum(), leaves), torch.autograd.grad(separate.sin().sum(), leaves), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)
    assert torch.equal(ours(x, Groups(1, 40, bounds)), packed)


@torch.no_grad()
def test_decoding_token_by_token_equals_the_whole():
    ours, x = layer(), hidden(3, 90)
    whole = ours(x)
    cache = MLACache.empty(SMOKE.mla, 3)
    steps = [ours(x[:, :5], cache=cache)] + [ours(x[:, t : t + 1], cache=cache) for t in range(5, 90)]
    torch.testing.assert_close(torch.cat(steps, dim=1), whole, rtol=0, atol=1e-5)
    assert cache.lengths == [90] * 3
    assert cache.latent_NSC.shape[-1] == SMOKE.mla.kv_lora_rank + SMOKE.mla.qk_rope_dim


@torch.no_grad()
@pytest.mark.parametrize("scores", [2**24, 100])
def test_prompts_of_different_lengths_go_on_together_and_in_pieces(monkeypatch, scores):
    monkeypatch.setattr(mla_module, "_SCORES", scores)
    ours, lengths = layer(), [5, 1, 23]
    rows = [hidden(1, length + 10) for length in lengths]
    whole = [ours(row) for row in rows]
    cache = MLACache.empty(SMOKE.mla, 3)
    at = [0, 0, 0]
    for piece in (lengths, [4, 0, 2]):  # packed twice, the second time with a sequence that stands still
        packed = torch.cat([row[:, start : start + more] for row, start, more in zip(rows, at, piece, strict=True)], 1)
        bounds = torch.tensor([0, *piece]).cumsum(0)
        given = ours(packed, bounds, cache).split(piece, dim=1)
        for got, expected, start, more in zip(given, whole, at, piece, strict=True):
            torch.testing.assert_close(got, expected[:, start : start + more], rtol=0, atol=1e-5)
        at = [start + more for start, more in zip(at, piece, strict=True)]
    for width in (1, 3, 1):
        rows_now = [row[:, start : start + width] for row, start in zip(rows, at, strict=True)]
        given = ours(torch.cat(rows_now), cache=cache)
        for n, start in enumerate(at):
            torch.testing.assert_close(given[n], whole[n][0, start : start + width], rtol=0, atol=1e-5)
        at = [start + width for start in at]


@torch.no_grad()
def test_a_snapshot_stays_as_it_was():
    ours, x = layer(), hidden(1, 30)
    cache = MLACache.empty(SMOKE.mla, 1)
    ours(x[:, :20], cache=cache)
    snapshot = cache.clone()
    ours(-x[:, 20:], cache=cache)
    torch.testing.assert_close(ours(x[:, 20:], cache=snapshot), ours(x)[:, 20:], rtol=0, atol=1e-5)


@torch.no_grad()
def test_bf16_keeps_its_output_in_fp32_until_the_gate():
    x = hidden(1, 64, torch.bfloat16)
    exact = layer(torch.bfloat16).double()(x.double())
    errors = []
    for fp32_output in (True, False):
        got = layer(torch.bfloat16, fp32_output=fp32_output)(x)
        assert got.dtype == torch.bfloat16
        errors.append(((got - exact).norm() / exact.norm()).item())
    assert errors[0] < 0.01
    assert errors[0] < errors[1]


@torch.no_grad()
def test_wrong_input_is_told():
    ours = layer()
    with pytest.raises(ValueError, match="must end at the number of tokens, 10, not at 8"):
        ours(hidden(1, 10), torch.tensor([0, 8]))
    with pytest.raises(ValueError, match="is for 2 sequences, but the input has 1"):
        ours(hidden(1, 10), cache=MLACache.empty(SMOKE.mla, 2))
    with pytest.raises(ValueError, match="keeps 96 numbers of a token, but the layer has 56"):
        ours(hidden(1, 10), cache=MLACache.empty(preset("nano").mla, 1))
    with pytest.raises(ValueError, match=r"is torch\.bfloat16, but the activations are torch\.float32"):
        ours(hidden(1, 10), cache=MLACache.empty(SMOKE.mla, 1, torch.bfloat16))


def test_k3_keeps_576_numbers_of_a_token():
    with torch.device("meta"):
        made = GatedMLA(preset("k3"))
    assert sum(p.numel() for p in made.parameters()) == count_parameters(preset("k3")).mla // 24
    assert MLACache.empty(preset("k3").mla, 1, device="meta").latent_NSC.shape[-1] == 576
