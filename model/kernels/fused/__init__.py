"""What lies between the products of a layer, fused: one pass over the inputs each, forward and backward."""

from .mix_op import mix, rms_norm

__all__ = ["mix", "rms_norm"]
