"""Programs to read and to run, each a whole story."""
