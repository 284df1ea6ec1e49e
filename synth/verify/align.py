"""Which sentences of a rewrite say what which sentences of the source say.

Sentences are compared by their words of content, each weighted by how few sentences of the source have it. A sentence
may be merged from several, or be one of several that one was split into: sentences that belong together form a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from math import log
from typing import NamedTuple

from .anchors import Clauses
from .cues import ARTICLES
from .facts import Cue, FactSheet, Name, cues_by_sentence, fact_sheet, names_by_sentence, vocabulary
from .grams import grams, loop_rate
from .places import Place, last_of, place_of
from .quantities import Key
from .roles import Pivots


class Source(NamedTuple):
    """A source, read once for all its rewrites.

    Attributes:
        vocabulary: stems and small spellings of all its words.
        weights: of each stem, higher where fewer sentences have it; `unknown`: of a stem that none has.
        postings: the weight of a stem, and the sentences that have it.
        totals: weight of each sentence.
        overlaps: of each sentence, the weight that it shares with others; `alone`: no other comes near it.
        unique: the stems that only this sentence has.
        repeats: whether another sentence says nearly the same.
        heads: stems that stand as nouns: at the end of a run of words that an article opens.
        subjects: of each sentence, the stems before its verb, as far as can be told.
        grams, loop: its 8-grams, and which share of them it repeats.
        cues, names: by sentence.
        number_keys, plain_numbers: of all numbers, with their units and without; `years`: of its dates.
        number_places: the key and the surroundings of each number.
        pivots: what `roles` has found in sentences so far.
        parts: its clauses, and how rare its concepts are, once a free rewrite was compared with it.
    """

    sheet: FactSheet
    vocabulary: set[str]
    weights: dict[str, float]
    unknown: float
    postings: dict[str, tuple[float, list[int]]]
    totals: list[float]
    overlaps: list[dict[int, float]]
    alone: list[bool]
    unique: list[frozenset[str]]
    repeats: list[bool]
    heads: frozenset[str]
    subjects: list[frozenset[str]]
    grams: frozenset[int]
    loop: float
    cues: dict[int, list[Cue]]
    names: dict[int, list[Name]]
    number_keys: frozenset[Key]
    plain_numbers: frozenset[Key]
    years: frozenset[Key]
    number_places: list[tuple[Key, Place]]
    pivots: dict[int, Pivots]
    parts: list[tuple[Clauses, dict[str, float]]]


class Group(NamedTuple):
    """Sentences of the rewrite and of the source that belong together, by number.

    Attributes:
        similarity: from 0 to 1.
        same: one sentence on each side, word for word.
    """

    rewrite: list[int]
    source: list[int]
    similarity: float
    same: bool


class Alignment(NamedTuple):
    """`support` of each rewritten sentence, None where it has no word of content; `uncovered` source sentences."""

    groups: list[Group]
    support: list[float | None]
    coverage: list[float]


Score = tuple[dict[int, float], float]
"""The weight that a sentence shares with each sentence of the source, and its own weight."""

_NEARLY = 0.9  # of the best similarity: as near, when sentences are handed out one each
_PLAIN = 1.0  # what a share of words counts for against a share of their weights
_LOOKED = 6  # source sentences tried for having been merged into one
_SHORT = 0.07  # given for each word of content below six
_MERGED = 0.4  # a second source sentence belongs to a rewritten one that holds so much of what it adds to the first


@lru_cache(maxsize=2048)
def read_source(text: str) -> Source:
    """The source's fact sheet and index, remembered."""
    sheet = fact_sheet(text)
    postings: dict[str, list[int]] = {}
    for number, sentence in enumerate(sheet.sentences):
        for stem in sentence.bag:
            postings.setdefault(stem, []).append(number)
    count = max(1, len(sheet.sentences))
    weights = {stem: log(1 + count / len(where)) for stem, where in postings.items()}
    totals = [sum(weights[stem] for stem in sentence.bag) for sentence in sheet.sentences]
    unique = [frozenset(s for s in sentence.bag if len(postings[s]) == 1) for sentence in sheet.sentences]
    overlaps, repeats = [], []
    for number, sentence in enumerate(sheet.sentences):
        shared: dict[int, float] = {}
        for stem in sentence.bag:
            for other in postings[stem]:
                shared[other] = shared.get(other, 0.0) + weights[stem]
        best = max((value for other, value in shared.items() if other != number), default=0.0)
        repeats.append(best >= 0.75 * totals[number])
        overlaps.append(shared)
    eights = grams(sheet)
    return Source(
        sheet=sheet,
        vocabulary=vocabulary(sheet),
        weights=weights,
        unknown=log(1 + count),
        postings={stem: (weights[stem], where) for stem, where in postings.items()},
        totals=totals,
        overlaps=overlaps,
        alone=[
            all(2 * shared[other] < _NEARLY * (totals[one] + totals[other]) for other in shared if other != one)
            for one, shared in enumerate(overlaps)
        ],
        unique=unique,
        repeats=repeats,
        heads=heads(sheet),
        subjects=_subjects(sheet),
        grams=frozenset(eights),
        loop=loop_rate(eights),
        cues=cues_by_sentence(sheet),
        names=names_by_sentence(sheet),
        number_keys=frozenset(one.key for one in sheet.numbers),
        plain_numbers=frozenset(one.plain for one in sheet.numbers),
        years=frozenset(("", str(date.year)) for date in sheet.dates),
        number_places=[(one.key, place_of(sheet, one.first, last_of(sheet, one))) for one in sheet.numbers],
        pivots={},
        parts=[],
    )


def heads(sheet: FactSheet) -> frozenset[str]:
    """Stems that end a run of words of content which an article opens: nouns, most often."""
    found = set()
    for run in opened(sheet, 0, len(sheet.words)):
        found.add(run[-1])
        if len(run) == 2:
            found.add(run[0])  # "the motor stops": its end may be a verb
    return frozenset(found)


def opened(sheet: FactSheet, low: int, high: int) -> Iterator[list[str]]:
    """Runs of words of content that articles open between two tokens, as stems."""
    words = sheet.words
    for at in range(low, high):
        if words[at].lower in ARTICLES and words[at].lower not in ("that", "those"):  # they open clauses as well
            last = at + 1
            while last < high and words[last].content and sheet.of_sentence[last] == sheet.of_sentence[at]:
                if last > at + 1 and sheet.text[sheet.ends[last - 1] : sheet.starts[last]].strip():
                    break
                last += 1
            if at + 1 < last <= at + 4:
                yield [word.stem for word in words[at + 1 : last]]


def _subjects(sheet: FactSheet) -> list[frozenset[str]]:
    """The first run of words of content of each sentence, in which the subject mostly stands."""
    found = []
    for sentence in sheet.sentences:
        stems = set()
        for word in sheet.words[sentence.low : sentence.high]:
            if word.content:
                stems.add(word.stem)
            elif stems:
                break
        found.append(frozenset(stems))
    return found


def align(source: Source, rewrite: FactSheet) -> Alignment:
    """Match sentences both ways."""
    sentences = source.sheet.sentences
    links: list[list[int]] = []
    support: list[float | None] = []
    residue: set[str] = set()  # of rewritten sentences, what their best source sentence does not account for
    same = [source.sheet.places.get(rewrite.text[one.start : one.end]) for one in rewrite.sentences]
    scores = [
        _score(source, sentence.bag) if there is None else (source.overlaps[there], source.totals[there])
        for sentence, there in zip(rewrite.sentences, same, strict=True)
    ]
    nearest = _nearest(source, scores, same)
    for sentence, (shared, total), best in zip(rewrite.sentences, scores, nearest, strict=True):
        if best < 0:
            links.append([])
            support.append(0.0 if total else None)
            residue.update(sentence.bag)
            continue
        linked = [best]
        held = shared[best]
        rest: Set[str] = frozenset()
        if sentence.bag is not sentences[best].bag and (rest := sentence.bag.keys() - sentences[best].bag.keys()):
            residue |= rest
            merged, more, rest = _merged(source, best, rest, shared)
            linked += merged
            held += more
        # Where sentences repeat each other their words weigh little: then the mere number of words held counts.
        plain = 1 - len(rest) / len(sentence.bag)
        support.append(min(1.0, max(held / total, _PLAIN * plain)))
        links.append(linked)
    groups = _groups(source, rewrite, links, scores)
    return Alignment(groups, support, _coverage(source, rewrite, links, residue))


def _merged(
    source: Source, best: int, rest: Set[str], shared: dict[int, float]
) -> tuple[list[int], float, Set[str]]:
    """Source sentences that a rewritten one holds besides the best; their weight; what of the rest remains."""
    postings = source.postings
    beside: dict[int, float] = {}
    for stem in rest:
        if stem in postings:
            weight, where = postings[stem]
            for number in where:
                beside[number] = beside.get(number, 0.0) + weight
    overlap = source.overlaps[best]
    own = {number: _MERGED * (source.totals[number] - overlap.get(number, 0.0)) - 1e-9 for number in beside}
    if not any(weight >= own[number] for number, weight in beside.items()):
        return [], 0.0, rest
    found: list[int] = []
    held = 0.0
    for number in sorted(beside, key=lambda one: (-shared[one], one))[:_LOOKED]:
        common = source.sheet.sentences[number].bag.keys() & rest
        weight = sum([source.weights[stem] for stem in common])
        if common and weight >= own[number]:
            found.append(number)
            held += weight
            rest = rest - common
    return found, held, rest


def _score(source: Source, bag: Mapping[str, int]) -> Score:
    postings = source.postings
    shared: dict[int, float] = {}
    total = 0.0
    for stem in bag:
        if stem in postings:
            weight, where = postings[stem]
            total += weight
            for number in where:
                shared[number] = shared.get(number, 0.0) + weight
        else:
            total += source.unknown
    return shared, total


def _nearest(source: Source, scores: list[Score], same: list[int | None]) -> list[int]:
    """The nearest source sentence of each rewritten one, or −1.

    Where several are nearly as near, as in texts that say one thing of many, each goes to one that is still free.
    """
    pairs: list[tuple[float, int, int]] = []
    totals = source.totals
    slope = len(totals) / max(1, len(scores))
    for at, (shared, total) in enumerate(scores):
        if not shared:
            continue
        there = same[at]
        if there is not None and source.alone[there]:
            pairs.append((1 - 0.001 * abs(there - slope * at), at, there))
            continue
        nears = [2 * weight / (total + totals[number]) for number, weight in shared.items()]
        floor = _NEARLY * max(nears)
        for number, near in zip(shared, nears, strict=True):
            if near >= floor:
                pairs.append((near - 0.001 * abs(number - slope * at), at, number))
    pairs.sort(reverse=True)
    found = [-1] * len(scores)
    taken: set[int] = set()
    for _, at, number in pairs:
        if found[at] < 0 and number not in taken:
            found[at] = number
            taken.add(number)
    for _, at, number in pairs:
        if found[at] < 0:
            found[at] = number
    return found


def _coverage(source: Source, rewrite: FactSheet, links: list[list[int]], residue: set[str]) -> list[float]:
    """How much of each source sentence is said. One that no rewritten sentence is nearest to must be in residues."""
    found = []
    weights = source.weights
    held: dict[int, Set[str]] = {}
    for linked, sentence in zip(links, rewrite.sentences, strict=True):
        for number in linked:
            held[number] = held[number] | sentence.bag.keys() if number in held else sentence.bag.keys()
    for number, sentence in enumerate(source.sheet.sentences):
        total = source.totals[number]
        where = held.get(number, residue)
        if not total or source.repeats[number] or where == sentence.bag.keys():
            found.append(1.0)
            continue
        common = sentence.bag.keys() & where
        said = sum([weights[stem] for stem in common]) / total
        if number in held:
            # Some sentence is nearest to this one: of a short one, synonyms may leave few words.
            plain = len(common) / len(sentence.bag)
            said = min(1.0, max(said, _PLAIN * plain) + _SHORT * max(0, 6 - len(sentence.bag)))
        elif len(unique := source.unique[number]) > 1:
            # Merged into another sentence, words that no other sentence has would still be there.
            said = max(said, len(unique & residue) / len(unique))
        found.append(said)
    return found


def _groups(
    source: Source, rewrite: FactSheet, links: list[list[int]], scores: list[Score]
) -> list[Group]:
    """Connected sentences, with how near they are."""
    targets = [number for linked in links for number in linked]
    if len(set(targets)) == len(targets) == sum(map(bool, links)):  # each by itself, as most often
        return [
            _pair(source, rewrite, number, linked[0], scores[number]) for number, linked in enumerate(links) if linked
        ]
    owner: dict[int, int] = {}
    members: dict[int, tuple[list[int], list[int]]] = {}
    for number, linked in enumerate(links):
        if not linked:
            continue
        roots = {owner[one] for one in linked if one in owner}
        root = min(roots, default=number)
        mine, theirs = members.setdefault(root, ([], []))
        for other in roots - {root}:
            moved = members.pop(other)
            mine += moved[0]
            theirs += moved[1]
            for one in moved[1]:
                owner[one] = root
        mine.append(number)
        for one in linked:
            if one not in owner:
                theirs.append(one)
            owner[one] = root
    return [
        _pair(source, rewrite, mine[0], theirs[0], scores[mine[0]]) if len(mine) == len(theirs) == 1
        else _group(source, rewrite, sorted(mine), sorted(theirs))
        for mine, theirs in members.values()
    ]  # fmt: skip


def _pair(source: Source, rewrite: FactSheet, here: int, there: int, score: Score) -> Group:
    one, other = rewrite.sentences[here], source.sheet.sentences[there]
    similarity = 2 * score[0][there] / (score[1] + source.totals[there])
    same = rewrite.words[one.low : one.high] == source.sheet.words[other.low : other.high]
    return Group([here], [there], similarity, same)


def _group(source: Source, rewrite: FactSheet, mine: list[int], theirs: list[int]) -> Group:
    said = _union(rewrite, mine)
    meant = _union(source.sheet, theirs)
    weights, unknown = source.weights, source.unknown
    shared = sum([weights[stem] for stem in said.keys() & meant.keys()])
    both = sum([weights.get(stem, unknown) for stem in said]) + sum([weights[stem] for stem in meant])
    return Group(mine, theirs, 2 * shared / both if shared else 0.0, False)


def _union(sheet: FactSheet, numbers: list[int]) -> Mapping[str, int]:
    if len(numbers) == 1:
        return sheet.sentences[numbers[0]].bag
    bag: dict[str, int] = {}
    for number in numbers:
        bag.update(sheet.sentences[number].bag)
    return bag
