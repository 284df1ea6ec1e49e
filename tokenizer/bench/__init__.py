"""Benchmarks of the tokenizer; run by `k3data bench`."""
