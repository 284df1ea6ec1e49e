"""Benchmarks of the model: what must be right, and how large it is."""
