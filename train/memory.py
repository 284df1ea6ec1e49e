"""How much memory a run will need, by formula, before it starts: so that a stage that cannot fit is refused at once.

Counted is what the operators keep of a forward for the backward, PyTorch's or the kernels', tensor by tensor as the
modules make them, and what lives as long as the run: master weights, gradients, momenta. It is meant to be right within
a third (tests hold it against measurements), and a run is refused only when it exceeds all memory.

Letters: D model width, W width of all heads of a layer, b bytes of an activation.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch

from ..model.config import ConfigError, ModelConfig
from ..model.counts import count_parameters
from ..model.loss import slice_tokens
from ..model.operators import Kernels
from .config import TrainConfig
from .data import StageData
from .parallel import Ranks

_CHUNK = 64


def check_memory(config: TrainConfig, stages: list[StageData], ranks: Ranks) -> None:
    """Raises ConfigError with the estimate for the first stage that needs more than there is."""
    there = total_memory(ranks.device)
    if ranks.device.type == "cpu":
        there //= ranks.world
    for stage in stages:
        tokens = stage.reader.window * stage.config.micro_sequences
        needed = estimate(config, tokens, ranks.world)
        if needed > there:
            hint = "" if config.recompute else "; recompute: true would need less"
            raise ConfigError(
                f"stage {stage.config.stage} needs about {needed / 2**30:.0f} GiB for {tokens:,} tokens at once, and a "
                f"rank has {there / 2**30:.0f}{hint}"
            )


def estimate(config: TrainConfig, tokens: int, world: int = 1) -> int:
    """Bytes that one rank needs for microbatches of so many tokens."""
    model = config.model
    parameters = count_parameters(model).everything
    half = config.precision == "bf16"
    # Master weights, gradients, one momentum of Muon's or two of AdamW's, which has embedding, head and vision.
    adam = 2 * model.vocab_size * model.d_model
    kept = (12 * parameters + 4 * adam) // world
    if half and world == 1:
        kept += 8 * parameters  # of all at once: copies in bf16, their gradients, and these in fp32 on their way
    slice_ = slice_tokens(model.vocab_size, torch.device("cuda" if half else "cpu"))
    loss = 4 * model.vocab_size * (model.d_model + 2 * slice_)
    return kept + loss + tokens * activation_bytes(model, 2 if half else 4, config.recompute, config.kernels)


def activation_bytes(model: ModelConfig, b: int, recompute: bool, kernels: Kernels = "torch") -> int:
    """Of one token, kept from the forward to the backward; with `recompute` the inputs of sublayers and, for one
    sublayer at a time, the rest."""
    D = model.d_model
    kda, mla, moe = (_kda, _mla, _moe) if kernels == "torch" else (_kda_by_kernels, _mla_by_kernels, _moe_by_kernels)
    attention = [mla(model, b) if model.is_mla(layer) else kda(model, b) for layer in range(model.layers)]
    dense = 3 * model.dense_inner * b
    feed_forward = [moe(model, b) if model.is_moe(layer) else dense for layer in range(model.layers)]
    stream = 2 * D * b  # the running sum after each sublayer
    inputs = 2 * D * b  # what each sublayer reads
    ends = 6 * D * b
    if recompute:
        return model.layers * (stream + inputs) + 2 * max(attention + feed_forward) + ends
    return model.layers * (stream + 2 * inputs) + sum(attention) + sum(feed_forward) + ends


def _kda(model: ModelConfig, b: int) -> int:
    kda = model.kda
    W = kda.width
    projections = 9 * W * b  # q, k, v before and after their convolutions, decay, output gate, gated output
    convolutions = 3 * (kda.conv_kernel + 1) * W * 4
    lengths = 6 * W * 4
    decays = 3 * W * 4
    chunks = 3 * _CHUNK * kda.heads * 4 + 3 * W * 4 + W * kda.head_dim * 4 // _CHUNK
    output = 4 * W * 4
    return projections + convolutions + lengths + decays + chunks + output


def _kda_by_kernels(model: ModelConfig, b: int) -> int:
    kda = model.kda
    W = kda.width
    # q, k, v before and after their convolutions, decay, output gate, o, what is written, gated output
    rows = 11 * W * b
    states = W * kda.head_dim * b // _CHUNK
    chunks = kda.heads * (2 * _CHUNK * b + 8)
    return rows + states + chunks + kda.decay_rank * b


def _mla(model: ModelConfig, b: int) -> int:
    mla = model.mla
    wide = mla.heads * 4 * mla.qk_dim * 4  # fp32 copies, values padded to the keys' channels
    return _mla_operands(model, b) + wide + 4 * mla.width * 4


def _mla_by_kernels(model: ModelConfig, b: int) -> int:
    mla = model.mla
    return _mla_operands(model, b) + mla.width * (4 + 2 * b) + mla.heads * 4  # o in fp32, gate, gated, log of sums


def _mla_operands(model: ModelConfig, b: int) -> int:
    mla = model.mla
    latents = 3 * (mla.q_lora_rank + mla.cache_dim) * b
    return latents + mla.heads * (3 * mla.qk_dim + mla.qk_nope_dim + 2 * mla.v_dim) * b


def _moe(model: ModelConfig, b: int) -> int:
    moe = model.moe
    router = 3 * moe.experts * 4 + (model.d_model * 4 if b == 4 else 0)  # of bf16 there is no copy in fp32
    rows = moe.top_k * (2 * moe.latent * b + moe.latent * 4 + 3 * moe.inner * b)
    return router + rows + 3 * moe.shared_inner * b + moe.latent * (2 * b + 8)


def _moe_by_kernels(model: ModelConfig, b: int) -> int:
    moe = model.moe
    router = 12 * moe.top_k + 4
    rows = moe.top_k * (2 * moe.inner * b + 8)
    return router + rows + 3 * moe.shared_inner * b + moe.latent * 3 * b + 4


def total_memory(device: torch.device) -> int:
    """Bytes of the GPU, or of the machine (or of the container that this process is in)."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            there = min(there, int(text))
    return there
