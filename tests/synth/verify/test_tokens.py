"""Reading run by run, and sentences once for source and rewrite, gives what reading all of a text gives."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.synth.verify.edits import rewritten
from k3data.synth.verify.facts import fact_sheet
from k3data.synth.verify.words import TOKEN, Word, tokens

# What makes tokens longer than a run, or several of one.
PIECES = st.sampled_from(
    ["`a b`", "`", "``", "```", "$", "$x$", "\\(", "\\)", "5", " x 10", "x10^", "×", "1,200", "-3", "1.23-10-10", "%",
     "v1.2.3", "foo_bar()", "it's", "e.g.", "--flag", "https://a.org/b?c=1", "2011-03-04", "(", "),", ". ", "\n", "\t",
     "  ", "\u00a0", "é", "‑", "word", "Name"]
)  # fmt: skip
TEXT = (
    "Each of the 12 probes sends `read data` to the Orion server. The server must answer within 5 x 10^3 ms, or the "
    "probe stops. On 3 March 2011 the server was moved to Bergen; it costs $5 a day. No probe was lost."
)


def read(text: str) -> list[tuple[Word, int, int]]:
    words: list[Word] = []
    starts: list[int] = []
    ends: list[int] = []
    tokens(text, 0, len(text), words, starts, ends)
    return list(zip(words, starts, ends, strict=True))


@settings(deadline=None, max_examples=400)
@given(st.lists(st.one_of(PIECES, st.just(" "), st.text(max_size=3)), max_size=25).map("".join))
def test_tokens_of_runs_are_those_of_the_whole_text(text: str):
    assert [(word.text, start, end) for word, start, end in read(text)] == [
        (match[0], *match.span()) for match in TOKEN.finditer(text)
    ]


def test_sentences_of_the_source_are_read_once():
    source = fact_sheet(TEXT)
    for seed in range(5):
        text = rewritten(TEXT, random.Random(seed), ("reordered", "synonyms", "connectives"))
        alone, shared = fact_sheet(text), fact_sheet(text, source)
        assert shared._replace(places={}) == alone._replace(places={})
        assert shared.text != source.text


def test_numbers_with_hyphens_behind_them_are_no_dates():
    assert [one.value for one in fact_sheet("Version 1.23-10-10 came.").numbers] == [1.23, 10.0, 10.0]


def test_phrases_end_with_their_sentence():
    told = fact_sheet("The pump stops after. All valves open. It stops after all.")
    assert [cue.what for cue in told.cues] == [("comp", "up"), ("quant", "all")]
