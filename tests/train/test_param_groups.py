"""The optimisers' table: every parameter of every size once, matrices as counted by formula, and nothing unknown."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest
import torch
from k3data.model.config import ModelConfig, preset
from k3data.model.counts import count_parameters
from k3data.model.transformer import K3Model
from k3data.train.optim import groups as groups_module
from k3data.train.optim.groups import Entry, Rule, describe, digest, parameter_table
from torch import nn

SMOKE = preset("smoke")
VARIANT = replace(
    SMOKE, mtp_layers=1,
    mla=replace(SMOKE.mla, heads=3, qk_nope_dim=24, qk_rope_dim=8, v_dim=40),
    kda=replace(SMOKE.kda, heads=4, head_dim=16, decay_rank=12),
)  # fmt: skip
"""With the extra layer, and with no two numbers alike that could be taken for one another."""


def table_of(config: ModelConfig) -> list[Entry]:
    with torch.device("meta"):
        return parameter_table(K3Model(config))


def matrices(config: ModelConfig) -> int:
    """Muon's logical matrices, counted from the shape of the model alone."""
    kda = 5 * config.kda.heads + 2  # q, k, v, decay and gate by head; the decay's bottleneck, out
    mla = 4 * config.mla.heads + 3  # q, k, v and gate by head; two latents, out
    moe = 3 * config.moe.experts + 6  # the experts', three shared, two of the latent, the router
    extra = config.mtp_layers * (1 + mla + moe)
    return len(config.kda_layers) * kda + len(config.mla_layers) * mla + 3 + (config.layers - 1) * moe + extra


def test_the_formula_on_known_sizes():
    """Worked out by hand."""
    assert matrices(preset("smoke")) == 3 * 12 + 2 * 11 + 3 + 4 * 30 == 181
    assert matrices(preset("nano")) == 6 * 22 + 3 * 19 + 3 + 8 * 102 == 1008
    assert matrices(preset("base")) == 15 * 62 + 6 * 51 + 3 + 20 * 390 == 9039


@pytest.mark.parametrize("config", [*map(preset, ("smoke", "nano", "small", "base", "k3")), VARIANT])
def test_muon_has_all_matrices_of_the_layers_and_adamw_the_rest(config):
    table = table_of(config)
    counts = count_parameters(config)
    assert sum(prod(entry.shape) for entry in table) == counts.everything
    muon = [entry for entry in table if entry.optimiser == "muon"]
    found = [one for entry in muon for one in entry.matrices]
    assert sum(count for count, _, _ in found) == matrices(config)
    held = sum(count * height * width for count, height, width in found)
    assert held == sum(prod(entry.shape) for entry in muon)
    kda, d = config.kda, config.d_model
    vectors = 3 * kda.width * kda.conv_kernel + kda.width + kda.heads + kda.head_dim
    outside = len(config.kda_layers) * (vectors + kda.heads * d)  # the projection of beta
    norms = (len(config.mla_layers) + config.mtp_layers) * (config.mla.q_lora_rank + config.mla.kv_lora_rank)
    norms += (config.layers - 1 + config.mtp_layers) * config.moe.latent + config.mtp_layers * 5 * d
    rest = outside + norms + counts.attn_res + counts.norms + counts.vision + counts.projector
    assert counts.everything - held == rest + counts.embedding + counts.head


def test_blocks_of_each_kind():
    """Width 64; KDA 4 heads of 16 with a bottleneck of 12; MLA 3 heads of 24 + 8 and 40, latents 48 and 40."""
    held = {entry.name: entry.matrices for entry in table_of(VARIANT)}
    kda, mla, ffn = "layers.1.attention.", "layers.3.attention.", "layers.1.ffn."
    assert held[kda + "q_proj.weight"] == held[kda + "k_proj.weight"] == held[kda + "v_proj.weight"] == [(4, 16, 64)]
    assert held[kda + "gate_proj.weight"] == [(4, 16, 64)]
    assert held[kda + "decay_up.weight"] == [(4, 16, 12)]
    assert held[kda + "decay_down.weight"] == [(1, 12, 64)]
    assert held[kda + "o_proj.weight"] == [(1, 64, 64)]
    assert held[mla + "q_up.weight"] == [(3, 32, 48)]
    assert held[mla + "kv_up.weight"] == [(3, 24, 40), (3, 40, 40)]
    assert held[mla + "gate_proj.weight"] == [(3, 40, 64)]
    assert held[mla + "kv_down.weight"] == [(1, 48, 64)]
    assert held[mla + "o_proj.weight"] == [(1, 64, 120)]
    assert held[ffn + "experts.down_ELI"] == [(8, 32, 24)]
    assert held[ffn + "shared.gate_proj.weight"] == [(1, 48, 64)]
    assert held["layers.0.ffn.gate_proj.weight"] == [(1, 128, 64)]
    assert held["mtp.fuse_proj.weight"] == [(1, 64, 128)]
    assert held["mtp.attention.kv_up.weight"] == [(3, 24, 40), (3, 40, 40)]


def test_what_adamw_has_and_what_does_not_decay():
    table = {entry.name: entry for entry in table_of(VARIANT)}
    for name in ("embedding.weight", "head.weight", "layers.0.attention.beta_proj.weight"):
        assert table[name].optimiser == "adamw"
    assert {entry.optimiser for entry in table.values() if entry.name.startswith("vision.")} == {"adamw"}
    still = {name for name, entry in table.items() if not entry.weight_decay}
    idle = {name for name, entry in table.items() if entry.optimiser == "none"}
    assert idle == {"layers.0.attention_mix.query", "layers.0.attention_mix.norm_weight"}
    gates = {f"layers.{n}.attention.{part}" for n in VARIANT.kda_layers for part in ("A_log", "dt_bias")}
    assert still == gates | idle
    assert {entry.weight_decay for name, entry in table.items() if name not in still} == {0.1}


def test_an_unknown_parameter_is_refused_by_name():
    with torch.device("meta"):
        model = K3Model(SMOKE)
        model.layers[2].attention.temperature = nn.Parameter(torch.ones(2))
    with pytest.raises(ValueError, match=r"parameter layers\.2\.attention\.temperature \[2\] falls under no rule"):
        parameter_table(model)
    with pytest.raises(ValueError, match=r"parameter weight \[3, 2\] falls under no rule"):
        parameter_table(nn.Linear(2, 3, bias=False))


def test_a_parameter_under_two_rules_is_refused(monkeypatch):
    twice = (*groups_module.RULES, Rule(K3Model, ("layers.0.attention.A_log",), "adamw"))
    monkeypatch.setattr(groups_module, "RULES", twice)
    with pytest.raises(ValueError, match=r"A_log \[2\] falls under 2 rules of the optimisers' table \(K3Model, Kimi"):
        table_of(SMOKE)


def test_the_digest_is_of_the_content_and_not_of_the_order():
    table = table_of(SMOKE)
    assert digest(table) == digest(table[::-1]) == digest(table_of(SMOKE))
    for change in ({"weight_decay": 0.2}, {"block_rows": (1,)}, {"optimiser": "muon"}, {"shape": (1, 2)}):
        assert digest([replace(table[0], **change), *table[1:]]) != digest(table)
    assert digest(table[1:]) != digest(table)


def test_the_printed_table_names_every_kind_once():
    text = describe(table_of(SMOKE))
    lines = [line.split() for line in text.splitlines()]
    rows = [line for line in lines if "layers.*.attention.kv_up.weight" in line]
    assert rows == [
        ["GatedMLA", "layers.*.attention.kv_up.weight", "2", "128", "x", "40",
         "2", "of", "32", "x", "40", "+", "2", "of", "32", "x", "40", "muon", "0.1"],
    ]  # fmt: skip
    assert "muon: 72 tensors, 181 matrices, 276,480 parameters" in text
    printed = sum(int(line[2]) for line in lines[1:-3])
    assert printed == len(table_of(SMOKE))
