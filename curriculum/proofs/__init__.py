"""The second program: it re-derives the proofs of scattered items from packed token ids and pictures alone.

Nothing here knows how items are made. It has its own patterns for reading statements, its own solvers, and a renderer
for the pictures; it reads every statement about an item that the window holds, whether the proof mentions it or not.
"""

from .check import ProofReport, check_sample

__all__ = ["ProofReport", "check_sample"]
