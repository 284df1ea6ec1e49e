"""What a check hands back: a name, a measured value beside its threshold, whether that is well, a code and where."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """One finding.

    Attributes:
        name: what was measured.
        value: the measure.
        threshold: the bound that it was held against.
        ok: whether it keeps the bound.
        code: `eq_false`, `eq_undecided`, `ans_diff`, `ans_undecided`, `degenerate`, `unit`, or empty where all is well.
        spans: (start, stop) of the places in the text that the finding is about.
    """

    name: str
    value: float
    threshold: float
    ok: bool
    code: str = ""
    spans: tuple[tuple[int, int], ...] = ()
