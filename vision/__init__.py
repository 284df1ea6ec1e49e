"""Programs in, exact pictures out: generators, renderers in killable processes, tasks, and quality checks."""
