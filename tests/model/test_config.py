"""Sizes by name, their JSON, and the configurations that are refused."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import pytest
from k3data.model.config import PRESETS, ConfigError, KDAConfig, ModelConfig, MoEConfig, VisionConfig, preset


def test_k3_is_the_released_shape():
    k3 = preset("k3")
    assert (len(k3.kda_layers), len(k3.mla_layers)) == (69, 24)
    # The report counts from 1: 4, 8, …, 92 and 93.
    assert k3.mla_layers == (*range(3, 92, 4), 92)
    assert k3.kda.width == k3.mla.width == 12288
    assert (k3.mla.qk_dim, k3.mla.cache_dim, k3.moe.shared_inner) == (192, 576, 6144)
    assert (k3.vision.head_dim, k3.vision.merged) == (128, 4096)


@pytest.mark.parametrize("name", PRESETS)
def test_every_size_has_k3s_pattern(name):
    config = preset(name)
    assert config.name == name
    assert config.layers % 4 == 1 and config.is_mla(config.layers - 1) and not config.is_mla(0)
    assert len(config.kda_layers) == 3 * (config.layers // 4)
    assert config.layers % config.attn_res_block, "the last block of residuals is a partial one"
    assert config.moe.latent * 2 == config.d_model
    assert not config.is_moe(0) and all(config.is_moe(layer) for layer in range(1, config.layers))


def test_nano_and_small_share_one_vocabulary():
    assert preset("nano").vocab_size == preset("small").vocab_size == 16384
    assert preset("base").vocab_size == 65536


@pytest.mark.parametrize("name", PRESETS)
def test_json_gives_back_the_same_configuration(name):
    assert ModelConfig.from_json(preset(name).to_json()) == preset(name)


def test_json_of_a_text_model_with_mtp_comes_back():
    config = replace(preset("smoke"), vision=None, mtp_layers=1, norm_eps=1e-6)
    assert ModelConfig.from_json(config.to_json()) == config


def test_defaults_may_be_left_out_of_json():
    values = json.loads(preset("smoke").to_json())
    for key in ("vision", "init_std", "mtp_layers"):
        del values[key]
    del values["kda"]["gate_lower_bound"]
    assert ModelConfig.from_dict(values) == replace(preset("smoke"), vision=None)


def test_a_configuration_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        preset("smoke").layers = 9


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("leyers", 3, "unknown key leyers (did you mean layers?)"),
        ("kda.head_dims", 3, "unknown key kda.head_dims (did you mean head_dim?)"),
        ("layers", "five", "layers is 'five', not a whole number"),
        ("layers", 5.0, "layers is 5.0, not a whole number"),
        ("layers", True, "layers is True, not a whole number"),
        ("layers", None, "layers is None, not a whole number"),
        ("norm_eps", "small", "norm_eps is 'small', not a number"),
        ("kda", 3, "kda is 3, not an object with keys"),
        ("mla_layers", 3, "mla_layers is 3, not a list of whole numbers"),
        ("mla_layers", [3, "4"], "mla_layers is '4', not a whole number"),
        ("mla_layers", [4, 3], "mla_layers is [4, 3], not ascending without repetition"),
        ("mla_layers", [3, 5], "mla_layers is [3, 5], but layers are 0 to 4"),
        ("mla_layers", [-1, 3], "mla_layers is [-1, 3], but layers are 0 to 4"),
        ("layers", 0, "layers is 0, and must be above 0"),
        ("norm_eps", float("nan"), "norm_eps is nan, and must be above 0"),
        ("mtp_layers", 2, "mtp_layers is 2; a model predicts one more token (1) or does not (0)"),
        ("kda.heads", -2, "kda.heads is -2, and must be above 0"),
        ("kda.head_dim", 512, "kda.head_dim is 512, and the state of a head has at most 256 key channels"),
        ("kda.gate_lower_bound", -8, "kda.gate_lower_bound is -8.0, not in [-5.9, 0)"),
        ("kda.gate_lower_bound", 0, "kda.gate_lower_bound is 0.0, not in [-5.9, 0)"),
        ("moe.top_k", 8, "moe.top_k is 8 of 8 experts"),
        ("vision.heads", 5, "vision.qkv_width is 48 for 5 heads"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line_that_names_it(path, value, message):
    values = json.loads(preset("smoke").to_json())
    *parents, last = path.split(".")
    target = values
    for parent in parents:
        target = target[parent]
    target[last] = value
    with pytest.raises(ConfigError) as refused:
        ModelConfig.from_dict(values)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("key", ["d_model", "kda", "mla.v_dim"])
def test_a_missing_value_is_named(key):
    values = json.loads(preset("smoke").to_json())
    *parents, last = key.split(".")
    target = values[parents[0]] if parents else values
    del target[last]
    with pytest.raises(ConfigError, match=f"^{key} is missing$"):
        ModelConfig.from_dict(values)


@pytest.mark.parametrize("text", ["{", "[]", "3", ""])
def test_text_that_is_no_configuration_is_refused(text):
    with pytest.raises(ConfigError, match="the configuration is"):
        ModelConfig.from_json(text)


def test_an_unknown_size_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"no size is named 'nanno' \(did you mean nano\?\); there are smoke, nano"):
        preset("nanno")


def test_parts_refuse_contradictions_when_they_are_made():
    with pytest.raises(ConfigError, match="top_k"):
        MoEConfig(experts=4, top_k=4, latent=8, inner=8)
    with pytest.raises(ConfigError, match="decay_rank"):
        KDAConfig(heads=2, head_dim=8, decay_rank=0)
    with pytest.raises(ConfigError, match="multiple of 4"):
        VisionConfig(layers=1, width=8, qkv_width=18, heads=3, mlp=8, table=4)
