"""Kimi Delta Attention: the recurrence, its chunked form, one step of it, and the layer around them."""
