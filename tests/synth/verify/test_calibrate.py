"""Calibration: every kind of error is planted and counted, intervals are right, suggestions reach what is wanted."""

from __future__ import annotations

import json
import random

import pytest
from k3data.pipelines.errors import UserError
from k3data.synth.verify.calibrate import calibrate, render
from k3data.synth.verify.plant import KINDS, plant
from k3data.synth.verify.rules import rules_for
from k3data.synth.verify.trials import WHOLE, Rate, rewrites

FIELDS = (
    "The {a} station in {place} keeps {n} probes in the cellar. Each probe must be read before noon, because the "
    "battery lasts only {h} hours. The reader `{code}` sends the values from the tower to the archive. If the line is "
    "down, the operator writes the values by hand. On {d} March {y} the station was moved to {place}. It is not open "
    "to visitors, and most of the records are older than the building. The archive contains the letters of {name}, "
    "who wrote at least {n} of them. No copy has left the house. The motor stops after {m} minutes when the door is "
    "open."
)
PLACES = ("Bergen", "Porto", "Split", "Turku", "Ghent", "Siena", "Lviv", "Cadiz")


def documents(count: int) -> list[str]:
    found = []
    for number in range(count):
        rng = random.Random(number)
        found.append(
            FIELDS.format(
                a=rng.choice(("northern", "old", "second", "inner")), place=rng.choice(PLACES), n=rng.randint(13, 89),
                h=rng.randint(2, 9), code=rng.choice(("read_values", "fetch_all", "scan_line")), d=rng.randint(1, 28),
                y=rng.randint(1950, 1999), name=rng.choice(("Keller", "Tanaka", "Moreau", "Okafor")),
                m=rng.randint(3, 11),
            )
        )  # fmt: skip
    return found


def test_every_kind_of_error_has_a_place_in_ordinary_prose():
    source, *others = documents(6)
    made = [pair for seed in range(12) for pair in rewrites(source, others, random.Random(seed))]
    assert {pair.kind for pair in made if not pair.sound} == set(KINDS)


def test_the_first_rewrite_is_sound_and_errors_are_planted_into_it():
    source, *others = documents(6)
    first, *rest = rewrites(source, others, random.Random(3))
    assert (first.kind, first.sound) == (WHOLE, True)
    changed = next(pair for pair in rest if pair.kind == "number_changed")
    start, end = changed.span
    assert changed.text[:start] == first.text[:start] and changed.text[end:].endswith(first.text[-20:])
    assert changed.text != first.text


def test_numbers_are_paraphrased_wrongly():
    for seed in range(8):
        planted = plant("It holds 10 files and 2,000 lines.", "number_paraphrased", random.Random(seed))
        assert planted is not None
        assert planted.text in ("It holds a dozen files and 2,000 lines.", "It holds 10 files and 3 thousand lines.")


def test_wilson_intervals():
    assert Rate(0, 0).interval == (0.0, 1.0)
    low, high = Rate(0, 50).interval
    assert low == 0 and high == pytest.approx(0.0713, abs=1e-3)
    low, high = Rate(45, 50).interval
    assert (low, high) == (pytest.approx(0.786, abs=1e-3), pytest.approx(0.957, abs=1e-3))


def test_the_same_texts_and_seed_give_the_same_report():
    texts = documents(10)
    report = calibrate(texts, pairs=120, seed=4)
    assert report.as_json() == calibrate(texts, pairs=120, seed=4).as_json()
    assert report.pairs >= 120 and report.counts.detection > 0.8 and report.counts.false_alarms.share < 0.1
    json.dumps(report.as_json())
    shown = render(report)
    assert "number_changed" in shown and "false alarms:" in shown and f"{report.pairs:,} pairs" in shown


def test_thresholds_are_suggested_that_reach_what_is_wanted():
    # Rules that are far too strict: nearly every sentence counts as unsupported.
    strict = rules_for("paraphrase", {"support": 0.95, "coverage": 0.95})
    report = calibrate(documents(12), rules=strict, pairs=200, wanted=0.05)
    assert report.counts.false_alarms.share > 0.2
    assert report.suggested is not None and report.suggested.false_alarms.share <= 0.05
    assert report.suggested.detection > report.counts.detection
    loosened = {name: then for name, (now, then) in report.thresholds.items() if then is None or then < now}
    assert loosened and loosened.keys() <= {"support", "coverage"}
    assert {"unsupported", "uncovered"} & set(report.codes)
    assert report.alarms and all(one.checks and one.checks[0].spans for one in report.alarms)


def test_misses_are_shown_with_their_places():
    blind = rules_for("paraphrase", {"number_new": None, "number_lost": None, "number_context": None, "unit": None})
    report = calibrate(documents(10), rules=blind, pairs=200, wanted=1.0)
    missed = [one for one in report.misses if one.kind == "number_changed"]
    assert missed and all(one.text[slice(*one.span)].strip() for one in missed)


def test_a_style_that_selects_may_drop_sentences():
    report = calibrate(documents(8), "summary", pairs=100)
    assert "sentence_dropped" not in report.counts.found and "number_changed" in report.counts.found


def test_texts_without_prose_are_told():
    with pytest.raises(UserError, match="nothing to calibrate"):
        calibrate(["too short", ""])
    with pytest.raises(UserError, match="no style"):
        calibrate(documents(1), "sonnet")
