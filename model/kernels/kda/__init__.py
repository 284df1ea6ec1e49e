"""Kimi Delta Attention on a GPU, forward and backward, from what the short convolutions give to the output."""

from .chunks import ChunkTable
from .op import kda
from .step import kda_step

__all__ = ["ChunkTable", "kda", "kda_step"]
