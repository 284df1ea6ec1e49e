"""Rewriting of technical prose and mathematics by rules: the same in another form, deterministic and offline."""
