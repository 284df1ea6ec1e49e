"""Tables of words, written as one string each: a column of quoted words is harder to read and to keep in order."""

from __future__ import annotations


def wordlist(text: str) -> list[str]:
    """The words between the spaces of a table."""
    return text.split()
