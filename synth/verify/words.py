"""From a text to tokens, and what is known of each word: its stem, whether it carries content, which cue it is.

Everything that depends on the spelling alone is worked out once a spelling and kept: what a word is, and which tokens a
run of characters between blanks falls into. A text so costs a look-up a run; only sentences with tokens that blanks may
stand in (code spans of several words, formulas, powers of ten) are read by the regular expression each time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .cues import CUES, FUNCTION_WORDS, PHRASES
from .number_words import MONTHS, NUMBER_WORDS, UNITS
from .stems import stem

# What a token may be the beginning of. Most tokens are none of it, and cost no further look. A name is `SURE` that owes
# its capitals to no place in a sentence: code, acronyms, `McCarthy`.
NAME, TURN, NUMBER, DATE, SURE = 1, 2, 4, 8, 16


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """What the spelling of a token tells.

    Attributes:
        kind: `word`, `number`, `code` (identifiers, code spans, formulas, addresses) or `mark` (operators).
        stem: what inflected forms have in common; of code, the spelling without call brackets.
        content: neither a function word nor a mark.
        cue: (kind, class) if it may say something of polarity, modality, quantity, comparison or condition.
        capital: begins with a capital letter.
        acronym: two to five letters, at least two of them capitals; longer words in capitals are emphasis.
        value: of a number word.
        ordered: what it counts as where the order of words is compared: the stem of a word of content, the spelling of
            a number or a comparison; else "".
        may_be: of `NAME`, `TURN` (a cue, or a phrase that is one), `NUMBER` and `DATE`, those that may begin with it.
    """

    text: str
    lower: str
    kind: str
    stem: str
    content: bool
    cue: tuple[str, str] | None
    capital: bool
    acronym: bool
    value: float | None
    ordered: str
    may_be: int


TOKEN = re.compile(
    r"(?P<plain>[^\W\d_]+(?=[\s,;)!?]|\.(?:\s|$)))"  # nine of ten words, found first for speed
    r"|(?P<code>`{3}.*?`{3}|`{1,2}[^`\s](?:[^`\n]{0,100}[^`\s])?`{1,2}|\$\$.+?\$\$|(?<![\w$])\$(?=[^\s\d\"'])[^$\n]+?(?<!\s)\$|\\\(.+?\\\)|\\\[.+?\\\]"
    r"|(?:https?|ftp)://[^\s<>\"')\]]+"
    r"|(?!e\.g|i\.e|a\.m|p\.m|U\.S)[A-Za-z_]\w*(?:[.:]{1,2}[A-Za-z_]\w*)+(?:\(\))?|[A-Za-z_]\w*\(\)|(?=[A-Za-z]*_|[A-Za-z]+\d+_)\w*[A-Za-z]\w*"
    r"|v?\d+(?:\.\d+){2,}|--[a-z][\w-]+)"
    r"|(?P<number>(?:(?<![\w)\]%])[-−+](?=\d))?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
    r"(?:[eE][-+−]?\d+|\s?[×x]\s?10\s?\^?\s?[-−]?\d+)?(?:(?:st|nd|rd|th)\b)?)"
    r"|(?P<word>[^\W\d_]\w*(?:['’.\-‐‑](?=[^\W_])\w+)*)"
    r"|(?P<mark>[<>]=?|[≤≥≠±=%°€£$¥µ])",
    re.DOTALL,
)
_KEPT = 200_000  # spellings, after which all are forgotten: a text of random letters must not fill the memory


class _Known(dict[str, Word]):
    """Words by spelling and kind, made when first asked for."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __missing__(self, text: str) -> Word:
        if len(self) >= _KEPT:
            self.clear()
        word = self[text] = _describe(text, self.kind)
        return word


Several = tuple[tuple[tuple[Word, int, int], ...], bool]
"""The tokens of a run of characters without blanks, with start and end within it; and whether a token may go on behind
the blank."""


class _Pieces(dict[str, Word | Several]):
    """Runs by spelling: one token and nothing else, or several; made when first asked for."""

    def __missing__(self, text: str) -> Word | Several:
        if len(self) >= _KEPT:
            self.clear()
        piece = self[text] = _piece(text)
        return piece


WORDS = _Known("word")
KNOWN = {"plain": WORDS} | {
    kind: WORDS if kind == "word" else _Known(kind) for kind in ("code", "number", "word", "mark")
}
PIECES = _Pieces()
_OPEN = re.compile(r"[$\\×]|```|(?:^|\d)x(?:10\^?)?$|^x10")


def _piece(text: str) -> Word | Several:
    found = [(KNOWN[one.lastgroup or ""][one[0]], one.start(), one.end()) for one in TOKEN.finditer(text)]
    within = sum(word.text.count("`") for word, _, _ in found if word.kind == "code")
    unclosed = _OPEN.search(text) is not None or text.count("`") != within
    if not unclosed and len(found) == 1 and found[0][0].text == text:
        return found[0][0]
    return tuple(found), unclosed


def tokens(text: str, begin: int, end: int, words: list[Word], starts: list[int], ends: list[int]) -> None:
    """Add the tokens of characters begin to end of a text, with their places."""
    pieces, find = PIECES, text.find
    first, at = len(words), begin
    sentence = text[begin:end]
    # One blank between all runs, as nearly always: then places follow from lengths.
    single = sentence.isascii() and sentence.isprintable() and "  " not in sentence and sentence[:1] != " "
    for run in sentence.split():
        if not single:
            at = find(run, at)
        piece = pieces[run]
        if piece.__class__ is Word:
            words.append(piece)  # type: ignore[arg-type]  # mypy knows no such test
            starts.append(at)
            at += len(run)
            ends.append(at)
            at += 1
            continue
        several, unclosed = piece  # type: ignore[misc]
        if unclosed:
            break
        for word, low, high in several:
            words.append(word)
            starts.append(at + low)
            ends.append(at + high)
        at += len(run) + 1
    else:
        return
    del words[first:], starts[first:], ends[first:]
    for match in TOKEN.finditer(text, begin, end):
        words.append(KNOWN[match.lastgroup or ""][match[0]])
        starts.append(match.start())
        ends.append(match.end())


def _describe(text: str, kind: str) -> Word:
    lower = text.lower().replace("’", "'").replace("‐", "-").replace("‑", "-")
    if kind == "code":
        bare = text.strip("`$").strip()
        bare = bare[:-2] if bare.endswith("()") else bare
        return Word(text, lower, kind, bare.lower(), True, None, False, False, None, bare.lower(), NAME | SURE)
    if kind == "number":
        year = len(lower) == 4 and lower.isdecimal()
        return Word(text, lower, kind, lower, False, None, False, False, None, lower, NUMBER | DATE * year)
    if kind == "mark":
        cue = CUES.get(lower)
        compares = cue is not None and cue[0] == "comp"
        ordered, turn = lower * compares, TURN * (cue is not None)
        return Word(text, lower, kind, lower, False, cue, False, False, None, ordered, turn)
    bare = lower[:-2] if lower.endswith("'s") else lower
    letters = text.replace(".", "")
    acronym = (
        1 < len(letters) < 6 and sum(map(str.isupper, letters)) >= 2 and letters[0].isupper() and letters.isalnum()
    )
    cue = CUES.get(lower) or (("neg", "not") if lower.endswith("n't") else None)
    value = NUMBER_WORDS.get(lower)
    if value is None and "-" in lower:
        tens, _, ones = lower.partition("-")
        if NUMBER_WORDS.get(tens, 0) in range(20, 100, 10) and 0 < NUMBER_WORDS.get(ones, 0) < 10:
            value = NUMBER_WORDS[tens] + NUMBER_WORDS[ones]
    content = bare not in FUNCTION_WORDS and cue is None and value is None and not lower.endswith("n't")
    capital = text[0].isupper()
    may_be = NAME * (capital and content and len(text) > 1 and text not in UNITS)
    may_be |= SURE * (acronym or (any(map(str.isupper, text[1:])) and not text.isupper()))
    may_be |= TURN * (cue is not None or lower in PHRASES)
    may_be |= NUMBER * (value is not None) | DATE * (capital and lower in MONTHS)
    ordered = stem(bare) if content else lower if value is not None or (cue is not None and cue[0] == "comp") else ""
    return Word(text, lower, kind, stem(bare), content, cue, capital, acronym, value, ordered, may_be)
