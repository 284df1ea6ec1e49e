"""The 256 special tokens, which are the last 256 ids of every tokenizer, and the rule that splits text before merges.

The places within the block are Kimi K3's: its ids 163584 to 163839 are our `first .. first + 255`, so that a model and
a template written for the one fit the other. What the template does not use is reserved.
"""

from __future__ import annotations

SPECIAL_COUNT = 256
CHAT_TEMPLATE_VERSION = 1
"""Raised when the same conversation begins to give other ids; it is part of the tokenizer's digest."""

_PLACES = {
    "bos": 0,
    "eos": 1,
    "end_of_msg": 2,
    "open": 3,
    "close": 4,
    "sep": 5,
    "media_begin": 18,
    "media_content": 19,
    "media_end": 20,
    "media_pad": 21,
    "unk": 254,
    "pad": 255,
}
_BY_PLACE = {place: name for name, place in _PLACES.items()}

NAMES: tuple[str, ...] = tuple(_BY_PLACE.get(place, f"reserved_{place}") for place in range(SPECIAL_COUNT))
"""Names in the order of their ids."""

_LEAD = r"[^\r\n\p{L}\p{N}]?"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_CONTRACTION = r"(?i:'(?:s|t|re|ve|m|ll|d))?"

SPLIT_RULE = "|".join([
    r"\p{Han}+",                                        # a run of Han characters
    f"{_LEAD}{_UPPER}*{_LOWER}+{_CONTRACTION}",         # one non-letter at most, then a word: lower case after upper,
    f"{_LEAD}{_UPPER}+{_LOWER}*{_CONTRACTION}",         # or all upper; letters of scripts without case count as both
    r"\p{N}{1,3}",                                      # digits in groups of up to three, from the left
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",                       # a run of punctuation with the line end after it
    r"\s*[\r\n]+",                                      # line ends, with the blanks before them
    r"\s+(?!\S)",                                       # blanks, all but the one that a following word takes
    r"\s+",
])  # fmt: skip
"""No merge crosses the pieces that this expression (Oniguruma syntax) cuts text into."""


def spelling(name: str) -> str:
    """How a special token is written where people read it: `<|eos|>`."""
    return f"<|{name}|>"
