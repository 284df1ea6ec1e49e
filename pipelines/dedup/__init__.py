"""Deduplication: exact and near-duplicates of a whole data set, as a job of its own."""
