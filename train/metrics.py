"""What a step and the model's inside are measured by; all ranks take part, and the first writes.

Losses are told apart by domain, by kind of document and by place in the group. Model FLOPs utilisation counts three
times the forward's operations (`model.counts.forward_flops`, for the context that tokens really see; the vision tower's
are left out) over the dense bf16 peak that the vendor states.

Letters: T tokens, E experts, L layers, H heads.
"""

from __future__ import annotations

import math
import resource
import time
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from ..model.attention import Groups
from ..model.attn_res import AttentionResidual, _folded, _probabilities
from ..model.config import ModelConfig
from ..model.counts import forward_flops
from ..model.kda.gate import bounded_log_decay
from ..model.kda.inputs import compute_dtype
from ..model.kda.layer import KimiDeltaAttention
from ..model.moe import LatentMoE
from ..model.router import Router
from ..model.transformer import K3Model, Layer, Losses
from ..model.vision.preprocess import Patches
from .data import Microbatch, StageData
from .optim.guard import Verdict
from .parallel import Ranks
from .run_folder import RunFolder

PEAK_FLOPS = {"H200": 989e12, "H100": 989e12, "H20": 148e12, "A100": 312e12, "B200": 2250e12}
"""Dense bf16, by a word of the device's name."""
DECAY_BINS = 20
DIAGNOSED_TOKENS = 65_536
"""The most tokens that a diagnosis looks at."""


class StepMetrics:
    """Sums over the microbatches of a step. What is on the device stays there until `finish`, which waits for it once,
    adds up over ranks and makes numbers; losses of tokens go to the CPU meanwhile, and are told apart there."""

    def __init__(self, stage: StageData, ranks: Ranks) -> None:
        self.stage, self.ranks, self.names = stage, ranks, stage.labels
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=ranks.device)
        self.weight_sum = torch.zeros_like(self.loss_sum)
        self.ahead_2 = torch.zeros(2, dtype=torch.float64, device=ranks.device)
        self.pairs = 0
        self.per_token: list[tuple[Tensor, Microbatch]] = []
        self.vision_norm: Tensor | None = None
        self.load_LE: Tensor | None = None
        self.excess_L: Tensor | None = None
        self.largest_LH: Tensor | None = None

    def add(self, microbatch: Microbatch, losses: Losses) -> None:
        one = losses.next_token
        self.loss_sum += one.cross_entropy.detach()
        self.weight_sum += one.weight.detach()
        if losses.next_next_token is not None:
            ahead = losses.next_next_token
            self.ahead_2 += torch.stack([ahead.cross_entropy.detach(), ahead.weight.detach()]).double()
        for start, end in pairwise(microbatch.groups.bounds):
            self.pairs += (end - start) * (end - start + 1) // 2
        self.per_token.append((one.per_token_T.to("cpu", non_blocking=True), microbatch))

    def finish(self, config: ModelConfig, rate: float, verdict: Verdict, started: float) -> dict[str, Any]:
        """Every rank must call this. `started`: what `time.perf_counter` said at the beginning of the step."""
        ahead_2, dead, excess, vision_norm, largest = self._fetched()
        by = self._told_apart()
        seconds = time.perf_counter() - started
        tokens, whole_step = self.stage.config.batch_tokens, seconds + self.stage.last_wait
        rank_tokens = tokens / self.ranks.world
        flops = 3 * forward_flops(config, max(1, round(self.pairs / rank_tokens))) * rank_tokens
        peak = peak_flops(self.ranks.device)
        return {
            "learning_rate": rate,
            "loss": verdict.loss,
            "next_next_loss": ahead_2[0] / ahead_2[1] if ahead_2[1] else None,
            "norm": verdict.norm,
            "skipped": verdict.skip,
            "reason": verdict.reason,
            "seconds": whole_step,
            "tokens_per_s": tokens / whole_step,
            "mfu": flops / whole_step / peak if peak else None,
            "waited": self.stage.last_wait / whole_step,
            "memory_gib": memory_gib(self.ranks.device),
            "load_excess": excess,
            "dead_experts": None if dead is None else int(dead),
            "by": by,
            "vision_norm": vision_norm,
            "largest_logit": largest,
        }

    def _fetched(self) -> tuple[list[float], float | None, float | None, float | None, float | None]:
        """The sums of the token after the next, dead experts, excess of load, norm of vision, and largest logit.

        Raises FloatingPointError when a logit is not finite, as the weights would not be either.
        """
        self.ranks.add(self.ahead_2)
        dead = None
        if self.load_LE is not None:
            self.ranks.add(self.load_LE)
            dead = (self.load_LE == 0).sum()
        excess = self.excess_L.max() if self.excess_L is not None and len(self.excess_L) else None
        largest = self.largest_LH.max() if self.largest_LH is not None and self.largest_LH.numel() else None
        wanted = (*self.ahead_2.unbind(), dead, excess, self.vision_norm, largest)
        there = iter(torch.stack([one.double() for one in wanted if one is not None]).tolist())
        values = [None if one is None else next(there) for one in wanted]
        if values[5] is not None and not math.isfinite(values[5]):
            raise FloatingPointError("an attention logit is not finite")
        return [values[0] or 0.0, values[1] or 0.0], values[2], values[3], values[4], values[5]

    def _told_apart(self) -> dict[str, dict[str, float]]:
        """Losses by each kind of label. What lies on the CPU by now is added up there."""
        by = {what: torch.zeros(2, len(names), dtype=torch.float64) for what, names in self.names._asdict().items()}
        for per_token_T, microbatch in self.per_token:
            counted_T = microbatch.weights_1T[0] > 0
            values_2T = torch.stack([per_token_T.double(), counted_T.double()])
            for what, sums_2N in by.items():
                labels_T = microbatch.labels[what]
                known_T = (labels_T >= 0) & counted_T
                sums_2N.scatter_add_(1, labels_T.clamp(min=0).expand(2, -1), values_2T * known_T)
        if self.ranks.world > 1:
            everything = torch.cat([sums.flatten() for sums in by.values()]).to(self.ranks.device)
            self.ranks.add(everything)
            parts = everything.cpu().split([sums.numel() for sums in by.values()])
            by = {what: part.view(2, -1) for what, part in zip(by, parts, strict=True)}
        means = {}
        for (what, sums_2N), names in zip(by.items(), self.names, strict=True):
            nats, counts = sums_2N.tolist()
            means[what] = {name: nat / count for name, nat, count in zip(names, nats, counts, strict=True) if count}
        return means


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
    layer forgets, and how busy every expert is, padding left out. Every rank must call this.

    Kernels that mix or route call no module that could be watched: PyTorch's operators stand in for them here. As these
    can take more memory than a training step through kernels, only the first `DIAGNOSED_TOKENS` tokens are looked at.
    """
    tokens_1T, real_1T, groups, images = first_tokens(microbatch, DIAGNOSED_TOKENS, model.config.media_pad_id)
    real_1T = real_1T.to(ranks.device)
    mixes: list[list[float]] = []
    decays: dict[int, list[float]] = {}
    loads: dict[int, list[float]] = {}
    numbers = {id(layer.attention): number for number, layer in enumerate(model.layers)}
    numbers |= {id(layer.ffn.router): n for n, layer in enumerate(model.layers) if hasattr(layer.ffn, "router")}

    def see_mix(mix: AttentionResidual, arguments: tuple[Any, ...], output: Tensor) -> None:
        (sources,) = arguments
        folded_D = _folded(mix.query, mix.norm_weight, compute_dtype(sources[0]))
        probabilities, _ = _probabilities(folded_D, sources, mix.eps)
        mixes.append([float(p_BT[real_1T].mean()) for p_BT in probabilities])

    def see_decay(layer: KimiDeltaAttention, arguments: tuple[Any, ...], output: Tensor) -> None:
        z_BTHK = layer._heads(layer.decay_up(layer.decay_down(arguments[0])))
        alpha = bounded_log_decay(z_BTHK, layer.A_log, layer.dt_bias, layer.config.gate_lower_bound).exp()
        counts = torch.histc(alpha[real_1T].float(), DECAY_BINS, 0, 1)
        decays[numbers[id(layer)]] = (counts / counts.sum()).tolist()

    def see_load(router: Router, arguments: tuple[Any, ...], routes: Any) -> None:
        experts = routes.experts_NK[real_1T[0]].flatten()
        counts = experts.bincount(minlength=len(router.balancer.bias)).double()
        loads[numbers[id(router)]] = (counts / counts.sum()).tolist()

    watched = {AttentionResidual: see_mix, KimiDeltaAttention: see_decay, Router: see_load}
    in_layers = {id(module) for layer in (*model.layers, model.output_mix) for module in layer.modules()}
    hooks = [
        module.register_forward_hook(watched[type(module)])  # type: ignore[arg-type]
        for module in model.modules()
        if type(module) in watched and id(module) in in_layers
    ]
    was_training = model.training
    unseen = {one: one.kernels for one in model.modules() if isinstance(one, (Layer, LatentMoE))}
    model.eval()
    try:
        for one in unseen:
            one.kernels = "torch"
        model(tokens_1T.to(ranks.device), images=images, groups=groups, real_BT=real_1T)
    finally:
        model.train(was_training)
        for one, kernels in unseen.items():
            one.kernels = kernels
        for hook in hooks:
            hook.remove()
    edges = [bin_ / DECAY_BINS for bin_ in range(DECAY_BINS + 1)]
    run.log("diagnostics", step=step, attn_res=mixes, decay={"edges": edges, "layers": decays}, load=loads)


def first_tokens(microbatch: Microbatch, longest: int, media_pad: int) -> tuple[Tensor, Tensor, Groups, list[Patches]]:
    """Tokens [1, T], which of them are real, the groups and the pictures of the first `longest` tokens of a microbatch.

    A picture that would be cut in two is left out with all that is behind it. A microbatch that is no longer is whole.
    """
    tokens_1T, real_1T, groups, images = microbatch.tokens_1T, microbatch.real_1T, microbatch.groups, microbatch.images
    if tokens_1T.shape[1] <= longest:
        return tokens_1T, real_1T, groups, images
    places, whole = int((tokens_1T[0, :longest] == media_pad).sum()), 0
    while whole < len(images) and images[whole].tokens <= places:
        places -= images[whole].tokens
        whole += 1
    end = longest - places  # places that are left are those of a picture that goes on beyond the end
    bounds = [bound for bound in groups.bounds if bound < end] + [end]
    return tokens_1T[:, :end], real_1T[:, :end], Groups(1, end, torch.tensor(bounds)), images[:whole]
