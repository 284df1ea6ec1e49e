"""Training a K3 from packed shards."""
