"""What a whole model remembers of its sequences: states and convolution tails of KDA, and latents of MLA.

`generate` keeps one for the sequences that it is writing, `prefixes.PrefixStore` pieces of many for later prompts.

Letters: N sequences, S slots for tokens, C numbers of a token in an MLA layer, H heads, K and V channels, P = H·K.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .config import ModelConfig
from .kda.cache import KDACache
from .mla_cache import MLACache


@dataclass
class HybridCache:
    """Made empty, and brought up to date by the model's forward."""

    layers: list[KDACache | MLACache]

    @staticmethod
    def empty(
        config: ModelConfig, sequences: int, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
    ) -> HybridCache:
        """For sequences that have not begun. `dtype` is that of the activations."""
        layers: list[KDACache | MLACache] = [
            MLACache.empty(config.mla, sequences, dtype, device) if config.is_mla(layer)
            else KDACache.empty(config.kda, sequences, dtype, device)
            for layer in range(config.layers)
        ]  # fmt: skip
        return HybridCache(layers)

    @staticmethod
    def stack(caches: Sequence[HybridCache]) -> HybridCache:
        """The sequences of all of them, in order, in one cache that shares nothing with them."""
        return HybridCache([_stacked(layers) for layers in zip(*(one.layers for one in caches), strict=True)])

    def select(self, rows: Sequence[int]) -> HybridCache:
        """These sequences alone, in this order, in a cache that shares nothing with this one."""
        return HybridCache([_selected(layer, list(rows)) for layer in self.layers])

    def clone(self) -> HybridCache:
        """A copy that shares nothing: a snapshot."""
        return HybridCache([layer.clone() for layer in self.layers])

    def check(self, config: ModelConfig, sequences: int) -> None:
        """Raises ValueError unless it is for this configuration and number of sequences."""
        if len(self.layers) != config.layers:
            raise ValueError(f"the cache has {len(self.layers)} layers, but the model {config.name} {config.layers}")
        for number, layer in enumerate(self.layers):
            if isinstance(layer, MLACache) != config.is_mla(number):
                held, wanted = ("MLA", "KDA") if isinstance(layer, MLACache) else ("KDA", "MLA")
                raise ValueError(f"layer {number} of the cache is {held}'s, but the model {config.name} has {wanted}")
            if isinstance(layer, MLACache):
                held_shape, shape = list(layer.latent_NSC.shape[::2]), [sequences, config.mla.cache_dim]
            else:
                held_shape = list(layer.state_NHKV.shape[:3])
                shape = [sequences, config.kda.heads, config.kda.head_dim]
            if held_shape != shape:
                needs = f"the model {config.name} needs {shape} (sequences and channels)"
                raise ValueError(f"layer {number} of the cache is made for {held_shape}, but {needs}")


def _stacked(layers: Sequence[KDACache | MLACache]) -> KDACache | MLACache:
    first = layers[0]
    if isinstance(first, KDACache):
        parts = [torch.cat(part) for part in zip(*(one.tensors() for one in layers), strict=True)]  # type: ignore[union-attr]
        return KDACache(parts[0], (parts[1], parts[2], parts[3]))
    latents: list[Tensor] = [one.latent_NSC for one in layers]  # type: ignore[union-attr]
    slots = max(latent.shape[1] for latent in latents)
    padded = [torch.nn.functional.pad(latent, (0, 0, 0, slots - latent.shape[1])) for latent in latents]
    return MLACache(torch.cat(padded), [length for one in layers for length in one.lengths])  # type: ignore[union-attr]


def _selected(layer: KDACache | MLACache, rows: list[int]) -> KDACache | MLACache:
    if isinstance(layer, KDACache):
        state, *tails = (tensor[rows] for tensor in layer.tensors())
        return KDACache(state, (tails[0], tails[1], tails[2]))
    return MLACache(layer.latent_NSC[rows], [layer.lengths[row] for row in rows])
