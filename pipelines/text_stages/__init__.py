"""Stages for text of any source: which language it is in, and whether it holds what a model will be tested on."""
