"""Code, formulas, addresses, quotations and asides, each hidden behind one letter while rules work on other words.

The letters are taken from the Tangut script, which counts as letters for patterns and has no capitals, so that what is
hidden behaves as a noun. A rule may move such a letter and cannot touch what it stands for.
"""

from __future__ import annotations

import re

FIRST, ASIDES, LAST = 0x17000, 0x18000, 0x187F7
HIDDEN = f"[{chr(FIRST)}-{chr(LAST)}]"
"""Pattern of a letter that stands for something."""

_HIDDEN = re.compile(HIDDEN)
_KEPT = re.compile(
    r"`{3}.*?`{3}"
    r"|\$\$.+?\$\$|\\\[.+?\\\]|\\\(.+?\\\)"
    r"|\\begin\{(?P<name>[a-z]+\*?)\}.*?\\end\{(?P=name)\}"
    r"|``[^`\n]+``(?:\(\))?|`[^`\n]+`"
    r"|(?<![\w$\\])\$(?=[^\s$])[^$\n]*[^\s$\\]\$(?!\d)"
    r"|(?:https?|ftp)://[^\s<>\"')\]]*[^\s<>\"')\].,;:]"
    r"|\"[^\"\n]{1,120}\"|“[^”\n]{1,120}”|(?<!\w)'[^'\n]{1,60}'(?!\w)"
    r"|\[[^\[\]\n]{1,60}\]"
    r"|--[a-z][\w-]+|\b(?:True|False|NaN|NULL)\b"
    r"|(?<![\w.])[\w.]*\w\([^()\n]{0,60}\)"  # calls
    r"|(?<![\w.])[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+(?![\w.]*\.[a-z])"
    r"|(?<!\w)\w*[a-zA-Z0-9]_\w*|(?<!\w)_\w+"
    r"|(?<![\w.])~?/?(?:[\w.-]+/){1,8}[\w.-]*\w"
    r"|(?<!\w)[A-Za-z_]\w* ?[=<>]=? ?[^\s,;]*[^\s,;.]",
    re.DOTALL,
)
_ASIDE = re.compile(r"\((?:[^()\n]|\([^()\n]{0,80}\)){1,240}\)")
_ABBREVIATED = frozenset({"e.g", "i.e", "a.m", "p.m", "U.S"})


class Mask:
    """What was hidden in a text, by letter. `text` is the text without it."""

    def __init__(self, text: str) -> None:
        self._found: dict[str, str] = {}
        self._asides = 0
        self.text = _ASIDE.sub(self._aside, _KEPT.sub(self._hide, text))

    def show(self, text: str) -> str:
        """The text with everything that is hidden in it back in its place; asides may hold hidden things themselves."""
        for _ in range(3):
            if not _HIDDEN.search(text):
                break
            text = _HIDDEN.sub(lambda one: self._found.get(one[0], one[0]), text)
        return text

    def shown(self, letter: str) -> str:
        """What one letter stands for."""
        return self.show(letter)

    def _hide(self, one: re.Match[str]) -> str:
        number = len(self._found) - self._asides
        if one[0] in _ABBREVIATED or FIRST + number >= ASIDES:
            return one[0]
        letter = chr(FIRST + number)
        self._found[letter] = one[0]
        return letter

    def _aside(self, one: re.Match[str]) -> str:
        if ASIDES + self._asides > LAST:
            return one[0]
        letter = chr(ASIDES + self._asides)
        self._asides += 1
        self._found[letter] = one[0]
        return letter


def is_aside(letter: str) -> bool:
    """Whether a letter stands for words in brackets, which are no noun."""
    return letter >= chr(ASIDES)


def has_masks(text: str) -> bool:
    """Whether a text holds letters of the script that masks are made of."""
    return _HIDDEN.search(text) is not None
