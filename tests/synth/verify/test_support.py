"""Short sentences that kept few of their words of content, sentences that were joined, and long foreign texts."""

from __future__ import annotations

import time

from k3data.synth.verify.verify import verify

SOURCE = (
    "The client asks the server for a page. Otherwise, it will return the field name. The page is kept in a cache "
    "until the server says that it has changed. Returns download error if any. The cache holds pages of all users."
)


def codes(old: str, new: str) -> set[str]:
    assert old in SOURCE
    return set(verify(SOURCE, SOURCE.replace(old, new), "edit").codes)


def test_short_sentences_are_told_by_all_of_their_words():
    assert not codes("it will return the field name", "it will give back the field title")
    assert not codes("Returns download error if any.", "Yields download fault if any.")


def test_short_foreign_sentences_are_not_excused():
    kept = "Returns download error if any."
    assert "unsupported" in codes(kept, f"Birds sleep in trees. {kept}")
    assert "uncovered" in codes(" Returns download error if any.", "")


def test_joined_sentences_refer_to_nothing_new():
    assert not codes("for a page. Otherwise, it", "for a page; otherwise, it")
    assert "coref" in codes("The page is kept", "The server is kept")


def test_a_long_foreign_text_costs_little():
    text = " ".join(f"Word{at} sleeps near tree{at} and river{at}." for at in range(2000))
    begun = time.process_time()
    assert "unsupported" in verify(SOURCE, text, "edit").codes
    assert time.process_time() - begun < 5
