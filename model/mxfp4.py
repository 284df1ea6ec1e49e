"""MXFP4, the form in which K3's routed experts are released: four bits a number, and a scale for every 32 of a row.

    w = grid[nibble] · 2^(scale − 127),   grid 0, ½, 1, 1½, 2, 3, 4, 6 and the same below zero   (OCP MX: E2M1 and E8M0)

A byte holds two neighbours, the one at the even place in its low nibble. Decoding is exact in bfloat16 and wider.
Encoding is exact for what was decoded, and else rounds to the nearest number of the grid.

Letters: O rows, I numbers of a row, P = I/2 bytes, G = I/32 scales.
"""

from __future__ import annotations

import torch
from torch import Tensor

GROUP = 32
"""Numbers that share a scale."""

_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_BETWEEN = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
"""Half-way between neighbours of the grid."""

_BIAS = 127
_HIGHEST_SCALE = 252
"""With 2^125 the grid's 6 is still a float32."""


def decode_mxfp4(packed_OP: Tensor, scale_OG: Tensor, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """Two uint8 tensors to w_OI (leading dimensions may be more than one).

    Raises ValueError when they are not uint8, or not of one shape but for 16 bytes a scale, and for a scale above
    2^125, whose numbers would be no float32 (255 is MX's "not a number").
    """
    for name, tensor in (("values", packed_OP), ("scales", scale_OG)):
        if tensor.dtype != torch.uint8:
            raise ValueError(f"the {name} of MXFP4 are {tensor.dtype}, not uint8")
    if packed_OP.shape != (*scale_OG.shape[:-1], scale_OG.shape[-1] * GROUP // 2):
        raise ValueError(
            f"values {list(packed_OP.shape)} and scales {list(scale_OG.shape)} do not go together: "
            f"a scale is for {GROUP // 2} bytes"
        )
    if scale_OG.numel() and (highest := int(scale_OG.max())) > _HIGHEST_SCALE:
        raise ValueError(f"a scale of MXFP4 is {highest}, above {_HIGHEST_SCALE}: its numbers are not finite")
    magnitudes = torch.tensor(_MAGNITUDES, device=packed_OP.device)
    grid = torch.cat([magnitudes, -magnitudes])
    powers = torch.pow(2.0, torch.arange(256, dtype=torch.float64, device=packed_OP.device) - _BIAS).float()
    nibbles_OI = torch.stack([packed_OP & 15, packed_OP >> 4], dim=-1).flatten(-2)
    w_OGN = grid[nibbles_OI.int()].unflatten(-1, (-1, GROUP)) * powers[scale_OG.int()][..., None]
    return w_OGN.flatten(-2).to(dtype)


def encode_mxfp4(w_OI: Tensor) -> tuple[Tensor, Tensor]:
    """The values and scales that `decode_mxfp4` takes: nearest numbers, ties to the even nibble, signs of zeros kept.

    A group's scale is the power of two that brings its largest number into [4, 8); what then lies above 6 becomes 6.
    Raises ValueError for rows that do not divide into groups, and for numbers that are not finite.
    """
    if w_OI.shape[-1] % GROUP:
        raise ValueError(f"a row of {w_OI.shape[-1]} numbers does not divide into MXFP4's groups of {GROUP}")
    w_OGN = w_OI.float().unflatten(-1, (-1, GROUP))
    largest_OG = w_OGN.abs().amax(-1)
    if not torch.isfinite(largest_OG).all():
        raise ValueError("a number that is not finite has no MXFP4 form")
    # frexp: largest = m · 2^e with m in [½, 1), so that largest / 2^(e − 3) is in [4, 8). A group of zeros has e = 0.
    exponent_OG = (torch.frexp(largest_OG).exponent - 3).clamp(-_BIAS, _HIGHEST_SCALE - _BIAS)
    scaled_OGN = (w_OGN.double() * torch.pow(2.0, -exponent_OG.double())[..., None]).float()
    between = torch.tensor(_BETWEEN, device=w_OI.device)
    below, above = (torch.bucketize(scaled_OGN.abs(), between, right=right) for right in (False, True))
    nibbles_OI = torch.where(below % 2 == 0, below, above).add(8 * torch.signbit(w_OGN)).flatten(-2).to(torch.uint8)
    packed_OP = nibbles_OI[..., 0::2] | (nibbles_OI[..., 1::2] << 4)
    return packed_OP, (exponent_OG + _BIAS).to(torch.uint8)
