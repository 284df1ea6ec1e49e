"""Real text: manuals, source code and reference data, from folders, Python distributions and Debian packages."""
