"""Benchmarks of synthesis."""
