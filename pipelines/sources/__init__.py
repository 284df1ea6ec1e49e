"""Where items come from: files, lines, rows, and the samples of an earlier job."""
