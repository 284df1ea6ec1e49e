"""Free wording: what ordinary English exchanges passes, one word that says something else does not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from k3data.synth.bench import verify_free
from k3data.synth.bench.verify_labelled import labelled
from k3data.synth.verify.align import read_source
from k3data.synth.verify.facts import fact_sheet
from k3data.synth.verify.rules import rules_for
from k3data.synth.verify.verify import verify
from k3data.synth.verify.views import views

SOURCE = (
    "The cache keeps every page that a client reads in memory for 20 minutes. If the memory is full, the "
    "oldest page is removed. A page that is not in memory must be fetched from the remote server before it "
    "can be shown. `open_page` never changes the local copy, and most clients use it only for reading. Errors "
    "may occur unless the connection is encrypted; they are written to the log rather than raised."
)
FAITHFUL = (
    "How long do pages stay in memory? 20 minutes, and this holds of every page a client reads.\n\n"
    "What if the memory has no room left? Then the cache gives up its oldest page.\n\n"
    "Where does a page come from that the memory lacks? It has to be fetched from the remote server; only "
    "then can it be shown.\n\n"
    "What does `open_page` do to the local copy? It leaves that copy unchanged, and reading is all that most "
    "clients use it for.\n\n"
    "Can errors occur? They may, except on encrypted connections; one finds them in the log, as they are not "
    "raised."
)
ERRORS = {
    "num_new": ("20 minutes", "30 minutes"),
    "quant": ("this holds of every page", "this holds of some page"),
    "comp": ("its oldest page", "its newest page"),
    "neg": ("It leaves that copy unchanged", "It changes that copy"),
    "modal": ("It has to be fetched", "It may be fetched"),
    "scope": ("except on encrypted connections", "on encrypted connections"),
}


def codes(text: str) -> set[str]:
    return set(verify(SOURCE, text, "free").codes)


def test_other_words_in_another_form_pass():
    assert codes(FAITHFUL) == set()
    assert verify(SOURCE, FAITHFUL, "paraphrase").codes  # sentence by sentence, they do not


@pytest.mark.parametrize("code", ERRORS)
def test_one_word_that_says_something_else_does_not(code):
    old, new = ERRORS[code]
    assert FAITHFUL.count(old) == 1
    assert code in codes(FAITHFUL.replace(old, new))


@pytest.mark.parametrize(
    ("source", "true", "false"),
    [
        (
            "The function converts a float module into an observed module, which users may extend later on.",
            "What users may extend later on is made by the function: it converts a float module into an observed one.",
            "What users may extend later on is made by the function: it converts an observed module into a float one.",
        ),
        (
            "BLP1 files, used mostly in Warcraft III, are supported in part. All types of BLP2 files are used "
            "in World.",
            "Warcraft III is where BLP1 files are mostly used; their support is partial. World uses BLP2 "
            "files of all types.",
            "Warcraft III is where BLP2 files are mostly used; their support is partial. World uses BLP1 "
            "files of all types.",
        ),
        (
            "The typed interface is often stricter than the runtime interface, and the difference is described below.",
            "Below, a difference is described: the typed interface tends to be stricter than what exists at runtime.",
            "Below, a difference is described: what exists at runtime tends to be stricter than the typed interface.",
        ),
    ],
)
def test_exchanged_words_are_told_from_moved_ones(source, true, false):
    assert "role" not in verify(source, true, "free").codes
    assert {"role", "ent_ctx"} & set(verify(source, false, "free").codes)


def test_what_free_wording_counts_and_numbers_is_no_number():
    source = "Build the index, sort the keys and write the table. The table has 7 columns with unique names."
    steps = "Three steps:\n\n1. Build the index.\n2. Sort the keys.\n3. Write the table of 7 columns of unique names."
    assert {"num_new", "num_lost"}.isdisjoint(verify(source, steps, "free").codes)
    assert "num_new" in verify(source, steps.replace("7 columns", "8 columns"), "free").codes
    assert "num_new" in verify(source, steps.replace("the index", "the index twice"), "free").codes


def test_a_sentence_of_nothing_in_the_source_has_no_support():
    foreign = FAITHFUL + "\n\nThe harbour town was founded by merchants who traded amber along the northern coast."
    assert "unsupported" in codes(foreign)
    assert "uncovered" in codes(FAITHFUL.split("\n\nCan errors")[0])


def test_labelled_free_rewrites_are_of_both_halves_and_every_error_follows_its_rewrite():
    rows = labelled(verify_free.LABELS)
    faithful = [row for row in rows if row.label == "faithful"]
    assert len(faithful) >= 100
    assert min(sum(row.package in verify_free.HELD_OUT for row in faithful),
               sum(row.package not in verify_free.HELD_OUT for row in faithful)) >= 50  # fmt: skip
    for before, row in pairwise(rows):
        assert row.label == "faithful" or row[:4] == before[:4]


def test_most_true_rewrites_pass_and_most_errors_are_found():
    seen, hit = verify_free.counts(False, rules_for("free"))
    if seen["faithful_passed"] < 50:
        pytest.skip("the packages differ from those that were rewritten")
    assert hit["faithful_passed"] >= 0.85 * seen["faithful_passed"]
    assert hit["errors_found"] >= 0.6 * seen["errors_found"]


def test_a_source_is_cut_into_clauses_once():
    source = read_source(SOURCE)
    first, _ = views(source, fact_sheet(FAITHFUL, source.sheet))
    second, _ = views(source, fact_sheet(SOURCE, source.sheet))
    assert first.others is second.others
