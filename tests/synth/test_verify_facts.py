"""Sentences and chunks by exact offsets, numbers and dates as values, names and cues of a fact sheet."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.synth.verify.facts import fact_sheet
from k3data.synth.verify.sentences import chunks, estimate, sentences


def _parts(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def test_abbreviations_decimals_initials_and_code_do_not_end_a_sentence():
    text = "See e.g. Fig. 3 by J. Smith et al. for 3.5 km. Version 3.11.2 calls `a.b. C` here. Is it so? Yes!"
    assert _parts(text) == [
        "See e.g. Fig. 3 by J. Smith et al. for 3.5 km.",
        "Version 3.11.2 calls `a.b. C` here.",
        "Is it so?",
        "Yes!",
    ]


def test_headings_items_and_fences_are_sentences_of_their_own():
    text = (
        "# A title\nFirst line\ngoes on.\n\n- one item\n- another. With two\n\n```python\nx = 1. \ny = 2\n```\nAfter."
    )
    assert _parts(text) == [
        "A title", "First line\ngoes on.", "one item", "another.", "With two", "```python\nx = 1. \ny = 2\n```",
        "After.",
    ]  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="ab. \n#-`$\"'A1!?*|", max_size=200))
def test_sentences_are_in_order_apart_and_leave_out_only_space_and_marks(text: str):
    place = 0
    left_out = ""
    for start, end in sentences(text):
        assert place <= start < end <= len(text)
        left_out += text[place:start]
        place = end
    assert not set(left_out + text[place:]) - set(" \n#-*|1.")


def test_chunks_hold_whole_sentences_near_the_target_and_respect_the_excerpt():
    text = " ".join(f"Sentence number {n} has just a few words in it." for n in range(400))
    found = list(chunks(text, target=60, excerpt=300))
    starts = {one.start for one in sentences(text)}
    assert all(one.start in starts and text[one.end - 1] == "." for one in found)
    sizes = [estimate(text[one.start : one.end]) for one in found]
    assert max(sizes) <= 75 and sum(size >= 50 for size in sizes) >= 0.75 * len(sizes)
    assert found[0].start == 0 and found[-1].end == len(text)
    for excerpt in {one.excerpt for one in found}:
        assert sum(estimate(text[one.start : one.end]) for one in found if one.excerpt == excerpt) <= 310
    with pytest.raises(ValueError, match="chunks of 500 tokens in excerpts of 100"):
        list(chunks(text, target=500, excerpt=100))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,200", "1.2 thousand"), ("1200", "twelve hundred"),
        ("twenty-one", "21"), ("a dozen", "12"), ("50 %", "half"),
        ("1 km", "1000 m"), ("3e5", "300,000"), ("3 × 10^5", "300 thousand"), ("5MB", "5 megabytes"),
        ("one hundred and five", "105"), ("2.5 million", "2500000"), ("90 minutes", "1.5 hours"), ("-4", "−4"),
    ],
)  # fmt: skip
def test_a_number_is_the_same_however_it_is_written(one: str, other: str):
    first, second = (fact_sheet(f"It is {text} here.").numbers[0].key for text in (one, other))
    assert first == second


def test_a_range_shares_its_unit_and_list_numbers_are_no_facts():
    sheet = fact_sheet("1. It takes 5 to 10 MB.\n2. Then 3–4 s pass.")
    assert [(one.value, one.unit) for one in sheet.numbers] == [(5, "MB"), (10, "MB"), (3, "s"), (4, "s")]


def test_dates_in_words_and_digits_agree_and_the_verb_may_is_none():
    sheet = fact_sheet("On 12 March 2004, or 2004-03-12, or March 12, 2004. It may 3 times fail. In May it ends.")
    assert [one[:3] for one in sheet.dates] == [(2004, 3, 12)] * 3 + [(0, 5, 0)]
    assert all(one.agrees(sheet.dates[0]) for one in sheet.dates[:3]) and not sheet.dates[3].agrees(sheet.dates[0])


def test_the_sheet_says_where_everything_stands():
    text = (
        "The NASA probe did not pass more than 3 km from Mars in all tests. "
        "Use `open()` only if $x < 1$ and it must stop."
    )
    stored = json.loads(json.dumps(fact_sheet(text).as_json()))
    for kind in stored.keys() - {"sentences", "dates"}:
        assert stored[kind], kind
        for one in stored[kind]:
            start, end = one["span"]
            assert text[start:end] == one.get("written", one.get("name", one.get("text")))
    assert stored["numbers"][0] == {
        "value": 3.0, "unit": "km", "written": "3 km", "context": ["pass", "mars", "probe", "tests"], "sentence": 0,
        "span": [38, 42],
    }  # fmt: skip
    assert [one["name"] for one in stored["names"]] == ["NASA", "Mars"]
