"""Where in its source a free rewrite says what: word by word, whatever sentences they stand in.

Both texts are cut into clauses. Each word of content of the rewrite is anchored to that occurrence of its concept in
the source whose clause and sentence share most with its own, rare concepts counting more. The clauses of the source in
which the words of a clause are anchored are its region: what the clause may have been written from.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import log
from typing import NamedTuple

from .concepts import CONTRARY, concept
from .facts import FactSheet

OPENERS = frozenset(
    str.split(
        "if when whenever because since although though while whereas unless until which who whose where so but "
        "after before once provided except whether"
    )
)
_PARTING = re.compile(r"[,;:()|—–]|\.\s|\s-\s|\n")
_LEAST = 2  # words of content of a clause; a shorter one goes on
_SENTENCE = 0.5  # what a sentence's words count for against its clause's
_VOTES = 0.34  # share of a clause's anchors that a clause of the source must have to belong to its region


class Clauses(NamedTuple):
    """A text in clauses.

    Attributes:
        concepts: of each token, "" where it carries no content.
        clause: of each token.
        spans: the tokens of each clause, and its sentence.
        bags: the concepts of each clause; `sentence_bags`: of each sentence, with those of what it answers or stands
            under.
        parents: the sentence that each one answers or stands under, or −1.
    """

    concepts: list[str]
    clause: list[int]
    spans: list[tuple[int, int, int]]
    bags: list[frozenset[str]]
    sentence_bags: list[frozenset[str]]
    parents: list[int]


class Anchored(NamedTuple):
    """`anchors`: of each token of the text, the other's token that says the same, or −1; `regions`: of each clause of
    the text, the other's clauses that it says again, best first."""

    anchors: list[int]
    regions: list[list[int]]


@lru_cache(maxsize=1024)
def _number(value: float) -> str:
    return f"{value:.10g}"


def clauses(sheet: FactSheet) -> Clauses:
    """Cut a text into clauses."""
    concepts: list[str] = []
    for word in sheet.words:
        if word.content:
            concepts.append(concept(word.stem) if word.kind == "word" else word.stem)
        elif word.kind == "number":
            concepts.append(word.lower)
        elif word.value is not None and word.value != 1:
            concepts.append(_number(word.value))
        else:
            concepts.append("")
    clause = [0] * len(sheet.words)
    spans: list[tuple[int, int, int]] = []
    for number, sentence in enumerate(sheet.sentences):
        low, held = sentence.low, 0
        for at in range(sentence.low, sentence.high):
            if at > low and held >= _LEAST and (
                sheet.words[at].lower in OPENERS or _PARTING.search(sheet.text, sheet.ends[at - 1], sheet.starts[at])
            ):  # fmt: skip
                spans.append((low, at, number))
                low, held = at, 0
            held += concepts[at] != ""
            clause[at] = len(spans)
        if spans and held < 2 and low > sentence.low:  # its end belongs to what is before
            begin, _, _ = spans.pop()
            low = begin
            clause[low : sentence.high] = [len(spans)] * (sentence.high - low)
        spans.append((low, sentence.high, number))
    bags = [frozenset(concepts[low:high]) - {""} for low, high, _ in spans]
    parents = _parents(sheet)
    own = [frozenset(concepts[one.low : one.high]) - {""} for one in sheet.sentences]
    sentence_bags = [bag | own[parent] if parent >= 0 else bag for bag, parent in zip(own, parents, strict=True)]
    return Clauses(concepts, clause, spans, bags, sentence_bags, parents)


def _parents(sheet: FactSheet) -> list[int]:
    """The question that a sentence answers, the item that it stands under, or the head of its table."""
    found = [-1] * len(sheet.sentences)
    open_items: list[tuple[int, int]] = []
    question = head = -1
    for number, sentence in enumerate(sheet.sentences):
        line = sheet.text.rfind("\n", 0, sentence.start) + 1
        before = sheet.text[line : sentence.start]
        if before.strip() == "|":
            head = number if head < 0 else head
            found[number] = head if head != number else -1
            continue
        head = -1
        if sheet.text[sentence.end - 1] == "?":
            question = number
            continue
        if not before.strip(" -*+•\t0123456789.)"):
            depth = len(before) - len(before.lstrip()) if before.strip() else -1
            while open_items and depth <= open_items[-1][0]:
                open_items.pop()
            if depth >= 0:
                found[number] = open_items[-1][1] if open_items else -1
                open_items.append((depth, number))
        if found[number] < 0 <= question and number - question <= 3:
            found[number] = question
    return found


def anchored(mine: Clauses, theirs: Clauses, weights: dict[str, float]) -> Anchored:
    """Find the words of one text in another.

    Args:
        weights: of concepts, as `rarity` gives them.
    """
    places: dict[str, list[int]] = {}
    for at, name in enumerate(theirs.concepts):
        if name:
            places.setdefault(name, []).append(at)
    near = [[0.0] * len(theirs.spans) for _ in mine.spans]
    wide = [[sum([weights.get(one, 1.0) for one in bag & other]) for other in theirs.sentence_bags]
            for bag in mine.sentence_bags]  # fmt: skip
    slope = len(theirs.spans) / max(1, len(mine.spans))
    for number, (bag, (_, _, sentence)) in enumerate(zip(mine.bags, mine.spans, strict=True)):
        for there, (other, (_, _, its)) in enumerate(zip(theirs.bags, theirs.spans, strict=True)):
            shared = sum([weights.get(one, 1.0) for one in bag & other])
            near[number][there] = shared + _SENTENCE * wide[sentence][its] - 0.02 * abs(there - slope * number)
    anchors = [-1] * len(mine.concepts)
    votes: list[dict[int, float]] = [{} for _ in mine.spans]
    for at, name in enumerate(mine.concepts):
        own = mine.clause[at]
        # Where the other text has the contrary, it speaks of the same.
        found = places.get(name) or [there for other in CONTRARY.get(name, ()) for there in places.get(other, ())]
        if found:
            best = max(found, key=lambda there: near[own][theirs.clause[there]])
            anchors[at] = best if name in places else -1
            clause = theirs.clause[best]
            votes[own][clause] = votes[own].get(clause, 0.0) + weights.get(name, 1.0)
    regions = []
    for number, counted in enumerate(votes):
        if not counted:
            scores = near[number]
            counted = {max(range(len(scores)), key=scores.__getitem__): 1.0} if scores else {}
        floor = _VOTES * max(counted.values(), default=0.0)
        regions.append(sorted((one for one, vote in counted.items() if vote >= floor), key=lambda one: -counted[one]))
    return Anchored(anchors, regions)


def rarity(text: Clauses) -> dict[str, float]:
    """The weight of each concept of a text: higher where fewer sentences have it."""
    counts: dict[str, int] = {}
    for bag in text.sentence_bags:
        for name in bag:
            counts[name] = counts.get(name, 0) + 1
    total = max(1, len(text.sentence_bags))
    return {name: log(1 + total / count) for name, count in counts.items()}
