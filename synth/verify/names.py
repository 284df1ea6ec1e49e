"""V2, names: none that the source does not name, none lost, none in the place of another."""

from __future__ import annotations

from .align import Group, Source
from .facts import FactSheet, Name, names_by_sentence, vocabulary
from .places import MARGIN, fit, place_of
from .result import Check, at_most
from .rules import Rules
from .wording import opens

_COMMON = frozenset({"API", "APIs", "OS", "ID", "IDs", "UI"})  # which other wording may do without


def names(source: Source, rewrite: FactSheet, groups: list[Group], rules: Rules) -> list[Check]:
    """The checks of names."""
    checks = []
    lost = _lost(source.sheet, rewrite)
    if rules.name_new is not None:
        new = [(one.start, one.end) for one in rewrite.names
               if _unknown(source, one) and not (rules.wording == "free" and _worded(source, rewrite, one))]
        checks.append(at_most("name_new", "ent_new", new, rules.name_new))
    if rules.recall and rules.name_lost is not None:
        checks.append(at_most("name_lost", "ent_lost", [(one.start, one.end) for one in lost], rules.name_lost, True))
    if rules.name_context is not None:
        checks.append(
            at_most("name_context", "ent_ctx", _displaced(source, rewrite, groups, rules), rules.name_context)
        )
    return checks


def _unknown(source: Source, name: Name) -> bool:
    """Whether no spelling of the source stands behind a name of the rewrite."""
    known = source.vocabulary
    if known.issuperset(name.parts):
        return False
    if name.kind == "code":
        return name.parts[0] not in source.sheet.text.lower()
    if name.kind == "acronym":
        return not _initials(name.text, source.sheet)
    return any(part not in known and not _pieces_known(part, source) for part in name.parts)


def _worded(source: Source, rewrite: FactSheet, name: Name) -> bool:
    """Whether free wording explains a name that the source has not: a capital owed to its place, what others begin
    with."""
    return opens(name, rewrite) or (name.kind == "acronym" and name.text.removesuffix("s") in source.sheet.text)


def _pieces_known(part: str, source: Source) -> bool:
    """Whether a word is made of, or part of, words that the source has: `SQL-based`, `Pythonic`."""
    pieces = part.replace("-", " ").replace(".", " ").split()
    text = source.sheet.text.lower()
    return all(piece in source.vocabulary or (len(piece) > 3 and piece in text) for piece in pieces)


def _initials(acronym: str, source: FactSheet) -> bool:
    """Whether words in a row of the source begin with the letters of the acronym."""
    letters = "".join(filter(str.isalpha, acronym)).lower().removesuffix("s")
    initials = "".join(word.lower[0] for word in source.words if word.content or (word.kind == "word" and word.capital))
    return len(letters) > 1 and letters in initials


def _lost(source: FactSheet, rewrite: FactSheet) -> list[Name]:
    stems: set[str] = set().union(*[sentence.bag for sentence in rewrite.sentences])
    missing = [one for one in source.names if stems.isdisjoint(one.parts)]
    if not missing:
        return []
    known, lower = vocabulary(rewrite), rewrite.text.lower()
    found = []
    for one in missing:
        if not known.isdisjoint(one.parts) or any(len(part) > 2 and part in lower for part in one.parts):
            continue
        if one.kind == "acronym" and (_initials(one.text, rewrite) or one.text in _COMMON):
            continue
        if one.kind == "code" and (len(one.text) > 60 or not any(map(str.isalpha, one.text))):
            continue  # a formula or a block: the mathematics' own checks read those
        found.append(one)
    return found


def _displaced(source: Source, rewrite: FactSheet, groups: list[Group], rules: Rules) -> list[tuple[int, int]]:
    """Names in the place of other names: a sentence names one thing more often than its source, and another less
    often; or it names the same things, but each among the words of the other."""
    mine, theirs = names_by_sentence(rewrite), source.names
    found = []
    for group in groups:
        if group.same or group.similarity < rules.close:
            continue
        now = [one for number in group.rewrite for one in mine.get(number, ())]
        before = [one for number in group.source for one in theirs.get(number, ())]
        if not now or not before or [one.parts for one in now] == [one.parts for one in before]:
            continue
        more, less = _counts(now), _counts(before)
        gained = {part for part, count in more.items() if count > less.get(part, 0) and part in source.vocabulary}
        lost = any(count > more.get(part, 0) for part, count in less.items())
        if gained and lost and rules.recall:
            found += [(one.start, one.end) for one in now if gained.intersection(one.parts)]
        elif len(less) > 1:
            found += _exchanged(source.sheet, rewrite, before, now)
    return found


def _exchanged(source: FactSheet, rewrite: FactSheet, before: list[Name], now: list[Name]) -> list[tuple[int, int]]:
    places = [(one.parts, place_of(source, one.first, one.last)) for one in before]
    found = []
    for one in now:
        here = place_of(rewrite, one.first, one.last)
        own = max((fit(here, place) for parts, place in places if set(parts) & set(one.parts)), default=None)
        other = max((fit(here, place) for parts, place in places if not set(parts) & set(one.parts)), default=0.0)
        if own is not None and other >= own + MARGIN:
            found.append((one.start, one.end))
    return found


def _counts(names: list[Name]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in names:
        for part in one.parts:
            found[part] = found.get(part, 0) + 1
    return found
