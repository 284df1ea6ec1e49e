"""The engine: recipes, frozen plans, units, the ledger, supervised workers, shards, and the `k3data` command."""
