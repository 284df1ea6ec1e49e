"""Benchmarks of the engine; run by `k3data bench`."""
