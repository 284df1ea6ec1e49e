"""The same texts give the same file; numbers have a token for each group of digits; bad requests are told."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest
from k3data.tests.tokenizer.texts import library_sources, small_tokenizer
from k3data.tokenizer import Tokenizer, TokenizerError
from k3data.tokenizer.report import coordinates, report
from k3data.tokenizer.train import DIGITS_FROM, train

_TRAIN = """
import sys
from k3data.tokenizer.train import train
from pathlib import Path
texts = [Path(name).read_text() for name in sys.argv[1:]]
sys.stdout.buffer.write(train(texts, 2048))
"""


def test_the_file_depends_on_neither_threads_nor_order_nor_process(tmp_path):
    texts, names = library_sources(25), []
    for number, text in enumerate(texts):
        names.append(tmp_path / f"{number}.txt")
        names[-1].write_text(text)
    digests = {hashlib.sha256(train(texts, 2048)).hexdigest()}
    for threads, order in (("1", names), ("2", names[::-1]), ("5", names)):
        environment = {
            **os.environ,
            "RAYON_NUM_THREADS": threads,
            "TOKENIZERS_PARALLELISM": str(threads != "1").lower(),
        }
        found = subprocess.run(
            [sys.executable, "-c", _TRAIN, *map(str, order)], env=environment, capture_output=True, check=True
        )
        digests.add(hashlib.sha256(found.stdout).hexdigest())
    assert len(digests) == 1


def test_every_group_of_digits_is_one_token_in_a_vocabulary_that_has_room():
    tokenizer = Tokenizer(train(library_sources(160), DIGITS_FROM))
    for width in (1, 2, 3):
        for ids in tokenizer.encode_batch([f"{number:0{width}}" for number in range(10**width)]):
            assert len(ids) == 1
    assert tokenizer.vocab_size == DIGITS_FROM
    costs = coordinates(tokenizer)
    assert costs["digit_group_share"] == 1.0
    assert costs["per_mille_tokens"] < 1.01  # 1000 alone takes two
    assert costs["normalised_tokens"] <= 4.0
    assert len(set(tokenizer.token_bytes[:-256])) == DIGITS_FROM - 256


def test_report_counts_what_it_says():
    tokenizer = small_tokenizer()
    found = report(tokenizer, {"code": ["def f(): pass\n", "x = 1"], "empty": []})
    assert found["code"]["bytes"] == 19 and found["code"]["words"] == 5 and found["code"]["texts"] == 2
    assert found["code"]["tokens"] == sum(len(tokenizer.encode(one)) for one in ("def f(): pass\n", "x = 1"))
    assert found["code"]["round_trip_failures"] == 0
    assert found["all"]["bytes"] == 19 and found["empty"]["tokens"] == 0


@pytest.mark.parametrize("size", [-1, 0, 511, 163_841])
def test_sizes_out_of_range_are_refused(size):
    with pytest.raises(TokenizerError, match="sizes are 512 to 163840"):
        train(["text"], size)


@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_no_text_is_refused(texts):
    with pytest.raises(TokenizerError, match="no text"):
        train(texts, 1024)


def test_too_little_text_says_how_many_ids_it_gives():
    with pytest.raises(TokenizerError, match=r"too small for 4096 ids: it gives \d+;"):
        train(["a b c"], 4096)


def test_the_smallest_tokenizer_is_bytes_alone():
    tokenizer = Tokenizer(train(["abc"], 512))
    assert tokenizer.decode(tokenizer.encode("abc é")) == "abc é"
    assert len(tokenizer.encode("abc")) == 3
