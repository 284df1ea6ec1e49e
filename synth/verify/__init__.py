"""Does a rewrite say what its source says? Fact sheets, checks on four levels, verdicts, and planted errors."""
