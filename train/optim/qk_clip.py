"""QK-Clip: after a step, heads of MLA whose logits have grown too large get smaller queries and keys.

    γ = min(1, τ / S),  S the largest q·k·(nope + rope)^-1/2 of the head;   τ = 100
    W_qup's nope rows × √γ, its rope rows × γ;   W_kvup's key rows × √γ;   the shared rope key as it is

so that both parts of every logit of the head become γ times what they were (Kimi K2, arXiv:2507.20534; K3's "weight
clipping"). KDA needs none: its queries and keys have length 1.

S is measured on a sample: the inputs of the layer's last training forward, at most so many tokens of a group, with the
weights after the step. The layer itself is not touched: a hook before its forward keeps the sample.

Letters: G groups, R tokens of a group in the sample, D model width, H heads, K channels, L layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ...model.attention import Groups
from ...model.kda.inputs import to_device
from ...model.mla import GatedMLA
from ...model.norm import rms_norm
from .sharding import local, row_shards, rows, whole


class _Sample(NamedTuple):
    x_GRD: Tensor
    real_GR: Tensor
    """False where a group has fewer than R tokens."""


class QKClip:
    """Of all MLA layers of a model. Make it after sharding; `remove` takes its hooks away again."""

    def __init__(
        self, model: nn.Module, threshold: float = 100.0, *, tokens_per_group: int = 128, groups: int = 32,
        all_reduce_max: Callable[[Tensor], None] | None = None,
    ) -> None:  # fmt: skip
        """
        Args:
            threshold: τ.
            tokens_per_group: R; a longer group is thinned evenly, its first and last tokens stay.
            groups: of more, every so many is taken.
            all_reduce_max: takes the maximum of a tensor over the data-parallel ranks, in place; once for all layers.

        Raises:
            ValueError: a threshold, a number of tokens or of groups that is not above 0.
        """
        if not threshold > 0 or tokens_per_group < 1 or groups < 1:
            raise ValueError(
                f"QK-Clip has threshold {threshold}, {tokens_per_group} tokens a group and {groups} groups, "
                "and all must be above 0"
            )
        self.threshold, self.tokens_per_group, self.groups = threshold, tokens_per_group, groups
        self.all_reduce_max = all_reduce_max
        self.layers = {name: module for name, module in model.named_modules() if isinstance(module, GatedMLA)}
        self._samples: dict[str, _Sample] = {}
        self._places: tuple[Groups, Tensor, Tensor] | None = None
        self._hooks = [
            layer.register_forward_pre_hook(self._keeper(name), with_kwargs=True) for name, layer in self.layers.items()
        ]

    @torch.no_grad()
    def clip(self, check: bool = True) -> Tensor:
        """The largest logits [L, H] of the sample, as they were before the clip, over all ranks, which must call this.

        Raises RuntimeError when no training forward has passed since the last time, and with `check`, which waits for
        a GPU, FloatingPointError when a logit is not finite, as the weights would not be either.
        """
        if not self.layers:
            return torch.zeros(0, 0)
        missing = [name for name in self.layers if name not in self._samples]
        if missing:
            raise RuntimeError(f"no batch has passed through {missing[0]} since the last clip, so there is no sample")
        largest_LH = torch.stack([largest_logits(layer, *self._samples[name]) for name, layer in self.layers.items()])
        self._samples.clear()
        if self.all_reduce_max is not None:
            self.all_reduce_max(largest_LH)
        if check and not torch.isfinite(largest_LH).all():
            bad = [name for name, row in zip(self.layers, largest_LH, strict=True) if not torch.isfinite(row).all()]
            raise FloatingPointError(f"a logit of {bad[0]} is not finite")
        gamma_LH = self.threshold / largest_LH.clamp(min=self.threshold)
        for layer, gamma_H in zip(self.layers.values(), gamma_LH, strict=True):
            shrink_(layer, gamma_H)
        return largest_LH

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._samples = [], {}

    def _keeper(self, name: str) -> Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]:
        def keep(layer: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
            if layer.training:
                bound = dict(zip(("x_BTD", "groups"), arguments, strict=False)) | keywords
                self._samples[name] = self._sample(bound["x_BTD"].detach(), bound.get("groups"))

        return keep

    def _sample(self, x_BTD: Tensor, groups: Groups | Tensor | None) -> _Sample:
        groups = Groups.of(groups, *x_BTD.shape[:2])
        if self._places is None or self._places[0] is not groups:  # every layer asks for the same
            tokens_GR, real_GR = self._sampled(groups)
            self._places = groups, to_device(tokens_GR, x_BTD.device), to_device(real_GR, x_BTD.device)
        _, tokens_GR, real_GR = self._places
        return _Sample(x_BTD.flatten(0, 1)[tokens_GR], real_GR)

    def _sampled(self, groups: Groups) -> tuple[Tensor, Tensor]:
        """Which tokens are taken, and which of these are real."""
        bounds = torch.tensor(groups.bounds)
        filled = bounds.diff() > 0
        start_G1, length_G1 = bounds[:-1][filled][:, None], bounds.diff()[filled][:, None]
        if len(start_G1) > self.groups:
            taken = torch.arange(self.groups) * len(start_G1) // self.groups
            start_G1, length_G1 = start_G1[taken], length_G1[taken]
        count_G1 = length_G1.clamp(max=self.tokens_per_group)
        place_R = torch.arange(int(count_G1.max()))
        step_GR = place_R.minimum(count_G1 - 1) * (length_G1 - 1) // (count_G1 - 1).clamp(min=1)
        return start_G1 + step_GR, place_R < count_G1


def largest_logits(layer: GatedMLA, x_GRD: Tensor, real_GR: Tensor) -> Tensor:
    """[H]: over all queries of real tokens and the keys up to each of them. Under sharding all ranks must call this."""
    mla = layer.config
    q_down, q_up, kv_down, kv_up = (
        whole(linear.weight) for linear in (layer.q_down, layer.q_up, layer.kv_down, layer.kv_up)
    )
    x_GRD = x_GRD.to(q_up.dtype)
    latent_q = rms_norm(x_GRD @ q_down.T, whole(layer.q_norm.weight), mla.latent_norm_eps)
    q_GRHK = (latent_q @ q_up.T).unflatten(-1, (mla.heads, -1))
    c, shared = (x_GRD @ kv_down.T).split([mla.kv_lora_rank, mla.qk_rope_dim], dim=-1)
    latent_kv = rms_norm(c, whole(layer.kv_norm.weight), mla.latent_norm_eps)
    k_nope = (latent_kv @ kv_up.T).unflatten(-1, (mla.heads, -1))[..., : mla.qk_nope_dim]
    k_GRHK = torch.cat([k_nope, shared.unsqueeze(-2).expand(-1, -1, mla.heads, -1)], dim=-1)
    logits_GHRR = torch.einsum("grhk,gshk->ghrs", q_GRHK, k_GRHK) * mla.qk_dim**-0.5
    R = x_GRD.shape[1]
    visible_GRR = torch.ones(R, R, dtype=torch.bool, device=x_GRD.device).tril() & real_GR[:, :, None]
    return logits_GHRR.masked_fill(~visible_GRR[:, None], -torch.inf).amax(dim=(0, 2, 3))


def shrink_(layer: GatedMLA, gamma_H: Tensor) -> None:
    """Makes all logits of head h γ_h times what they are."""
    mla, root_H = layer.config, gamma_H.sqrt()
    query = (root_H, mla.qk_nope_dim), (gamma_H, mla.qk_rope_dim)
    key_value = (root_H, mla.qk_nope_dim), (torch.ones_like(gamma_H), mla.v_dim)
    for weight, factors in ((layer.q_up.weight, query), (layer.kv_up.weight, key_value)):
        factor_HK = torch.cat([factor_H[:, None].expand(-1, times) for factor_H, times in factors], dim=1)
        factor_R1 = factor_HK.reshape(-1, 1).to(weight.dtype)
        shards = row_shards(weight)
        rows(local(weight)).mul_(factor_R1 if shards is None else factor_R1[shards.mine])
