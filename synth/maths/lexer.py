"""Signs of a formula, from LaTeX, Unicode or plain text. Every character becomes part of a token or is known layout.

Layout (spaces, `\\left`, `\\quad`, `\\displaystyle`, …) is a closed list; a command that is not known is an error, for
a parser that skips what it does not know reads another formula than the author wrote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from .errors import Ambiguous, Degenerate, TooLarge
from .lexicon import wordlist

MAX_CHARS = 4000
MAX_DIGITS = 2000


@dataclass(frozen=True, slots=True)
class Token:
    """kind: num sym word text func op rel open close bar sep cmd set join cur end."""

    kind: str
    text: str
    start: int
    stop: int
    spaced: bool = False  # white space stands before it
    value: Fraction | None = None
    places: int | None = None  # digits after the point, of a number without an exponent


_LAYOUT = frozenset(
    wordlist(
        "left right big Big bigg Bigg bigl bigr Bigl Bigr displaystyle textstyle limits nolimits quad qquad "
        ", ; : ! thinspace enspace middle nonumber strut mathstrut"
    )
)
FUNCTIONS = frozenset(
    wordlist(
        "sin cos tan cot sec csc arcsin arccos arctan asin acos atan sinh cosh tanh exp ln log lg max min gcd lcm "
        "floor ceil ceiling abs sqrt cbrt"
    )
)
GREEK = frozenset(
    wordlist(
        "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau "
        "upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell hbar"
    )
)
_COMMANDS = {
    "cdot": "op *", "times": "op *", "ast": "op *", "div": "op /", "pm": "op ±", "mp": "op ∓", "le": "rel ≤",
    "leq": "rel ≤", "leqslant": "rel ≤", "ge": "rel ≥", "geq": "rel ≥", "geqslant": "rel ≥", "lt": "rel <",
    "gt": "rel >", "ne": "rel ≠", "neq": "rel ≠", "approx": "rel ≈", "simeq": "rel ≈", "equiv": "rel ≡", "in": "rel ∈",
    "coloneqq": "rel :=", "implies": "join ⇒", "Rightarrow": "join ⇒", "iff": "join ⇔", "Leftrightarrow": "join ⇔",
    "Longrightarrow": "join ⇒", "land": "join and", "wedge": "join and", "lor": "join or", "vee": "join or",
    "cup": "set ∪", "cap": "set ∩", "setminus": "set ∖", "emptyset": "set ∅", "varnothing": "set ∅",
    "infty": "sym ∞", "pi": "sym π", "lbrace": "open \\{", "rbrace": "close \\}", "{": "open \\{", "}": "close \\}",
    "lvert": "bar |", "rvert": "bar |", "vert": "bar |", "mid": "bar |", "lfloor": "open ⌊", "rfloor": "close ⌋",
    "lceil": "open ⌈", "rceil": "close ⌉", "%": "op %", "degree": "op °", "$": "cur $", "to": "op →",
    "rightarrow": "op →", "bmod": "op mod", "mod": "op mod", "lbrack": "open [", "rbrack": "close ]", "|": "bar ‖",
    "colon": "op :", "ldots": "op …", "dots": "op …", "cdots": "op …", "circ": "op ∘", "prime": "op ′",
    "#": "op #", "partial": "sym ∂", "mathbb": "cmd mathbb", "pounds": "cur £", "euro": "cur €", "Re": "func re",
    "Im": "func im", "dotsc": "op …", "arg": "func arg",
}  # fmt: skip
_STRUCTURES = frozenset(
    wordlist(
        "frac dfrac tfrac cfrac sqrt binom dbinom tbinom sum prod int lim boxed overline bar hat vec tilde dot pmod "
        "underline mathcal mathscr mathfrak widehat fbox"
    )
)
_TEXT = frozenset(wordlist("text mathrm textbf textit textrm mbox operatorname mathbf mathit rm bm boldsymbol mathsf"))
_SIGNS = {
    "·": "op *", "×": "op *", "∗": "op *", "⋅": "op *", "÷": "op /", "−": "op -", "–": "op -", "⁄": "op /", "±": "op ±",
    "∓": "op ∓", "≤": "rel ≤", "≥": "rel ≥", "≠": "rel ≠", "≈": "rel ≈", "≡": "rel ≡", "∈": "rel ∈", "<": "rel <",
    ">": "rel >", "=": "rel =", "∪": "set ∪", "∩": "set ∩", "∖": "set ∖", "∅": "set ∅", "∞": "sym ∞", "π": "sym π",
    "√": "func sqrt", "∛": "func cbrt", "°": "op °", "%": "op %", "€": "cur €", "£": "cur £", "¥": "cur ¥",
    "$": "cur $", "₹": "cur ₹", "+": "op +", "-": "op -", "*": "op *", "/": "op /", "^": "op ^", "_": "op _",
    "!": "op !", "'": "op ′", "′": "op ′", "(": "open (", ")": "close )", "[": "open [", "]": "close ]",
    "{": "open {", "}": "close }", "|": "bar |", ",": "sep ,", ";": "sep ;", ":": "op :", "⌊": "open ⌊",
    "⌋": "close ⌋", "⌈": "open ⌈", "⌉": "close ⌉", "ℝ": "set R", "ℤ": "set Z", "ℕ": "set N", "ℚ": "set Q",
    "⇒": "join ⇒", "⇔": "join ⇔", "∧": "join and", "∨": "join or", "→": "op →", "…": "op …", "¢": "word cent",
    "℃": "word °C", "℉": "word °F", "∘": "op ∘", "∂": "sym ∂",
}  # fmt: skip
_TWO = {"**": "op ^", "<=": "rel ≤", ">=": "rel ≥", "!=": "rel ≠", ":=": "rel :=", "==": "rel =", "~=": "rel ≈",
        "=>": "join ⇒", "->": "op →", "+-": "op ±"}  # fmt: skip
_SUPERSCRIPTS = {mark: str(digit) for digit, mark in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {"⁻": "-", "ⁿ": "n"}
_FRACTIONS = {"½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅛": (1, 8), "⅜": (3, 8)}
_NUMBER = re.compile(
    r"(?:\d{1,3}(?:(?:\{,\}|\\,)\d{3})+(?!\d)|\d{1,3}(?:,\d{3})+(?![\d,])|\d+)(?:\.\d+)?(?:[eE][+-]?\d+(?![\w.]))?"
    r"|\.\d+(?:[eE][+-]?\d+)?"
)
_REPEATING = re.compile(r"\\overline\s*\{(\d+)\}|\\bar\s*\{(\d+)\}|\\dot\s*\{(\d)\}|\((\d+)\)(?=\s*$)")
_COMMAND = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+")
_OPENERS = {"(", "[", "\\{"}


def is_latex(text: str) -> bool:
    """Whether braces in the text group, as in LaTeX, and do not write a set."""
    return "\\" in text or "^{" in text or "_{" in text


def tokens(text: str, shift: int = 0) -> list[Token]:
    """The signs of `text`, ending with one of kind `end`. Offsets are moved by `shift`.

    Raises:
        Degenerate: a sign that is not known.
        Ambiguous: `1,200` inside brackets, which is a number or two.
        TooLarge: more than 4,000 characters, or a number of more than 2,000 digits.
    """
    if len(text) > MAX_CHARS:
        raise TooLarge(f"a formula of {len(text)} characters")
    return _Lexer(text, shift).run()


class _Lexer:
    def __init__(self, text: str, shift: int) -> None:
        self.text, self.shift, self.at = text, shift, 0
        self.out: list[Token] = []
        self.depth = 0
        self.spaced = False
        self.latex = is_latex(text)

    def run(self) -> list[Token]:
        while self.at < len(self.text):
            self.step()
        self.add("end", "", 0)
        return self.out

    def add(self, kind: str, text: str, length: int, value: Fraction | None = None, places: int | None = None) -> None:
        start = self.at + self.shift
        if kind == "open" and text in _OPENERS:
            self.depth += 1
        elif kind == "close" and text != "}":
            self.depth -= 1
        self.out.append(Token(kind, text, start, start + length, self.spaced, value, places))
        self.spaced = False
        self.at += length

    def step(self) -> None:
        text, at = self.text, self.at
        char = text[at]
        if char.isspace() or char in "~&\u200b":
            self.spaced = True
            self.at += 1
        elif char.isdecimal() or (char == "." and text[at + 1 : at + 2].isdecimal()):
            self.number()
        elif text.startswith("...", at):
            self.add("op", "…", 3)
        elif text[at : at + 2] in _TWO:
            self.add(*_split(_TWO[text[at : at + 2]]), 2)
        elif char == "\\":
            self.command()
        elif char in _FRACTIONS:
            self.add("num", char, 1, Fraction(*_FRACTIONS[char]))
        elif char in _SUPERSCRIPTS:
            self.superscript()
        elif char == "°" and (found := re.compile(r"°\s?[CF]\b").match(text, at)):
            self.add("word", "°" + found[0][-1], len(found[0]))
        elif char in _SIGNS:
            self.add(*_split(_SIGNS[char]), 1)
        elif found := _WORD.match(text, at):
            self.word(found[0])
        else:
            raise Degenerate(f"unknown sign {char!r}")

    def number(self) -> None:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            raise Degenerate(f"unknown digit {self.text[self.at]!r}")
        written = found[0]
        before = self.out[-1] if self.out else None
        if (before and before.kind == "cmd" and before.text in ("frac", "binom")) or self._second_of_frac():
            written = written[0]  # \frac12 is one half
        if "," in written.replace("{,}", "") and "\\," not in written and self.depth > 0:
            raise Ambiguous(f"{written} inside brackets is a number or several")
        plain = re.sub(r"\{,\}|\\,|,", "", written)
        mantissa, _, exponent = plain.lower().partition("e")
        exponent = exponent or "0"
        if len(plain) > MAX_DIGITS or abs(int(exponent)) > MAX_DIGITS:
            raise TooLarge("a number of thousands of digits")
        value = Fraction(mantissa) * Fraction(10) ** int(exponent)
        places = len(mantissa.partition(".")[2]) if exponent == "0" else None
        length = len(written)
        if "." in self.text[self.at : self.at + length + 1] and (
            again := _REPEATING.match(
                self.text, self.at + length + (self.text[self.at + length : self.at + length + 1] == ".")
            )
        ):
            digits = next(one for one in again.groups() if one)
            decimals = len(mantissa.partition(".")[2])
            value += Fraction(int(digits), (10 ** len(digits) - 1) * 10**decimals)
            length, places = again.end() - self.at, None
        self.add("num", written, length, value, places)

    def _second_of_frac(self) -> bool:
        """Whether the digit just read was the first argument of `\\frac`, without braces."""
        last = self.out[-2:]
        return len(last) == 2 and last[0].kind == "cmd" and last[0].text == "frac" and last[1].kind == "num"

    def superscript(self) -> None:
        end = self.at
        while end < len(self.text) and self.text[end] in _SUPERSCRIPTS:
            end += 1
        inner = "".join(_SUPERSCRIPTS[mark] for mark in self.text[self.at : end])
        length = end - self.at
        self.add("op", "^", 0)
        self.add("open", "{", 0)
        for part in re.findall(r"\d+|-|n", inner):
            kind = "num" if part.isdecimal() else "op" if part == "-" else "sym"
            self.add(kind, part, 0, Fraction(part) if kind == "num" else None)
        self.at += length
        self.add("close", "}", 0)

    def command(self) -> None:
        found = _COMMAND.match(self.text, self.at)
        if found is None:
            raise Degenerate("a lone backslash at the end")
        name, length = found[1], len(found[0])
        if name in _LAYOUT or name.isspace():
            if name in ("left", "right", "middle") and self.text[self.at + length : self.at + length + 1] == ".":
                length += 1
            self.at += length
            self.spaced = True
        elif name in _TEXT:
            self.words(length)
        elif name in _STRUCTURES:
            self.add("cmd", {"dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom",
                             "fbox": "boxed"}.get(name, name), length)  # fmt: skip
        elif name in _COMMANDS:
            self.add(*_split(_COMMANDS[name]), length)
        elif name in FUNCTIONS and name not in ("sqrt",):
            self.add("func", name, length)
        elif name in GREEK:
            self.add("sym", name, length)
        else:
            raise Degenerate(f"unknown command \\{name}")

    def words(self, length: int) -> None:
        """`\\text{…}` and its relatives: a function's name, a joining word, a letter, or words."""
        found = re.compile(r"\s*(?:\{([^{}]*)\}|([A-Za-z]))").match(self.text, self.at + length)
        if found is None:
            raise Degenerate("text command without its braces")
        inner = (found[1] if found[1] is not None else found[2]).replace("~", " ")
        words, length = inner.strip(), found.end() - self.at
        if not words:
            self.at += length
            self.spaced = True
        elif words.lower() in ("or", "and"):
            self.add("join", words.lower(), length)
        elif words in FUNCTIONS and words != "min":
            self.add("func", words, length)
        elif _NUMBER.fullmatch(words) and "," not in words:
            self.add("num", words, length, Fraction(words), len(words.partition(".")[2]))
        else:
            self.add("text", words, length)

    def word(self, word: str) -> None:
        low = word.lower()
        if len(word) == 1:
            self.add("sym", {"µ": "mu"}.get(word, word), 1)
        elif low in ("or", "and"):
            self.add("join", low, len(word))
        elif low == "mod":
            self.add("op", "mod", len(word))
        elif low in FUNCTIONS and not (low == "min" and not self.text[self.at + 3 :].lstrip().startswith("(")):
            self.add("func", low, len(word))
        elif word == "pi" or low in ("infinity", "inf"):
            self.add("sym", "π" if word == "pi" else "∞", len(word))
        elif low in ("union", "u") and word != "u":
            self.add("set", "∪", len(word))
        elif low in GREEK:
            self.add("sym", word, len(word))
        else:
            self.add("word", word, len(word))


def _split(kind_and_text: str) -> tuple[str, str]:
    kind, _, text = kind_and_text.partition(" ")
    return kind, text
