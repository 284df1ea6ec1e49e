"""Fixtures of the curriculum's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from k3data.tests.curriculum.packed import make_output
from k3data.tests.curriculum.texts import sources
from k3data.tokenizer import Tokenizer
from k3data.tokenizer.train import train


@pytest.fixture(scope="session")
def tokenizer_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "tokenizer.json").write_bytes(train(sources(), 2048))
    return folder


@pytest.fixture(scope="session")
def tokenizer(tokenizer_folder) -> Tokenizer:
    return Tokenizer.load(tokenizer_folder)


@pytest.fixture(scope="session")
def packed_out(tmp_path_factory, tokenizer_folder) -> Path:
    """An output with two packed stages, `short` of 512 tokens and `long` of 2,048."""
    return make_output(tmp_path_factory.mktemp("packed"), tokenizer_folder)
