"""What a model is fed, checked before it starts: ids that are words, and for each picture as many places as features.

A picture's places are a run of `media_pad` tokens, which other tokens part from the next picture's.

Letters: B batch, T tokens, D model width, F features of all pictures.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .config import ModelConfig
from .vision.preprocess import Patches


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


def place_features(x_BTD: Tensor, is_place_BT: Tensor, features_FD: Tensor) -> Tensor:
    """x_BTD with the features, in order, where `is_place_BT` is true."""
    return x_BTD.masked_scatter(is_place_BT[..., None], features_FD.to(x_BTD.dtype))


def _run_lengths(is_place_BT: Tensor) -> list[int]:
    """Lengths of the runs of true, row by row."""
    edges = torch.nn.functional.pad(is_place_BT.cpu().to(torch.int8), (1, 1)).diff(dim=1)
    starts, ends = (edges == 1).nonzero()[:, 1], (edges == -1).nonzero()[:, 1]
    lengths: list[int] = (ends - starts).tolist()
    return lengths
