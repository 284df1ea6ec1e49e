"""The fact sheet of a text: what a rewrite must neither change, nor lose, nor add, each with its place.

Numbers with unit and surroundings, dates, names, cues of logic (negation, modality, quantity, comparison, condition),
formulas and code, by sentence. It depends on the text alone: made once a source, it serves all of its rewrites.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .cues import ARTICLES, CLAUSE_WORDS, PHRASES
from .quantities import Date, Quantity, dates, quantities
from .sentences import sentences
from .words import DATE, NAME, NUMBER, SURE, TURN, Word, tokens


class Sentence(NamedTuple):
    """Characters, and tokens `low` to `high`, of one sentence; `stems`: of its words of content, in order; `bag`: the
    same with their counts."""

    start: int
    end: int
    low: int
    high: int
    stems: list[str]
    bag: dict[str, int]


class Name(NamedTuple):
    """A capitalised sequence, an acronym or a piece of code; `parts`: what it is compared by, a word each.

    A sentence's first word is none for its capital alone.
    """

    text: str
    parts: tuple[str, ...]
    kind: str
    sentence: int
    first: int
    last: int
    start: int
    end: int


class Cue(NamedTuple):
    """A word or phrase that the logic of its sentence turns on: `what` it is, by kind and class, and its `focus`, the
    stem that it bears upon, or ""."""

    what: tuple[str, str]
    focus: str
    sentence: int
    first: int
    start: int
    end: int


class FactSheet(NamedTuple):
    """All of it.

    Attributes:
        of_sentence: the sentence of each token.
        places: sentences of a source by what they say; of a rewrite, those of its source.
    """

    text: str
    words: list[Word]
    starts: list[int]
    ends: list[int]
    sentences: list[Sentence]
    of_sentence: list[int]
    numbers: list[Quantity]
    dates: list[Date]
    names: list[Name]
    cues: list[Cue]
    places: dict[str, int]

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
            kinds[cue.what[0]].append({"class": cue.what[1], "focus": cue.focus, "sentence": cue.sentence,
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
                      for one in self.names if one.kind != "code"],
            "negations": kinds["neg"], "modals": kinds["modal"], "quantifiers": kinds["quant"],
            "comparators": kinds["comp"], "conditions": kinds["cond"],
            "formulas": [{"text": one.text, "span": [one.start, one.end]} for one in code if _is_formula(one.text)],
            "code": [{"text": one.text, "span": [one.start, one.end]} for one in code if not _is_formula(one.text)],
        }  # fmt: skip


def fact_sheet(text: str, source: FactSheet | None = None) -> FactSheet:
    """Read a text. Of a rewrite, sentences that the source has too are not read again."""
    words: list[Word] = []
    starts: list[int] = []
    ends: list[int] = []
    of_sentence: list[int] = []
    found: list[Sentence] = []
    low = 0
    known = {} if source is None else source.places
    # What stands outside sentences are list marks, which say nothing.
    for number, (begin, end) in enumerate(sentences(text)):
        there = known.get(text[begin:end])
        if there is None or source is None:
            tokens(text, begin, end, words, starts, ends)
            high = len(words)
            stems = [word.stem for word in words[low:high] if word.content]
            found.append(Sentence(begin, end, low, high, stems, _bag(stems)))
        else:
            other = source.sentences[there]
            here, moved = slice(other.low, other.high), begin - other.start
            words += source.words[here]
            starts += [at + moved for at in source.starts[here]]
            ends += [at + moved for at in source.ends[here]]
            high = len(words)
            found.append(Sentence(begin, end, low, high, other.stems, other.bag))
        of_sentence += [number] * (high - low)
        low = high
    notable = [(at, word.may_be) for at, word in enumerate(words) if word.may_be]
    numbers = quantities([at for at, may_be in notable if may_be & NUMBER], words, starts, ends, text)
    when = dates([at for at, may_be in notable if may_be & DATE], words, starts, ends, text)
    if when:
        taken = {at for date in when for at in range(date.first, date.last + 1)}
        numbers = [one for one in numbers if one.first not in taken]
    names = _names([at for at, may_be in notable if may_be & NAME], words, starts, ends, found, of_sentence, text)
    cues = _cues([at for at, may_be in notable if may_be & TURN], words, starts, ends, found, of_sentence, text)
    places = {text[one.start : one.end]: number for number, one in enumerate(found)} if source is None else known
    return FactSheet(text, words, starts, ends, found, of_sentence, numbers, when, names, cues, places)


def _bag(stems: list[str]) -> dict[str, int]:
    bag = dict.fromkeys(stems, 1)
    if len(bag) < len(stems):
        for stem in bag:
            bag[stem] = stems.count(stem)
    return bag


def vocabulary(sheet: FactSheet) -> set[str]:
    """Stems and small spellings of all words."""
    different = set(sheet.words)
    return {word.stem for word in different}.union([word.lower for word in different])


def cues_by_sentence(sheet: FactSheet) -> dict[int, list[Cue]]:
    """Cues by the number of their sentence."""
    found: dict[int, list[Cue]] = {}
    for cue in sheet.cues:
        found.setdefault(cue.sentence, []).append(cue)
    return found


def names_by_sentence(sheet: FactSheet) -> dict[int, list[Name]]:
    """Names by the number of their sentence."""
    found: dict[int, list[Name]] = {}
    for name in sheet.names:
        found.setdefault(name.sentence, []).append(name)
    return found


def _is_formula(text: str) -> bool:
    return text.startswith(("$", "\\(", "\\["))


def _names(
    places: list[int], words: list[Word], starts: list[int], ends: list[int], found: list[Sentence],
    of_sentence: list[int], text: str,
) -> list[Name]:  # fmt: skip
    names: list[Name] = []
    firsts = {sentence.low for sentence in found}
    free, total = 0, len(words)
    for at in places:
        if at < free:
            continue
        word = words[at]
        if word.kind == "code":
            names.append(Name(word.text, (word.stem,), "code", of_sentence[at], at, at, starts[at], ends[at]))
            continue
        last = at
        while last + 1 < total and (follows := words[last + 1]).capital and follows.content and follows.kind == "word":
            if of_sentence[last + 1] != of_sentence[at] or text[ends[last] : starts[last + 1]] not in (" ", "\n", "-"):
                break
            last += 1
        free = last + 1
        if at in firsts and not word.may_be & SURE:
            if last == at:
                continue
            at += 1  # "Uses Python": of the two, the first owes its capital to its place
            word = words[at]
        parts = tuple([one.stem for one in words[at : last + 1]])
        kind = "acronym" if word.acronym and last == at else "name"
        names.append(Name(text[starts[at] : ends[last]], parts, kind, of_sentence[at], at, last,
                          starts[at], ends[last]))  # fmt: skip
    return names


def _cues(
    places: list[int], words: list[Word], starts: list[int], ends: list[int], found: list[Sentence],
    of_sentence: list[int], text: str,
) -> list[Cue]:  # fmt: skip
    cues: list[Cue] = []
    free = 0
    for at in places:
        if at < free:
            continue
        cue, last, high = words[at].cue, at, found[of_sentence[at]].high
        begun = PHRASES.get(words[at].lower)
        if begun is not None and at + 1 < high and (listed := begun.get(words[at + 1].lower)):
            for phrase, meant in listed:
                stop = at + len(phrase)
                if stop <= high and all(words[at + one].lower == part for one, part in enumerate(phrase)):
                    cue, last = meant, stop - 1
                    break
        if cue is not None and cue[0] != "none":
            focus = _focus(words, starts, ends, text, last + 1, high)
            cues.append(Cue(cue, focus, of_sentence[at], at, starts[at], ends[last]))
        free = last + 1
    return cues


def _focus(words: list[Word], starts: list[int], ends: list[int], text: str, at: int, high: int) -> str:
    """The stem of the next word of content, or number, from token `at` on within its clause."""
    for after in range(at, min(high, at + 5)):
        between = text[ends[after - 1] : starts[after]]
        if between != " " and any(mark in between for mark in ",;:("):
            return ""
        word = words[after]
        if word.content or word.kind == "number" or (word.value is not None and word.lower not in ARTICLES):
            return word.stem
        if word.lower in CLAUSE_WORDS:
            return ""
    return ""
