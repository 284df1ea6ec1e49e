"""The trainer's configuration: what ships can be read, what is wrong is one line, what matters is in the digest."""

from __future__ import annotations

from dataclasses import replace

import pytest
from k3data.model.config import ConfigError, preset
from k3data.train.config import CONFIGS, CheckpointConfig, load_config, with_vocabulary

MINIMAL = "name: mine\nmodel: smoke\nstages:\n  - {stage: 8k, tokens: 100000, batch_tokens: 8192}\n"


def written(tmp_path, text: str):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", sorted(path.stem for path in CONFIGS.glob("*.yaml")))
def test_what_ships_can_be_read(name):
    config = load_config(name)
    assert config.name == name
    for stage in config.stages:
        assert stage.tokens >= stage.batch_tokens


def test_a_size_by_name_and_with_changes(tmp_path):
    assert load_config(written(tmp_path, MINIMAL)).model == preset("smoke")
    changed = MINIMAL.replace("model: smoke", "model: {preset: smoke, moe: {experts: 16}, mtp_layers: 1}")
    model = load_config(written(tmp_path, changed)).model
    assert (model.moe.experts, model.moe.top_k, model.mtp_layers) == (16, 2, 1)


def test_values_are_set_from_outside(tmp_path):
    overrides = ("optimiser.learning_rate=1e-3", "stages.0.tokens=5_000", "model.layers=4", "model.mla_layers=[3]")
    config = load_config(written(tmp_path, MINIMAL), overrides)
    assert config.optimiser.learning_rate == 1e-3
    assert config.stages[0].tokens == 5000 and config.tokens == 5000
    assert config.model.layers == 4 and config.model.mla_layers == (3,)


@pytest.mark.parametrize(
    "change, message",
    [
        (("name: mine", "nam: mine"), "unknown key nam .did you mean name"),
        (("batch_tokens: 8192", "batch: 8192"), r"unknown key stages\[0\].batch"),
        (("tokens: 100000", "tokens: many"), r"stages\[0\].tokens is 'many', not a whole number"),
        (("tokens: 100000", "tokens: 0"), "stage 8k: tokens is 0, and must be at least 1"),
        (("model: smoke", "model: smock"), "no size is named 'smock' .did you mean smoke"),
        (("model: smoke", "model: 3"), "model is 3, not the name of a size"),
        (("model: smoke", "model: smoke\nprecision: fp8"), "precision is 'fp8', not one of fp32, bf16"),
        (("model: smoke", "model: smoke\noptimiser: {learning_rate: -1}"), "learning_rate is -1.0, and must be"),
        (("model: smoke", "model: smoke\nrecompute: 1"), "recompute is 1, not true or false"),
        (("model: smoke", "model: smoke\ncompile: all"), "compile is 'all', not one of none, blocks"),
        (("model: smoke", "model: {preset: smoke, layers: 5.5}"), "model.layers is 5.5, not a whole number"),
    ],
)
def test_what_is_wrong_is_one_line_with_the_file(tmp_path, change, message):
    path = written(tmp_path, MINIMAL.replace(*change))
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_files_that_are_none(tmp_path):
    with pytest.raises(ConfigError, match="those that ship are base, demo, nano, small, smoke"):
        load_config("nanno")
    with pytest.raises(ConfigError, match="not YAML"):
        load_config(written(tmp_path, "name: [\n"))
    with pytest.raises(ConfigError, match="not an object with keys"):
        load_config(written(tmp_path, "- 1\n"))
    with pytest.raises(ConfigError, match="stages is empty"):
        load_config(written(tmp_path, "name: a\nmodel: smoke\nstages: []\n"))
    with pytest.raises(ConfigError, match=r"--set stages.3.tokens: there is no 3"):
        load_config(written(tmp_path, MINIMAL), ("stages.3.tokens=1",))


def test_the_digest_is_of_what_is_learnt_and_of_nothing_else(tmp_path):
    config = load_config(written(tmp_path, MINIMAL))
    same = replace(config, name="other", checkpoint=CheckpointConfig(every=7), workers=9, compile="blocks")
    assert same.digest() == config.digest()
    for other in (replace(config, seed=1), with_vocabulary(config, 600), replace(config, precision="bf16")):
        assert other.digest() != config.digest()
