"""What lies between the products of a layer, fused: one pass over the inputs each, forward and backward."""

from .chained import chained_mix
from .conv import conv_silu, conv_silu_each
from .gated import gated_norm
from .mix_op import mix
from .norm_op import rms_norm
from .situ import situ_glu

__all__ = ["chained_mix", "conv_silu", "conv_silu_each", "gated_norm", "mix", "rms_norm", "situ_glu"]
