"""From finished records to what a trainer reads: tokenised documents, mixtures, packed sequences, and their order.

`reader` and what it imports run on machines that train: torch where it is there, numpy, pyarrow, pillow, fsspec.
"""
