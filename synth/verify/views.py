"""A free rewrite and its source beside each other, seen from either side: what one clause says, and where the other
text says the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .align import Source
from .anchors import Anchored, Clauses, anchored, clauses, rarity
from .facts import FactSheet
from .words import Word

Span = tuple[int, int]


class View(NamedTuple):
    """One text read against the other.

    Attributes:
        sheet, parts: the text that is read, and its clauses; `other`, `others`: the text it is compared with.
        found: where the words and clauses of the first are in the second.
        of_source: the text that is read is the source: what it has is looked for in the rewrite.
    """

    sheet: FactSheet
    parts: Clauses
    other: FactSheet
    others: Clauses
    found: Anchored
    of_source: bool

    def numbers(self) -> Iterator[int]:
        """The clauses that say something: questions do not, nor do clauses that the other text has nothing of."""
        for clause, (low, high, sentence) in enumerate(self.parts.spans):
            asks = _asks(self.sheet, sentence)
            if low < high and self.found.regions[clause] and not asks:
                yield clause

    def words(self, clause: int) -> list[Word]:
        low, high, _ = self.parts.spans[clause]
        return self.sheet.words[low:high]

    def near(self, clause: int) -> list[Word]:
        """The words of the other text's clauses that say the same."""
        return [
            word for one in self.found.regions[clause]
            for word in self.other.words[slice(*self.others.spans[one][:2])]
        ]  # fmt: skip

    def around(self, clause: int) -> list[Word]:
        """The words of the sentences of these clauses, and of what those answer or stand under."""
        numbers = {self.others.spans[one][2] for one in self.found.regions[clause]}
        numbers |= {self.others.parents[number] for number in numbers} - {-1}
        for number in list(numbers):  # of a question, what it is answered first
            if _asks(self.other, number) and number + 1 < len(self.other.sentences):
                numbers.add(number + 1)
        found = []
        for number in sorted(numbers):
            sentence = self.other.sentences[number]
            found += self.other.words[sentence.low : sentence.high]
        return found

    def asked(self, clause: int) -> list[Word]:
        """The words of the questions that the sentences of these clauses answer, or of what answers them."""
        found = []
        for number in {self.others.spans[one][2] for one in self.found.regions[clause]}:
            answered, after = self.others.parents[number], min(number + 1, len(self.other.sentences) - 1)
            for asking, told in ((answered, answered), (number, after)):
                if asking >= 0 and _asks(self.other, asking):
                    found += self.other.words[slice(*self.other.sentences[told][2:4])]
        return found

    def first(self, clause: int) -> list[Word]:
        """The words of the other text's clause that says most of it."""
        low, high, _ = self.others.spans[self.found.regions[clause][0]]
        return self.other.words[low:high]

    def sentence(self, clause: int) -> list[Word]:
        """The words of the sentence that a clause is part of."""
        sentence = self.sheet.sentences[self.parts.spans[clause][2]]
        return self.sheet.words[sentence.low : sentence.high]

    def answers(self, clause: int, at: int) -> bool:
        """Whether the word at a place of a clause is the *No* that an answer begins with."""
        place = self.parts.spans[clause][0] + at
        if self.sheet.words[place].lower != "no" or place + 1 >= len(self.sheet.starts):
            return False
        return self.sheet.text[self.sheet.ends[place]] in ",.;"

    def place(self, clause: int) -> Span:
        """Where the rewrite says a clause: its first region, if the clause is the source's."""
        sheet, parts = (self.other, self.others) if self.of_source else (self.sheet, self.parts)
        low, high, sentence = parts.spans[self.found.regions[clause][0] if self.of_source else clause]
        if low == high:
            return sheet.sentences[sentence].start, sheet.sentences[sentence].end
        return sheet.starts[low], sheet.ends[high - 1]


def _asks(sheet: FactSheet, sentence: int) -> bool:
    """Whether a sentence is a question."""
    return sheet.text[sheet.sentences[sentence].end - 1] == "?"


def views(source: Source, rewrite: FactSheet) -> tuple[View, View]:
    """The rewrite read against its source, and the source against its rewrite."""
    if not source.parts:
        read = clauses(source.sheet)
        source.parts.append((read, rarity(read)))
    theirs, weights = source.parts[0]
    mine = clauses(rewrite)
    forth = anchored(mine, theirs, weights)
    back = anchored(theirs, mine, rarity(mine))
    sheet = source.sheet
    return View(rewrite, mine, sheet, theirs, forth, False), View(sheet, theirs, rewrite, mine, back, True)
