"""Sizes by formula, against the release and against modules that are really built."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from k3data.model.attn_res import AttentionResidual
from k3data.model.bench import model_size
from k3data.model.config import preset
from k3data.model.counts import cache_bytes_per_sequence, cache_bytes_per_token, count_parameters, forward_flops
from k3data.model.feed_forward import FeedForward
from k3data.model.kda.cache import KDACache
from k3data.model.kda.layer import KimiDeltaAttention
from k3data.model.mla import GatedMLA
from k3data.model.moe import LatentMoE
from k3data.model.norm import RMSNorm
from k3data.model.vision.projector import Projector
from k3data.model.vision.vit import MoonViT
from torch.utils.flop_counter import FlopCounterMode


def test_k3_has_the_parameters_of_the_release():
    counts = count_parameters(preset("k3"))
    assert round(counts.total / 1e12, 4) == 2.7795
    assert round(counts.active / 1e9, 2) == 104.19
    assert round(counts.vision / 1e6, 1) == 401.2
    assert round(counts.projector / 1e6, 1) == 46.1


def test_parts_of_k3_have_the_parameters_of_its_shapes():
    counts = count_parameters(preset("k3"))
    assert round(counts.kda / 69 / 1e6, 1) == 443.7
    assert round(counts.mla / 24 / 1e6, 1) == 232.2
    assert round(counts.idle / 92 / (896 - 16) / 1e6, 2) == 33.03


@pytest.mark.parametrize(
    ("name", "total", "active"), [("small", 108e6, 46.9e6), ("base", 1.106e9, 331e6)]
)  # fmt: skip
def test_smaller_sizes_are_as_large_as_proposed(name, total, active):
    counts = count_parameters(preset(name))
    assert counts.total == pytest.approx(total, rel=4e-3)
    assert counts.active == pytest.approx(active, rel=4e-3)


def test_the_parts_add_up():
    counts = count_parameters(preset("base"))
    parts = ("embedding", "head", "kda", "mla", "dense", "moe", "attn_res", "norms", "mtp")
    assert counts.total == sum(getattr(counts, part) for part in parts)
    assert counts.everything == counts.total + counts.vision + counts.projector
    assert counts.active == counts.total - counts.embedding - counts.idle


def built(make, *arguments, **options):
    """Trained numbers of a module, made without memory."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in make(*arguments, **options).parameters())


@pytest.mark.parametrize("name", ["smoke", "nano", "k3"])
def test_modules_have_the_parameters_that_the_formula_gives(name):
    config = preset(name)
    counts = count_parameters(config)
    assert built(KimiDeltaAttention, config) * len(config.kda_layers) == counts.kda
    assert built(GatedMLA, config) * len(config.mla_layers) == counts.mla
    assert built(LatentMoE, config) * (config.layers - 1) == counts.moe
    assert built(FeedForward, config.d_model, config.dense_inner) == counts.dense
    assert built(AttentionResidual, config.d_model) * (2 * config.layers + 1) == counts.attn_res
    assert built(RMSNorm, config.d_model) * (2 * config.layers + 1) == counts.norms
    assert built(MoonViT, config.vision) == counts.vision
    assert built(Projector, config.vision.merged, config.d_model) == counts.projector


def test_mtp_and_vision_come_on_top():
    without = count_parameters(replace(preset("base"), vision=None))
    extra = count_parameters(replace(preset("base"), mtp_layers=1))
    assert without.vision == without.projector == 0
    assert extra.total - without.total == extra.mtp > without.mla / 6


def test_the_cache_is_as_large_as_in_the_reference():
    k3 = preset("k3")
    states = 69 * 96 * 128 * 128 * 4
    assert round(states / 1e6) == 434
    assert cache_bytes_per_sequence(k3) == states + 69 * 3 * 3 * 12288 * 2
    assert cache_bytes_per_token(k3) == 24 * 576 * 2


def test_cache_bytes_of_a_sequence_are_those_of_the_cache_that_is_made():
    config = preset("nano")
    made = sum(x.nbytes for x in KDACache.empty(config.kda, 3, torch.bfloat16).tensors())
    assert cache_bytes_per_sequence(config) * 3 == made * len(config.kda_layers)


def test_flops_grow_with_the_context_by_attention_alone():
    k3 = preset("k3")
    assert forward_flops(k3, 2048) - forward_flops(k3, 1024) == 1024 * 2 * 24 * 96 * (192 + 128)
    # Two operations for each active parameter, and little else at a short context.
    assert forward_flops(k3, 1) == pytest.approx(2 * count_parameters(k3).active, rel=0.01)


def test_flops_of_a_kda_layer_are_those_that_torch_counts_when_decoding():
    config = replace(preset("smoke"), mla_layers=(3, 4))
    fewer = replace(config, mla_layers=(2, 3, 4))
    layer = KimiDeltaAttention(config)
    cache = KDACache.empty(config.kda, 1)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(torch.randn(1, 1, config.d_model), cache=cache)
    mla = config.mla
    mla_layer = (
        config.d_model * (mla.q_lora_rank + mla.cache_dim + 2 * mla.width)
        + mla.q_lora_rank * mla.heads * mla.qk_dim + mla.kv_lora_rank * mla.heads * (mla.qk_nope_dim + mla.v_dim)
        + mla.q_lora_rank + mla.kv_lora_rank + mla.heads * (mla.qk_dim + mla.v_dim)
    )  # fmt: skip
    by_formula = forward_flops(config, 1) - forward_flops(fewer, 1) + 2 * mla_layer
    # torch counts two of the three products with the state: the third is an outer one, elementwise to it.
    outer = 2 * config.kda.heads * config.kda.head_dim**2
    assert counter.get_total_flops() == by_formula - outer


def test_the_benchmark_holds_the_sizes_against_the_release(monkeypatch):
    figures = model_size.run(quick=True)["figures"]
    assert figures["k3_total"] == count_parameters(preset("k3")).total
    monkeypatch.setitem(model_size.RELEASED, "active", 104.3e9)
    with pytest.raises(AssertionError, match="active"):
        model_size.run(quick=True)
