"""Prompts that begin alike are not computed twice: snapshots of the cache at every 512th token, by what came before.

A KDA layer has one state for all that it has read, which cannot be cut back to an earlier token: so a snapshot is kept
at block boundaries alone. Of an MLA layer a block keeps the latents of its own 512 tokens. A prompt goes on from the
longest unbroken chain of blocks that is its own beginning, pictures included. (K3 report, §5.4.)

A block's key is the hash of its parent's key, of its tokens, and of the pictures whose places begin in it.

Letters: T tokens, C numbers of a token in an MLA layer.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .cache import HybridCache
from .config import ModelConfig
from .kda.cache import KDACache
from .mla_cache import MLACache
from .vision.preprocess import Patches

BLOCK = 512


@dataclass
class _Block:
    layers: list[KDACache | Tensor]
    """Of a KDA layer the state at the block's end, of an MLA layer the latents [block, C] of its tokens."""
    bytes: int


class PrefixStore:
    """For the prompts of one model with one set of weights: `clear` it when they change.

    Attributes:
        block: tokens between snapshots.
        max_bytes: what all snapshots together may take; those not used for longest go first.
        held_bytes: what they take.
        hits, misses: blocks of prompts that were found, and that were not.
    """

    def __init__(self, config: ModelConfig, *, max_bytes: int = 2**30, block: int = BLOCK) -> None:
        """Raises ValueError for a block without tokens."""
        if block < 1:
            raise ValueError(f"a block of {block} tokens")
        self.config, self.block, self.max_bytes = config, block, max_bytes
        self.held_bytes = self.hits = self.misses = 0
        self._blocks: OrderedDict[bytes, _Block] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def clear(self) -> None:
        self._blocks.clear()
        self.held_bytes = 0

    def keys(self, tokens_T: Tensor, images: Sequence[tuple[int, Patches]]) -> list[bytes]:
        """Of the whole blocks of a prompt, in order. `images` come with the place where each begins."""
        ids = tokens_T.cpu().numpy().astype(np.int64)
        keys, key = [], b""
        for start in range(0, len(ids) - self.block + 1, self.block):
            digest = hashlib.sha256(key + ids[start : start + self.block].tobytes())
            for at, image in images:
                if start <= at < start + self.block:
                    digest.update(repr((at, image.grid)).encode() + image.pixels_PCSS.cpu().numpy().tobytes())
            key = digest.digest()
            keys.append(key)
        return keys

    def longest(self, keys: Sequence[bytes]) -> tuple[int, HybridCache | None]:
        """How many of these blocks are here from the first on, and a cache of one sequence that has read them."""
        found = []
        for key in keys:
            if key not in self._blocks:
                break
            found.append(key)
        self.hits += len(found)
        self.misses += len(keys) - len(found)
        for key in reversed(found):  # so that of a chain the last block goes first
            self._blocks.move_to_end(key)
        if not found:
            return 0, None
        blocks = [self._blocks[key] for key in found]
        layers = [_restored(parts) for parts in zip(*(block.layers for block in blocks), strict=True)]
        return len(found), HybridCache(layers)

    def put(self, key: bytes, cache: HybridCache) -> None:
        """Keeps the snapshot of one sequence that has just read the last token of the block `key`."""
        layers = [_snapshot(layer, self.block) for layer in cache.layers]
        size = sum(
            tensor.numel() * tensor.element_size()
            for layer in layers
            for tensor in (layer.tensors() if isinstance(layer, KDACache) else (layer,))
        )
        replaced = self._blocks.pop(key, None)
        self.held_bytes += size - (replaced.bytes if replaced else 0)
        self._blocks[key] = _Block(layers, size)
        while self.held_bytes > self.max_bytes and self._blocks:
            _, oldest = self._blocks.popitem(last=False)
            self.held_bytes -= oldest.bytes


def _snapshot(layer: KDACache | MLACache, block: int) -> KDACache | Tensor:
    if isinstance(layer, KDACache):
        return layer.clone()
    (length,) = layer.lengths
    return layer.latent_NSC[0, length - block : length].clone()


def _restored(parts: Sequence[KDACache | Tensor]) -> KDACache | MLACache:
    if isinstance(parts[-1], KDACache):
        return parts[-1].clone()
    latent_TC = torch.cat(list(parts))  # type: ignore[arg-type]
    return MLACache(latent_TC[None], [len(latent_TC)])
