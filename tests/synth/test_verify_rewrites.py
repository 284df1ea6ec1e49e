"""Verdicts on rewrites: sound ones pass, each kind of error has its code, and hostile text breaks nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k3data.pipelines.errors import UserError
from k3data.synth.verify.edits import EDITORS, rewritten
from k3data.synth.verify.form import collapsed
from k3data.synth.verify.plant import KINDS, plant
from k3data.synth.verify.rules import rules_for
from k3data.synth.verify.verify import verify

SOURCE = (
    "The Orion telescope was built by Keller in 1998 and weighs 1,200 kg. It must not be pointed at the Sun, because "
    "the mirror would melt within 5 seconds. Each night the observer Tanaka records at least 40 stars before midnight. "
    "If the dome is closed, the motor stops after 12 minutes. The camera sends the images from the tower to the "
    "archive. Only trained staff may open the `shutter_gate` in winter. The archive was moved to Bergen on 3 March "
    "2011."
)
REWRITE = (
    "Keller built the Orion telescope in 1998; its weight is 1.2 thousand kilograms. Pointing it at the Sun is "
    "something that must not be done, since the mirror would melt within five seconds. The observer Tanaka records at "
    "least 40 stars each night before midnight. The motor stops after 12 minutes if the dome is closed. From the tower "
    "to the archive, the camera sends the images. In winter, only trained staff may open the `shutter_gate`. On "
    "March 3, 2011 the archive was moved to Bergen."
)


def codes(rewrite: str, source: str = SOURCE, style: str = "paraphrase", **options) -> set[str]:
    return set(verify(source, rewrite, style, **options).codes)


def test_a_sound_rewrite_passes():
    verdict = verify(SOURCE, REWRITE)
    assert verdict.verdict == "pass", verdict.codes
    assert {check.name for check in verdict.checks} >= {"copied", "number_context", "name_lost", "negation", "coverage"}


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("in 1998", "in 1989", "num_new"),
        ("within five seconds", "within five minutes", "unit"),
        ("at least 40 stars", "at least 12 stars", "unit"),
        ("March 3, 2011", "May 3, 2011", "date"),
        ("Tanaka", "Lindqvist", "ent_new"),
        ("The observer Tanaka", "The observer", "ent_lost"),
        ("must not be done", "must be done", "neg"),
        ("must not be done", "should not be done", "modal"),
        ("at least 40", "at most 40", "comp"),
        ("each night", "some nights", "quant"),
        (" if the dome is closed", "", "scope"),
        ("only trained staff may open the `shutter_gate`", "trained staff may only open the `shutter_gate`", "scope"),
        ("From the tower to the archive, the", "From the archive to the tower, the", "role"),
        ("From the tower to the archive", "From the motor to the archive", "coref"),
        ("In winter,", "The recipe needs two spoons of sugar and some vanilla. In winter,", "unsupported"),
        ("In winter, only trained staff may open the `shutter_gate`. ", "", "uncovered"),
        ("trained staff may open the `shutter_gate`", "trained staff may open the `main_door`", "ent_new"),
    ],
)
def test_each_error_is_told_by_its_code(old: str, new: str, code: str):
    assert old in REWRITE
    assert code in codes(REWRITE.replace(old, new))


def test_names_and_numbers_that_change_places_are_told():
    source = "The parser in Oslo reads 40 files. The writer in Bergen keeps 7 copies for the whole year."
    assert not codes(source, source, "edit")
    places = "The parser in Bergen reads 40 files. The writer in Oslo keeps 7 copies for the whole year."
    amounts = "The parser in Oslo reads 7 files. The writer in Bergen keeps 40 copies for the whole year."
    assert "ent_ctx" in codes(places, source, "edit")
    assert "num_ctx" in codes(amounts, source, "edit")


def test_the_place_of_an_error_is_given():
    text = REWRITE.replace("in 1998", "in 1989")
    (check,) = [check for check in verify(SOURCE, text).checks if check.code == "num_new"]
    assert [text[start:end] for start, end in check.spans] == ["1989"] and not check.of_source
    (check,) = [check for check in verify(SOURCE, text).checks if check.code == "num_lost"]
    assert [SOURCE[start:end] for start, end in check.spans] == ["1998"] and check.of_source


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        ("", {}, "empty"),
        ("I'm sorry, but I cannot help with that request.", {}, "refusal"),
        ("Sure! " + REWRITE, {}, "meta"),
        ("Here is the rewritten text:\n\n" + REWRITE, {}, "meta"),
        (REWRITE + "\n\nLet me know if you need anything else.", {}, "meta"),
        (REWRITE, {"finish": "length"}, "length"),
        (REWRITE.replace("Keller", "Kell\ufffdr"), {}, "encoding"),
        ("Rewrite the following passage in the style of an encyclopaedia, keep all facts. " + REWRITE,
         {"prompt": "Rewrite the following passage in the style of an encyclopaedia, keep all facts."}, "echo"),
        (SOURCE, {}, "copy"),
        (REWRITE[:80], {}, "ratio"),
        ((REWRITE[:90] + ". ") * 7, {}, "loop"),
        ("Das Teleskop wurde von Keller gebaut. Es darf nicht auf die Sonne gerichtet werden. " * 4, {}, "lang"),
        ("| a | b |\n|---|---|\n| 1998 | 40 |\n" + REWRITE, {}, "format"),
    ],
)  # fmt: skip
def test_transport_and_form_have_codes(text: str, options: dict, code: str):
    assert code in codes(text, **options)


def test_styles_that_select_need_not_say_all():
    text = "Who built the Orion telescope?\nKeller built the Orion telescope in 1998."
    assert not codes(text, style="qa")
    assert "format" in codes("Keller built the Orion telescope in 1998.", style="qa")
    assert "num_new" in codes(text.replace("1998", "1989"), style="qa")


def test_the_second_failure_and_a_refusal_are_final():
    wrong = REWRITE.replace("in 1998", "in 1989")
    assert verify(SOURCE, wrong).verdict == "repair"
    assert verify(SOURCE, wrong, attempt=2).verdict == "quarantine"
    assert verify(SOURCE, "I cannot help with that.").verdict == "quarantine"


def test_rules_are_strict():
    rules = rules_for("paraphrase", {"number_new": None})
    assert "num_new" not in codes(REWRITE.replace("in 1998", "in 1989"), rules=rules)
    with pytest.raises(UserError, match="no style 'poem'"):
        rules_for("poem")
    with pytest.raises(UserError, match="number_newer"):
        rules_for("paraphrase", {"number_newer": 1})
    with pytest.raises(UserError, match="copied"):
        rules_for("paraphrase", {"copied": "0.5"})


def test_openings_that_a_batch_shares_are_collapse():
    texts = [f"In this section we will learn about topic number {n}." for n in range(6)] + ["Another begins so."]
    found = collapsed(texts)
    assert sorted(found) == list(range(6)) and found[0].code == "template" and found[0].value == 6


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_planted_reproducibly_and_found(kind: str):
    foreign = ["The kitchen of the old inn serves soup with fresh bread. Guests of Marlow House like the garden."]
    found = 0
    for seed in range(12):
        planted = plant(SOURCE, kind, random.Random(seed), foreign)
        if planted is None:
            continue
        assert planted == plant(SOURCE, kind, random.Random(seed), foreign)
        assert planted.text != SOURCE and 0 <= planted.start <= planted.end <= len(planted.text)
        assert verify(SOURCE, planted.text, "edit").verdict != "pass", planted.text
        found += 1
    assert found, f"{kind}: nowhere planted"


@pytest.mark.parametrize("name", sorted(EDITORS))
def test_edits_that_keep_the_meaning_pass(name: str):
    for seed in range(6):
        text = EDITORS[name](SOURCE, random.Random(seed))
        assert not codes(text, style="edit"), text
    text = rewritten(SOURCE, random.Random(1))
    assert text != SOURCE and not codes(text, style="edit")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(alphabet="a1.,%$`<>|#- \n\u0660²½", max_size=300))
def test_no_text_breaks_it(first: str, second: str):
    for source, text in ((first, second), (second, first), (SOURCE, first + second), (first, first)):
        for style in ("paraphrase", "qa"):
            verify(source, text, style)


def test_hostile_texts_end_soon():
    repeated = ("9", "a ", "`", "$x", "(", "A.B.", "one hundred ", "1,000", "It is not. ")
    for text in (piece * 3000 for piece in repeated):
        verify(SOURCE, text, "edit")
        verify(text, SOURCE, "edit")
