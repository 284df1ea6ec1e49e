"""Benchmarks of the curriculum."""
