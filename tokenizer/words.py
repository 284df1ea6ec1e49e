"""Words in token ids: where words stand in a tokenised text, without decoding the text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from .bpe import Tokenizer


class Words:
    """Finds words by the ids they are spelled with: at the start of a line or after a blank, as given, in lower case or
    capitalised. A word after another sign (a quote, a bracket) may begin with other ids and is not found: good enough
    for ranking, not for proving absence."""

    def __init__(self, tokenizer: Tokenizer):
        self._tokenizer = tokenizer
        self._spellings = lru_cache(maxsize=4096)(self._spell)

    def _spell(self, word: str) -> tuple[np.ndarray, ...]:
        forms = dict.fromkeys((word, word.lower(), word.capitalize()))
        return tuple(self._tokenizer.encode_batch([lead + form for form in forms for lead in (" ", "")]))

    def candidates(self, tokens: np.ndarray, words: Iterable[str]) -> np.ndarray:
        """Positions, int64 [n], at which one of the words may begin: one pass for all of them."""
        first = np.zeros(self._tokenizer.vocab_size, bool)
        for word in words:
            first[[ids[0] for ids in self._spellings(word)]] = True
        return np.flatnonzero(first[tokens])

    def find(self, tokens: np.ndarray, word: str, candidates: np.ndarray) -> np.ndarray:
        """Positions, int64 [n], of the first token of each occurrence in `tokens`, uint32 [T], among `candidates`."""
        found = []
        begins = tokens[candidates]
        for ids in self._spellings(word):
            at = candidates[begins == ids[0]]
            at = at[at <= len(tokens) - len(ids)]
            for place, one in enumerate(ids[1:], start=1):
                at = at[tokens[at + place] == one]
            found.append(at)
        return np.unique(np.concatenate(found))
