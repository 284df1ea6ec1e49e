"""How many and how surely, in free wording: *all* is not *some*, *may* is not *must*.

A cue is a fault where the other text, saying the same, has a cue of the contrary kind and none that could be meant by
this one. Nouns that both texts have are held to their determiners: "each set" is not "some set".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from .facts import FactSheet
from .polarity import explicit
from .views import Span, View
from .words import Word

_STRONG = frozenset(str.split("must shall required requires require requiring mandatory obligatory necessary needs"))
_STRONGISH = _STRONG | frozenset(
    str.split(
        "should need needed ought only cannot ensure ensures sure obliged expected recommended advised recommend "
        "important demand demands demanded bound force forces forced unless assert always suffices"
    )
)
_OUGHT = _STRONG | frozenset(str.split("should need needed ought cannot ensure sure always"))
_WEAK = frozenset(str.split("may might could can optional optionally possible possibly perhaps"))
_WEAKISH = _WEAK | frozenset(
    str.split(
        "sometimes potential potentially likely unlikely seem seems allow allows allowed permit permits able if "
        "free option either suffice enough wants want lets let look looks appear appears capable chance risk "
        "otherwise desired wish choose would some need occasionally leave default"
    )
)
_DOUBT = frozenset(str.split("may might could optional optionally"))
_ALL = frozenset(str.split("all every each always everything everywhere everyone both"))
_ALLISH = _ALL | frozenset(
    str.split(
        "any whole entire only whatever whichever whenever wherever whoever complete completely full fully no "
        "none never except alone either neither nothing single"
    )
)
_SOME = frozenset(
    str.split("some most mostly several few sometimes usually often generally typically mainly occasionally partly")
)
_SOMEISH = _SOME | frozenset(
    str.split(
        "one largely chiefly tend tends main primarily example instance certain various normal normally majority "
        "many rule commonly frequently part can may rarely might"
    )
)
_SUPPOSING = frozenset(str.split("if where when whenever should"))
_TO = frozenset(str.split("have has had"))
_DETERMINERS = {
    "all": "all every each both per", "some": "some several few certain", "one": "one first last", "no": "no neither",
}  # fmt: skip
_DETERMINER = {word: kind for kind, words in _DETERMINERS.items() for word in words.split()}
_CONTRARY = frozenset({("all", "some"), ("all", "one"), ("no", "some"), ("no", "all"), ("no", "one")})
_IDIOMS = frozenset(str.split("above after at"))
_REACH = 3  # words between a determiner and its noun


def _lower(words: Iterable[Word]) -> set[str]:
    spelled = [word.lower for word in words]
    if "all" not in spelled:
        return set(spelled)
    idioms = {at for at, word in enumerate(spelled) if word == "all" and at and spelled[at - 1] in _IDIOMS}
    return {word for at, word in enumerate(spelled) if at not in idioms}


def _strong(words: Sequence[Word], any_of: frozenset[str] = _STRONG) -> bool:
    """Whether words oblige; "need not" and "does not have to" do not."""
    spelled = [word.lower for word in words]
    if any_of.isdisjoint(spelled) and "to" not in spelled:
        return False
    if spelled and spelled[0] in _SUPPOSING:
        return False  # "where it has to last" obliges nobody
    for at, word in enumerate(spelled):
        must = word in any_of or (word in _TO and spelled[at + 1 : at + 2] == ["to"])
        before = spelled[max(0, at - 2) : at]
        negated = "not" in before or any(one.endswith("n't") for one in before)
        if must and not negated and (spelled[at + 1 : at + 2] != ["not"] or word in ("must", "shall", "should")):
            return True
    return False


def _doubt(words: Sequence[Word]) -> bool:
    """Whether words leave something open: *may*, *need not*."""
    spelled = [word.lower for word in words]
    pairs = list(pairwise(spelled))
    return not _DOUBT.isdisjoint(spelled) or ("need", "not") in pairs or (("have", "to") in pairs and "not" in spelled)


def modalities(views: Iterable[View]) -> list[Span]:
    """Where an obligation became a possibility or the other way round, or a doubt became a certainty."""
    found = []
    for view in views:
        open_here, open_there = (
            sum(word.lower in _WEAKISH for word in sheet.words) for sheet in (view.sheet, view.other)
        )
        for clause in view.numbers():
            words, first, near, around = view.words(clause), view.first(clause), view.near(clause), view.around(clause)
            mine, close, wide = _lower(words), _lower(near), _lower(around)
            if (
                (_strong(words) and _doubt(first) and not _strong(first, _OUGHT) and not mine & _DOUBT)
                or (_strong(words) and wide & _WEAK and not _strong(around, _STRONGISH) and not mine & _WEAK)
                or (mine & _WEAK and _strong(near) and not close & _WEAKISH and not _strong(words, _STRONGISH))
                or (view.of_source and mine & _DOUBT and not wide & _WEAKISH and open_there < open_here)
                or (view.of_source and mine & _DOUBT and not close & _WEAKISH and close & {"will", "must", "always"})
            ):
                found.append(view.place(clause))
    return found


def quantities(views: Iterable[View]) -> list[Span]:
    """Where *all* became *some* or the other way round, for a clause as a whole or for a noun."""
    found = []
    for view in views:
        for clause in view.numbers():
            mine, wide = _lower(view.words(clause)), _lower(view.around(clause))
            if (mine & _ALL and wide & _SOME and not wide & _ALLISH and not mine & _SOMEISH) or (
                "both" in mine and "one" not in mine and _one_of(view.near(clause))
            ) or (
                mine & _SOME and wide & _ALL and not wide & _SOMEISH and not mine & _ALLISH
            ):
                found.append(view.place(clause))
    return found or _determined(next(iter(views)))


def _twice(view: View, clause: int) -> bool:
    """Whether a clause denies twice, as "no … without"."""
    return sum(map(explicit, view.words(clause))) > 1


def _one_of(words: Sequence[Word]) -> bool:
    return any(one.lower == "one" and other.lower == "of" for one, other in pairwise(words))


def _determined(view: View) -> list[Span]:
    """Nouns of the rewrite with a determiner that none of their counterparts has, all of which have a contrary one."""
    found = []
    for clause in view.numbers():
        low, high, _ = view.parts.spans[clause]
        theirs: dict[str, set[str]] = {}
        every: set[str] = set()
        for region in view.found.regions[clause]:
            for there in range(*view.others.spans[region][:2]):
                if view.others.concepts[there]:
                    kinds = theirs.setdefault(view.others.concepts[there], set())
                    kinds.add(_determiner(view.other, there))
                    every |= kinds
        for at in range(low, high):
            kinds = theirs.get(view.parts.concepts[at], set())
            mine = _determiner(view.sheet, at) if kinds else ""
            if not mine or mine in every or (mine == "no" and _twice(view, clause)):
                continue
            if all(_contrary(mine, other) for other in kinds):
                found.append((view.sheet.starts[at], view.sheet.ends[at]))
    return found


def _contrary(one: str, other: str) -> bool:
    return (one, other) in _CONTRARY or (other, one) in _CONTRARY


def _determiner(sheet: FactSheet, at: int) -> str:
    """The kind of determiner that stands before a noun, words of content between them, or ""."""
    low = sheet.sentences[sheet.of_sentence[at]].low
    for before in range(at - 1, max(low, at - 1 - _REACH) - 1, -1):
        word = sheet.words[before]
        if word.lower in _DETERMINER:
            if word.lower == "all" and before > low and sheet.words[before - 1].lower in _IDIOMS:
                return ""  # "above all", "at all"
            return _DETERMINER[word.lower]
        if not word.content and word.lower not in ("the", "of", "these", "those", "them", "such"):
            return ""
    return ""
