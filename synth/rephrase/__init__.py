"""Rewriting of documents, chunk by chunk, each rewrite checked against its source."""
