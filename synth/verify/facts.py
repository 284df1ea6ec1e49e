"""The fact sheet of a text: what a rewrite must neither change, nor lose, nor add, each with its place.

Numbers with unit and surroundings, dates, names, cues of logic (negation, modality, quantity, comparison, condition),
formulas and code, by sentence. It depends on the text alone: made once a source, it serves all of its rewrites.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from .cues import ARTICLES, CLAUSE_WORDS, PHRASES
from .number_words import UNITS
from .quantities import Date, Quantity, dates, quantities
from .sentences import Span, sentences
from .words import KNOWN, TOKEN, Word


class Sentence(NamedTuple):
    """Characters, and tokens `low` to `high`, of one sentence; `bag`: its stems of content with their counts."""

    start: int
    end: int
    low: int
    high: int
    bag: dict[str, int]


class Name(NamedTuple):
    """A capitalised sequence, an acronym or a piece of code; `parts`: what it is compared by, a word each.

    `sure` is false of a sentence's first word, whose capital means nothing by itself.
    """

    text: str
    parts: tuple[str, ...]
    kind: str
    sure: bool
    sentence: int
    first: int
    last: int
    start: int
    end: int


class Cue(NamedTuple):
    """A word or phrase that the logic of its sentence turns on; `focus`: the stem that it bears upon, or ""."""

    kind: str
    group: str
    focus: str
    sentence: int
    first: int
    start: int
    end: int


class FactSheet(NamedTuple):
    """All of it. `vocabulary`: stems and small spellings of all words; `of_sentence`: the sentence of each token."""

    text: str
    words: list[Word]
    starts: list[int]
    ends: list[int]
    sentences: list[Sentence]
    of_sentence: list[int]
    vocabulary: frozenset[str]
    numbers: list[Quantity]
    dates: list[Date]
    names: list[Name]
    cues: list[Cue]

    def context(self, number: Quantity, reach: int = 4) -> list[str]:
        """Content words around a number, nearest first, of its own sentence."""
        sentence = self.sentences[self.of_sentence[number.first]]
        near = sorted(
            range(max(sentence.low, number.first - 2 * reach), min(sentence.high, number.last + 2 * reach)),
            key=lambda at: min(abs(at - number.first), abs(at - number.last)),
        )
        own = range(number.start, number.end)  # the unit, too, is no surrounding
        return [self.words[at].lower for at in near if self.words[at].content and self.starts[at] not in own][:reach]

    def as_json(self) -> dict[str, Any]:
        """What is stored with a chunk, for people and other programs."""
        kinds: dict[str, list[dict[str, Any]]] = {kind: [] for kind in ("neg", "modal", "quant", "comp", "cond")}
        for cue in self.cues:
            kinds[cue.kind].append({"class": cue.group, "focus": cue.focus, "sentence": cue.sentence,
                                    "written": self.text[cue.start : cue.end], "span": [cue.start,
                                    cue.end]})  # fmt: skip
        code = [one for one in self.names if one.kind == "code"]
        return {
            "sentences": [[one.start, one.end] for one in self.sentences],
            "numbers": [
                {"value": one.value, "unit": one.unit, "written": self.text[one.start : one.end],
                 "context": self.context(one), "sentence": self.of_sentence[one.first], "span": [one.start, one.end]}
                for one in self.numbers
            ],
            "dates": [{"date": list(one[:3]), "written": self.text[one.start : one.end], "span": [one.start, one.end]}
                      for one in self.dates],
            "names": [{"name": one.text, "kind": one.kind, "sentence": one.sentence, "span": [one.start, one.end]}
                      for one in self.names if one.kind != "code" and one.sure],
            "negations": kinds["neg"], "modals": kinds["modal"], "quantifiers": kinds["quant"],
            "comparators": kinds["comp"], "conditions": kinds["cond"],
            "formulas": [{"text": one.text, "span": [one.start, one.end]} for one in code if _is_formula(one.text)],
            "code": [{"text": one.text, "span": [one.start, one.end]} for one in code if not _is_formula(one.text)],
        }  # fmt: skip


def fact_sheet(text: str) -> FactSheet:
    """Read a text."""
    spans = sentences(text)
    words, starts, ends, of_sentence = _tokens(text, spans)
    found = _by_sentence(spans, words, of_sentence)
    numbers = quantities(words, starts, ends, text)
    when = dates(words, starts, ends, text) if numbers or any(word.capital for word in words) else []
    if when:
        taken = {at for date in when for at in range(date.first, date.last + 1)}
        numbers = [one for one in numbers if one.first not in taken]
    vocabulary = {word.stem for word in words}
    vocabulary.update(word.lower for word in words)
    names = _names(words, starts, ends, found, of_sentence, text)
    cues = _cues(words, starts, ends, found, of_sentence, text)
    return FactSheet(text, words, starts, ends, found, of_sentence, frozenset(vocabulary), numbers, when, names, cues)


@lru_cache(maxsize=65_536)
def cached_fact_sheet(text: str) -> FactSheet:
    """The same, remembered: for sources, which several rewrites share."""
    return fact_sheet(text)


def cues_by_sentence(sheet: FactSheet) -> dict[int, list[Cue]]:
    """Cues by the number of their sentence."""
    found: dict[int, list[Cue]] = {}
    for cue in sheet.cues:
        found.setdefault(cue.sentence, []).append(cue)
    return found


def names_by_sentence(sheet: FactSheet) -> dict[int, list[Name]]:
    """Names that surely are names, by the number of their sentence."""
    found: dict[int, list[Name]] = {}
    for name in sheet.names:
        if name.sure:
            found.setdefault(name.sentence, []).append(name)
    return found


def _is_formula(text: str) -> bool:
    return text.startswith(("$", "\\(", "\\["))


def _tokens(text: str, spans: list[Span]) -> tuple[list[Word], list[int], list[int], list[int]]:
    """Words, their places and sentences. What stands outside sentences are list marks, which say nothing."""
    words: list[Word] = []
    starts: list[int] = []
    ends: list[int] = []
    of_sentence: list[int] = []
    for number, (begin, end) in enumerate(spans):
        matches = list(TOKEN.finditer(text, begin, end))
        words += [KNOWN[match.lastgroup or ""][match[0]] for match in matches]
        starts += [match.start() for match in matches]
        ends += [match.end() for match in matches]
        of_sentence += [number] * len(matches)
    return words, starts, ends, of_sentence


def _by_sentence(spans: list[Span], words: list[Word], of_sentence: list[int]) -> list[Sentence]:
    found, low = [], 0
    for number, span in enumerate(spans):
        high = low
        bag: dict[str, int] = {}
        while high < len(words) and of_sentence[high] == number:
            word = words[high]
            if word.content:
                bag[word.stem] = bag.get(word.stem, 0) + 1
            high += 1
        found.append(Sentence(span.start, span.end, low, high, bag))
        low = high
    return found


def _names(
    words: list[Word], starts: list[int], ends: list[int], found: list[Sentence], of_sentence: list[int], text: str
) -> list[Name]:
    names: list[Name] = []
    firsts = {sentence.low for sentence in found}
    at, total = 0, len(words)
    while at < total:
        word = words[at]
        if word.kind == "code":
            names.append(Name(word.text, (word.stem,), "code", True, of_sentence[at], at, at, starts[at], ends[at]))
            at += 1
            continue
        if not word.capital or not word.content or word.kind != "word" or len(word.text) < 2 or word.text in UNITS:
            at += 1
            continue
        last = at
        while last + 1 < total and _goes_on(words[last + 1]) and of_sentence[last + 1] == of_sentence[at]:
            if text[ends[last] : starts[last + 1]] not in (" ", "\n", "-"):
                break
            last += 1
        mixed = any(char.isupper() for char in word.text[1:])  # McCarthy, NumPy: no common word
        sure = at not in firsts or word.acronym or mixed
        if not sure and last > at:
            at, sure = at + 1, True  # "Uses Python": of the two, the first owes its capital to its place
            word = words[at]
        parts = tuple(words[one].stem for one in range(at, last + 1))
        kind = "acronym" if word.acronym and last == at else "name"
        names.append(Name(text[starts[at] : ends[last]], parts, kind, sure, of_sentence[at], at, last,
                          starts[at], ends[last]))  # fmt: skip
        at = last + 1
    return names


def _goes_on(word: Word) -> bool:
    """Whether a name may go on with this word."""
    return word.capital and word.content and word.kind == "word"


def _cues(
    words: list[Word], starts: list[int], ends: list[int], found: list[Sentence], of_sentence: list[int], text: str
) -> list[Cue]:
    cues: list[Cue] = []
    total, free = len(words), 0
    for at in [at for at, word in enumerate(words) if word.turns]:
        if at < free:
            continue
        cue, last = words[at].cue, at
        for phrase, meant in PHRASES.get(words[at].lower, ()):
            stop = at + len(phrase)
            if (
                stop <= total
                and words[at + 1].lower == phrase[1]
                and [word.lower for word in words[at:stop]] == list(phrase)
            ):
                cue, last = meant, stop - 1
                break
        if cue is not None and cue[0] != "none":
            number = of_sentence[at]
            focus = _focus(words, last + 1, _clause(text, starts, ends, last, found[number].high))
            cues.append(Cue(*cue, focus, number, at, starts[at], ends[last]))
        free = last + 1
    return cues


def _clause(text: str, starts: list[int], ends: list[int], at: int, high: int) -> int:
    """The token behind the clause that goes on after token `at`; a few tokens further on does for its end."""
    for after in range(at + 1, min(high, at + 6)):
        between = text[ends[after - 1] : starts[after]]
        if between != " " and any(mark in between for mark in ",;:("):
            return after
    return high


def _focus(words: list[Word], at: int, high: int) -> str:
    """The stem of the next word of content, or number, of the clause."""
    for word in words[at : min(high, at + 5)]:
        if word.content or word.kind == "number" or (word.value is not None and word.lower not in ARTICLES):
            return word.stem
        if word.lower in CLAUSE_WORDS:
            return ""
    return ""
