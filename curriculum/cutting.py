"""Where a document longer than the window is cut: at a paragraph if one ends in time, never inside a picture."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..pipelines.errors import UserError
from ..pipelines.tokens import TokenSample
from .supply import Ints


def cut_positions(
    length: int, window: int, breaks: Sequence[int], pictures: Sequence[tuple[int, int]], what: str = "a document"
) -> Ints:
    """Cut `length` tokens into pieces of at most `window`, as long as they can be.

    Args:
        breaks: rising positions where a paragraph begins.
        pictures: rising spans that must stay whole.
        what: what the document is called in errors.

    Returns:
        Rising positions from 0 to `length`.

    Raises:
        UserError: a picture is longer than the window.
    """
    cuts = [0]
    while length - cuts[-1] > window:
        reach = cuts[-1] + window
        at = bisect_right(breaks, reach) - 1
        inside = breaks[at] if at >= 0 and breaks[at] > cuts[-1] else 0
        # A paragraph that ends in the first half would waste more window than it keeps whole.
        best = inside if inside > cuts[-1] + window // 2 else reach
        cut = _outside(best, pictures)
        if cut <= cuts[-1]:
            start, end = next(one for one in pictures if one[0] < best < one[1])
            raise UserError(f"{what} has a picture of {end - start:,} tokens, more than a window of {window:,} holds")
        cuts.append(cut)
    return np.array([*cuts, length], np.int64)


def picture_spans(sample: TokenSample, media_begin: int) -> list[tuple[int, int]]:
    """The runs of ids that stand for pictures, from `media_begin` to the id after the last pad."""
    begins: npt.NDArray[np.int64] = np.flatnonzero(sample.tokens == media_begin)
    spans = []
    for one in sample.images:
        first = int(begins[bisect_right(begins, one["start"]) - 1])  # type: ignore[arg-type]
        spans.append((first, one["start"] + one["tokens"] + 1))
    return spans


def _outside(at: int, spans: Sequence[tuple[int, int]]) -> int:
    """The position, or the beginning of the span that it lies in."""
    number = bisect_right(spans, (at, 0)) - 1
    if number >= 0 and spans[number][0] < at < spans[number][1]:
        return spans[number][0]
    return at
