"""What K3's released checkpoint calls our tensors, and the way between the two.

    state = import_released(TensorFiles("Kimi-K3"), preset("k3"))
    tensors = export_released(model.state_dict(), model.config)

Names, shapes and dtypes are those of the heads of the release's 96 files, as public inventories of them agree; every
name below is confirmed. The map gives all 497,220 tensors of K3, and their 1,560,860,324,864 bytes. What differs from
ours in more than the name:

- an expert has three matrices of its own, where ours are stacked; w1 is the gate, w3 up, w2 down. They are released as
  MXFP4, values and scales apart (`packed`); the same matrices in bf16 would be called `.weight`;
- A_log has 128 numbers for 96 heads, zeros at the end. That other numbers of heads are filled up to a multiple of 128
  is a guess;
- the queries of attention residuals are matrices of one row.

There are no tensors for an extra layer that predicts one token more, and so no names for ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import torch
from torch import Tensor

from .checkpoint import KEPT_FP32, state_shapes
from .config import ModelConfig
from .mxfp4 import GROUP, decode_mxfp4, encode_mxfp4
from .shards import ModelFileError, check_tensors

_TEXT, _TOWER, _PROJECTOR = "language_model.", "vision_tower.", "mm_projector."

_WHOLE_MODEL = {
    "embedding.weight": f"{_TEXT}model.embed_tokens.weight",
    "output_mix.query": f"{_TEXT}model.output_attn_res_proj.weight",
    "output_mix.norm_weight": f"{_TEXT}model.output_attn_res_norm.weight",
    "norm.weight": f"{_TEXT}model.norm.weight",
    "head.weight": f"{_TEXT}lm_head.weight",
    "vision.tower.patch_weight": f"{_TOWER}patch_embed.proj.weight",
    "vision.tower.positions.table": f"{_TOWER}patch_embed.pos_emb.weight",
    "vision.tower.norm.weight": f"{_TOWER}encoder.final_layernorm.weight",
    "vision.projector.in_proj.weight": f"{_PROJECTOR}proj.0.weight",
    "vision.projector.out_proj.weight": f"{_PROJECTOR}proj.2.weight",
    "vision.projector.norm.weight": f"{_PROJECTOR}post_norm.weight",
}

_EVERY_LAYER = {
    "attention_mix.query": "self_attention_res_proj.weight",
    "attention_mix.norm_weight": "self_attention_res_norm.weight",
    "attention_norm.weight": "input_layernorm.weight",
    "ffn_mix.query": "mlp_res_proj.weight",
    "ffn_mix.norm_weight": "mlp_res_norm.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "attention.gate_proj.weight": "self_attn.g_proj.weight",
    "attention.o_proj.weight": "self_attn.o_proj.weight",
}

_KDA = {
    "attention.q_proj.weight": "self_attn.q_proj.weight",
    "attention.k_proj.weight": "self_attn.k_proj.weight",
    "attention.v_proj.weight": "self_attn.v_proj.weight",
    "attention.q_conv.weight": "self_attn.q_conv1d.weight",
    "attention.k_conv.weight": "self_attn.k_conv1d.weight",
    "attention.v_conv.weight": "self_attn.v_conv1d.weight",
    "attention.decay_down.weight": "self_attn.f_a_proj.weight",
    "attention.decay_up.weight": "self_attn.f_b_proj.weight",
    "attention.A_log": "self_attn.A_log",
    "attention.dt_bias": "self_attn.dt_bias",
    "attention.beta_proj.weight": "self_attn.b_proj.weight",
    "attention.o_norm.weight": "self_attn.o_norm.weight",
}

_MLA = {
    "attention.q_down.weight": "self_attn.q_a_proj.weight",
    "attention.q_norm.weight": "self_attn.q_a_layernorm.weight",
    "attention.q_up.weight": "self_attn.q_b_proj.weight",
    "attention.kv_down.weight": "self_attn.kv_a_proj_with_mqa.weight",
    "attention.kv_norm.weight": "self_attn.kv_a_layernorm.weight",
    "attention.kv_up.weight": "self_attn.kv_b_proj.weight",
}

_DENSE = {f"ffn.{part}_proj.weight": f"mlp.{part}_proj.weight" for part in ("gate", "up", "down")}

_MOE = {
    "ffn.router.weight": "block_sparse_moe.gate.weight",
    "ffn.router.balancer.bias": "block_sparse_moe.gate.e_score_correction_bias",
    "ffn.down_proj.weight": "block_sparse_moe.routed_expert_down_proj.weight",
    "ffn.up_proj.weight": "block_sparse_moe.routed_expert_up_proj.weight",
    "ffn.norm.weight": "block_sparse_moe.routed_expert_norm.weight",
    **{
        f"ffn.shared.{part}_proj.weight": f"block_sparse_moe.shared_experts.{part}_proj.weight"
        for part in ("gate", "up", "down")
    },
    "ffn.experts.gate_EIL": "block_sparse_moe.experts.{expert}.w1",
    "ffn.experts.up_EIL": "block_sparse_moe.experts.{expert}.w3",
    "ffn.experts.down_ELI": "block_sparse_moe.experts.{expert}.w2",
}

_VISION_BLOCK = {
    "attention_norm.weight": "norm0.weight",
    "qkv_proj.weight": "wqkv.weight",
    "o_proj.weight": "wo.weight",
    "mlp_norm.weight": "norm1.weight",
    "mlp_up.weight": "mlp.fc0.weight",
    "mlp_down.weight": "mlp.fc1.weight",
}

_LANES = 128
"""A_log is filled with zeros to a multiple of this."""


class How(Enum):
    """What a released tensor is of ours."""

    SAME = "the same"
    ROW = "a vector, as a matrix of one row"
    PADDED = "followed by zeros"
    EXPERT = "one expert's matrix"
    VALUES = "the MXFP4 values of one expert's matrix, two a byte"
    SCALES = "the MXFP4 scales of one expert's matrix, one for 32 numbers"


class ReleasedTensor(NamedTuple):
    ours: str
    """Name in our state dict."""
    shape: tuple[int, ...]
    dtype: torch.dtype
    how: How
    expert: int | None = None
    """Its place in our stacked tensor."""


def released_tensors(config: ModelConfig, *, packed: bool = True) -> dict[str, ReleasedTensor]:
    """Every tensor of the release, or of one in its form for a model of this configuration, by its name there.

    `packed`: experts as MXFP4, as they are released, or as plain matrices. Raises ValueError for a model with an extra
    layer, which has no names there, and for experts whose rows do not divide into MXFP4's groups.
    """
    if config.mtp_layers:
        raise ValueError("the release has no extra layer; take the configuration with mtp_layers=0")
    tensors = {}
    for ours, shape in state_shapes(config).items():
        for name, tensor in _released(ours, shape, config, packed):
            tensors[name] = tensor
    return tensors


def import_released(tensors: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """A state dict of ours from tensors of the release, packed or not; all of it is in memory at once.

    Dtypes stay, and decoded experts are bf16, which is exact. Raises ModelFileError for missing, additional or
    misshapen tensors, and for numbers where only the filling behind A_log should be; ValueError as
    `released_tensors` and `decode_mxfp4` do.
    """
    packed = any(name.endswith(".weight_packed") for name in tensors)
    expected = released_tensors(config, packed=packed)
    shapes = getattr(tensors, "shapes", None) or {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    check_tensors("the release", shapes, {name: one.shape for name, one in expected.items()})
    sources: dict[str, list[str]] = {}
    for name, one in expected.items():
        sources.setdefault(one.ours, []).append(name)
    return {ours: _imported(names, expected, tensors, config) for ours, names in sources.items()}


def export_released(
    state: Mapping[str, Tensor], config: ModelConfig, *, packed: bool = True, dtype: torch.dtype = torch.bfloat16
) -> dict[str, Tensor]:  # fmt: skip
    """Tensors of the release's names and shapes from a state dict of ours.

    What the release has in bf16 is cast to `dtype`, experts are rounded to MXFP4 if `packed`; the rest becomes fp32.
    What `import_released` once made of a release goes back without loss: the same numbers, though MXFP4 may say them
    in other bytes (3 · 2^0 is also 6 · 2^-1). Raises ModelFileError for missing, additional or misshapen tensors, and
    ValueError as `released_tensors` and `encode_mxfp4` do.
    """
    expected = released_tensors(config, packed=packed)
    check_tensors("the state", {name: tuple(tensor.shape) for name, tensor in state.items()}, state_shapes(config))
    tensors: dict[str, Tensor] = {}
    for name, one in expected.items():
        if name not in tensors:
            tensors |= _exported(name, one, state[one.ours].detach(), dtype)
    return tensors


def _released(
    ours: str, shape: tuple[int, ...], config: ModelConfig, packed: bool
) -> Iterator[tuple[str, ReleasedTensor]]:  # fmt: skip
    """One tensor of ours there: one, or those of all experts."""
    name = _name(ours, config)
    dtype = torch.float32 if ours.endswith(KEPT_FP32) else torch.bfloat16
    if ours.endswith(".query"):
        yield name, ReleasedTensor(ours, (1, *shape), dtype, How.ROW)
    elif ours.endswith(".A_log"):
        yield name, ReleasedTensor(ours, (math.ceil(shape[0] / _LANES) * _LANES,), dtype, How.PADDED)
    elif "{expert}" not in name:
        yield name, ReleasedTensor(ours, shape, dtype, How.SAME)
    else:
        experts, rows, width = shape
        if packed and width % GROUP:
            raise ValueError(f"{ours} has rows of {width}, which do not divide into MXFP4's groups of {GROUP}")
        for expert in range(experts):
            own = name.format(expert=expert)
            if packed:
                values, scales = (rows, width // 2), (rows, width // GROUP)
                yield f"{own}.weight_packed", ReleasedTensor(ours, values, torch.uint8, How.VALUES, expert)
                yield f"{own}.weight_scale", ReleasedTensor(ours, scales, torch.uint8, How.SCALES, expert)
            else:
                yield f"{own}.weight", ReleasedTensor(ours, (rows, width), dtype, How.EXPERT, expert)


def _name(ours: str, config: ModelConfig) -> str:
    """Raises KeyError for a tensor that the tables do not have: a part of the model that they were not told of."""
    if match := re.fullmatch(r"layers\.(\d+)\.(.+)", ours):
        number, part = int(match[1]), match[2]
        attention = _MLA if config.is_mla(number) else _KDA
        table = _EVERY_LAYER | attention | (_MOE if config.is_moe(number) else _DENSE)
        return f"{_TEXT}model.layers.{number}.{table[part]}"
    if match := re.fullmatch(r"vision\.tower\.blocks\.(\d+)\.(.+)", ours):
        return f"{_TOWER}encoder.blocks.{match[1]}.{_VISION_BLOCK[match[2]]}"
    return _WHOLE_MODEL[ours]


def _imported(
    names: Sequence[str], expected: Mapping[str, ReleasedTensor], tensors: Mapping[str, Tensor], config: ModelConfig
) -> Tensor:  # fmt: skip
    """One tensor of ours from all that the release has of it, in the order of `released_tensors`."""
    first, how = tensors[names[0]], expected[names[0]].how
    if how is How.SAME:
        return first.clone()
    if how is How.ROW:
        return first[0].clone()
    if how is How.PADDED:
        heads = config.kda.heads
        if first[heads:].any():
            raise ModelFileError(f"{names[0]} has numbers behind those of its {heads} heads, where zeros should be")
        return first[:heads].clone()
    if how is How.EXPERT:
        return torch.stack([tensors[name] for name in names])
    stacked = None
    for expert, (values, scales) in enumerate(zip(names[0::2], names[1::2], strict=True)):
        matrix = decode_mxfp4(tensors[values], tensors[scales])
        if stacked is None:
            stacked = matrix.new_empty(len(names) // 2, *matrix.shape)
        stacked[expert] = matrix
    assert stacked is not None
    return stacked


def _exported(name: str, one: ReleasedTensor, tensor: Tensor, dtype: torch.dtype) -> dict[str, Tensor]:
    """The released tensor of this name; for values of MXFP4, their scales too."""
    if one.how is How.VALUES:
        values, scales = encode_mxfp4(tensor[one.expert])
        return {name: values, name.removesuffix("_packed") + "_scale": scales}
    wanted = one.dtype if one.dtype == torch.float32 else dtype
    if one.how is How.EXPERT:
        return {name: tensor[one.expert].to(wanted)}
    if one.how is How.ROW:
        return {name: tensor[None].to(wanted)}
    if one.how is How.PADDED:
        filling = tensor.new_zeros(one.shape[0] - len(tensor))
        return {name: torch.cat([tensor, filling]).to(wanted)}
    return {name: tensor.to(wanted)}
