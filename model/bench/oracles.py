"""Every fast path of the model against its slow, plain definition: how far apart they are.

Each check is one function that returns its figures; a new one is added to `CHECKS`. Errors are largest absolute
differences in fp64, and in bf16 RMS(difference) / RMS(definition), where the definition runs in fp64 on the same
rounded operands and FLA's own tests allow 0.005 for outputs, 0.008 for q, k, v and states, 0.02 for decays and β.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from ..cache import HybridCache
from ..config import preset
from ..kda.chunked import kda_chunked
from ..kda.recurrent import kda_recurrent
from ..quantile_balancing import QuantileBalancer, balance, exact_bias, load_excess
from ..transformer import K3Model
from ..vision.preprocess import Patches, preprocess_image

NAME = "oracles"
SUMMARY = "fast paths against their definitions: chunked KDA and its gradients, quantile balancing, decoding"

GATES = ("saturated", "near_zero", "mixed", "initial")
LENGTHS = (1, 15, 16, 17, 63, 64, 65, 130, 500)
TENSORS = ("o", "state", "dq", "dk", "dv", "dlog_decay", "dbeta", "dinitial_state")
_FP64_LIMIT = 1e-10
_BF16_LIMITS = dict(zip(TENSORS, (0.005, 0.005, 0.008, 0.008, 0.008, 0.02, 0.02, 0.008), strict=True))


def run(quick: bool) -> dict[str, Any]:
    figures: dict[str, float] = {}
    for check in CHECKS:
        figures |= check(quick)
    return {"figures": figures, "peers": {}}


def kda_operands(
    length: int, heads: int, head_dim: int, gate: str, *, batch: int = 1, sequences: int | None = None, seed: int = 0
) -> list[Tensor]:
    """q, k, v, log_decay, β and initial states in fp64, with q and k of unit length as in the layer.

    Gates: all at −5; all at about 0; some channels forgetting at once and others never; as a new layer has them.
    """
    rng = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng, dtype=torch.float64)

    shape = (batch, length, heads, head_dim)
    q, k, v, z = F.normalize(draw(*shape), dim=-1), F.normalize(draw(*shape), dim=-1), draw(*shape), draw(*shape)
    logit = {"saturated": 40 + z, "near_zero": z - 15, "mixed": 8 * z, "initial": z - 4}[gate]
    beta = torch.sigmoid(draw(batch, length, heads))
    initial = draw(batch if sequences is None else sequences, heads, head_dim, head_dim)
    return [q, k, v, -5 * torch.sigmoid(logit), beta, initial]


def results_and_gradients(function: Callable[..., Any], operands: Iterable[Tensor], **options: Any) -> list[Tensor]:
    """What `TENSORS` names, for a loss that weighs every output and every state at random."""
    q, k, v, log_decay, beta, initial = leaves = [x.detach().requires_grad_() for x in operands]
    o, state = function(q, k, v, log_decay, beta, initial_state_NHKV=initial, **options)
    rng = torch.Generator().manual_seed(1)
    # Of 8 bits, so that they are the same in every dtype.
    do, dstate = (torch.randn(x.shape, generator=rng).bfloat16().to(x) for x in (o, state))
    return [x.detach() for x in (o, state, *torch.autograd.grad([o, state], leaves, [do, dstate]))]


def relative_rms(found: Tensor, expected: Tensor) -> float:
    found, expected = found.detach().double(), expected.detach().double()
    return float((found - expected).square().mean().sqrt() / expected.square().mean().sqrt())


def as_in_training(operands: list[Tensor]) -> list[Tensor]:
    """q, k and v in bf16, and decays, β and states in fp32: what the layer hands over."""
    return [x.bfloat16() for x in operands[:3]] + [x.float() for x in operands[3:]]


def _kda_fp64(quick: bool) -> dict[str, float]:
    """Ragged lengths and all gates; then packed sequences of those lengths."""
    worst = 0.0
    cases = [(length, gate, None) for length in LENGTHS[: 7 if quick else None] for gate in GATES]
    packed = torch.tensor([0, *LENGTHS[:-1]]).cumsum(0)
    for length, gate, cu_seqlens in [*cases, *((int(packed[-1]), gate, packed) for gate in GATES)]:
        sequences = None if cu_seqlens is None else len(cu_seqlens) - 1
        operands = kda_operands(length, 2, 32, gate, sequences=sequences)
        expected = results_and_gradients(kda_recurrent, operands, cu_seqlens=cu_seqlens)
        found = results_and_gradients(kda_chunked, operands, cu_seqlens=cu_seqlens)
        worst = max(worst, *(float((a - b).abs().max()) for a, b in zip(found, expected, strict=True)))
    if worst > _FP64_LIMIT:
        raise AssertionError(f"chunked KDA is {worst:.3g} off the recurrence in fp64")
    return {"kda_fp64_max_error": worst}


def _kda_bf16(quick: bool) -> dict[str, float]:
    """The worst of all gates at K3's head size."""
    worst = dict.fromkeys(TENSORS, 0.0)
    for gate in GATES:
        operands = as_in_training(kda_operands(130 if quick else 500, 2, 128, gate))
        expected = results_and_gradients(kda_recurrent, [x.double() for x in operands])
        found = results_and_gradients(kda_chunked, operands)
        for name, a, b in zip(TENSORS, found, expected, strict=True):
            # FLA's rule: what is nowhere 1e-6 off is right, however small it is.
            if (a.double() - b).abs().max() > 1e-6:
                worst[name] = max(worst[name], relative_rms(a, b))
    for name, error in worst.items():
        if error > _BF16_LIMITS[name]:
            raise AssertionError(f"chunked KDA's {name} is {error:.3g} off the recurrence in bf16")
    return {f"kda_bf16_rms_{name}": error for name, error in worst.items()}


def _quantile_balancing(quick: bool) -> dict[str, float]:
    """How uneven 8,192 tokens that like the same of 64 experts are before and after one step, and the bias it finds."""
    experts, top_k = 64, 4
    liked = torch.special.ndtri((torch.arange(experts) + 0.5) / experts)
    scores = torch.sigmoid(torch.randn(8192, experts, generator=torch.Generator().manual_seed(0)) + liked)
    balancer = QuantileBalancer(experts, top_k)
    best = scores.topk(top_k + 1)
    balancer.observe(scores, best.values[:, top_k], best.indices[:, :top_k])
    before = float(balance([balancer]))
    chosen = (scores + balancer.bias).topk(top_k).indices
    after = float(load_excess(chosen.flatten().bincount(minlength=experts)))
    error = float((balancer.bias - exact_bias(scores, best.values[:, top_k], top_k)).abs().max())
    if after >= 0.3 or error > 2e-3:
        raise AssertionError(f"after a step the load excess is {after:.3g}, and the bias {error:.3g} off the exact one")
    return {"qb_load_excess_before": before, "qb_load_excess": after, "qb_bias_max_error": error}


def _decoding(quick: bool) -> dict[str, float]:
    """Logits of prompts of three lengths, two with a picture, read packed, snapshot, and grown token by token, against
    those of full forwards."""
    torch.manual_seed(0)
    model = K3Model(preset("smoke")).eval()
    config, steps = model.config, 8 if quick else 40
    pixels = torch.randint(0, 256, (56, 84, 3), dtype=torch.uint8)
    picture = preprocess_image(Image.fromarray(pixels.numpy()))
    lengths = (7, 64, 41)
    images: list[list[Patches]] = [[], [picture], [picture]]
    rows = [torch.randint(0, config.vocab_size - 256, (1, length + steps)) for length in lengths]
    for row in rows[1:]:
        row[0, 3 : 3 + picture.tokens] = config.media_pad_id
    bounds = torch.tensor([0, *lengths]).cumsum(0)
    with torch.no_grad():
        expected = [model.head(model(row, images=one))[0] for row, one in zip(rows, images, strict=True)]
        cache = HybridCache.empty(config, len(rows))
        prompts = torch.cat([row[:, :length] for row, length in zip(rows, lengths, strict=True)], 1)
        read = model.head(model(prompts, images=[picture, picture], groups=bounds, cache=cache))[0]
        parts = zip(read.split(lengths), expected, strict=True)
        worst = max(float((found - wanted[: len(found)]).abs().max()) for found, wanted in parts)
        for step in range(steps):
            cache = cache.clone()
            tokens = torch.cat([row[:, length + step, None] for row, length in zip(rows, lengths, strict=True)])
            grown = model.head(model(tokens, cache=cache))[:, 0]
            wanted = torch.stack([one[length + step] for one, length in zip(expected, lengths, strict=True)])
            worst = max(worst, float((grown - wanted).abs().max()))
    if worst > 1e-5:
        raise AssertionError(f"logits of decoding are {worst:.3g} off those of the full forward")
    return {"decode_max_error": worst}


CHECKS: tuple[Callable[[bool], dict[str, float]], ...] = (
    _kda_fp64, _kda_bf16, _quantile_balancing, _decoding,
)  # fmt: skip
