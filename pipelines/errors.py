"""The errors a person sees: one line, and the exit code that goes with it."""

from __future__ import annotations

DONE = 0
WORK_FAILED = 1
WRONG_INPUT = 2
INTERRUPTED = 130


class K3DataError(Exception):
    """A failure that is told in one line, without a traceback."""

    exit_code = WORK_FAILED


class UserError(K3DataError):
    """What the user asked for is wrong: a recipe, a path, a missing program, credentials."""

    exit_code = WRONG_INPUT


class StoreError(K3DataError):
    """Reading or writing the output failed: disk full, connection lost."""


class BrokenRecord(ValueError):
    """A record that contradicts itself: a span outside the text, a placeholder without a media part."""

    def __init__(self, code: str, detail: str):
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
