"""The first phase of packing: which tokens go into which sequence, decided on lengths alone.

    supply → fates (used, unmatched, too long) → mixture → pieces → best-fit decreasing → sequences

Every token of every document copy that is offered ends in exactly one row of the plan, with a fate; `StagePlan.check`
counts them. Nothing here holds a Python object a document.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..pipelines.errors import K3DataError, UserError
from .binpack import best_fit_decreasing
from .mixing import TRAIN, Mask, Offer, choose, components_of, offer, wanted_tokens
from .stages import StageDefinition
from .supply import Ints, Supply, mixed

FATES = ("placed", "left", "carried", "dropped", "used", "unmatched")
"""`placed` in a sequence; `left` for later stages, because the mixture wanted no more or no sequence got full;
`carried` to later stages because it is longer than the window; `dropped` for good for the same reason; `used` by an
earlier stage; `unmatched` by any component of the mixture."""
PLACED, LEFT, CARRIED, DROPPED, USED, UNMATCHED = range(6)

Cut = Callable[[int, int], Ints]
"""(document, window) → where it is cut: rising positions from 0 to its length, no two further apart than the window."""


@dataclass(frozen=True)
class StagePlan:
    """P rows: tokens `start:stop` of a copy of a document, and what becomes of them.

    Attributes:
        doc, copy, part, start, stop: [P]; `part` numbers the pieces of a document that was split.
        component: [P] the part of the mixture, -1 = none.
        fate: [P] code of `FATES`.
        sequence: [P] number of the sequence within the split, -1 = none. Rows of a sequence stand together, in the
            order of the sequence.
        sequences: how many there are, by split name.
        wanted, got: [splits, components] tokens.
        offered: [splits, components] tokens of all copies there were to choose from.
        splits: names, in the order of the supply's codes.
    """

    definition: StageDefinition
    supply: Supply
    doc: Ints
    copy: Ints
    part: Ints
    start: Ints
    stop: Ints
    component: Ints
    fate: Ints
    sequence: Ints
    sequences: dict[str, int]
    wanted: npt.NDArray[np.int64]
    got: npt.NDArray[np.int64]
    offered: npt.NDArray[np.int64]
    splits: list[str]

    def check(self) -> None:
        """Raise `K3DataError` unless every token of every copy stands in exactly one row, and no sequence is overfull.

        That would be a fault of this module, never of the input."""
        order = np.lexsort((self.start, self.copy, self.doc))
        doc, copy, start, stop = (one[order] for one in (self.doc, self.copy, self.start, self.stop))
        first = np.r_[True, (doc[1:] != doc[:-1]) | (copy[1:] != copy[:-1])]
        last = np.r_[first[1:], True]
        whole = (
            (start[first] == 0).all()
            and (stop[last] == self.supply.tokens[doc[last]]).all()
            and (start[1:][~first[1:]] == stop[:-1][~first[1:]]).all()
            and (stop > start).all()
            and np.bincount(doc, minlength=len(self.supply)).all()
        )
        if not whole:
            raise K3DataError(f"stage {self.definition.name}: a plan does not account for every token")
        for split, count in self.sequences.items():
            these = (self.fate == PLACED) & (self.supply.split.codes[self.doc] == self.splits.index(split))
            filled = np.bincount(self.sequence[these], (self.stop - self.start)[these], minlength=count)
            if len(filled) != count or (count and not 0 < filled.min() <= filled.max() <= self.definition.window):
                raise K3DataError(f"stage {self.definition.name}: a plan has an empty or overfull sequence")


def plan_stage(definition: StageDefinition, supply: Supply, used: Ints, cut: Cut, salt: int) -> StagePlan:
    """Plan one stage.

    Args:
        used: [N] how many copies of each document earlier stages have taken; ignored where the stage may reuse them.
        cut: where a document longer than the window is cut.
        salt: what the order of choice is drawn from.

    Raises:
        UserError: the mixture cannot be met, a document that must stay whole is longer than the window, or there are
            too few tokens to fill one sequence.
    """
    component = components_of(definition, supply)
    used = np.zeros_like(used) if definition.reuse else used
    fate = _early_fates(definition, supply, component)
    offered = offer(definition, supply, component, fate < 0, used, salt)
    if definition.overflow == "split":
        _refuse_unsplittable(definition, supply, offered)
    splits = supply.split.names
    wanted = wanted_tokens(definition, offered, splits)
    taken = choose(offered, wanted)
    doc, copy, part, start, stop = _pieces(definition, offered, taken, cut)
    sequence, sequences = _pack(definition, supply, doc, copy, part, stop - start, salt)
    order = np.lexsort((_within(supply, doc, copy, part, salt), sequence, supply.split.codes[doc]))
    doc, copy, part, start, stop, sequence = (one[order] for one in (doc, copy, part, start, stop, sequence))
    got = np.zeros_like(wanted)
    placed = sequence >= 0
    np.add.at(got, (supply.split.codes[doc[placed]], component[doc[placed]]), (stop - start)[placed])
    _refuse_another_mixture(definition, wanted[splits.index(TRAIN)], got[splits.index(TRAIN)])
    total = np.zeros_like(wanted)
    np.add.at(total, (offered.split, offered.component), offered.tokens)
    # What is not taken is told, too: copies that the mixture did not want, and documents that were never offered.
    unoffered = np.flatnonzero(np.bincount(offered.doc, minlength=len(supply)) == 0)
    wasted = offered.doc[~taken]
    rest = np.r_[wasted, unoffered]
    blank = np.zeros(len(rest), np.int64)
    plan = StagePlan(
        definition=definition,
        supply=supply,
        doc=np.r_[doc, rest],
        copy=np.r_[copy, offered.copy[~taken], np.zeros(len(unoffered), np.int64)],
        part=np.r_[part, blank],
        start=np.r_[start, blank],
        stop=np.r_[stop, supply.tokens[rest]],
        component=component[np.r_[doc, rest]],
        fate=np.r_[np.where(placed, PLACED, LEFT), np.full(len(wasted), LEFT), _late_fates(fate, used)[unoffered]],
        sequence=np.r_[sequence, blank - 1],
        sequences=sequences,
        wanted=wanted,
        got=got,
        offered=total,
        splits=splits,
    )
    plan.check()
    return plan


def _early_fates(definition: StageDefinition, supply: Supply, component: Ints) -> Ints:
    """[N] the fate of documents that cannot be offered; -1 for the others."""
    fate = np.full(len(supply), -1, np.int64)
    if definition.overflow != "split":
        fate[supply.tokens > definition.window] = CARRIED if definition.overflow == "carry" else DROPPED
    fate[component < 0] = UNMATCHED
    return fate


def _late_fates(fate: Ints, used: Ints) -> Ints:
    """[N] the fate of each document of which no copy was offered: used up before, not to be offered, or of factor 0."""
    return np.where(used > 0, USED, np.where(fate >= 0, fate, LEFT))


def _refuse_unsplittable(definition: StageDefinition, supply: Supply, offered: Offer) -> None:
    found = offered.doc[(offered.tokens > definition.window) & supply.kind.among(definition.whole)[offered.doc]]
    if len(found):
        at = int(found.min())
        kind = supply.kind.names[supply.kind.codes[at]]
        raise UserError(
            f"stage {definition.name}: a window of {definition.window:,} tokens is smaller than {len(found)} items of "
            f"kind {kind!r}, which are never split (one, {supply.ids[at].as_py()}, has {supply.tokens[at]:,}); "
            "give a larger window, or overflow: carry or drop"
        )


def _refuse_another_mixture(definition: StageDefinition, wanted: Ints, got: Ints) -> None:
    """Taking sequences apart for the sake of padding must not change the mixture, nor a budget that was given."""
    total = int(got.sum())
    tolerance = max(0.005 * total, definition.window)
    shares = definition.shares()
    off = [
        f"{one.name} {got[at] / total:.1%} instead of {shares[one.name]:.1%}"
        for at, one in enumerate(definition.mixture)
        if abs(got[at] - shares[one.name] * total) > tolerance
    ]
    if isinstance(definition.tokens, int) and wanted.sum() - total > tolerance:
        off.append(f"{total:,} tokens instead of {int(wanted.sum()):,}")
    if off:
        raise UserError(
            f"stage {definition.name}: with at most {definition.max_padding:.1%} of padding it would have "
            f"{', '.join(off)}: these documents fill no more windows; raise max_padding, or give shorter documents"
        )


def _pieces(definition: StageDefinition, offered: Offer, taken: Mask, cut: Cut) -> tuple[Ints, ...]:
    """The taken copies as (doc, copy, part, start, stop), those longer than the window cut."""
    doc, copy, length = offered.doc[taken], offered.copy[taken], offered.tokens[taken]
    fits = length <= definition.window
    zeros = np.zeros(int(fits.sum()), np.int64)
    columns = [[doc[fits]], [copy[fits]], [zeros], [zeros], [length[fits]]]
    cuts: dict[int, Ints] = {}
    for at in np.flatnonzero(~fits):
        edges = cuts.get(int(doc[at]))
        if edges is None:
            edges = cuts[int(doc[at])] = cut(int(doc[at]), definition.window)
        parts = len(edges) - 1
        rows = (np.full(parts, doc[at]), np.full(parts, copy[at]), np.arange(parts), edges[:-1], edges[1:])
        for column, values in zip(columns, rows, strict=True):
            column.append(values)
    return tuple(np.concatenate(column) for column in columns)


def _pack(
    definition: StageDefinition, supply: Supply, doc: Ints, copy: Ints, part: Ints, length: Ints, salt: int
) -> tuple[Ints, dict[str, int]]:
    """[P] the sequence of each piece within its split, -1 for those of sequences that were taken apart again."""
    sequence = np.full(len(doc), -1, np.int64)
    counts = {}
    for code, name in enumerate(supply.split.names):
        these = np.flatnonzero(supply.split.codes[doc] == code)
        bins = best_fit_decreasing(length[these], definition.window)
        filled = np.bincount(bins, length[these]).astype(np.int64)
        keep = _full_enough(filled, definition)
        # Numbers are drawn anew, so that neighbours in a shard are not those with the longest documents.
        drawn = np.argsort(mixed(keep.astype(np.uint64), salt + code), kind="stable")
        number = np.full(len(filled), -1, np.int64)
        number[keep[drawn]] = np.arange(len(keep))
        sequence[these] = number[bins]
        counts[name] = len(keep)
    if not counts.get(TRAIN):
        raise UserError(
            f"stage {definition.name}: {int(length.sum()):,} tokens fill no window of {definition.window:,} with at "
            f"most {definition.max_padding:.1%} of padding; give more documents or tokens, or raise max_padding"
        )
    return sequence, {name: count for name, count in counts.items() if count}


def _full_enough(filled: Ints, definition: StageDefinition) -> Ints:
    """The bins that stay when the emptiest are taken apart until padding is within its limit."""
    order = np.argsort(-filled, kind="stable")
    window = definition.window
    padding = np.cumsum(window - filled[order]) / (window * np.arange(1, len(filled) + 1))
    within = np.flatnonzero(padding <= definition.max_padding)
    return np.sort(order[: within[-1] + 1]) if len(within) else np.zeros(0, np.int64)


def _within(supply: Supply, doc: Ints, copy: Ints, part: Ints, salt: int) -> npt.NDArray[np.uint64]:
    """[P] what pieces of one sequence are ordered by."""
    return mixed(mixed(supply.key[doc], salt + 3) + (copy * 65_537 + part).astype(np.uint64))
