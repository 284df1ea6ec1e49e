"""From a text to tokens, and what is known of each word: its stem, whether it carries content, which cue it is.

Everything that depends on the spelling alone is worked out once a spelling and kept, so that a text costs one pass of a
regular expression and a look-up a token.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .cues import CUES, FUNCTION_WORDS, PHRASES
from .number_words import NUMBER_WORDS
from .stems import stem


class Word(NamedTuple):
    """What the spelling of a token tells.

    Attributes:
        kind: `word`, `number`, `code` (identifiers, code spans, formulas, addresses) or `mark` (operators).
        stem: what inflected forms have in common; of code, the spelling without call brackets.
        content: neither a function word nor a mark.
        cue: (kind, class) if it may say something of polarity, modality, quantity, comparison or condition.
        capital: begins with a capital letter.
        acronym: two to five letters, at least two of them capitals; longer words in capitals are emphasis.
        value: of a number word.
        turns: it is a cue, or a phrase that is one may begin with it.
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
    turns: bool


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


WORDS = _Known("word")
KNOWN = {"plain": WORDS} | {
    kind: WORDS if kind == "word" else _Known(kind) for kind in ("code", "number", "word", "mark")
}


def _describe(text: str, kind: str) -> Word:
    lower = text.lower().replace("’", "'").replace("‐", "-").replace("‑", "-")
    if kind == "code":
        bare = text.strip("`$").strip()
        bare = bare[:-2] if bare.endswith("()") else bare
        return Word(text, lower, kind, bare.lower(), True, None, False, False, None, False)
    if kind == "number":
        return Word(text, lower, kind, lower, False, None, False, False, None, False)
    if kind == "mark":
        return Word(text, lower, kind, lower, False, CUES.get(lower), False, False, None, lower in CUES)
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
    return Word(text, lower, kind, stem(bare), content, cue, text[0].isupper(), acronym, value,
                cue is not None or lower in PHRASES)  # fmt: skip
