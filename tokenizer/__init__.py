"""Text and pictures as token ids: byte-level BPE, special tokens, the chat template, and the image grid.

Imports nothing of the other folders, so that a machine that only trains needs numpy and `tokenizers` here and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bpe import Tokenizer, TokenizerError

__all__ = ["Tokenizer", "TokenizerError"]


def __getattr__(name: str) -> Any:
    # The image grid is arithmetic: whoever imports it alone does not wait for the tokenizer library.
    if name in __all__:
        from . import bpe

        return getattr(bpe, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
