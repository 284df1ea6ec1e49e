"""What a model is fed, checked before it starts: ids that are words, and for each picture as many places as features.

A picture's places are a run of `media_pad` tokens, which other tokens part from the next picture's. Checked on the CPU,
where batches are made, none of it waits for a GPU.

Letters: B batch, T tokens, D model width, F features of all pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .attention import Groups
from .config import ModelConfig
from .kda.inputs import to_device
from .loss import Targets
from .vision.preprocess import Grid, Patches


def check_tokens(tokens_BT: Tensor, images: Sequence[Patches], config: ModelConfig) -> None:
    """Raises ValueError that names the first thing that is wrong. Waits for a GPU once, and twice with pictures."""
    if tokens_BT.ndim != 2 or tokens_BT.is_floating_point() or not tokens_BT.numel():
        raise ValueError(f"tokens must be [B, T] integers, not {tokens_BT.dtype} {list(tokens_BT.shape)}")
    if images and config.vision is None:
        raise ValueError(f"the model {config.name} has no vision, but got {len(images)} pictures")
    is_place_BT = tokens_BT == config.media_pad_id
    lowest, highest, places = torch.stack([*tokens_BT.aminmax(), is_place_BT.sum()]).tolist()
    if lowest < 0 or highest >= config.vocab_size:
        row, at = ((tokens_BT < 0) | (tokens_BT >= config.vocab_size)).nonzero()[0].tolist()
        words = f"the words are 0 to {config.vocab_size - 1}"
        raise ValueError(f"token {at} of row {row} is {int(tokens_BT[row, at])}, but {words}")
    runs = _run_lengths(is_place_BT) if places else []
    if len(runs) != len(images):
        raise ValueError(f"got {len(images)} pictures, but the tokens have room for {len(runs)}")
    for number, (run, image) in enumerate(zip(runs, images, strict=True)):
        if run != image.tokens:
            raise ValueError(f"picture {number} has {image.tokens} features, but its room is {run} media_pad tokens")


@dataclass(frozen=True)
class Batch:
    """Tokens to learn from, checked, and on the device: a loss of it waits for nothing.

    Attributes:
        pixels_PCSS, grids: of all pictures in one.
        next_token, next_next_token: what to predict; the latter where the model has an extra layer for it.
    """

    tokens_BT: Tensor
    groups: Groups
    pixels_PCSS: Tensor | None
    grids: tuple[Grid, ...]
    real_BT: Tensor | None
    next_token: Targets
    next_next_token: Targets | None

    @staticmethod
    def of(
        config: ModelConfig, tokens_BT: Tensor, weights_BT: Tensor, device: torch.device, *,
        images: Sequence[Patches] = (), groups: Groups | Tensor | None = None, real_BT: Tensor | None = None,
    ) -> Batch:  # fmt: skip
        """See `K3Model.loss`. Given tensors on the CPU, nothing waits for a GPU."""
        if weights_BT.shape != tokens_BT.shape:
            raise ValueError(f"the weights are {list(weights_BT.shape)}, but the tokens {list(tokens_BT.shape)}")
        check_tokens(tokens_BT, images, config)
        groups = Groups.of(groups, *tokens_BT.shape)
        weights_BT = weights_BT.to(tokens_BT.device) * groups.inner(tokens_BT.device)
        words = config.vocab_size
        next_token = Targets.of(tokens_BT.roll(-1, dims=1).flatten(), weights_BT.flatten(), words)
        next_next_token = None
        if config.mtp_layers:
            weights_BT = next_next_weights(weights_BT, groups)
            next_next_token = Targets.of(tokens_BT.roll(-2, dims=1).flatten(), weights_BT.flatten(), words).to(device)
        return Batch(
            tokens_BT=to_device(tokens_BT, device), groups=groups, pixels_PCSS=joined(images, device),
            grids=tuple(one.grid for one in images), real_BT=None if real_BT is None else to_device(real_BT, device),
            next_token=next_token.to(device), next_next_token=next_next_token,
        )  # fmt: skip


def next_next_weights(weights_BT: Tensor, groups: Groups) -> Tensor:
    """Of predicting token t + 2 at t: that of predicting it at t + 1, and 0 where t + 1 is another group's."""
    return weights_BT.roll(-1, dims=1) * groups.inner(weights_BT.device)


def joined(images: Sequence[Patches], device: torch.device) -> Tensor | None:
    """The patches of all pictures, in one transfer."""
    return to_device(torch.cat([one.pixels_PCSS for one in images]), device) if images else None


def place_features(x_BTD: Tensor, is_place_BT: Tensor, features_FD: Tensor) -> Tensor:
    """x_BTD with the features, in order, where `is_place_BT` is true."""
    return x_BTD.masked_scatter(is_place_BT[..., None], features_FD.to(x_BTD.dtype))


def _run_lengths(is_place_BT: Tensor) -> list[int]:
    """Lengths of the runs of true, row by row."""
    edges = torch.nn.functional.pad(is_place_BT.cpu().to(torch.int8), (1, 1)).diff(dim=1)
    starts, ends = (edges == 1).nonzero()[:, 1], (edges == -1).nonzero()[:, 1]
    lengths: list[int] = (ends - starts).tolist()
    return lengths
