"""Labelled rewrites are stored without passages of their sources, and come back character for character."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from k3data.synth.bench import verify_free, verify_real
from k3data.synth.bench.verify_labelled import joined, labelled, pieces, with_texts

FILES = (verify_real.LABELS, verify_real.HAND, verify_free.LABELS)
IN_A_ROW = 8
SOURCE = "The cache keeps each page for one hour, and drops it\n\nafter that. A page that is asked for again stays."


@given(st.lists(st.sampled_from([*SOURCE.split(), "Others", "wait,", "\n\n", "  "])), st.sampled_from([" ", "\n"]))
def test_pieces_give_back_the_text(words, between):
    text = between.join(words)
    assert joined(pieces(text, SOURCE), SOURCE) == text


def test_four_words_of_the_source_are_a_span_and_three_are_not():
    assert pieces("Note: keeps each page, gone.", SOURCE) == ("Note: keeps each page, gone.",)
    assert pieces("It keeps each page for one hour!", SOURCE) == ("It ", (10, 38), "!")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_stored_string_holds_eight_words_in_a_row_of_its_source(path: Path):
    rows = [row for row in with_texts(path) if row is not None]
    if len(rows) < len(labelled(path)) / 2:
        pytest.skip("the packages differ from those that were labelled")
    for row, source, _ in rows:
        theirs = f" {' '.join(_words(source))} "
        for piece in row.pieces:
            words = _words(piece) if isinstance(piece, str) else []
            for at in range(len(words) - IN_A_ROW + 1):
                assert f" {' '.join(words[at : at + IN_A_ROW])} " not in theirs, (row.package, row.file, piece)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
