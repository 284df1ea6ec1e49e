"""What is asked of a program's text before anything of its kind: that it is there, is text, and is not too long."""

from __future__ import annotations

from .types import Failure


def text_fault(program: str, max_characters: int) -> Failure | None:
    """Why the text cannot be a program of any kind, or None."""
    if not program.strip():
        return Failure("empty", "lint", "nothing in it")
    if "\x00" in program:
        return Failure("encoding", "lint", "contains NUL characters")
    if len(program) > max_characters:
        return Failure("too_large", "lint", f"{len(program)} characters, at most {max_characters}")
    try:
        program.encode()
    except UnicodeEncodeError as error:
        return Failure("encoding", "lint", f"lone surrogate at {error.start}")
    return None
