"""Train a tokenizer: byte-level BPE over the pieces that the split rule cuts, on counts of pieces.

The result is a function of the multiset of texts: not of their order, nor of the number of threads. The library counts
pieces in a hash map, but merges by (count, ids of the pair), which are the same however the map is walked.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

from .bpe import TokenizerError
from .special import NAMES, SPECIAL_COUNT, SPLIT_RULE, spelling

SMALLEST, LARGEST = 512, 163_840
"""512: the 256 bytes and the 256 special tokens. 163,840: Kimi K3's own size."""


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
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT_RULE), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - SPECIAL_COUNT,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
        max_token_length=64,
    )
    empty = True

    def counted() -> Iterable[str]:
        nonlocal empty
        for text in texts:
            empty = empty and not text
            yield text

    library.train_from_iterator(counted(), trainer)
    if empty:
        raise TokenizerError("there is no text to train on")
    learned = library.get_vocab_size()
    if learned < size - SPECIAL_COUNT:
        raise TokenizerError(
            f"the text is too small for {size} ids: it gives {learned + SPECIAL_COUNT}; take more text or fewer ids"
        )
    library.add_special_tokens([AddedToken(spelling(name), special=True, normalized=False) for name in NAMES])
    return library.to_str(pretty=True).encode()
