"""Triton kernels: what the model runs on a GPU. The PyTorch operators beside them are their oracles."""
