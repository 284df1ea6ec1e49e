"""Which documents a stage takes: so many tokens of each component of its mixture, counted exactly.

The order of choice is a hash of the documents' ids, so that it depends on nothing else. Copies of a document come only
after every document has been considered once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..pipelines.errors import UserError
from .stages import StageDefinition
from .supply import Ints, Keys, Supply, mixed

Mask = npt.NDArray[np.bool_]
TRAIN = "train"
_FRACTION = 77


@dataclass(frozen=True)
class Offer:
    """M document copies that could be taken.

    Attributes:
        doc: [M] the document's place in the supply.
        copy: [M] which copy of it, from 0.
        component: [M] the part of the mixture it counts for.
        split: [M] code of its split.
        tokens: [M] its length.
    """

    doc: Ints
    copy: Ints
    component: Ints
    split: Ints
    tokens: Ints


def components_of(definition: StageDefinition, supply: Supply) -> Ints:
    """[N] the first component of the mixture that each document fits; -1 if none."""
    found = np.full(len(supply), -1, np.int64)
    for at, one in enumerate(definition.mixture):
        fits = (found < 0) & (supply.tokens >= one.min_tokens)
        if one.max_tokens is not None:
            fits &= supply.tokens <= one.max_tokens
        if one.domain:
            fits &= supply.domain.among(one.domain)
        if one.kind:
            fits &= supply.kind.among(one.kind)
        found[fits] = at
    return found


def offer(definition: StageDefinition, supply: Supply, component: Ints, allowed: Mask, used: Ints, salt: int) -> Offer:
    """The copies that the upsampling factors allow of the allowed documents, in the order of choice.

    Args:
        used: [N] how many copies of each document earlier stages have taken; later ones are numbered on.
    """
    docs = np.flatnonzero(allowed & (component >= 0))
    factor = np.array([one.upsample for one in definition.mixture])[component[docs]] * supply.upsample[docs]
    keys = mixed(supply.key[docs], salt)
    whole = np.floor(factor)
    # The fraction of a factor is the share of documents that get one copy more: in all stages the same ones.
    allowed_copies = (whole + (_unit(mixed(supply.key[docs], _FRACTION)) < factor - whole)).astype(np.int64)
    copies = np.maximum(allowed_copies - used[docs], 0)
    doc = np.repeat(docs, copies)
    copy = np.arange(len(doc)) - np.repeat(np.cumsum(copies) - copies, copies) + used[doc]
    order = np.lexsort((mixed(np.repeat(keys, copies) + copy.astype(np.uint64), 2), copy))
    doc, copy = doc[order], copy[order]
    return Offer(doc, copy, component[doc], supply.split.codes[doc].astype(np.int64), supply.tokens[doc])


def wanted_tokens(definition: StageDefinition, offered: Offer, splits: list[str]) -> npt.NDArray[np.int64]:
    """[splits, components] how many tokens the stage wants of each component.

    The budget and the shares are those of the training split. Of the other splits the same part of each component is
    taken as of training, so that all three are alike.

    Raises:
        UserError: the mixture cannot be met; the line says which component lacks how many tokens.
    """
    parts = len(definition.mixture)
    supply = np.zeros((len(splits), parts), np.int64)
    np.add.at(supply, (offered.split, offered.component), offered.tokens)
    train = supply[splits.index(TRAIN)] if TRAIN in splits else np.zeros(parts, np.int64)
    share = np.array([definition.shares()[one.name] for one in definition.mixture])
    used = share > 0
    largest = int(np.min(train[used] / share[used]))
    given = definition.tokens
    total = given if isinstance(given, int) else int(largest * (1.0 if given is None else given))
    _refuse_lack(definition, train, np.where(used, np.maximum(np.rint(share * total), 1), 0), largest)
    wanted = share * _whole_windows(definition, total)
    part = np.divide(wanted, train, out=np.zeros(parts), where=train > 0)
    rows = [one * _whole_windows(definition, one.sum()) / max(one.sum(), 1) for one in np.minimum(part, 1) * supply]
    return np.rint(rows).astype(np.int64)


def _whole_windows(definition: StageDefinition, total: float) -> float:
    """As many tokens as fill windows: what would leave the last one emptier than padding may be is not wanted."""
    rest = total % definition.window
    positions = total - rest + definition.window
    if total < definition.window or definition.window - rest <= definition.max_padding * positions:
        return total
    return total - rest


def _refuse_lack(definition: StageDefinition, there: Ints, needed: npt.NDArray[np.float64], largest: int) -> None:
    lacking = [
        f"{one.name} lacks {int(needed[at] - there[at]):,} of {int(needed[at]):,} tokens"
        if there[at]
        else f"{one.name} has no documents that fit a window"
        for at, one in enumerate(definition.mixture)
        if needed[at] > there[at]
    ]
    if lacking:
        fewer = f"fewer tokens (at most {largest:,}), " if largest else ""
        raise UserError(
            f"stage {definition.name}: the mixture cannot be met: {', '.join(lacking)}; "
            f"it can be with {fewer}more upsample, reuse: true, or other shares"
        )


def choose(offered: Offer, wanted: npt.NDArray[np.int64]) -> Mask:
    """[M] which copies are taken: of each split and component as many tokens as come closest to what is wanted.

    Components of long documents choose first. What whole documents make them take too much or too little of is spread
    over the others, so that the total, which fills windows, is kept.
    """
    taken = np.zeros(len(offered.doc), bool)
    for split, row in enumerate(wanted):
        members = {
            int(component): np.flatnonzero((offered.split == split) & (offered.component == component))
            for component in np.flatnonzero(row)
        }
        order = sorted(members, key=lambda component: -float(offered.tokens[members[component]].mean()))
        left = int(row.sum())
        for at, component in enumerate(order):
            these = members[component]
            target = round(left * int(row[component]) / int(row[order[at:]].sum()))
            chosen = these[_fill(offered.tokens[these], target)]
            taken[chosen] = True
            left = max(left - int(offered.tokens[chosen].sum()), 0)
    return taken


def _fill(lengths: Ints, target: int) -> Ints:
    """The first lengths in order that together stay within the target; one that does not fit is passed over. If one
    more comes closer to the target than stopping short of it, the shortest that is left is taken, too."""
    chosen: list[Ints] = []
    left = target
    rest = np.arange(len(lengths))
    while len(fits := np.flatnonzero(lengths[rest] <= left)):
        fitting = rest[fits]
        total = np.cumsum(lengths[fitting])
        count = int(np.searchsorted(total, left, "right"))
        chosen.append(fitting[:count])
        left -= int(total[count - 1])
        rest = np.delete(rest, fits[:count])
    if left and len(rest):
        last = rest[np.argmin(lengths[rest])]
        if lengths[last] < 2 * left:
            chosen.append(np.array([last]))
    return np.concatenate(chosen) if chosen else np.zeros(0, np.int64)


def _unit(keys: Keys) -> npt.NDArray[np.float64]:
    """[N] the keys as numbers in [0, 1)."""
    return (keys >> np.uint64(11)).astype(np.float64) / 2**53
