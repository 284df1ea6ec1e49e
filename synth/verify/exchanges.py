"""Who stands in whose place, in free wording: two words that exchanged what was said of them.

Of two words, each belongs to what stands in its clause. Where the words around the one are in the source around the
other, and the other way round, they were exchanged; and so they were where the source denies the one and affirms the
other ("a copy, not the error itself") and the rewrite does the contrary.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from .anchors import Clauses
from .concepts import OPPOSITES
from .facts import FactSheet
from .views import Span, View
from .words import SURE, Word

_MOST = 4  # occurrences of a word, in either text, that is looked at
_PARTNERS = 40  # words that are looked at
_DENIED = 2  # words of content that a denial bears upon
_SAME, _SENTENCE, _PARENT = 1.0, 0.3, 0.3
_LISTED = 4  # words between two of one list, whose order says nothing
_LITTLE = 0.1  # evidence that each of the two must have of its own
_MUCH = 1.2  # evidence that may come from one of them alone, if nothing speaks against it
CROSSED = 0.5  # evidence from which on two words count as exchanged
_OPEN = frozenset(str.split("a an the its this their one each every all"))
_PREPOSITIONS = frozenset(str.split("into to from with by than in on over under onto through against"))


def exchanges(views: tuple[View, View]) -> list[Span]:
    """Where the rewrite exchanges two words of its source."""
    forth, _ = views
    return _contrasts(forth) + _crossed(forth) + _attached(forth) + _compared(forth)


def _contrasts(view: View) -> list[Span]:
    mine, theirs = _denied(view.sheet, view.parts, False), _denied(view.other, view.others, True)
    if not mine or not theirs:
        return []
    found = []
    here, there = set(view.parts.concepts), set(view.others.concepts)
    denied = {name for name, _ in theirs}
    affirmed = here - {name for name, _ in mine}
    for name, at in mine:
        if name in denied or name not in there:
            continue
        # what the source denies in the same place, and the rewrite affirms there
        clause = view.parts.clause[at]
        sentence = view.parts.spans[clause][2]
        regions = {view.others.spans[one][2] for one in view.found.regions[clause]}
        for other, place in theirs:
            if other not in affirmed or view.other.of_sentence[place] not in regions:
                continue
            if other in view.parts.sentence_bags[sentence] and name in view.others.sentence_bags[
                view.other.of_sentence[place]
            ]:
                found.append((view.sheet.starts[at], view.sheet.ends[at]))
                break
    return found


def _denied(sheet: FactSheet, parts: Clauses, plain: bool) -> list[tuple[str, int]]:
    """Concepts next behind *rather than*, *instead of*, *and not*, *, not*; where `plain`, behind any *not*."""
    found: list[tuple[str, int]] = []
    words = sheet.words
    for at, word in enumerate(words):
        after = words[at + 1].lower if at + 1 < len(words) else ""
        before = words[at - 1].lower if at else ""
        marked = before in ("and", "but") or (at and sheet.text[sheet.ends[at - 1] : sheet.starts[at]].strip() == ",")
        if (word.lower == "not" and (plain or marked)) or (word.lower == "rather" and after == "than") or (
            word.lower == "instead" and after == "of"
        ):  # fmt: skip
            held = 0
            last = min(at + 6, sheet.sentences[sheet.of_sentence[at]].high)
            for place in range(at + 1, last):
                if any(mark in sheet.text[sheet.ends[place - 1] : sheet.starts[place]] for mark in ",;:("):
                    break
                if words[place].lower in ("but", "and", "which", "that", "because"):
                    break
                if parts.concepts[place]:
                    found.append((parts.concepts[place], place))
                    held += 1
                    if held == _DENIED:
                        break
    return found


def _crossed(view: View) -> list[Span]:
    found = []
    for one, other, evidence in evidences(view):
        if evidence >= CROSSED:
            found += [(view.sheet.starts[at], view.sheet.ends[at]) for at in (one, other)]
    return found


def evidences(view: View) -> Iterable[tuple[int, int, float]]:
    """Pairs of tokens of the rewrite with the evidence that they were exchanged."""
    mine, theirs = _places(view.parts), _places(view.others)
    both = [name for name in mine if name in theirs]
    few = [name for name in both if len(mine[name]) <= _MOST and len(theirs[name]) <= _MOST][:_PARTNERS]
    kinds = {name: _kind(view.sheet.words[mine[name][0]]) for name in few}
    lowers = {name: view.sheet.words[mine[name][0]].lower for name in few}
    here: dict[str, dict[str, float]] = {}
    there: dict[str, dict[str, float]] = {}
    for number, one in enumerate(few):
        contrary = OPPOSITES.get(lowers[one], frozenset())
        for other in few[number + 1 :]:
            if (not kinds[one] or kinds[one] != kinds[other]) and lowers[other] not in contrary:
                continue
            if all(abs(places[one][0] - places[other][0]) < _LISTED for places in (mine, theirs)):
                continue
            for name in (one, other):
                if name not in here:
                    here[name] = _closeness(view.sheet, view.parts, mine[name])
                    there[name] = _closeness(view.other, view.others, theirs[name])
            up = gained = lost = 0.0
            for third in here[one].keys() | here[other].keys():
                if third in (one, other) or third not in theirs:
                    continue
                now = here[one].get(third, 0.0) - here[other].get(third, 0.0)
                then = there[one].get(third, 0.0) - there[other].get(third, 0.0)
                product = now * then / len(mine[third])
                if product > 0:
                    up += product
                elif now > 0:
                    gained -= product
                else:
                    lost -= product
            alone = lowers[other] in contrary and not up and gained + lost > _MUCH
            if min(gained, lost) > _LITTLE or alone:
                yield mine[one][0], mine[other][0], gained + lost - 2 * up


def _kind(word: Word) -> str:
    """What names have in common that may stand in each other's place, or "" of a word that is none."""
    if word.kind in ("code", "number"):
        return word.kind
    if any(map(str.isdigit, word.text)):
        return "code"
    return "" if not word.capital or not word.may_be & SURE else "name"


def _attached(view: View) -> list[Span]:
    """Pairs of words of one clause that exchanged the prepositions before them, as in "from A into B", or the words
    behind them, as in "the first A and the second B"."""
    found = []
    for clause in view.numbers():
        low, high, _ = view.parts.spans[clause]
        mine = _attachments(view.sheet, view.parts, clause)
        for region in view.found.regions[clause] if len(mine) > 1 else ():
            theirs = _attachments(view.other, view.others, region)
            for one, other in combinations([name for name in mine if name in theirs], 2):
                for side in (0, 1):
                    now, then = (mine[one][side], mine[other][side]), (theirs[other][side], theirs[one][side])
                    if now == then and all(now) and now[0] != now[1] and not {one, other} & set(now):
                        at = view.parts.concepts.index(one, low, high)
                        found.append((view.sheet.starts[at], view.sheet.ends[at]))
    return found


def _attachments(sheet: FactSheet, parts: Clauses, clause: int) -> dict[str, tuple[str, str]]:
    """Of each concept that a clause has once: the preposition, or the verb, before it, and the concept behind it."""
    found: dict[str, tuple[str, str]] = {}
    low, high, _ = parts.spans[clause]
    names = parts.concepts[low:high]
    for at in range(low, high):
        name = parts.concepts[at]
        if not name or names.count(name) > 1:
            continue
        before = ""
        for place in range(at - 1, max(low, at - 4) - 1, -1):
            word = sheet.words[place]
            if word.lower in _PREPOSITIONS:
                before = word.lower.replace("into", "to")
                break
            if parts.concepts[place] and sheet.words[place + 1].lower in _OPEN:
                before = parts.concepts[place]
                break
            if not (word.content or word.lower in _OPEN):
                break
        found[name] = (before, parts.concepts[at + 1] if at + 1 < high else "")
    return found


def _compared(view: View) -> list[Span]:
    """Words of one sentence that changed sides of a *than*."""
    found = []
    for clause in view.numbers():
        sentence = view.parts.spans[clause][2]
        mine = _sides(view.sheet, view.parts, sentence)
        for other in {view.others.spans[one][2] for one in view.found.regions[clause]} if mine else ():
            theirs = _sides(view.other, view.others, other)
            if mine and theirs:
                left, right = mine[0] - mine[1], mine[1] - mine[0]
                before, after = theirs[0] - theirs[1], theirs[1] - theirs[0]
                if left & after and right & before and not left & before and not right & after:
                    found.append(view.place(clause))
    return found


def _sides(sheet: FactSheet, parts: Clauses, number: int) -> tuple[set[str], set[str]] | None:
    """The concepts of a sentence before and behind its only *than*, without the word that compares."""
    low, high = sheet.sentences[number].low, sheet.sentences[number].high
    places = [at for at in range(low, high) if sheet.words[at].lower == "than"]
    if len(places) != 1 or not low < places[0] - 1 or sheet.words[places[0] - 1].lower in ("rather", "other"):
        return None
    return set(parts.concepts[low : places[0] - 1]) - {""}, set(parts.concepts[places[0] + 1 : high]) - {""}


def _places(parts: Clauses) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for at, name in enumerate(parts.concepts):
        if name:
            found.setdefault(name, []).append(at)
    return found


def _column(sheet: FactSheet, start: int, at: int) -> int:
    """Which cell of its row a token stands in; 0 of the first, and of what is no row."""
    return sheet.text.count("|", start, sheet.starts[at])


def _closeness(sheet: FactSheet, parts: Clauses, places: list[int]) -> dict[str, float]:
    """How near each concept stands to a word, at its nearest."""
    found: dict[str, float] = {}
    for at in places:
        sentence = sheet.sentences[sheet.of_sentence[at]]
        for there in range(sentence.low, sentence.high):
            name = parts.concepts[there]
            if name and there != at:
                near = _SENTENCE if parts.clause[there] != parts.clause[at] else _SAME + 1 / abs(there - at)
                found[name] = max(found.get(name, 0.0), near)
        parent = parts.parents[sheet.of_sentence[at]]
        if parent >= 0:
            head = sheet.sentences[parent]
            column = _column(sheet, sentence.start, at)
            for there in range(head.low, head.high):
                if name := parts.concepts[there]:
                    same = column > 0 and _column(sheet, head.start, there) == column
                    found[name] = max(found.get(name, 0.0), _SAME if same else _PARENT)
    return found
