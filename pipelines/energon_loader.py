"""How Megatron-Energon turns one stored sample into an interleaved one: text and pictures in the order of the text.

A copy of this file lies in the `.nv-meta` folder of every data set and stands alone there.
"""

import io
import json

import numpy as np
import torch
from PIL import Image

PLACEHOLDER = "\ufffc"  # stands in the text for one picture each


def part_filter(part: str) -> bool:
    """Every member is needed."""
    return True


def sample_loader(raw: dict) -> dict:
    """The fields of an InterleavedSample; pictures are float tensors (3, height, width) in 0..1."""
    sample = json.loads(raw["json"])
    content = next(raw[suffix] for suffix in ("png", "jpg", "webp", "media.bin") if suffix in raw)
    texts = sample["text"].split(PLACEHOLDER)
    sequence = [texts[0]]
    for part, text in zip(sample["media"], texts[1:], strict=True):
        data = content[part["offset"] : part["offset"] + part["bytes"]]
        sequence += [_picture(data) if part["mime"].startswith("image/") else part["mime"], text]
    return {"sequence": [one for one in sequence if not isinstance(one, str) or one]}


def _picture(data: bytes) -> torch.Tensor:
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    return torch.from_numpy(pixels.astype(np.float32) / 255).permute(2, 0, 1)
