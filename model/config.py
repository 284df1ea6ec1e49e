"""The shape of a model: typed, frozen, checked when it is made, and the five sizes that ship.

`preset("nano")` gives a size by name, `dataclasses.replace` a variant of it, and `ModelConfig.from_json` reads back
what `to_json` wrote. Whatever contradicts itself, and every key that does not exist, is refused with a `ConfigError`
that says in one line what is wrong.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from ..tokenizer.special import NAMES, SPECIAL_COUNT
from .typed import ConfigError, nearest, read_dataclass

LOWEST_GATE = -5.9
"""The lowest log decay a step may have: fifteen such steps span a tile, and e^(15·5.9) is still a float32."""


@dataclass(frozen=True)
class KDAConfig:
    """Kimi Delta Attention: `heads` heads with keys and values of `head_dim` channels each."""

    heads: int
    head_dim: int
    decay_rank: int
    """Width of the bottleneck that the decay logits pass through; K3 takes the head's."""
    conv_kernel: int = 4
    gate_lower_bound: float = -5.0
    """The log decay of one step lies in (gate_lower_bound, 0)."""

    def __post_init__(self) -> None:
        _positive(self, "heads", "head_dim", "decay_rank", "conv_kernel")
        if self.head_dim > 256:
            raise ConfigError(f"kda.head_dim is {self.head_dim}, and the state of a head has at most 256 key channels")
        if not LOWEST_GATE <= self.gate_lower_bound < 0:
            raise ConfigError(f"kda.gate_lower_bound is {self.gate_lower_bound}, not in [{LOWEST_GATE}, 0)")

    @property
    def width(self) -> int:
        return self.heads * self.head_dim


@dataclass(frozen=True)
class MLAConfig:
    """Multi-head latent attention without positions: the "rope" channels are carried and never rotated."""

    heads: int
    q_lora_rank: int
    kv_lora_rank: int
    qk_nope_dim: int
    qk_rope_dim: int
    v_dim: int
    latent_norm_eps: float = 1e-5
    """Of both latent norms; K3's released code leaves them at 1e-6, serving code takes 1e-5."""

    def __post_init__(self) -> None:
        names = ("heads", "q_lora_rank", "kv_lora_rank", "qk_nope_dim", "qk_rope_dim", "v_dim", "latent_norm_eps")
        _positive(self, *names)

    @property
    def qk_dim(self) -> int:
        """Channels of a query or key of one head."""
        return self.qk_nope_dim + self.qk_rope_dim

    @property
    def width(self) -> int:
        """Channels of the output of all heads."""
        return self.heads * self.v_dim

    @property
    def cache_dim(self) -> int:
        """Numbers that the cache keeps of a token: the latent and the shared key channels."""
        return self.kv_lora_rank + self.qk_rope_dim


@dataclass(frozen=True)
class MoEConfig:
    """Latent mixture of experts: `top_k` of `experts`, which read and write a latent of `latent` channels."""

    experts: int
    top_k: int
    latent: int
    inner: int
    """Inner width of one expert; the shared experts, at full width outside, have it too."""
    shared_experts: int = 2
    qb_bins: int = 1000
    """Bins of the histogram from which quantile balancing reads the router's bias."""

    def __post_init__(self) -> None:
        _positive(self, "experts", "top_k", "latent", "inner", "shared_experts", "qb_bins")
        if self.top_k >= self.experts:
            raise ConfigError(
                f"moe.top_k is {self.top_k} of {self.experts} experts; balancing needs one more for its next best"
            )

    @property
    def shared_inner(self) -> int:
        """Inner width of the shared experts, which are one GLU."""
        return self.shared_experts * self.inner


@dataclass(frozen=True)
class VisionConfig:
    """MoonViT: a transformer over patches at native resolution, whose `merge` × `merge` neighbours become one token."""

    layers: int
    width: int
    qkv_width: int
    heads: int
    mlp: int
    table: int
    """Patches of a side of the learned table of positions."""
    patch: int = 14
    merge: int = 2
    max_frames: int = 4

    def __post_init__(self) -> None:
        names = ("layers", "width", "qkv_width", "heads", "mlp", "table", "patch", "merge", "max_frames")
        _positive(self, *names)
        if self.qkv_width % (4 * self.heads):
            raise ConfigError(
                f"vision.qkv_width is {self.qkv_width} for {self.heads} heads; "
                "a head's channels must be a multiple of 4, for rotations along two axes"
            )

    @property
    def head_dim(self) -> int:
        return self.qkv_width // self.heads

    @property
    def merged(self) -> int:
        """Channels of the neighbours that become one token."""
        return self.width * self.merge**2


@dataclass(frozen=True)
class ModelConfig:
    """A whole model. Layers are counted from 0; layer 0 has a dense feed-forward, all others a mixture of experts."""

    name: str
    d_model: int
    layers: int
    mla_layers: tuple[int, ...]
    """Layers with MLA, ascending; all others have KDA."""
    dense_inner: int
    attn_res_block: int
    """Layers (not sublayers) of one block of attention residuals."""
    vocab_size: int
    kda: KDAConfig
    mla: MLAConfig
    moe: MoEConfig
    vision: VisionConfig | None = None
    mtp_layers: int = 0
    situ_beta_gate: float = 4.0
    situ_beta_up: float = 25.0
    norm_eps: float = 1e-5
    init_std: float = 0.02

    def __post_init__(self) -> None:
        _positive(self, "d_model", "layers", "dense_inner", "attn_res_block", "vocab_size")
        _positive(self, "situ_beta_gate", "situ_beta_up", "norm_eps", "init_std")
        ascending = tuple(sorted(set(self.mla_layers)))
        if self.mla_layers != ascending:
            raise ConfigError(f"mla_layers is {list(self.mla_layers)}, not ascending without repetition")
        if ascending and not 0 <= ascending[0] <= ascending[-1] < self.layers:
            raise ConfigError(f"mla_layers is {list(ascending)}, but layers are 0 to {self.layers - 1}")
        if self.vocab_size <= SPECIAL_COUNT:
            raise ConfigError(f"vocab_size is {self.vocab_size}, but the special tokens alone are {SPECIAL_COUNT}")
        if self.mtp_layers not in (0, 1):
            raise ConfigError(f"mtp_layers is {self.mtp_layers}; a model predicts one more token (1) or does not (0)")

    @property
    def kda_layers(self) -> tuple[int, ...]:
        return tuple(layer for layer in range(self.layers) if layer not in self.mla_layers)

    @property
    def media_pad_id(self) -> int:
        """The token whose places the features of pictures take; its place among the special tokens is K3's."""
        return self.vocab_size - SPECIAL_COUNT + NAMES.index("media_pad")

    def is_mla(self, layer: int) -> bool:
        return layer in self.mla_layers

    def is_moe(self, layer: int) -> bool:
        return layer > 0

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    @staticmethod
    def from_json(text: str) -> ModelConfig:
        """Raises ConfigError when the text is no JSON object, or not that of a configuration."""
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise ConfigError(f"the configuration is not JSON: {error}") from None
        return ModelConfig.from_dict(values)

    @staticmethod
    def from_dict(values: Any) -> ModelConfig:
        """Raises ConfigError for an unknown or missing key, a wrong type, or a contradiction."""
        return read_dataclass(ModelConfig, values)


def preset(name: str) -> ModelConfig:
    """A size by name: smoke (unit tests), nano (a CPU), small, base (GPUs), or k3 (2.78T; for shapes alone).

    Raises ConfigError for any other name.
    """
    if name not in PRESETS:
        raise ConfigError(f"no size is named {name!r}{nearest(name, list(PRESETS))}; there are {', '.join(PRESETS)}")
    return PRESETS[name]


def _positive(config: Any, *names: str) -> None:
    for name in names:
        if not getattr(config, name) > 0:
            part = type(config).__name__.removesuffix("Config").lower()
            where = name if part == "model" else f"{part}.{name}"
            raise ConfigError(f"{where} is {getattr(config, name)}, and must be above 0")


def _three_kda_then_mla(layers: int) -> tuple[int, ...]:
    """K3's pattern: every fourth layer, and the last."""
    return tuple(sorted({*range(3, layers, 4), layers - 1}))


PRESETS = {
    "smoke": ModelConfig(
        name="smoke", d_model=64, layers=5, mla_layers=_three_kda_then_mla(5),
        dense_inner=128, attn_res_block=2, vocab_size=512,
        kda=KDAConfig(heads=2, head_dim=32, decay_rank=32),
        mla=MLAConfig(heads=2, q_lora_rank=48, kv_lora_rank=40, qk_nope_dim=32, qk_rope_dim=16, v_dim=32),
        moe=MoEConfig(experts=8, top_k=2, latent=32, inner=24),
        vision=VisionConfig(layers=2, width=32, qkv_width=48, heads=3, mlp=64, table=8),
    ),
    "nano": ModelConfig(
        name="nano", d_model=192, layers=9, mla_layers=_three_kda_then_mla(9),
        dense_inner=768, attn_res_block=4, vocab_size=16384,
        kda=KDAConfig(heads=4, head_dim=64, decay_rank=64),
        mla=MLAConfig(heads=4, q_lora_rank=96, kv_lora_rank=64, qk_nope_dim=64, qk_rope_dim=32, v_dim=64),
        moe=MoEConfig(experts=32, top_k=4, latent=96, inner=64),
        vision=VisionConfig(layers=4, width=128, qkv_width=192, heads=3, mlp=512, table=16),
    ),
    "small": ModelConfig(
        name="small", d_model=512, layers=13, mla_layers=_three_kda_then_mla(13),
        dense_inner=2048, attn_res_block=4, vocab_size=16384,
        kda=KDAConfig(heads=6, head_dim=128, decay_rank=128),
        mla=MLAConfig(heads=6, q_lora_rank=160, kv_lora_rank=128, qk_nope_dim=128, qk_rope_dim=64, v_dim=128),
        moe=MoEConfig(experts=64, top_k=4, latent=256, inner=96),
        vision=VisionConfig(layers=8, width=256, qkv_width=384, heads=6, mlp=1024, table=32),
    ),
    "base": ModelConfig(
        name="base", d_model=1024, layers=21, mla_layers=_three_kda_then_mla(21),
        dense_inner=4096, attn_res_block=4, vocab_size=65536,
        kda=KDAConfig(heads=12, head_dim=128, decay_rank=128),
        mla=MLAConfig(heads=12, q_lora_rank=384, kv_lora_rank=256, qk_nope_dim=128, qk_rope_dim=64, v_dim=128),
        moe=MoEConfig(experts=128, top_k=8, latent=512, inner=192),
        vision=VisionConfig(layers=12, width=512, qkv_width=768, heads=6, mlp=2048, table=32),
    ),
    "k3": ModelConfig(
        name="k3", d_model=7168, layers=93, mla_layers=_three_kda_then_mla(93),
        dense_inner=33792, attn_res_block=12, vocab_size=163840,
        kda=KDAConfig(heads=96, head_dim=128, decay_rank=128),
        mla=MLAConfig(heads=96, q_lora_rank=1536, kv_lora_rank=512, qk_nope_dim=128, qk_rope_dim=64, v_dim=128),
        moe=MoEConfig(experts=896, top_k=16, latent=3584, inner=3072),
        vision=VisionConfig(layers=27, width=1024, qkv_width=1536, heads=12, mlp=4096, table=64),
    ),
}  # fmt: skip
