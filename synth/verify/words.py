"""From a text to tokens, and what is known of each word: its stem, whether it carries content, which cue it is.

Everything that depends on the spelling alone is worked out once a spelling and kept, so that a text costs one pass of a
regular expression and a look-up a token.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .cues import CUES, FUNCTION_WORDS, PHRASES
from .number_words import NUMBER_WORDS


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
    r"|(?P<code>`{3}.*?`{3}|`{1,2}[^`\s](?:[^`\n]{0,100}[^`\s])?`{1,2}|\$\$.+?\$\$|\$(?=[^\s\d])[^$\n]+?(?<!\s)\$|\\\(.+?\\\)|\\\[.+?\\\]"
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
_FORMS = (
    "was:be were:be is:be are:be been:be being:be am:be has:have had:have having:have does:do did:do done:do "
    "given:give gave:give taken:take took:take made:make found:find kept:keep held:hold left:leave began:begin "
    "begun:begin became:become wrote:write written:write ran:run saw:see seen:see went:go gone:go said:say "
    "sent:send built:build chose:choose chosen:choose got:get led:lead lost:lose met:meet paid:pay read:read "
    "told:tell thought:think understood:understand won:win broke:break broken:break known:know knew:know "
    "grew:grow grown:grow shown:show drawn:draw drew:draw rose:rise risen:rise fell:fall fallen:fall "
    "children:child men:man women:woman feet:foot indices:index matrices:matrix vertices:vertex axes:axis "
    "data:data criteria:criterion analyses:analysis bases:basis better:good best:good worse:bad worst:bad"
)
_IRREGULAR = dict(pair.split(":") for pair in _FORMS.split())
_DOUBLE = re.compile(r"([bdfgklmnprt])\1$")


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


def stem(word: str) -> str:
    """The common part of a word's inflected forms. Simple and steady rather than right: it is only compared."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if word.endswith("i"):
                return word[:-1] + "y"
            return _DOUBLE.sub(r"\1", word)
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    return _DOUBLE.sub(r"\1", word[:-1] if word.endswith("e") and len(word) > 4 else word)


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
