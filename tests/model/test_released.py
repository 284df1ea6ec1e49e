"""The released checkpoint: its census, its shapes, and the way there and back."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace

import pytest
import torch
from k3data.model.checkpoint import load_model, save_model, save_state
from k3data.model.config import preset
from k3data.model.counts import count_parameters
from k3data.model.mxfp4 import decode_mxfp4
from k3data.model.released import How, export_released, import_released, released_tensors
from k3data.model.shards import ModelFileError, TensorFiles, write_folder
from k3data.model.transformer import K3Model

K3 = preset("k3")
SMOKE = preset("smoke")
PACKABLE = replace(SMOKE, moe=replace(SMOKE.moe, inner=32))
"""Rows of all experts divide into MXFP4's groups."""

LAYER = "language_model.model.layers."
BF16, FP32, UINT8 = torch.bfloat16, torch.float32, torch.uint8


def kda(layer: int) -> dict:
    """What the release has of a layer with KDA."""
    matrices = {f"self_attn.{name}_proj.weight": (12288, 7168) for name in "qkvg"}
    matrices |= {
        "self_attn.o_proj.weight": (7168, 12288), "self_attn.b_proj.weight": (96, 7168),
        "self_attn.f_a_proj.weight": (128, 7168), "self_attn.f_b_proj.weight": (12288, 128),
    }  # fmt: skip
    kept = {f"self_attn.{name}_conv1d.weight": (12288, 1, 4) for name in "qkv"}
    kept |= {"self_attn.A_log": (128,), "self_attn.dt_bias": (12288,), "self_attn.o_norm.weight": (128,)}
    return around(layer) | of(layer, matrices, BF16) | of(layer, kept, FP32)


def mla(layer: int) -> dict:
    matrices = {
        "q_a_proj": (1536, 7168), "q_a_layernorm": (1536,), "q_b_proj": (18432, 1536),
        "kv_a_proj_with_mqa": (576, 7168), "kv_a_layernorm": (512,), "kv_b_proj": (24576, 512),
        "g_proj": (12288, 7168), "o_proj": (7168, 12288),
    }  # fmt: skip
    return around(layer) | of(layer, {f"self_attn.{name}.weight": shape for name, shape in matrices.items()}, BF16)


def around(layer: int) -> dict:
    norms = {f"{name}.weight": (7168,) for name in ("input_layernorm", "post_attention_layernorm")}
    norms |= {f"{name}_res_norm.weight": (7168,) for name in ("self_attention", "mlp")}
    return of(layer, norms | {f"{name}_res_proj.weight": (1, 7168) for name in ("self_attention", "mlp")}, BF16)


def dense(layer: int) -> dict:
    up = {f"mlp.{name}_proj.weight": (33792, 7168) for name in ("gate", "up")}
    return of(layer, up | {"mlp.down_proj.weight": (7168, 33792)}, BF16)


def moe(layer: int) -> dict:
    block = "block_sparse_moe."
    matrices = {
        "gate.weight": (896, 7168), "routed_expert_norm.weight": (3584,),
        "routed_expert_down_proj.weight": (3584, 7168), "routed_expert_up_proj.weight": (7168, 3584),
        "shared_experts.gate_proj.weight": (6144, 7168), "shared_experts.up_proj.weight": (6144, 7168),
        "shared_experts.down_proj.weight": (7168, 6144),
    }  # fmt: skip
    packed = {
        f"{block}experts.{expert}.{name}": shape
        for expert in range(896)
        for name, shape in {
            "w1.weight_packed": (3072, 1792), "w1.weight_scale": (3072, 112),
            "w2.weight_packed": (3584, 1536), "w2.weight_scale": (3584, 96),
            "w3.weight_packed": (3072, 1792), "w3.weight_scale": (3072, 112),
        }.items()
    }  # fmt: skip
    bias = {f"{block}gate.e_score_correction_bias": (896,)}
    return (
        of(layer, {block + name: shape for name, shape in matrices.items()}, BF16)
        | of(layer, bias, FP32)
        | of(layer, packed, UINT8)
    )


def of(layer: int, shapes: dict, dtype: torch.dtype) -> dict:
    return {f"{LAYER}{layer}.{name}": (shape, dtype) for name, shape in shapes.items()}


def outside() -> dict:
    """All but the layers of the language model."""
    shapes = {
        "language_model.model.embed_tokens.weight": (163840, 7168), "language_model.lm_head.weight": (163840, 7168),
        "language_model.model.norm.weight": (7168,),
        "language_model.model.output_attn_res_norm.weight": (7168,),
        "language_model.model.output_attn_res_proj.weight": (1, 7168),
        "vision_tower.patch_embed.proj.weight": (1024, 3, 14, 14),
        "vision_tower.patch_embed.pos_emb.weight": (64, 64, 1024),
        "vision_tower.encoder.final_layernorm.weight": (1024,),
        "mm_projector.proj.0.weight": (4096, 4096), "mm_projector.proj.2.weight": (7168, 4096),
        "mm_projector.post_norm.weight": (7168,),
    }  # fmt: skip
    block = {
        "norm0": (1024,), "norm1": (1024,), "wqkv": (4608, 1024), "wo": (1024, 1536), "mlp.fc0": (4096, 1024),
        "mlp.fc1": (1024, 4096),
    }  # fmt: skip
    for number in range(27):
        shapes |= {f"vision_tower.encoder.blocks.{number}.{name}.weight": shape for name, shape in block.items()}
    return {name: (shape, BF16) for name, shape in shapes.items()}


@pytest.fixture(scope="module")
def k3():
    return released_tensors(K3)


def test_the_map_has_the_census_of_the_release(k3):
    """Counts, dtypes and bytes as its index and the heads of its files say."""
    assert len(k3) == 497_220
    assert Counter(one.dtype for one in k3.values()) == {UINT8: 494_592, BF16: 2_122, FP32: 506}
    assert sum(math.prod(one.shape) * one.dtype.itemsize for one in k3.values()) == 1_560_860_324_864
    assert sum(math.prod(one.shape) for one in k3.values() if one.dtype == FP32) == 11_122_432
    assert len({re.sub(r"\.\d+\.", ".N.", name) for name in k3}) == 59


def test_every_name_shape_and_dtype_is_that_of_the_release(k3):
    expected = outside() | kda(0) | dense(0)
    mla_layers = {*range(3, 93, 4), 92}
    for layer in range(1, 93):
        expected |= (mla(layer) if layer in mla_layers else kda(layer)) | moe(layer)
    assert {name: (one.shape, one.dtype) for name, one in k3.items()} == expected


def test_every_tensor_of_k3_is_covered_once_and_nothing_is_left(k3):
    with torch.device("meta"):
        made = K3Model(K3)
    ours = {name: tensor.shape for name, tensor in made.state_dict().items()}
    covered = dict.fromkeys(ours, 0)
    for one in k3.values():
        # A padded tensor has as many of its own as ours; scales say nothing more than the values that they scale.
        per = {How.VALUES: 2 * math.prod(one.shape), How.SCALES: 0, How.PADDED: 96}
        covered[one.ours] += per.get(one.how, math.prod(one.shape))
    assert covered == {name: math.prod(shape) for name, shape in ours.items()}
    counts, biases = count_parameters(K3), 92 * 896
    assert sum(covered.values()) - biases == counts.everything
    assert (counts.total, counts.vision, counts.projector) == (2_779_484_393_568, 401_214_464, 46_144_512)
    places = Counter((one.ours, one.expert, one.how) for one in k3.values())
    assert set(places.values()) == {1}


def test_unpacked_an_expert_s_matrix_has_the_logical_shape():
    plain = released_tensors(K3, packed=False)
    assert len(plain) == 497_220 - 494_592 // 2
    one = plain[f"{LAYER}92.block_sparse_moe.experts.895.w2.weight"]
    assert one == ("layers.92.ffn.experts.down_ELI", (3584, 3072), BF16, How.EXPERT, 895)


def model(config) -> K3Model:
    """In bf16 as far as the release is, with experts that MXFP4 can say, and nothing as initialised."""
    torch.manual_seed(0)
    made = K3Model(config)
    with torch.no_grad():
        for name, tensor in made.state_dict().items():
            tensor.add_(torch.randn_like(tensor) * 0.1)
            if ".experts." in name:
                values = torch.randint(0, 256, (*tensor.shape[:-1], tensor.shape[-1] // 2), dtype=UINT8)
                scales = torch.randint(118, 124, (*tensor.shape[:-1], tensor.shape[-1] // 32), dtype=UINT8)
                tensor.copy_(decode_mxfp4(values, scales) if config is PACKABLE else tensor)
    return made


@pytest.mark.parametrize(("config", "packed"), [(PACKABLE, True), (PACKABLE, False), (SMOKE, False)])
def test_the_way_there_and_back_is_exact(tmp_path, config, packed):
    save_model(model(config), tmp_path, dtype=BF16)
    state = load_model(tmp_path).state_dict()
    released = export_released(state, config, packed=packed)
    table = released_tensors(config, packed=packed)
    assert {name: (tuple(one.shape), one.dtype) for name, one in released.items()} == {
        name: (one.shape, one.dtype) for name, one in table.items()
    }
    back = import_released(released, config)
    assert set(back) == set(state)
    for name, tensor in state.items():
        assert back[name].dtype == tensor.dtype and torch.equal(back[name], tensor), name


def test_an_imported_folder_becomes_the_same_model(tmp_path):
    made = model(PACKABLE)
    save_model(made, tmp_path / "ours", dtype=BF16)
    made = load_model(tmp_path / "ours")
    released = export_released(made.state_dict(), PACKABLE)
    dtypes = {name: tensor.dtype for name, tensor in released.items()}
    write_folder(tmp_path / "released", "{}", released, dtypes, max_shard_bytes=100_000)
    save_state(import_released(TensorFiles(tmp_path / "released"), PACKABLE), PACKABLE, tmp_path / "back")
    back = load_model(tmp_path / "back")
    tokens = torch.arange(9)[None]
    assert torch.equal(made(tokens), back(tokens))


def test_fp32_goes_there_and_back_where_it_is_asked_for():
    state = model(SMOKE).state_dict()
    back = import_released(export_released(state, SMOKE, packed=False, dtype=FP32), SMOKE)
    assert all(torch.equal(back[name], tensor) for name, tensor in state.items())


def test_experts_are_gate_up_and_down_and_each_keeps_its_number():
    state = model(PACKABLE).state_dict()
    released = export_released(state, PACKABLE)
    for number, ours in ((1, "gate_EIL"), (3, "up_EIL"), (2, "down_ELI")):
        name = f"{LAYER}2.block_sparse_moe.experts.5.w{number}.weight"
        matrix = decode_mxfp4(released[f"{name}_packed"], released[f"{name}_scale"], FP32)
        assert torch.equal(matrix, state[f"layers.2.ffn.experts.{ours}"][5])


def test_a_log_is_filled_with_zeros_and_read_without_them():
    state = model(SMOKE).state_dict()
    released = export_released(state, SMOKE, packed=False)
    name = f"{LAYER}0.self_attn.A_log"
    assert released[name].shape == (128,) and not released[name][2:].any()
    assert torch.equal(released[name][:2], state["layers.0.attention.A_log"])
    assert torch.equal(import_released(released, SMOKE)["layers.0.attention.A_log"], released[name][:2])
    released[name][77] = 1
    with pytest.raises(ModelFileError, match=r"layers\.0\.self_attn\.A_log has numbers behind those of its 2 heads"):
        import_released(released, SMOKE)


def test_a_release_that_is_not_the_configuration_s_is_told():
    released = export_released(model(PACKABLE).state_dict(), PACKABLE)
    name = f"{LAYER}1.block_sparse_moe.experts.0.w1.weight_scale"
    scale = released.pop(name)
    with pytest.raises(ModelFileError, match=f"^the release lacks {re.escape(name)}$"):
        import_released(released, PACKABLE)
    with pytest.raises(ModelFileError, match=r"w1\.weight_scale as \[1, 32\] instead of \[32, 1\]$"):
        import_released(released | {name: scale.T}, PACKABLE)
    with pytest.raises(ModelFileError, match=r"holds mm_projector\.rot_proj\.weight, which the model does not have$"):
        import_released(released | {name: scale, "mm_projector.rot_proj.weight": scale}, PACKABLE)
    with pytest.raises(ModelFileError, match=r"the state lacks head\.weight$"):
        export_released({n: t for n, t in model(SMOKE).state_dict().items() if n != "head.weight"}, SMOKE, packed=False)


def test_what_the_release_has_no_form_for_is_refused():
    with pytest.raises(ValueError, match="the release has no extra layer"):
        released_tensors(replace(SMOKE, mtp_layers=1))
    with pytest.raises(ValueError, match=r"experts\.down_ELI has rows of 24, which do not divide into MXFP4's groups"):
        released_tensors(SMOKE)


def test_without_vision_the_rest_is_the_same():
    text = released_tensors(replace(K3, vision=None), packed=False)
    assert set(released_tensors(K3, packed=False)) - set(text) == {
        name for name in outside() if not name.startswith("language_model.")
    }
