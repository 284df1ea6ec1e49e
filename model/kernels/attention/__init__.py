"""Softmax attention over groups of tokens: bf16 operands, fp32 sums, and an output that need not be rounded."""

from .op import attention
from .tiles import TileTable

__all__ = ["TileTable", "attention"]
