"""Formal mathematics said otherwise: formulas and labels stay, and nothing but records is touched."""

from __future__ import annotations

import re

import pytest
from k3data.pipelines.sources.documents.metamath import section_text
from k3data.synth.rewrite.formal import records
from k3data.synth.rewrite.styles import STYLES, rewrite
from k3data.synth.verify.verify import verify

SECTION = b"""$(
#*#*#*#*#*#*#*#*#*#*#*#*#*#*#*#*#*#*#*
  Weakening
#*#*#*#*#*#*#*#*#*#*#*#*#*#*#*#*#*#*#*
$)

  ${
    $d ph x $.
    a1i.1 $e |- ph $.
    $( Inference that introduces an antecedent, by means of ~ ax-mp .  (Contributed by NM, 5-Aug-1993.) $)
    a1i $p |- ( ps -> ph ) $= ( wi ax-1 ax-mp ) ABADCABEF $.
  $}

  $( Every number equals itself; this is the closed form of the inference above, and it needs no hypothesis at all. $)
  eqid $p |- A = A $= ( cv wceq eqriv ) ABCD $.

  $( The value of a function is not written as code, since its sign is a back-quote. $)
  fv $p |- ( F ` A ) = B $= ( cfv ) ABC $.
"""


@pytest.fixture(scope="module")
def source() -> str:
    text, title = section_text(SECTION, code=True)
    assert title == "Weakening"
    return text.strip()


def test_formulas_and_labels_are_code(source):
    assert "Theorem `a1i`. Inference that introduces an antecedent, by means of `ax-mp`" in source
    assert "  distinct variables: `ph x`\n  `a1i.1`: `|- ph`\nThen:\n  `|- ( ps -> ph )`" in source
    assert "Proved from: `wi`, `ax-1`, `ax-mp`." in source
    assert "  |- ( F ` A ) = B\n" in source
    assert "`" not in section_text(SECTION)[0].replace("F ` A", "")


def test_records_are_read_exactly(source):
    first, second = source.split("\n\n")[1:3]
    (one,) = records(first)
    assert one.label == "`a1i`"
    assert one.apart == ("`ph x`",)
    assert one.hypotheses == (("`a1i.1`", "`|- ph`"),)
    assert one.claim == "`|- ( ps -> ph )`"
    assert one.used == ("`ax-1`", "`ax-mp`", "`wi`")
    assert [record.label for record in records(f"## A heading\n\n{first}\n\n{second}")] == ["`a1i`", "`eqid`"]
    assert records(f"{first}\n\nProse between them.\n\n{second}") == []
    assert records(source) == []  # the last one has a formula that is no code


@pytest.mark.parametrize("seed", range(12))
def test_every_formula_and_label_is_in_the_rewrite_and_the_verifier_lets_it_pass(source, seed):
    chunk = "\n\n".join(source.split("\n\n")[:3])
    text = rewrite(chunk, "formal_reading", seed)
    assert text is not None
    assert text != chunk
    code = re.compile(r"`[^`]+`")
    assert set(code.findall(text)) == set(code.findall(chunk))
    assert text.startswith("## Weakening")
    assert rewrite(chunk, "formal_reading", seed) == text
    verdict = verify(chunk, text, style="formal")
    assert verdict.verdict == "pass", verdict.codes


@pytest.mark.parametrize("style", [style for style in STYLES if style != "formal_reading"])
def test_styles_of_prose_leave_it_alone(source, style):
    assert all(rewrite(source, style, seed) is None for seed in range(3))


def test_a_lost_formula_or_label_is_found(source):
    chunk = source.split("\n\n")[1]
    text = rewrite(chunk, "formal_reading", 1)
    for lost in ("`|- ph`", "`ax-mp`", "`|- ( ps -> ph )`"):
        damaged = text.replace(lost, "`|- ch`")
        assert (
            "ent_lost" in verify(chunk, damaged, style="formal").codes
            or "ent_new" in verify(chunk, damaged, style="formal").codes
        )


@pytest.mark.parametrize(
    "text", ["", "Theorem `x`.", "Theorem `a1i`. No claim.\nGiven:\n  odd\nThen:\n  `x`", "Prose alone."]
)
def test_what_is_no_record_is_not_taken(text):
    assert rewrite(text, "formal_reading", 1) is None
