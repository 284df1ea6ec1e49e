"""The labelled rewrites by a model: complete, their sources found again, the verifier of some use on them."""

from __future__ import annotations

from collections import Counter

import pytest
from k3data.synth.bench import verify_real
from k3data.synth.bench.verify_labelled import labelled
from k3data.synth.bench.verify_texts import document, documents
from k3data.synth.verify.sentences import chunks


def test_at_least_two_hundred_are_labelled_each_once_and_with_a_reason():
    rows = labelled(verify_real.LABELS)
    assert len(rows) >= 200
    assert len({(row.package, row.file, row.span, row.style) for row in rows}) == len(rows)
    assert {row.label for row in rows} == {"faithful", "unfaithful", "no_answer"}
    assert {row.style for row in rows} == {"paraphrase", "summary", "qa"}
    assert all(row.note for row in rows if row.label != "faithful")


def test_sources_are_found_by_file_and_characters():
    first = next(one for one in documents("scipy") if len(one.text) > 2000)
    chunk = next(iter(chunks(first.text)))
    assert document("scipy", first.file).text[chunk.start : chunk.end] == first.text[chunk.start : chunk.end]


def test_hardly_anything_false_passes_and_what_is_true_fails_by_its_form_alone():
    found = Counter(verify_real.figures())
    if found["real_sources_changed"] > 50:
        pytest.skip("the packages differ from those that were labelled")
    assert found["real_agreement"] >= 0.8
    assert found["real_agreement_on_facts"] >= 0.8
    passed = sum(found[f"real_{style}_unfaithful_passed"] for style in ("paraphrase", "summary", "qa"))
    refused = sum(found[f"real_{style}_unfaithful_refused"] for style in ("paraphrase", "summary", "qa"))
    assert passed <= 0.12 * (passed + refused)
    assert not any(found[f"real_{style}_no_answer_passed"] for style in ("paraphrase", "summary", "qa"))


def test_free_paraphrases_pass_by_their_facts_and_most_by_the_rules_made_for_them():
    found = Counter(verify_real.figures())
    if found["hand_paraphrases"] < 20:
        pytest.skip("the packages differ from those that were paraphrased")
    assert found["hand_passed_by_facts"] >= 0.9 * found["hand_paraphrases"]
    assert found["hand_passed_by_free"] >= 0.6 * found["hand_paraphrases"]
