"""Why an expression could not be read: it makes no sense to the parser, it reads in two ways, or it is too large."""

from __future__ import annotations


class Degenerate(ValueError):
    """Some of the input would be dropped, or its value does not exist (0/0): nothing may be concluded from it."""


class Ambiguous(ValueError):
    """Good authors read this in two ways (`1/2x`), so that no verdict may rest on one of them."""


class TooLarge(ValueError):
    """Its value would not fit into any reasonable memory or time (10^10^10)."""


UNREADABLE = (Degenerate, Ambiguous, TooLarge)
