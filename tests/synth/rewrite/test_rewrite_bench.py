"""The benchmark's figures on texts whose result is known."""

from __future__ import annotations

from k3data.synth.bench import rewrite as bench
from k3data.tests.synth.rewrite.passages import KNOWLEDGE


def test_copies_are_rejects_and_refusals_are_not_counted() -> None:
    found = bench.measure([KNOWLEDGE, "x = 1"], lambda text, seed: text if seed == 0 else None, "paraphrase")
    assert (found["accepted"], found["passed"], found["rejected_copy"]) == (1, 0, 1)
    assert (found["copied_mean"], found["word_edit_distance_mean"], found["numbers"]) == (1.0, 0.0, {0})


def test_held_out_packages_are_no_development_packages() -> None:
    from k3data.synth.bench.rewrite_texts import MATHS, MATHS_DEVELOPMENT

    assert not set(MATHS) & set(MATHS_DEVELOPMENT)
