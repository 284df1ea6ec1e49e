"""Any text at all: no rewrite raises, invents a number, or loses a formula or a code span; all end soon."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.synth.rewrite.styles import STYLES, rewrite
from k3data.tests.synth.rewrite.passages import KNOWLEDGE, MATHS

_NUMBER = re.compile(r"\d+")
_KEPT = re.compile(r"\$\$.+?\$\$|\$[^$\n`]+\$|`[^`\n$]+`", re.DOTALL)
_MARK = re.compile(r"^ *\d+\. ", re.MULTILINE)
_WHOLE = ("encyclopedic", "textbook", "notes", "learning_note", "worked_example", "proof_outline")

_SENTENCES = re.split(r"(?<=\.)\s+", KNOWLEDGE.replace("\n", " ") + MATHS.replace("\n\n", " "))
_PIECES = st.one_of(
    st.sampled_from(_SENTENCES),
    st.sampled_from(
        ["`a_b(3)`", "$x = 1 = 2$", "$$y_1 = 3$$", "However, 7 rows are kept.", "- an item", "1. one", "# Heading",
        "|a|b|",
         "```\ncode 5\n```", "\n\n", "It is 3.5 % of 2 MB.", "If it is 4, they're 5; so 6.", "“quoted 8”", "(see 9)",
         "You can use `f` to call 10.", "Returns the A of B.",
         "The formats are as follows: plain text, tables of rows, and 3 kinds of trees.",
         "It includes rows, keys and 2 `x`."]
    ),
    st.text(max_size=30),
)  # fmt: skip


@settings(max_examples=250, deadline=None)
@given(st.lists(_PIECES, min_size=1, max_size=12).map(" ".join), st.sampled_from(sorted(STYLES)), st.integers(0, 9))
def test_any_text(source: str, style: str, seed: int) -> None:
    text = rewrite(source, style, seed)
    if text is None:
        return
    assert text.strip()
    spelled = str.split("zero one two three four five six seven eight nine ten eleven twelve")
    said = _NUMBER.findall(_MARK.sub("", text).replace(",", ""))
    plain = source.replace(",", "")
    assert set(said) <= set(_NUMBER.findall(plain)) | {str(spelled.index(w)) for w in spelled if w in plain.lower()}
    if style in _WHOLE:
        spans = _KEPT.findall(re.sub(r"```.*?```", "", source, flags=re.DOTALL))
        assert all(one in text for one in spans if source.count(one[0]) % 2 == 0)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "source",
    [
        "", " \n\n ", "a", "\x00\x01\x02binary\xff" * 40, "�" * 300, "```\ndef f(x):\n    return x\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |\n" * 5, "Это предложение написано по-русски. " * 12, "日本語の文章です。" * 40,
        "the " * 2500, "If " * 900 + "x.", "𗀀 The script of the masks is refused. " * 6, "((((" * 500, "$" * 999,
        "`" * 999,
        "0 1 2 3 4 5 6 7 8 9 " * 60,
    ],
)  # fmt: skip
def test_bad_input_gives_nothing_or_a_text(source: str, style: str) -> None:
    text = rewrite(source, style, 1)
    assert text is None or text.strip()


@pytest.mark.parametrize(
    "unit", ["a", "The row is kept if the table is small. ", "((a", "$a = b$ ", "If the x, ", "\n"]
)
def test_a_megabyte_ends_soon(unit: str) -> None:
    source = unit * (1_000_000 // len(unit))
    begun = time.process_time()
    for style in STYLES:
        rewrite(source, style, 1)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    "unit", ["a ", "The row is kept if the table is small, and it is sorted. ", "(a (b ", "x = 1 ", "`a"]
)
def test_the_longest_text_that_is_read_ends_soon(unit: str) -> None:
    source = (unit * 12_000)[:12_000]
    begun = time.process_time()
    for style in STYLES:
        rewrite(source, style, 1)
    assert time.process_time() - begun < 5
