"""How large a model is, by formula: parameters, operations of a forward pass, bytes of its cache. Nothing is built.

A trained number is a parameter; the router's balancing bias, which no gradient reaches, is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from .config import ModelConfig, VisionConfig


@dataclass(frozen=True)
class Parameters:
    """Parameters by part. The two norms and residual mixes of a layer are in `norms` and `attn_res`."""

    embedding: int
    head: int
    kda: int
    mla: int
    dense: int
    moe: int
    attn_res: int
    norms: int
    mtp: int
    vision: int
    """The tower, without the projector."""
    projector: int
    idle: int
    """Those of `moe` and `mtp` that belong to experts a token is not sent to; in no sum but `active`."""

    @property
    def total(self) -> int:
        """The language model, as the sizes of models are given: vision comes on top (`everything`)."""
        return self.everything - self.vision - self.projector

    @property
    def everything(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self)) - self.idle

    @property
    def active(self) -> int:
        """What takes part in one text token: the head, but neither the input's table nor idle experts."""
        return self.total - self.embedding - self.idle


def count_parameters(config: ModelConfig) -> Parameters:
    """The embedding and the head are two matrices; the extra layer that predicts one more token shares both."""
    d = config.d_model
    kda_layers, moe_layers = len(config.kda_layers), config.layers - 1
    moe, idle = _moe(config)
    extra = 2 * d * d + 5 * d + _mla(config) + moe
    return Parameters(
        embedding=config.vocab_size * d,
        head=config.vocab_size * d,
        kda=kda_layers * _kda(config),
        mla=len(config.mla_layers) * _mla(config),
        dense=3 * d * config.dense_inner,
        moe=moe_layers * moe,
        # Two mixes a layer and one at the end, each a query and the weight of a norm.
        attn_res=(2 * config.layers + 1) * 2 * d,
        norms=(2 * config.layers + 1) * d,
        mtp=config.mtp_layers * extra,
        vision=_vision(config.vision) if config.vision else 0,
        projector=config.vision.merged**2 + config.vision.merged * d + d if config.vision else 0,
        idle=(moe_layers + config.mtp_layers) * idle,
    )


def forward_flops(config: ModelConfig, context: int) -> int:
    """Operations of one text token that sees `context` tokens, itself among them: two for each multiply-add.

    Matrix products alone, the extra layer of MTP left out; the scan of KDA as the recurrence does it (three products
    with the state). Norms, activations, the short convolutions and residual mixes are some tenths of a per cent.
    """
    kda, mla, counts = config.kda, config.mla, count_parameters(config)
    extra_active = counts.mtp - config.mtp_layers * _moe(config)[1]
    vectors = counts.attn_res + counts.norms + len(config.kda_layers) * _kda_vectors(config)
    matrices = counts.active - extra_active - vectors
    scan = len(config.kda_layers) * kda.heads * 3 * kda.head_dim**2
    attention = len(config.mla_layers) * mla.heads * (mla.qk_dim + mla.v_dim) * context
    return 2 * (matrices + scan + attention)


def cache_bytes_per_sequence(config: ModelConfig, activation_bytes: int = 2) -> int:
    """What a sequence costs however long it is: the states in fp32, and the tails of three convolutions."""
    kda = config.kda
    layer = 4 * kda.heads * kda.head_dim**2 + activation_bytes * 3 * (kda.conv_kernel - 1) * kda.width
    return len(config.kda_layers) * layer


def cache_bytes_per_token(config: ModelConfig, activation_bytes: int = 2) -> int:
    """What each token adds: the latent and the shared key channels of every MLA layer."""
    return len(config.mla_layers) * config.mla.cache_dim * activation_bytes


def _kda(config: ModelConfig) -> int:
    d, kda = config.d_model, config.kda
    projections = 5 * d * kda.width + d * kda.heads  # q, k, v, output gate, output; β
    decay = (d + kda.width) * kda.decay_rank
    return projections + decay + _kda_vectors(config)


def _kda_vectors(config: ModelConfig) -> int:
    """Convolutions, dt_bias, A_log and the norm of a head."""
    kda = config.kda
    return 3 * kda.width * kda.conv_kernel + kda.width + kda.heads + kda.head_dim


def _mla(config: ModelConfig) -> int:
    d, mla = config.d_model, config.mla
    query = d * mla.q_lora_rank + mla.q_lora_rank + mla.q_lora_rank * mla.heads * mla.qk_dim
    key_value = d * mla.cache_dim + mla.kv_lora_rank + mla.kv_lora_rank * mla.heads * (mla.qk_nope_dim + mla.v_dim)
    return query + key_value + 2 * d * mla.width  # output gate and output


def _moe(config: ModelConfig) -> tuple[int, int]:
    """Parameters of one mixture, and those of them that a token does not use."""
    d, moe = config.d_model, config.moe
    expert = 3 * moe.latent * moe.inner
    around = d * moe.experts + 2 * d * moe.latent + moe.latent + 3 * d * moe.shared_inner
    return around + moe.experts * expert, (moe.experts - moe.top_k) * expert


def _vision(vision: VisionConfig) -> int:
    w = vision.width
    layer = 2 * w + 4 * w * vision.qkv_width + 2 * w * vision.mlp
    return 3 * vision.patch**2 * w + vision.table**2 * w + vision.layers * layer + w
