"""Negation in free wording: what one text denies, the other denies as well, by whatever word.

A negation must have its counterpart where the other text says the same: another negation, or one of the many words that
deny without *not* ("lacks", "ignored", "unchanged", "only"), if it is no word that both texts have. The clause that has
the word which the negation bears upon is held to it most strictly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .anchors import OPENERS
from .concepts import OPPOSITES, concept
from .stems import stem
from .views import Span, View
from .words import Word

EXPLICIT = frozenset(
    str.split("not cannot never no none neither nor nobody nothing nowhere without unless zero non")
)
_IMPLICIT = frozenset(
    str.split(
        "cancel cancels cancelled hardly lack lacks lacking missing fail fails failed failing avoid avoids "
        "avoided avoiding prevent prevents prevented ignore ignores ignored ignoring skip skips skipped skipping "
        "omit omits omitted omitting leave leaves left leaving drop drops dropped lose loses lost except apart "
        "until only alone solely merely rarely seldom instead rather different differ differs difference other "
        "others otherwise exclude excludes excluded excluding forbid forbidden forbids refuse refuses refused "
        "reject rejects rejected disable disabled disables off wrong false invalid deny denied stop stops stopped "
        "cease ceases ceased free few little less same identical equal remain remains stay stays keep keeps kept "
        "impossible far away remaining optional absent simply just purely save regardless whatever whichever "
        "whether contrast whereas beyond restricted limited empty single sole exactly discouraged unlike "
        "independent irrespective still superfluous disregard disregarded remove removes removed removing delete "
        "deleted strip stripped eliminate eliminates spare spares contrary too incomplete incompletely "
        "inconsistent incompatible incorrect indirect invisible immutable impure implicit disallow disallowed "
        "disconnect disagree disagrees mismatch mistaken hidden protected default defaults exception exceptions "
        "harm pure cares broken vain silent silently implicitly second"
    )
)
_CUT = re.compile(r"[;:.]")
_NOT_PREFIXED = ("under", "uni", "until", "unpack", "unless")


TOLD = frozenset(str.split("otherwise overridden told else given specified stated said"))


def explicit(word: Word) -> bool:
    """Whether a word negates, and does nothing else."""
    return (word.lower in EXPLICIT and word.text != "None") or word.lower.endswith("n't")


def denying(word: Word) -> bool:
    """Whether a word may say what another text says by a negation."""
    lower = word.lower
    if explicit(word) or lower in _IMPLICIT or word.text in ("None", "NULL"):
        return True
    if word.kind != "word" or len(lower) < 5 or lower == "nonetheless":
        return False
    return (lower.startswith(("un", "non")) and not lower.startswith(_NOT_PREFIXED)) or (
        lower.endswith("less") and len(lower) > 6
    )


def negations(views: Iterable[View]) -> list[Span]:
    """Where a negation was added, lost or moved to another word."""
    found = []
    for view in views:
        for clause in view.numbers():
            words = view.words(clause)
            cues = [
                at for at, word in enumerate(words)
                if explicit(word) and not view.answers(clause, at) and not _modest(words, at)
            ]  # fmt: skip
            twice = len(cues) > 1 and any(word.lower in ("all", "every", "each") for word in view.near(clause))
            if (not twice and any(
                (_meets(view, clause, at) and not _denied(view, clause, words, at))
                or _turned(view, clause, words, at)
                for at in cues
            )) or any(_unprefixed(view, clause, word) for word in words):
                found.append(view.place(clause))
    return found


def _modest(words: Sequence[Word], at: int) -> bool:
    """Negations that say no more than "just so much": *no more than*, *nothing but*, *not only*, *if not*."""
    after = words[at + 1].lower if at + 1 < len(words) else ""
    before = words[at - 1].lower if at else ""
    later = words[at + 2].lower if at + 2 < len(words) else ""
    return (
        after == "none"
        or (after in ("more", "less", "fewer", "later", "earlier", "longer") and later == "than")
        or (words[at].lower in ("nothing", "none") and after in ("but", "else", "more", "other", "except"))
        or after in ("only", "just", "necessarily")
        or (before in ("if", "or", "why") and words[at].lower == "not")
        or (words[at].lower == "unless" and any(word.lower in TOLD for word in words))
        or after == "matter"
        or (words[at].lower in ("no", "not") and any(word.lower == "but" for word in words[at + 1 : at + 7]))
    )  # fmt: skip


def _meets(view: View, clause: int, at: int) -> bool:
    """Whether the word that a negation bears upon is one that the other text has: if not, it is other wording."""
    low, high, _ = view.parts.spans[clause]
    names = [name for name in view.parts.concepts[low + at + 1 : high] if name]
    return not names or not set(names[:2]).isdisjoint(view.others.concepts)


def _denied(view: View, clause: int, words: Sequence[Word], at: int) -> bool:
    """Whether the other text denies anything where it says the same."""
    shared = {word.lower for word in view.sentence(clause)}
    around = view.around(clause)
    if any(map(explicit, around)) or _otherwise(around):
        return True
    if any(denying(word) and word.lower not in shared for word in (*view.near(clause), *view.asked(clause))):
        return True
    if not _opposites(words).isdisjoint(concept(word.stem) for word in around):
        return True
    low, high, _ = view.parts.spans[clause]
    idea = next((name for name in view.parts.concepts[low + at + 1 : high] if name), "")
    places = [there for there, name in enumerate(view.others.concepts) if name == idea] if idea else []
    return any(denying(word) and word.lower not in shared for there in places for word in _next_to(view, there))


def _count(words: Sequence[Word]) -> int:
    return sum(explicit(word) and not _modest(words, at) for at, word in enumerate(words))


def _otherwise(words: Sequence[Word]) -> bool:
    """Whether words tell what holds if what was said before does not: *or else*, *failing that*, *otherwise*."""
    spelled = [word.lower for word in words]
    return any(
        word in ("failing", "else") or (word == "otherwise" and spelled[max(0, at - 1)] in ("or", "and", "otherwise"))
        for at, word in enumerate(spelled)
    )


def _opposites(words: Iterable[Word]) -> set[str]:
    return {concept(stem(other)) for word in words for other in OPPOSITES.get(word.lower, ())}


def _turned(view: View, clause: int, words: Sequence[Word], at: int) -> bool:
    """Whether the word that a negation bears upon stands in a clause of the other text which denies nothing."""
    low, _, _ = view.parts.spans[clause]
    after = range(at + 1, min(at + 5, len(words)))
    place = next(
        (low + one for one in after if words[one].content and not words[one].lower.endswith("ly")), -1
    )
    if place < 0 or view.found.anchors[place] < 0 or words[at].lower == "never":
        return False
    focus = view.sheet.words[place]
    idea = view.parts.concepts[place]
    if not _alike(focus.stem, view.other.words[view.found.anchors[place]].stem):
        return False
    shared = {word.lower for word in words}
    contrary = {concept(stem(other)) for other in OPPOSITES.get(focus.lower, ())}
    if view.others.clause[view.found.anchors[place]] not in view.found.regions[clause]:
        return False
    seen = False
    for there, name in enumerate(view.others.concepts):
        sentence = view.other.sentences[view.other.of_sentence[there]]
        if name == idea and view.other.text[sentence.end - 1] != "?":
            seen = True
            whole = view.other.sentences[view.other.of_sentence[there]]
            near, around = _next_to(view, there), view.other.words[whole.low : whole.high]
            if _count(around) >= _count(view.sentence(clause)):
                return False
            if _otherwise(around) or any(
                explicit(one)
                or one.text == "None"
                or (denying(one) and one.lower not in shared)
                or concept(one.stem) in contrary
                for one in near
            ):
                return False
    return seen


def _next_to(view: View, at: int) -> list[Word]:
    """The words of a clause of the other text around a token, as far as the next colon or semicolon."""
    low, high, _ = view.others.spans[view.others.clause[at]]
    sheet = view.other
    cuts = [
        one for one in range(low + 1, high)
        if sheet.words[one].lower in OPENERS or _CUT.search(sheet.text, sheet.ends[one - 1], sheet.starts[one])
    ]  # fmt: skip
    first = max((one for one in cuts if one <= at), default=low)
    last = min((one for one in cuts if one > at), default=high)
    return sheet.words[first:last]


def _unprefixed(view: View, clause: int, word: Word) -> bool:
    """Whether `nonexistent`, `unsupported` of one text is *exist*, *supported* in the other, and nothing denies it."""
    lower = word.lower
    bare = lower[3:].lstrip("-") if lower.startswith("non") else lower[2:] if lower.startswith(("un", "in")) else ""
    if word.kind != "word" or len(bare) < 5 or lower.startswith(_NOT_PREFIXED):
        return False
    near = [*view.near(clause), *view.asked(clause)]
    if not any(_alike(stem(bare), other.stem) for other in near if other.content):
        return False
    return not any(denying(other) for other in near)


def _alike(one: str, other: str) -> bool:
    """Whether two stems are of one word: *existent*, *exist*."""
    return other.startswith(one) or (len(other) > 4 and one.startswith(other))
