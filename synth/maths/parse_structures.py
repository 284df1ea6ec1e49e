"""The factors of a formula: numbers, letters, brackets, fractions, roots, functions, sums, integrals and limits."""

from __future__ import annotations

import re
from collections.abc import Callable

from sympy import Expr, Function, Integer, Rational, Symbol

from . import build
from .errors import Ambiguous, Degenerate
from .lexer import Token
from .lexicon import wordlist
from .parse_limits import Limits
from .units import unit
from .values import Value

_WORDS = {
    word: value
    for value, word in enumerate(
        wordlist(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen twenty"
        )
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# Letters that, before a bracket, are a function's name and not a factor.
_FUNCTION_NAMES = frozenset(wordlist("f g h F G H P phi varphi sigma mu psi Gamma zeta Phi Psi chi delta"))


class Structures(Limits):
    """Part of the parser; what it takes from there is declared here."""

    tokens: list[Token]
    at: int
    bars: int
    latex: bool
    variables: set[str]
    marks: set[str]
    unit_one: bool
    peek: Callable[[], Token]
    next: Callable[[], Token]
    expect: Callable[[str], None]
    sum: Callable[[], Expr]
    power: Callable[[], Expr]
    product: Callable[[], Expr]
    postfix: Callable[[Expr], Expr]
    relation: Callable[[], Value]
    _comma_inside: Callable[[int], bool]
    joined: Callable[[], Value]
    symbol: Callable[[str], Expr]
    starts_factor: Callable[[Token], bool]
    exponent: Callable[[], Expr]
    degree_sign: Callable[[], bool]
    signed: Callable[[Callable[[], Expr]], Expr]

    def primary(self) -> Expr:
        token = self.next()
        if token.kind == "num" and token.value is not None:
            return self._scaled(Rational(token.value.numerator, token.value.denominator))
        if token.kind == "sym":
            return self._letter(token)
        if token.kind == "func":
            return self._function(token.text)
        if token.kind == "open":
            return self._group(token)
        if token.kind == "bar" and token.text == "|":
            self.bars += 1
            value = self.sum()
            self.bars -= 1
            self.expect("|")
            return build.call("abs", [value])
        if token.kind == "cur":
            return self._currency(token)
        if token.kind == "cmd":
            return self._command(token)
        if token.kind == "text":
            if self.peek().text == "(":
                raise Ambiguous(f"{token.text}(…) is a product or a function's value")
            if not re.fullmatch(r"[^\W\d_][\w\s'’-]*", token.text):
                raise Degenerate(f"the words {token.text!r}")
            return Symbol(f"text {' '.join(token.text.split()).lower()}")
        if token.kind == "word":
            return self._word(token)
        raise Degenerate(f"{token.text!r} where a value belongs")

    # ---- small parts -----------------------------------------------------------------------------------------------

    def group(self) -> Expr:
        """An argument of a command: `{…}`, or the next factor."""
        if self.peek().text == "{":
            self.next()
            value = self.sum()
            self.expect("}")
            return value
        return self.primary()

    def group_text(self) -> str:
        """The signs of `{…}`, or of the next token, put together: an index, a name."""
        token = self.next()
        if token.text != "{":
            return token.text
        out = []
        while self.peek().text != "}":
            out.append(self.next().text)
        self.next()
        return "".join(out)

    def _group(self, token: Token) -> Expr:
        saved, self.bars = self.bars, 0
        value = self.sum()
        self.bars = saved
        closer = self.next()
        if {"(": ")", "[": "]", "{": "}", "⌊": "⌋", "⌈": "⌉"}.get(token.text) != closer.text:
            raise Degenerate(f"{token.text} closed by {closer.text}")
        if token.text in "⌊⌈":
            return build.call("floor" if token.text == "⌊" else "ceil", [value])
        return value

    def _scaled(self, value: Expr) -> Expr:
        """`1.2 million`"""
        while self.peek().kind == "word" and self.peek().text.lower() in _SCALES:
            value = value * _SCALES[self.next().text.lower()]
        return value

    def _letter(self, token: Token) -> Expr:
        name = token.text
        if name in ("a", "A") and self.peek().kind == "word" and self.peek().text.lower() in _SCALES:
            return self._number_words(self.next().text.lower())  # "a dozen"
        if self.peek().text == "_" and self.peek().kind == "op":
            self.next()
            name = f"{name}_{self.group_text()}"
        if self.peek().text == "′":
            raise Degenerate("a derivative")
        if self.peek().text == "(" and self._calls(token.text):
            self.next()
            arguments = [self.sum()]
            while self.peek().text == ",":
                self.next()
                arguments.append(self.sum())
            self.expect(")")
            return Function(name)(*arguments)
        return self.symbol(name)

    def _calls(self, letter: str) -> bool:
        """Whether a letter before a bracket is a function's name: φ(n), y(t), f(2x), d(a, b), but not n(n + 1).

        Raises Ambiguous for a(3), which is a product or a value of a function.
        """
        if letter in _FUNCTION_NAMES:
            return True
        if letter in ("π", "e", "i", "∞"):
            return False
        inside, closer = self.tokens[self.at + 1 : self.at + 3] if len(self.tokens) > self.at + 2 else (None, None)
        lone = inside is not None and closer is not None and closer.text == ")"
        if lone and inside is not None and inside.kind == "num" and len(letter) == 1:
            raise Ambiguous(f"{letter}({inside.text}) is a product or a function's value")
        return (lone and inside is not None and inside.kind in ("num", "sym")) or self._comma_inside(self.at)

    def _currency(self, token: Token) -> Expr:
        value = self.postfix(self.primary())
        known = unit(token.text)
        if known is None:
            raise Degenerate(f"the currency {token.text} is not known")
        self.marks.add(token.text)
        return value if self.unit_one else build.multiply(value, known)

    def _word(self, token: Token) -> Expr:
        """A number in words, or up to three letters that are factors; any other word has no place in a formula."""
        low = token.text.lower()
        if low in _WORDS or low in _SCALES:
            return self._number_words(low)
        if len(token.text) <= 3 and token.text.isalpha() and token.text.isascii() and token.text.islower():
            if low in _ENGLISH:
                raise Degenerate(f"the word {token.text!r}")
            value: Expr = Integer(1)
            for letter in token.text:
                value = build.multiply(value, self.symbol(letter))
            return value
        if token.text.isupper() and len(token.text) <= 3:
            return Symbol(token.text)  # a line or an angle by its points
        raise Degenerate(f"the word {token.text!r}")

    def _number_words(self, low: str) -> Expr:
        """`twenty-one`, `two hundred and five thousand`, `three`."""
        total, part = 0, 0
        while True:
            if low in _WORDS:
                if (part % 10 and part % 100 != 0) or (part % 100 and _WORDS[low] >= 10):
                    raise Degenerate("number words that do not follow on each other")
                part += _WORDS[low]
            else:
                part = max(part, 1) * _SCALES[low]
                if _SCALES[low] >= 1000:
                    total, part = total + part, 0
            at = self.at
            if self.peek().text in ("-", "and") and self.tokens[at + 1].text.lower() in _WORDS:
                at += 1
            if self.tokens[at].kind != "word" or self.tokens[at].text.lower() not in (_WORDS | _SCALES):
                return Integer(total + part)
            self.at = at + 1
            low = self.tokens[at].text.lower()

    def mixed(self, value: Expr, before: Token) -> Expr | None:
        """1 1/2 and 1\\frac{1}{2} as one and a half: read from the fraction on; None where it is not that.

        Raises Ambiguous for 3\\frac{4}{2}, whose fraction is not proper.
        """
        start = self.at
        if before.kind != "num" or before.value is None or before.value.denominator != 1 or before.places:
            return None
        if value != Integer(before.value.numerator):
            return None
        if self.peek().text == "frac":
            self.next()
            top, below = self.group(), self.group()
        else:
            top = self.primary()
            if self.peek().text != "/":
                self.at = start
                return None
            self.next()
            below = self.primary()
        if not (top.is_Integer and below.is_Integer and top.is_nonnegative and below.is_positive):
            self.at = start
            return None
        if top >= below:
            raise Ambiguous("a number before an improper fraction")
        return value + build.divide(top, below)

    # ---- functions and commands ------------------------------------------------------------------------------------

    def _function(self, name: str) -> Expr:
        exponent = base = None
        while self.peek().kind == "op" and self.peek().text in ("^", "_"):
            if self.next().text == "^":
                exponent = self.exponent()
            elif name == "log":
                base = self.group()
            else:
                raise Degenerate(f"an index of {name}")
        if exponent == -1:
            name, exponent = build.inverse(name), None
        arguments = self._arguments(name)
        if base is not None:
            if len(arguments) != 1:
                raise Degenerate("log of several values")
            value = build.log(arguments[0], base)
        else:
            value = build.call(name, arguments)
        return value if exponent is None else build.power(value, exponent)

    def _arguments(self, name: str) -> list[Expr]:
        token = self.peek()
        if token.kind == "open" and token.text in ("(", "[", "{", "\\{"):
            self.next()
            saved, self.bars = self.bars, 0
            arguments = [self.sum()]
            while self.peek().kind == "sep":
                self.next()
                arguments.append(self.sum())
            self.bars = saved
            self.expect({"(": ")", "[": "]", "{": "}", "\\{": "\\}"}[token.text])
            return arguments
        if name in ("max", "min", "gcd", "lcm"):
            raise Degenerate(f"{name} without brackets")
        if name in ("sqrt", "cbrt"):
            return [self.primary()]
        return [self._juxtaposed()]

    def _juxtaposed(self) -> Expr:
        """sin 2x takes 2x, sin x cos x takes x."""
        value = self.signed(self.power)
        while self.starts_factor(self.peek()) and self.peek().kind in ("num", "sym", "cmd"):
            before = self.tokens[self.at - 1]
            if self.peek().text in ("sum", "prod", "int", "lim") or self.peek().kind == before.kind == "num":
                raise Ambiguous("where the argument of a function ends")
            value = build.multiply(value, self.power())
        return value

    def _command(self, token: Token) -> Expr:
        name = token.text
        if name == "frac":
            return build.divide(self.group(), self.group())
        if name == "binom":
            return build.binomial(self.group(), self.group())
        if name == "sqrt":
            if self.peek().text == "[":
                self.next()
                degree = self.sum()
                self.expect("]")
                return build.root(degree, self.group())
            return build.power(self.group(), Rational(1, 2))
        if name in ("sum", "prod"):
            return self._summed(name)
        if name == "int":
            return self._integral()
        if name == "lim":
            return self._limit()
        if name in ("bar", "hat", "vec", "tilde", "overline", "underline", "mathcal", "mathscr", "mathfrak", "widehat"):
            return Symbol(f"{name} {self.group_text()}")
        raise Degenerate(f"\\{name} has no meaning here")

    def boxed(self) -> Value:
        self.next()
        self.expect("{")
        value = self.joined()
        self.expect("}")
        return value

    def modulus(self, ops: list[str]) -> Expr | None:
        """The n of `(mod n)` behind a congruence. Raises Degenerate for ≡ without it, or it without ≡."""
        token = self.peek()
        value = None
        if token.text == "pmod":
            self.next()
            value = self.group()
        elif token.text == "(" and self.tokens[self.at + 1].text == "mod":
            self.at += 2
            value = self.sum()
            self.expect(")")
        if (value is None) == ("≡" in ops):
            raise Degenerate("≡ and (mod n) belong together")
        return value


def is_number_word(word: str) -> bool:
    """Whether it is `three`, `dozen` and the like."""
    return word.lower() in _WORDS or word.lower() in _SCALES


# Short words that are English and never a product of letters.
_ENGLISH = frozenset(
    wordlist(
        "the is it if in on of to so we be by he at as or and an am for not no yes was are its let can any all has had "
        "may set so now get but per via pm who why how you our out use two one new end too via"
    )
)
