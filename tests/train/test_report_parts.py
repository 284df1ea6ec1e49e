"""What a report is made of: gaps over controls, texts and their differences, ticks, thinned curves, numbers, names."""

from __future__ import annotations

import html
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from k3data.train.report_answers import above
from k3data.train.report_charts import Axes, Series, _thinned, figure, log_ticks, short, ticks
from k3data.train.report_inside import mix_names
from k3data.train.report_predictions import asked_for, differences
from scipy.stats import fisher_exact


@given(st.data())
def test_a_gap_is_what_fishers_exact_test_says(data):
    n, m = (data.draw(st.integers(1, 40)) for _ in range(2))
    hits, others = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    p = fisher_exact([[hits, n - hits], [others, m - others]], alternative="greater").pvalue
    if abs(p - 0.05) > 1e-9:
        assert above({"asked": n, "exact": hits}, {"asked": m, "exact": others}) == (p <= 0.05)


@given(st.text(alphabet="ab<>&\"' \n1", max_size=60), st.text(alphabet="ab<>&\"' \n1", max_size=60))
def test_differences_keep_both_texts(truth, answer):
    gone, new = differences(truth, answer)
    for text, marked in ((truth, gone), (answer, new)):
        plain = re.sub(r'<mark class="(gone|new)">|</mark>', "", marked)
        assert html.unescape(plain) == text and "<" not in plain
    assert ("<mark" in gone or "<mark" in new) == (truth != answer)


def test_the_question_is_read_without_the_marks_of_a_conversation():
    picture = "<|media_begin|>image 8x8<|media_content|><|media_pad|><|media_pad|><|media_end|>"
    prompt = f"<|open|>user<|sep|>{picture}Draw <this>.<|close|>user<|sep|><|end_of_msg|><|open|>assistant<|sep|>"
    assert asked_for(prompt) == "[picture] Draw <this>."
    assert asked_for(prompt[60:]) == "[picture] Draw <this>."
    assert asked_for("Who?") == "Who?"
    assert len(asked_for("word " * 1000)) < 500
    assert asked_for("a note\n\n" * 100 + "Which words?\nAnswer:").splitlines()[-2:] == ["Which words?", "Answer:"]
    assert len(asked_for("a note\n" * 100).splitlines()) == 6


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 12))
def test_ticks_are_few_even_and_inside(low, extent, count):
    found = ticks(low, low + extent, count)
    assert 1 <= len(found) <= count + 1
    assert all(low - extent * 1e-6 <= one <= low + extent * (1 + 1e-6) for one in found)


@given(st.floats(1e-6, 1e6), st.floats(1.01, 1e9), st.integers(2, 12))
def test_log_ticks_lie_inside(low, times, count):
    found = log_ticks(low, low * times, count)
    assert found == sorted(found) and len(found) <= 2 * count + 1
    assert all(low * 0.999 <= one <= low * times * 1.001 for one in found)


@given(st.integers(1, 900), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 0.99, 1.0]), st.booleans())
def test_thinning_keeps_the_extremes_and_the_order(length, seed, missing, log_x):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(length) < missing, math.nan, rng.normal(size=length) ** 3)
    thin = _thinned(Series("a", np.arange(1.0, len(y) + 1), y), Axes(log_x=log_x))
    assert len(thin.x) <= 172 and (np.diff(thin.x) > 0).all()
    if np.isfinite(y).any():
        assert np.nanmin(thin.low) == np.nanmin(y) and np.nanmax(thin.high) == np.nanmax(y)
        finite = np.isfinite(thin.mean)
        slack = 1e-9 * np.abs(thin.mean[finite]) + 1e-9
        assert (thin.low[finite] <= thin.mean[finite] + slack).all()
        assert (thin.mean[finite] <= thin.high[finite] + slack).all()
    else:
        assert figure("a", [Series("a", np.arange(1.0, len(y) + 1), y)], Axes(log_x=log_x)) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1234.0, "1234"), (12_345.0, "12.35K"), (5e6, "5M"), (6.5e9, "6.5B"), (1e-5, "1e-5"), (math.nan, "–")],
)
def test_numbers_are_short(value, text):
    assert short(value) == text


def test_mixes_are_named_in_the_order_of_the_forward():
    assert mix_names(4) == ["layer 0 feed-forward", "layer 1 attention", "layer 1 feed-forward", "output"]
    assert mix_names(5)[0] == "layer 0 attention"
