"""What a step and the model's inside are measured by; all ranks take part, and the first writes.

Losses are told apart by domain, by kind of document and by place in the group. Model FLOPs utilisation counts three
times the forward's operations (`model.counts.forward_flops`, for the context that tokens really see; the vision tower's
are left out) over the dense bf16 peak that the vendor states.

Letters: T tokens, E experts, L layers, H heads.
"""

from __future__ import annotations

import resource
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from ..model.attn_res import AttentionResidual, _folded, _probabilities
from ..model.config import ModelConfig
from ..model.counts import forward_flops
from ..model.kda.gate import bounded_log_decay
from ..model.kda.inputs import compute_dtype
from ..model.kda.layer import KimiDeltaAttention
from ..model.router import Router
from ..model.transformer import K3Model, Losses
from .data import LabelNames, Microbatch, StageData
from .optim.guard import Verdict
from .optim.sharding import whole
from .parallel import Ranks
from .run_folder import RunFolder

PEAK_FLOPS = {"H200": 989e12, "H100": 989e12, "H20": 148e12, "A100": 312e12, "B200": 2250e12}
"""Dense bf16, by a word of the device's name."""
DECAY_BINS = 20


class StepMetrics:
    """Sums over the microbatches of a step, on the device; `finish` adds them up over ranks and makes numbers."""

    def __init__(self, stage: StageData, ranks: Ranks) -> None:
        self.stage, self.ranks, self.names = stage, ranks, stage.labels
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=ranks.device)
        self.weight_sum = torch.zeros_like(self.loss_sum)
        self.ahead = torch.zeros(2, dtype=torch.float64, device=ranks.device)
        self.pairs = 0
        self.by = {
            what: torch.zeros(2, len(names), dtype=torch.float64, device=ranks.device)
            for what, names in zip(LabelNames._fields, self.names, strict=True)
        }
        self.vision_norm: Tensor | None = None
        self.load: list[Tensor] = []
        self.excess: Tensor | None = None
        self.largest_logits: Tensor | None = None

    def add(self, microbatch: Microbatch, losses: Losses) -> None:
        one = losses.next_token
        self.loss_sum += one.cross_entropy.detach()
        self.weight_sum += one.weight.detach()
        if losses.next_next_token is not None:
            ahead = losses.next_next_token
            self.ahead += torch.stack([ahead.cross_entropy.detach(), ahead.weight.detach()]).double()
        for start, end in pairwise(microbatch.groups.bounds):
            self.pairs += (end - start) * (end - start + 1) // 2
        counted_T = (microbatch.weights_1T[0] > 0).to(self.ranks.device)
        values_2T = torch.stack([one.per_token_T.double(), counted_T.double()])
        for what, sums_2N in self.by.items():
            labels_T = microbatch.labels[what].to(self.ranks.device)
            known_T = (labels_T >= 0) & counted_T
            sums_2N.scatter_add_(1, labels_T.clamp(min=0).expand(2, -1), values_2T * known_T)

    def finish(self, config: ModelConfig, rate: float, verdict: Verdict, seconds: float) -> dict[str, Any]:
        """Every rank must call this."""
        everything = torch.cat([self.ahead, *(sums.flatten() for sums in self.by.values())])
        self.ranks.add(everything)
        ahead, *parts = everything.cpu().split([2, *(sums.numel() for sums in self.by.values())])
        by = {}
        for what, names, part in zip(self.by, self.names, parts, strict=True):
            nats, counts = part.view(2, -1).tolist()
            by[what] = {name: nat / count for name, nat, count in zip(names, nats, counts, strict=True) if count}
        tokens, whole_step = self.stage.config.batch_tokens, seconds + self.stage.last_wait
        rank_tokens = tokens / self.ranks.world
        flops = 3 * forward_flops(config, max(1, round(self.pairs / rank_tokens))) * rank_tokens
        peak = peak_flops(self.ranks.device)
        dead = None
        if self.load:
            load_LE = torch.stack(self.load)
            self.ranks.add(load_LE)
            dead = int((load_LE == 0).sum())
        return {
            "learning_rate": rate,
            "loss": verdict.loss,
            "next_next_loss": float(ahead[0] / ahead[1]) if ahead[1] else None,
            "norm": verdict.norm,
            "skipped": verdict.skip,
            "reason": verdict.reason,
            "seconds": whole_step,
            "tokens_per_s": tokens / whole_step,
            "mfu": flops / whole_step / peak if peak else None,
            "waited": self.stage.last_wait / whole_step,
            "memory_gib": memory_gib(self.ranks.device),
            "load_excess": float(self.excess.max()) if self.excess is not None and len(self.excess) else None,
            "dead_experts": dead,
            "by": by,
            "vision_norm": None if self.vision_norm is None else float(whole(self.vision_norm)),
            "largest_logit": None if self.largest_logits is None else float(self.largest_logits.max()),
        }


def peak_flops(device: torch.device) -> float | None:
    """Of the device, if it is one that is known."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((flops for word, flops in PEAK_FLOPS.items() if word in name), None)


def memory_gib(device: torch.device) -> float:
    """The most that was in use so far: of the GPU, or of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@torch.no_grad()
def diagnose(model: K3Model, microbatch: Microbatch, step: int, run: RunFolder, ranks: Ranks) -> None:
    """One more forward, of which the inside is written down: the weights of every mix over depth, how fast every KDA
    layer forgets, and how busy every expert is. Every rank must call this."""
    mixes: list[list[float]] = []
    decays: dict[int, list[float]] = {}
    loads: dict[int, list[float]] = {}
    numbers = {id(layer.attention): number for number, layer in enumerate(model.layers)}
    numbers |= {id(layer.ffn.router): n for n, layer in enumerate(model.layers) if hasattr(layer.ffn, "router")}

    def see_mix(mix: AttentionResidual, arguments: tuple[Any, ...], output: Tensor) -> None:
        (sources,) = arguments
        folded_D = _folded(mix.query, mix.norm_weight, compute_dtype(sources[0]))
        probabilities, _ = _probabilities(folded_D, sources, mix.eps)
        mixes.append([float(p_BT.mean()) for p_BT in probabilities])

    def see_decay(layer: KimiDeltaAttention, arguments: tuple[Any, ...], output: Tensor) -> None:
        z_BTHK = layer._heads(layer.decay_up(layer.decay_down(arguments[0])))
        alpha = bounded_log_decay(z_BTHK, layer.A_log, layer.dt_bias, layer.config.gate_lower_bound).exp()
        counts = torch.histc(alpha.float(), DECAY_BINS, 0, 1)
        decays[numbers[id(layer)]] = (counts / counts.sum()).tolist()

    def see_load(router: Router, arguments: tuple[Any, ...], routes: Any) -> None:
        counts = routes.experts_NK.flatten().bincount(minlength=len(router.balancer.bias)).double()
        loads[numbers[id(router)]] = (counts / counts.sum()).tolist()

    watched = {AttentionResidual: see_mix, KimiDeltaAttention: see_decay, Router: see_load}
    in_layers = {id(module) for layer in (*model.layers, model.output_mix) for module in layer.modules()}
    hooks = [
        module.register_forward_hook(watched[type(module)])  # type: ignore[arg-type]
        for module in model.modules()
        if type(module) in watched and id(module) in in_layers
    ]
    was_training = model.training
    model.eval()
    try:
        model(
            microbatch.tokens_1T.to(ranks.device), images=microbatch.images, groups=microbatch.groups,
            real_BT=microbatch.real_1T.to(ranks.device),
        )  # fmt: skip
    finally:
        model.train(was_training)
        for hook in hooks:
            hook.remove()
    edges = [bin_ / DECAY_BINS for bin_ in range(DECAY_BINS + 1)]
    run.log("diagnostics", step=step, attn_res=mixes, decay={"edges": edges, "layers": decays}, load=loads)
