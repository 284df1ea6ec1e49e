"""Models on disk: what is read is what was written, and a folder that is no whole model says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from k3data.model.checkpoint import KEPT_FP32, load_into, load_model, save_model, save_state
from k3data.model.config import preset
from k3data.model.quantile_balancing import balance
from k3data.model.shards import ModelFileError
from k3data.model.transformer import K3Model
from k3data.model.vision.preprocess import preprocess_image
from PIL import Image
from safetensors.torch import load_file, save_file

SMOKE = replace(preset("smoke"), mtp_layers=1)
SHARD = 100_000


def model(config=SMOKE, seed=0) -> K3Model:
    """No tensor of it is as initialised, not even zeros and ones."""
    torch.manual_seed(seed)
    made = K3Model(config)
    with torch.no_grad():
        for tensor in made.state_dict().values():
            tensor.add_(torch.randn_like(tensor) * 0.1)
    return made


@torch.no_grad()
def losses(made: K3Model) -> list[torch.Tensor]:
    """With a picture, and of the extra layer too."""
    picture = preprocess_image(Image.linear_gradient("L").convert("RGB").resize((56, 28)))
    tokens = torch.arange(12)[None].clone()
    tokens[0, 3 : 3 + picture.tokens] = made.config.media_pad_id
    weights = torch.ones(1, 12)
    weights[:, -1] = 0
    both = made.loss(tokens, weights, images=[picture])
    assert both.next_next_token is not None
    return [both.next_token.per_token_T, both.next_next_token.per_token_T]


def assert_same(one: K3Model, other: K3Model) -> None:
    theirs = dict(other.named_buffers()) | dict(other.named_parameters())
    ours = dict(one.named_buffers()) | dict(one.named_parameters())
    assert list(ours) == list(theirs)
    for name, tensor in ours.items():
        assert tensor.dtype == theirs[name].dtype and tensor.device == theirs[name].device
        assert torch.equal(tensor, theirs[name]), name


@pytest.mark.parametrize("limit", [SHARD, 2**32])
def test_what_is_loaded_is_what_was_saved_to_the_last_bit(tmp_path, limit):
    saved = model()
    save_model(saved, tmp_path, max_shard_bytes=limit)
    state = torch.get_rng_state()
    loaded = load_model(tmp_path)
    assert torch.equal(torch.get_rng_state(), state), "loading drew random numbers"
    assert loaded.config == SMOKE and loaded.training
    assert_same(saved, loaded)
    assert all(parameter.requires_grad for parameter in loaded.parameters())
    for before, after in zip(losses(saved), losses(loaded), strict=True):
        assert torch.equal(before, after)


def test_a_loaded_model_counts_and_balances_like_the_one_that_was_saved(tmp_path):
    saved, there = model(), model(seed=1)
    save_model(saved, tmp_path)
    loaded = load_model(tmp_path)
    losses(there)
    assert there.balancers()[0].load_E.sum() > 0
    load_into(there, tmp_path)  # counts of another model's tokens must not stay
    for made in (saved, loaded, there):
        losses(made)
        balance(made.balancers())
    assert_same(saved, loaded)
    assert_same(saved, there)
    assert not torch.equal(saved.balancers()[0].bias, model().balancers()[0].bias)


def test_counts_of_an_unfinished_step_are_not_saved(tmp_path):
    saved = model()
    losses(saved)
    assert saved.balancers()[0].load_E.sum() > 0
    save_model(saved, tmp_path)
    assert_same(model(), load_model(tmp_path))


def test_a_cast_leaves_in_fp32_what_the_release_has_in_fp32(tmp_path):
    saved = model()
    save_model(saved, tmp_path, dtype=torch.bfloat16)
    loaded = load_model(tmp_path)
    kept = 0
    for (name, before), after in zip(saved.state_dict().items(), loaded.state_dict().values(), strict=True):
        wanted = torch.float32 if name.endswith(KEPT_FP32) else torch.bfloat16
        assert after.dtype == wanted and torch.equal(before.to(wanted), after), name
        kept += wanted == torch.float32
    assert kept == 6 * 3 + 5  # of three KDA layers; a bias for each of four mixtures and the extra layer's
    save_model(saved, tmp_path)
    assert_same(loaded, load_model(tmp_path, dtype=torch.bfloat16))
    assert all(torch.isfinite(loss).all() for loss in losses(loaded))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_model_of_another_dtype_comes_back_in_it(tmp_path, dtype):
    saved = model().to(dtype)
    save_model(saved, tmp_path)
    assert_same(saved, load_model(tmp_path))
    wide = load_model(tmp_path, dtype=torch.float64)
    biases = [name for name, tensor in wide.state_dict().items() if tensor.dtype == torch.float32]
    assert len(biases) == 5 and all(name.endswith("balancer.bias") for name in biases)


def test_loading_into_a_model_keeps_its_dtype(tmp_path):
    saved, there = model(), model(seed=1).bfloat16()
    save_model(saved, tmp_path, max_shard_bytes=SHARD)
    load_into(there, tmp_path)
    assert_same(model().bfloat16(), there)


def test_another_configuration_is_refused_by_name_of_the_keys(tmp_path):
    save_model(model(), tmp_path)
    other = replace(SMOKE, vision=None, norm_eps=1e-6, moe=replace(SMOKE.moe, top_k=3), mtp_layers=0)
    there = model(other)
    before = {name: tensor.clone() for name, tensor in there.state_dict().items()}
    keys = r"moe\.top_k \(2 there, 3 here\), vision \(one there, none here\), mtp_layers \(1 there, 0 here\) and 1 more"
    with pytest.raises(ModelFileError, match=f"holds another model's checkpoint: {keys}$"):
        load_into(there, tmp_path)
    assert all(torch.equal(before[name], tensor) for name, tensor in there.state_dict().items())
    with pytest.raises(ModelFileError, match=r"another model's checkpoint: moe\.top_k \(2 there, 3 here\)$"):
        load_into(model(replace(SMOKE, moe=replace(SMOKE.moe, top_k=3))), tmp_path)
    with pytest.raises(ModelFileError, match="another model's checkpoint"):
        save_model(there, tmp_path)
    assert_same(model(), load_model(tmp_path))
    save_model(there, tmp_path, overwrite=True)
    assert load_model(tmp_path).config == other
    load_into(model(replace(other, name="mine")), tmp_path)


def rewrite(folder: Path, change) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def drop_router(tensors):
    for name in [name for name in tensors if "router" in name]:
        del tensors[name]


def add_bias(tensors):
    tensors["head.bias"] = torch.zeros(3)


def transpose(tensors):
    tensors["head.weight"] = tensors["head.weight"].T.contiguous()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop_router, r"lacks layers\.1\.ffn\.router\.weight, .*, layers\.2\.ffn\.router\.weight and 7 more$"),
        (add_bias, r"holds head\.bias, which the model does not have$"),
        (transpose, r"holds head\.weight as \[64, 512\] instead of \[512, 64\]$"),
        (lambda tensors: (add_bias(tensors), transpose(tensors)), r"does not have; holds head\.weight as"),
    ],
)
def test_tensors_that_are_not_the_models_are_named(tmp_path, change, message):
    save_model(model(), tmp_path)
    rewrite(tmp_path, change)
    there = model(seed=1)
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path)
    with pytest.raises(ModelFileError, match=message):
        load_into(there, tmp_path)
    assert_same(model(seed=1), there)


def test_a_damaged_file_or_a_folder_of_unfinished_ones_is_no_checkpoint(tmp_path):
    save_model(model(), tmp_path)
    (tmp_path / "config.json").rename(tmp_path / "config.json.partial")
    (tmp_path / "model.safetensors").rename(tmp_path / "model.safetensors.partial")
    there = model(seed=1)
    for load in (load_model, lambda folder: load_into(there, folder)):
        with pytest.raises(ModelFileError, match=r"is no checkpoint: it holds no config\.json$"):
            load(tmp_path)
    save_model(model(), tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    for load in (load_model, lambda folder: load_into(there, folder)):
        with pytest.raises(ModelFileError, match=r"model\.safetensors is torn, or no safetensors file: "):
            load(tmp_path)
    assert_same(model(seed=1), there)


@pytest.mark.parametrize("text", [b"", b'{"architectures": ["Other"]}', b"\xff\xfe"])
def test_a_config_that_is_none_is_told_and_not_replaced(tmp_path, text):
    save_model(model(), tmp_path)
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(ModelFileError, match=r"config\.json is no model's configuration: "):
        load_model(tmp_path)
    with pytest.raises(ModelFileError, match=r"config\.json is no model's configuration: "):
        save_model(model(), tmp_path)
    assert (tmp_path / "config.json").read_bytes() == text


def test_what_cannot_be_saved_or_filled_is_refused(tmp_path):
    with torch.device("meta"):
        empty = K3Model(SMOKE)
    with pytest.raises(ValueError, match=r"embedding\.weight is on the meta device"):
        save_model(empty, tmp_path)
    state = model().state_dict()
    split = state | {"norm.weight": state["norm.weight"].as_subclass(type("Split", (torch.Tensor,), {}))}
    with pytest.raises(ValueError, match=r"norm\.weight is a Split, and only a tensor that is whole and here can be"):
        save_state(split, SMOKE, tmp_path)
    with pytest.raises(ValueError, match="max_shard_bytes is 0"):
        save_state(state, SMOKE, tmp_path, max_shard_bytes=0)
    del state["norm.weight"]
    with pytest.raises(ModelFileError, match=r"^the state lacks norm\.weight$"):
        save_state(state, SMOKE, tmp_path)
    assert not any(tmp_path.iterdir())
    save_model(model(), tmp_path)
    with pytest.raises(ValueError, match="on the meta device"):
        load_into(empty, tmp_path)


def test_a_buffer_that_loading_does_not_know_is_refused(tmp_path, monkeypatch):
    def with_table(config):
        made = K3Model.__new__(K3Model)
        made.__init__(config)
        made.norm.register_buffer("table", torch.ones(3), persistent=False)
        return made

    save_model(model(), tmp_path)
    monkeypatch.setattr("k3data.model.checkpoint.K3Model", with_table)
    with pytest.raises(NotImplementedError, match="norm has table, which no file holds"):
        load_model(tmp_path)
