"""Which sentences of a rewrite say what which sentences of the source say.

Sentences are compared by their words of content, each weighted by how few sentences of the source have it. A sentence
may be merged from several, or be one of several that one was split into: sentences that belong together form a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import log
from typing import NamedTuple

from .cues import ARTICLES
from .facts import Cue, FactSheet, Name, cached_fact_sheet, cues_by_sentence, names_by_sentence
from .grams import grams, loop_rate
from .places import Place, last_of, place_of
from .quantities import Key


class Source(NamedTuple):
    """A source, read once for all its rewrites.

    Attributes:
        weights: of each stem, higher where fewer sentences have it; `unknown`: of a stem that none has.
        postings: the sentences that have a stem.
        totals: weight of each sentence.
        unique: the stems that only this sentence has.
        repeats: whether another sentence says nearly the same.
        heads: stems that stand as nouns: at the end of a run of words that an article opens.
        subjects: of each sentence, the stems before its verb, as far as can be told.
        grams, loop: its 8-grams, and which share of them it repeats.
        cues, names: by sentence.
        number_places: the key and the surroundings of each number.
    """

    sheet: FactSheet
    weights: dict[str, float]
    unknown: float
    postings: dict[str, list[int]]
    totals: list[float]
    unique: list[frozenset[str]]
    repeats: list[bool]
    heads: frozenset[str]
    subjects: list[frozenset[str]]
    grams: frozenset[int]
    loop: float
    cues: dict[int, list[Cue]]
    names: dict[int, list[Name]]
    number_places: list[tuple[Key, Place]]


class Group(NamedTuple):
    """Sentences of the rewrite and of the source that belong together, by number; `similarity` from 0 to 1.

    `lost` and `gained` are stems that only the source's side, and only the rewrite's side, has.
    """

    rewrite: list[int]
    source: list[int]
    similarity: float
    lost: set[str]
    gained: set[str]


class Alignment(NamedTuple):
    """`support` of each rewritten sentence, None where it has no word of content; `uncovered` source sentences."""

    groups: list[Group]
    support: list[float | None]
    coverage: list[float]


_NEARLY = 0.9  # of the best similarity: as near, when sentences are handed out one each
_PLAIN = 1.0  # what a share of words counts for against a share of their weights
_LOOKED = 6  # source sentences tried for having been merged into one
_SHORT = 0.07  # given for each word of content below six
_MERGED = 0.4  # a second source sentence belongs to a rewritten one that holds so much of what it adds to the first


@lru_cache(maxsize=65_536)
def read_source(text: str) -> Source:
    """The source's fact sheet and index, remembered."""
    sheet = cached_fact_sheet(text)
    postings: dict[str, list[int]] = {}
    for number, sentence in enumerate(sheet.sentences):
        for stem in sentence.bag:
            postings.setdefault(stem, []).append(number)
    count = max(1, len(sheet.sentences))
    weights = {stem: log(1 + count / len(where)) for stem, where in postings.items()}
    totals = [sum(weights[stem] for stem in sentence.bag) for sentence in sheet.sentences]
    unique = [frozenset(s for s in sentence.bag if len(postings[s]) == 1) for sentence in sheet.sentences]
    repeats = []
    for number, sentence in enumerate(sheet.sentences):
        shared: dict[int, float] = {}
        for stem in sentence.bag:
            for other in postings[stem]:
                shared[other] = shared.get(other, 0.0) + weights[stem]
        best = max((value for other, value in shared.items() if other != number), default=0.0)
        repeats.append(best >= 0.75 * totals[number])
    eights = grams(sheet)
    return Source(
        sheet=sheet,
        weights=weights,
        unknown=log(1 + count),
        postings=postings,
        totals=totals,
        unique=unique,
        repeats=repeats,
        heads=heads(sheet),
        subjects=_subjects(sheet),
        grams=frozenset(eights),
        loop=loop_rate(eights),
        cues=cues_by_sentence(sheet),
        names=names_by_sentence(sheet),
        number_places=[(one.key, place_of(sheet, one.first, last_of(sheet, one))) for one in sheet.numbers],
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
    weights, sentences = source.weights, source.sheet.sentences
    links: list[list[int]] = []
    support: list[float | None] = []
    residue: set[str] = set()  # of rewritten sentences, what their best source sentence does not account for
    chosen: set[int] = set()
    scores = [_shared(source, sentence.bag) for sentence in rewrite.sentences]
    nearest = _nearest(source, scores)
    for sentence, (shared, total), best in zip(rewrite.sentences, scores, nearest, strict=True):
        if best < 0:
            links.append([])
            support.append(0.0 if total else None)
            residue.update(sentence.bag)
            continue
        linked = [best]
        rest = sentence.bag.keys() - sentences[best].bag.keys()
        held = shared[best]
        if rest:
            residue |= rest
            beside_it = {number for stem in rest for number in source.postings.get(stem, ())}
            for number in sorted(beside_it, key=lambda one: -shared[one])[:_LOOKED]:
                own = sentences[number].bag.keys() - sentences[best].bag.keys()
                common = own & rest
                if number != best and common:
                    beside = sum([weights[stem] for stem in common])
                    if beside >= _MERGED * sum([weights[stem] for stem in own]):
                        linked.append(number)
                        held += beside
                        rest = rest - common
        # Where sentences repeat each other their words weigh little: then the mere number of words held counts.
        plain = 1 - len(rest) / len(sentence.bag)
        support.append(min(1.0, max(held / total, _PLAIN * plain)))
        chosen.update(linked)
        links.append(linked)
    return Alignment(_groups(source, rewrite, links), support, _coverage(source, rewrite, links, chosen, residue))


def _shared(source: Source, bag: Mapping[str, int]) -> tuple[dict[int, float], float]:
    """The weight that a sentence shares with each sentence of the source, and its own weight."""
    weights, postings = source.weights, source.postings
    shared: dict[int, float] = {}
    total = 0.0
    for stem in bag:
        where = postings.get(stem)
        if where is None:
            total += source.unknown
            continue
        weight = weights[stem]
        total += weight
        for number in where:
            shared[number] = shared.get(number, 0.0) + weight
    return shared, total


def _nearest(source: Source, scores: list[tuple[dict[int, float], float]]) -> list[int]:
    """The nearest source sentence of each rewritten one, or −1.

    Where several are nearly as near, as in texts that say one thing of many, each goes to one that is still free.
    """
    pairs = []
    totals = source.totals
    slope = len(totals) / max(1, len(scores))
    for at, (shared, total) in enumerate(scores):
        if not shared:
            continue
        nears = [(2 * weight / (total + totals[number]), number) for number, weight in shared.items()]
        top = max(nears)[0]
        pairs += [
            (near - 0.001 * abs(number - slope * at), at, number) for near, number in nears if near >= _NEARLY * top
        ]
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


def _coverage(
    source: Source, rewrite: FactSheet, links: list[list[int]], chosen: set[int], residue: set[str]
) -> list[float]:
    """How much of each source sentence is said. One that no rewritten sentence is nearest to must be in residues."""
    found = []
    held: dict[int, set[str]] = {}
    for linked, sentence in zip(links, rewrite.sentences, strict=True):
        for number in linked:
            held.setdefault(number, set()).update(sentence.bag)
    for number, sentence in enumerate(source.sheet.sentences):
        total = source.totals[number]
        if not total or source.repeats[number]:
            found.append(1.0)
            continue
        where = held.get(number, residue)
        said = sum(source.weights[stem] for stem in sentence.bag.keys() & where) / total
        if number in chosen:
            # Some sentence is nearest to this one: of a short one, synonyms may leave few words.
            plain = len(sentence.bag.keys() & where) / len(sentence.bag)
            said = min(1.0, max(said, _PLAIN * plain) + _SHORT * max(0, 6 - len(sentence.bag)))
        elif unique := source.unique[number]:
            # Merged into another sentence, words that no other sentence has would still be there.
            said = max(said, len(unique & residue) / len(unique) if len(unique) > 1 else 0.0)
        found.append(said)
    return found


def _groups(source: Source, rewrite: FactSheet, links: list[list[int]]) -> list[Group]:
    """Connected sentences, with what they differ in."""
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
    return [_group(source, rewrite, sorted(mine), sorted(theirs)) for mine, theirs in members.values()]


def _group(source: Source, rewrite: FactSheet, mine: list[int], theirs: list[int]) -> Group:
    said = _union(rewrite, mine)
    meant = _union(source.sheet, theirs)
    weights, unknown = source.weights, source.unknown
    common = said.keys() & meant.keys()
    lost, gained = meant.keys() - common, said.keys() - common
    shared = sum(weights[stem] for stem in common)
    apart = sum(weights[stem] for stem in lost) + sum(weights.get(stem, unknown) for stem in gained)
    similarity = 2 * shared / (2 * shared + apart) if shared else 0.0
    return Group(mine, theirs, similarity, lost, gained)


def _union(sheet: FactSheet, numbers: list[int]) -> Mapping[str, int]:
    if len(numbers) == 1:
        return sheet.sentences[numbers[0]].bag
    bag: dict[str, int] = {}
    for number in numbers:
        bag.update(sheet.sentences[number].bag)
    return bag
