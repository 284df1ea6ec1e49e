"""A small tokenizer of real text, trained once for all tests of this folder."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from k3data.tokenizer import Tokenizer
from k3data.tokenizer.train import train


def library_sources(count: int) -> list[str]:
    """The first sources of Python's standard library, in the order of their names."""
    return [path.read_text() for path in sorted(Path(os.__file__).parent.glob("*.py"))[:count]]


@functools.cache
def small_tokenizer(size: int = 2048) -> Tokenizer:
    return Tokenizer(train(library_sources(40), size))
