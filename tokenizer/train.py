"""Train a tokenizer: byte-level BPE over the pieces that the split rule cuts, on counts of pieces.

The result is a function of the multiset of texts: not of their order, nor of the number of threads. The library counts
pieces in a hash map, but merges by (count, ids of the pair), which are the same however the map is walked.

**Numbers.** From 8,192 ids on, every group of one to three digits is one token, whatever the texts hold: coordinates
then cost the same everywhere, and no number is cut at a place that chance has chosen. The 1,100 groups of two and three
digits are put in front of what is learned; the texts are learned from with every run of digits written `0`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

from .bpe import TokenizerError
from .special import NAMES, SPECIAL_COUNT, SPLIT_RULE, spelling

SMALLEST, LARGEST = 512, 163_840
"""512: the 256 bytes and the 256 special tokens. 163,840: Kimi K3's own size."""
DIGITS_FROM = 8192
"""Smaller vocabularies have no room for all groups of digits; they learn those that the texts hold."""

_DIGITS = re.compile("[0-9]+")
_GROUPS = [f"{number:0{width}}" for width in (2, 3) for number in range(10**width)]


def check_size(size: int) -> None:
    """Raise `TokenizerError` for a vocabulary size that we do not make."""
    if not SMALLEST <= size <= LARGEST:
        raise TokenizerError(f"a vocabulary of {size} ids: sizes are {SMALLEST} to {LARGEST}")


def train(texts: Iterable[str], size: int) -> bytes:
    """Train on texts and give the content of a `tokenizer.json`.

    Args:
        texts: what to learn from; read once.
        size: number of ids, the 256 special ones included.

    Raises:
        TokenizerError: a size out of range, no text, or text too small for so many ids.
    """
    check_size(size)
    groups = _GROUPS if size >= DIGITS_FROM else []
    learning = _Texts(texts, mask_digits=bool(groups))
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT_RULE), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - SPECIAL_COUNT - len(groups),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
        max_token_length=64,
    )
    library.train_from_iterator(learning, trainer)
    if learning.empty:
        raise TokenizerError("there is no text to train on")
    learned = library.get_vocab_size() + len(groups) + SPECIAL_COUNT
    if learned < size:
        raise TokenizerError(f"the text is too small for {size} ids: it gives {learned}; take more text or fewer ids")
    library = _with_groups(library, groups)
    library.add_special_tokens([AddedToken(spelling(name), special=True, normalized=False) for name in NAMES])
    return library.to_str(pretty=True).encode()


class _Texts:
    """The texts as they are learned from; knows afterwards whether there were any."""

    def __init__(self, texts: Iterable[str], mask_digits: bool):
        self.empty = True
        self._texts = texts
        self._mask = mask_digits

    def __iter__(self) -> Iterator[str]:
        for text in self._texts:
            self.empty = self.empty and not text
            yield _DIGITS.sub("0", text) if self._mask else text


def _with_groups(library: Library, groups: list[str]) -> Library:
    """The same tokenizer with these groups of digits between the bytes and what was learned."""
    if not groups:
        return library
    stored = json.loads(library.to_str())
    model = stored["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    model["vocab"] = {token: id for id, token in enumerate([*tokens[:256], *groups, *tokens[256:]])}
    # Either pair of a group of three may be merged first, so both ways lead to the whole.
    ways = [[group[:cut], group[cut:]] for group in groups for cut in range(1, len(group))]
    model["merges"] = ways + model["merges"]
    return Library.from_str(json.dumps(stored))
