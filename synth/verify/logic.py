"""V3: polarity, modality, quantity, comparison, conditions, roles and references, sentence by sentence.

The closer a rewritten sentence is to its source, the finer it is compared. In a close group the cues must be the same,
class by class, and so must the order of what a verb or a preposition stands between. In a loose one only what cannot
come from paraphrase counts: one class in the place of another, a word negated on one side alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set

from .align import Group, Source, opened
from .cues import PRONOUNS, SHELL_NOUNS
from .facts import Cue, FactSheet, cues_by_sentence
from .result import Check, at_most
from .roles import exchanged
from .rules import Rules
from .words import Word

Spans = list[tuple[int, int]]
_TOGETHER = 3  # words that another sentence has, from which on it was merged in
_LONGER = 2  # words by which joined sentences may outgrow their sources
_STILL = 0.25  # similarity from which on a loose sentence is still the same one
# What may come to bear upon another word.
_MOVES = frozenset({("neg", "not"), ("quant", "only"), ("quant", "all"), ("cond", "if")})
_CLEAR = frozenset({"all", "most", "some", "few", "only"})


def logic(source: Source, rewrite: FactSheet, groups: list[Group], rules: Rules) -> list[Check]:
    """The checks of this level."""
    faults: dict[str, Spans] = {name: [] for name in ("neg", "modal", "quant", "comp", "scope", "role", "coref")}
    mine, theirs = cues_by_sentence(rewrite), source.cues
    differing = []
    for group in groups:
        if group.same:
            continue
        said = [cue for number in group.rewrite for cue in mine.get(number, ())]
        meant = [cue for number in group.source for cue in theirs.get(number, ())]
        if [cue[:2] for cue in said] != [cue[:2] for cue in meant]:
            differing.append((group, said, meant))
        if group.similarity >= rules.close:
            faults["role"] += exchanged(source.sheet, source.pivots, rewrite, group.source, group.rewrite)
            faults["coref"] += _references(source, rewrite, group)
    if differing:
        totals = _differences(rewrite.cues, source.sheet.cues)
        for group, said, meant in differing:
            _cues(source, rewrite, group, said, meant, group.similarity >= rules.close, totals, faults)
    limits = (("negation", "neg", rules.negation), ("modal", "modal", rules.modal), ("quantifier", "quant",
    rules.quantifier),
              ("comparator", "comp", rules.comparator), ("scope", "scope", rules.scope), ("role", "role", rules.role),
              ("reference", "coref", rules.reference))  # fmt: skip
    return [at_most(name, code, faults[code], limit) for name, code, limit in limits if limit is not None]


def _cues(source: Source, rewrite: FactSheet, group: Group, said: list[Cue], meant: list[Cue], close: bool,
          totals: dict[tuple[str, str], int], faults: dict[str, Spans]) -> None:  # fmt: skip
    """Compare the cues of a group by kind. One that is missing here and too many elsewhere was told to the wrong
    sentence, as happens where sentences resemble each other."""
    counts = _differences(said, meant)
    changed = {key: difference for key, difference in counts.items() if difference * totals[key] > 0}
    if changed:
        for kind, code in (("neg", "neg"), ("modal", "modal"), ("quant", "quant"), ("comp", "comp"), ("cond", "scope")):
            more = {group_ for (k, group_), n in changed.items() if k == kind and n > 0}
            less = {group_ for (k, group_), n in changed.items() if k == kind and n < 0}
            if (more or less) and _counts(kind, more, less, close, changed):
                faults[code] += [
                    (cue.start, cue.end) for cue in said if cue.what[0] == kind and cue.what[1] in more
                ] or _place(rewrite, group)
    if not close and changed.get(("cond", "if"), 0) < 0:
        faults["scope"] += _dropped(source.sheet, rewrite, group, meant)
    if not changed.keys() & {("neg", "not"), ("quant", "only")}:
        faults["scope"] += _moved(rewrite, source.sheet, group, said, meant)
    elif not close and ("neg", "not") in changed:
        faults["neg"] += _turned(rewrite, source.sheet, group, said, meant)


def _differences(said: Iterable[Cue], meant: Iterable[Cue]) -> dict[tuple[str, str], int]:
    """By kind and class, how many cues more the one has than the other."""
    found: dict[tuple[str, str], int] = {}
    for cue in said:
        found[cue.what] = found.get(cue.what, 0) + 1
    for cue in meant:
        found[cue.what] = found.get(cue.what, 0) - 1
    return found


def _counts(kind: str, more: set[str], less: set[str], close: bool, changed: dict[tuple[str, str], int]) -> bool:
    """Whether these classes, more or less often than in the source, are a change of meaning."""
    if kind == "modal":
        return _modality(more, less, close, changed)
    if kind == "cond":
        return close
    if close:
        return True
    # In a loose sentence only one class in the place of another tells.
    return (
        kind in ("quant", "comp") and bool(more & (_CLEAR | {"up", "down"})) and bool(less & (_CLEAR | {"up", "down"}))
    )


def _modality(more: set[str], less: set[str], close: bool, changed: dict[tuple[str, str], int]) -> bool:
    """*May* may become *can*, and *will* and *can* may go; obligation, advice and doubt must stay."""
    strong = {"must", "should"}
    if (more & strong and less) or (less & strong and more):
        return True
    if not close:
        return False
    if more & strong or less & strong:
        return True
    doubt = changed.get(("modal", "may"), 0) + changed.get(("modal", "can"), 0)
    return ("may" in less and doubt < 0) or (bool(more & {"may", "can"}) and doubt > 0)


def _dropped(source: FactSheet, rewrite: FactSheet, group: Group, meant: list[Cue]) -> Spans:
    """Of a loose sentence, a condition that is gone together with what it says."""
    here = _stems(rewrite, group.rewrite)
    gone = any(cue.what[0] == "cond" and cue.focus and cue.focus not in here for cue in meant)
    return _place(rewrite, group) if gone and group.similarity >= _STILL else []


def _moved(rewrite: FactSheet, source: FactSheet, group: Group, said: list[Cue], meant: list[Cue]) -> Spans:
    """Negations, *only* and *all* that bear upon another word of the same sentences than before."""
    found: Spans = []
    for what in {cue.what for cue in said} & _MOVES:
        now = [cue for cue in said if cue.what == what]
        after = sorted([cue.focus for cue in now])
        before = sorted([cue.focus for cue in meant if cue.what == what])
        if after == before:
            continue
        gained, lost = Counter(after) - Counter(before), Counter(before) - Counter(after)
        if not gained or not lost:
            continue
        here, there = _stems(rewrite, group.rewrite), _stems(source, group.source)
        if all(focus in here for focus in lost) and all(focus in there for focus in gained):
            found += [(cue.start, cue.end) for cue in now if cue.focus in gained]
    return found


def _turned(rewrite: FactSheet, source: FactSheet, group: Group, said: list[Cue], meant: list[Cue]) -> Spans:
    """In loose sentences: a word negated on one side that stands un-negated on the other."""
    now = {cue.focus for cue in said if cue.what[0] == "neg"}
    before = {cue.focus for cue in meant if cue.what[0] == "neg"}
    here, there = _stems(rewrite, group.rewrite), _stems(source, group.source)
    if (now - before) & there and not (before - now):
        return [(cue.start, cue.end) for cue in said if cue.what[0] == "neg" and cue.focus in (now - before) & there]
    if (before - now) & here and not (now - before):
        return _place(rewrite, group)
    return []


def _references(source: Source, rewrite: FactSheet, group: Group) -> Spans:
    """Nouns of other sentences that took the place of a noun or a pronoun of this one.

    A pronoun may be replaced by what it stands for; the subject of the sentence before is taken to be that.
    """
    here, there = _counted(rewrite, group.rewrite), _counted(source.sheet, group.source)
    moved = (here.keys() - there.keys()) & source.heads
    if sum(here.values()) > len(here):
        moved |= {stem for stem, count in here.items() if count > there.get(stem, 0) and stem in source.heads}
    if moved and len(group.source) > 1 and sum(here.values()) > sum(there.values()) + _LONGER:
        moved -= there.keys()  # more sentences were joined than were found to belong together
    if not moved:
        return []
    low, high = rewrite.sentences[group.rewrite[0]].low, rewrite.sentences[group.rewrite[-1]].high
    runs = list(opened(rewrite, low, high))
    gone = {stem for stem, count in there.items() if count > here.get(stem, 0) and stem in source.heads}
    # Nouns of no content of their own, which rewriting exchanges, as `technique` for `method`.
    moved = {stem for stem in moved if stem not in SHELL_NOUNS or not gone & SHELL_NOUNS[stem]}
    before: set[str] = set()
    for number in group.source:
        if number:
            before |= source.subjects[number - 1]
    pronouns = _pronouns(source.sheet, group.source) - _pronouns(rewrite, group.rewrite)
    if pronouns:
        moved = {stem for run in runs for stem in run if stem in moved} - before
    elif gone:
        # Nouns for sure: alone behind an article. Behind another word, the last may be a verb, or both be new wording.
        moved &= {run[0] for run in runs if len(run) == 1}
    else:
        return []
    moved -= _merged(source, group, here.keys() - there.keys())
    return [
        (rewrite.starts[at], rewrite.ends[at])
        for number in group.rewrite
        for at in range(rewrite.sentences[number].low, rewrite.sentences[number].high)
        if rewrite.words[at].stem in moved
    ]


def _merged(source: Source, group: Group, gained: Set[str]) -> set[str]:
    """Of words that a group gained, those that came several together from another sentence: that one was merged in."""
    origins: Counter[int] = Counter()
    for stem in gained:
        if stem in source.postings:
            origins.update(number for number in source.postings[stem][1] if number not in group.source)
    merged = [number for number, count in origins.items() if count >= _TOGETHER]
    return {stem for number in merged for stem in source.sheet.sentences[number].bag if stem in gained}


def _counted(sheet: FactSheet, numbers: list[int]) -> dict[str, int]:
    if len(numbers) == 1:
        return sheet.sentences[numbers[0]].bag
    found: dict[str, int] = {}
    for number in numbers:
        for stem, count in sheet.sentences[number].bag.items():
            found[stem] = found.get(stem, 0) + count
    return found


def _pronouns(sheet: FactSheet, numbers: Iterable[int]) -> Counter[str]:
    return Counter([word.lower for word in _words(sheet, numbers) if word.lower in PRONOUNS])


def _stems(sheet: FactSheet, numbers: Iterable[int]) -> set[str]:
    return {word.stem for word in _words(sheet, numbers)}


def _words(sheet: FactSheet, numbers: Iterable[int]) -> list[Word]:
    """The words of some sentences."""
    spans = [sheet.sentences[number][2:4] for number in numbers]
    return [word for low, high in spans for word in sheet.words[low:high]]


def _place(sheet: FactSheet, group: Group) -> Spans:
    return [(sheet.sentences[group.rewrite[0]].start, sheet.sentences[group.rewrite[0]].end)]
