"""Benchmarks of the renderers; run by `k3data bench`."""
