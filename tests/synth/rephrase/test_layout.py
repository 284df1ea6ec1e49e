"""Documents as they are asked about: chunks that lose nothing, what is left out and why, and the draw of styles."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from k3data.synth.rephrase.assign import assignments
from k3data.synth.rephrase.layout import lay_out
from k3data.synth.rephrase.stitch import seam, tail, without_repeat

RECORDS = "\n\n".join(f"Theorem {n}. {'It says so. ' * 6}\n  claim {n}" for n in range(12))
SENTENCE = "The planner reads the statistics of a table before it chooses one of the plans that answer a query. "
DOCUMENT = f"""# Planning queries

{SENTENCE * 20}

## Statistics

- {SENTENCE * 3}
- {SENTENCE * 3}

```sql
{"select 1;" * 200}
```

{SENTENCE * 20}
"""


def test_title_outline_and_chunks_of_a_document():
    layout = lay_out(DOCUMENT, 128, 512)
    assert layout.title == "Planning queries"
    assert layout.outline == "Planning queries\n  Statistics"
    parts = [part for excerpt in layout.excerpts for part in excerpt]
    assert len(layout.excerpts) > 1
    assert all(parts[at].end <= parts[at + 1].start for at in range(len(parts) - 1))
    rewritten = [DOCUMENT[one.start : one.end] for one in parts if not one.skipped]
    assert sum(DOCUMENT.count("planner", one.start, one.end) for one in parts) == DOCUMENT.count("planner")
    assert any(text.startswith("- The planner") for text in rewritten) or any("\n- The planner" in t for t in rewritten)


def test_records_are_cut_between_paragraphs_only():
    layout = lay_out(RECORDS, 64, 128, 5, paragraphs=True)
    parts = [RECORDS[part.start : part.end] for excerpt in layout.excerpts for part in excerpt]
    assert "\n\n".join(parts) == RECORDS
    assert len(layout.excerpts) > 1
    assert all(part.startswith("Theorem") and part[-1].isdigit() for part in parts)
    assert any("\n\n" in part for part in parts)


def test_what_cannot_be_rewritten_is_left_out_with_its_reason():
    reasons = {
        "too_short": "# Index",
        "no_prose": "Use it so:\n```\n" + "x = 1\n" * 60 + "```",
        "too_long": "word " * 5000,
    }
    for reason, text in reasons.items():
        assert [part.skipped for excerpt in lay_out(text).excerpts for part in excerpt] == [reason]
    assert lay_out("").excerpts == ()


@given(st.text(max_size=2000), st.integers(16, 200))
def test_any_text_is_laid_out_in_order_and_inside(text, tokens):
    place = 0
    for excerpt in lay_out(text, tokens, 4 * tokens, 1).excerpts:
        for part in excerpt:
            assert place <= part.start < part.end <= len(text)
            place = part.end


STYLES = {"faq": 3.0, "table": 1.0, "digest": 1.0}


def drawn(document: int, styles=STYLES):
    return assignments((7, f"doc{document}", 0), styles, ["expert", "teacher"], ["same", "shorter"])


def test_styles_are_drawn_by_weight_and_never_twice():
    firsts = Counter(drawn(document)[0].style for document in range(3000))
    assert abs(firsts["faq"] / 3000 - 0.6) < 0.03
    assert abs(firsts["table"] / 3000 - 0.2) < 0.03
    for document in range(50):
        assert sorted(one.style for one in drawn(document)) == sorted(STYLES)
    assert len({(one.perspective, one.length) for document in range(50) for one in drawn(document)}) == 4


def test_a_style_that_is_added_moves_only_what_draws_it():
    more = {**STYLES, "timeline": 0.5}
    for document in range(200):
        assert [one for one in drawn(document, more) if one.style != "timeline"] == drawn(document)


def test_the_tail_is_whole_sentences():
    text = "One is short. " + SENTENCE * 40
    assert tail(text).endswith(SENTENCE.strip())
    assert tail(text).startswith("The planner")
    assert 60 <= len(tail(text).split()) <= 110
    assert tail("") == ""


def test_seams():
    before = "A page is read. The page is then written back to the disk."
    assert without_repeat(before, "The page is then written back to the disk! Another is read.") == "Another is read."
    assert without_repeat(before, "A new one is read.") == "A new one is read."

    def codes(before, source, text, headings=False):
        return [one.code for one in seam(before, source, text, headings) if not one.ok]

    assert codes(before, "S.", "A new one is read. The page is then written back to the disk.") == ["seam_repeat"]
    assert codes("", "The server waits.", "It waits for clients.") == ["seam_pronoun"]
    assert codes("", "- It waits.", "It waits for clients.") == []
    assert codes(before, "The server waits.", "It waits for clients.") == []
    assert codes("", "## Waiting\nThe server waits.", "The server waits.", True) == ["seam_heading"]
    assert codes("", "## Waiting\nThe server waits.", "## To wait\nThe server waits.", True) == []
