"""Units behind numbers: in text commands, as words, as single letters where nothing else can be meant, and as signs."""

from __future__ import annotations

from collections.abc import Callable

from sympy import Expr, Integer

from . import build
from .errors import Degenerate
from .lexer import Token
from .lexicon import wordlist
from .parse_structures import is_number_word
from .units import dimensions, noun, unit, unit_phrase

# Single letters that are units after a number and a space, where nothing but a unit can follow.
LETTER_UNITS = frozenset(wordlist("m s g h L l N J W V A C F K T B M"))


class Units:
    """Part of the parser; what it takes from there is declared here."""

    tokens: list[Token]
    at: int
    latex: bool
    marks: set[str]
    unit_one: bool
    unit_end: int
    peek: Callable[[], Token]
    next: Callable[[], Token]
    exponent: Callable[[], Expr]
    product: Callable[[], Expr]

    def compound(self, value: Expr) -> Expr:
        """5 feet 6 inches: the sum. Raises Degenerate where the second is of another kind than the first."""
        right = self.product()
        if dimensions(value) != dimensions(right):
            raise Degenerate("a number behind a unit")
        return build.add(value, right)

    def mark(self, sign: str, value: Expr) -> Expr:
        self.marks.add(sign)
        known = unit(sign)
        if known is None:
            raise Degenerate(f"{sign} is no unit")
        return value if self.unit_one else build.multiply(value, known)

    def unit_here(self) -> Expr | None:
        """The unit that comes next, read, after a number; None, with nothing read, where no unit comes."""
        token, before = self.peek(), self.tokens[self.at - 1]
        if before.kind not in ("num", "close", "text", "word", "sym") and before.text not in ("^", "%"):
            return None
        if token.kind == "text":
            found = unit_phrase(token.text) or noun(token.text)
            if found is not None and (before.kind != "sym" or unit_phrase(token.text) is not None):
                return self._unit(token.text, found, 1)
        if token.kind == "word" and (before.kind in ("num", "close", "cur") or is_number_word(before.text)):
            phrase = self._words_from(self.at)
            for count in range(min(len(phrase), 5), 0, -1):
                words = " ".join(one.text for one in phrase[:count])
                found = unit_phrase(words) or (noun(words) if count == len(phrase) == 1 else None)
                if found is not None:
                    return self._unit(words, found, count)
        if token.kind == "sym" and not self.latex and token.spaced and before.kind == "num":
            phrase = self._words_from(self.at)
            after = self.tokens[self.at + len(phrase)]
            ends = after.kind in ("end", "sep", "join", "rel") or after.text in ("/", "^")
            words = " ".join(one.text for one in phrase)
            if token.text in LETTER_UNITS and ends and (found := unit_phrase(words)) is not None:
                return self._unit(words, found, len(phrase))
        return None

    def _words_from(self, at: int) -> list[Token]:
        out: list[Token] = []
        while self.tokens[at].kind in ("word", "sym") and (not out or self.tokens[at].spaced):
            out.append(self.tokens[at])
            at += 1
        return out

    def _unit(self, words: str, value: Expr, count: int) -> Expr:
        self.at += count
        self.marks.add(words)
        power: Expr = Integer(1)
        if self.peek().text == "^":
            self.next()
            power = self.exponent()
            if (whole := unit_phrase(f"{words}^{power}")) is not None and power.is_Integer:
                value, power = whole, Integer(1)  # the power in `\\text{m/s}^2` is that of the last unit
        self.unit_end = self.at
        return Integer(1) if self.unit_one else build.power(value, power)

    def lone_unit(self) -> Expr | None:
        """The unit after a slash or a product sign that follows a unit, as in m/s."""
        token = self.peek()
        found = unit_phrase(token.text) if token.kind in ("sym", "word", "text") else None
        return None if found is None else self._unit(token.text, found, 1)
