"""Words that say the contrary of what the source says in their place, and exceptions that came or went, in free
wording.

A word is a fault if the clause that it was written from has its opposite, neither that clause nor its sentence has the
word itself, and both deny alike. "A after B" may stand for "B before A": words that can be turned round so must have
the same word behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .concepts import OPPOSITES, concept
from .facts import FactSheet
from .polarity import TOLD, explicit
from .stems import stem
from .views import Span, View
from .words import Word

_TURNED = frozenset(
    str.split(
        "before after until above below larger smaller greater less more fewer higher lower longer shorter newer "
        "older earlier later faster slower stronger weaker better worse wider narrower exceeds over under"
    )
)
_ELSEWHERE = frozenset(str.split("with without if unless yes no no. on off"))  # what polarity looks at, or too common
_FOCUS = 2  # words behind one, of which its opposite must have one
_EXCEPT = frozenset(str.split("except unless excluding"))
_EXCEPTISH = _EXCEPT | frozenset(
    str.split(
        "only but other others exception exceptions otherwise until save default defaults unlike alone besides "
        "exclude excluded else aside whereas special different still apart failing override overrides overriding "
        "skip skips skipped skipping ignore ignores ignored bypass bypasses bypassed disabled disables"
    )
)
_ONLY = frozenset(str.split("only solely exclusively"))
_ONLYISH = _ONLY | frozenset(
    str.split("just merely alone nothing but sole single except unless purely simply limited restricted until "
              "exactly all no none neither without other enough suffice suffices must required requires "
              "require depends")
)  # fmt: skip


_UP = "greater larger more above higher over exceeds exceed exceeding"
_DOWN = "less fewer smaller below lower under"
_SMALLEST = "smallest least minimum min minimal lowest fewest shortest"
_LARGEST = "largest greatest maximum max maximal highest longest"


def _by_stem() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for word, others in OPPOSITES.items():
        if word not in _ELSEWHERE:
            found.setdefault(stem(word), set()).update(map(stem, others))
    for one, other in ((_UP, _DOWN), (_SMALLEST, _LARGEST)):
        ups, downs = ([stem(word) for word in words.split()] for words in (one, other))
        for word in ups:
            found.setdefault(word, set()).update(downs)
        for word in downs:
            found.setdefault(word, set()).update(ups)
    return {word: frozenset(opposed) for word, opposed in found.items()}


_OPPOSITE_STEMS = _by_stem()
_TURNED_STEMS = frozenset(map(stem, _TURNED))


def opposites(view: View) -> list[Span]:
    """Where the rewrite has the opposite of a word of its source."""
    found = []
    whole = {word.stem for word in view.sheet.words}
    for clause in view.numbers():
        low, _, _ = view.parts.spans[clause]
        words = view.words(clause)
        candidates = [at for at, word in enumerate(words) if word.stem in _OPPOSITE_STEMS and word.kind == "word"]
        if not candidates:
            continue
        near = view.near(clause)
        close, wide = {word.stem for word in near}, {word.stem for word in view.around(clause)}
        mine = {word.stem for word in words}
        denied = any(map(explicit, words)), any(map(explicit, near))
        for at in candidates:
            name = words[at].stem
            lost = _OPPOSITE_STEMS[name] & (wide - whole)
            if lost and name not in _TURNED_STEMS and _count(view.sheet, name) > _count(view.other, name) > 0:
                found.append((view.sheet.starts[low + at], view.sheet.ends[low + at]))
                continue
            if denied[0] != denied[1]:
                continue
            contrary = _OPPOSITE_STEMS[name] & (close if name in wide else wide)
            if any(denied):  # "unknown" is "not known"
                contrary = frozenset(other for other in contrary if _bare(name) != other and _bare(other) != name)
            gone = contrary - (mine if name not in close else whole)
            if gone and name not in close and (name not in _TURNED_STEMS or _same_focus(words, at, near, gone)):
                found.append((view.sheet.starts[low + at], view.sheet.ends[low + at]))
    return found


def _count(sheet: FactSheet, name: str) -> int:
    return sum(word.stem == name for word in sheet.words)


def _bare(name: str) -> str:
    """The stem without the syllable that negates it."""
    return stem(name.removeprefix("un").removeprefix("in").removeprefix("non").lstrip("-"))


def _same_focus(words: Sequence[Word], at: int, near: Sequence[Word], contrary: Iterable[str]) -> bool:
    """Whether the next word of content behind a word is also behind its opposite."""
    here = _focus(words, at)
    return any(here & _focus(near, there) for there, word in enumerate(near) if word.stem in contrary)


def _focus(words: Sequence[Word], at: int) -> set[str]:
    found: set[str] = set()
    for word in words[at + 1 : at + 7]:
        if word.lower in ("which", "that", "this") or len(found) == _FOCUS:
            break
        if word.content or word.kind == "number" or word.value is not None:
            found.add(concept(word.stem))
    return found


def exceptions(views: Iterable[View]) -> list[Span]:
    """Where an exception, or an *only*, was added or lost."""
    found = []
    for view in views:
        here, there = (
            sum(word.lower in _EXCEPTISH or explicit(word) for word in sheet.words)
            for sheet in (view.sheet, view.other)
        )
        for clause in view.numbers():
            mine = {word.lower for word in view.words(clause)}
            excepts = mine & _EXCEPT and not mine & TOLD  # "unless told otherwise" excepts nothing
            if (excepts and (here > there or not view.of_source) and not _explained(
                view.near(clause), _EXCEPTISH
            )) or (view.of_source and mine & _ONLY and not _explained(view.around(clause), _ONLYISH)):  # fmt: skip
                found.append(view.place(clause))
    return found


def _explained(words: Sequence[Word], by: frozenset[str]) -> bool:
    return any(word.lower in by or explicit(word) for word in words)
