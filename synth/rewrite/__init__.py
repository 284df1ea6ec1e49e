"""Rewriting of technical prose and mathematics by rules: the same said in another form, deterministically and
offline."""
