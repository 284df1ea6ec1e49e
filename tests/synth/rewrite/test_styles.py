"""Whole rewrites: what each style makes, that the verifier passes it, and that it is the same everywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from k3data.pipelines.errors import UserError
from k3data.synth.chat.types import Refused, Request
from k3data.synth.rewrite.backend import RuleBackend
from k3data.synth.rewrite.passage import copied
from k3data.synth.rewrite.styles import STYLES, rewrite
from k3data.synth.verify.rules import STYLES as VERIFIED
from k3data.synth.verify.verify import verify
from k3data.tests.synth.rewrite.passages import FORMAL, KNOWLEDGE, MATHS

SEEDS = range(12)


def _source(style: str) -> str:
    return FORMAL if style == "formal_reading" else MATHS if STYLES[style].kind == "maths" else KNOWLEDGE


def _made(style: str) -> list[str]:
    source = _source(style)
    return [text for seed in SEEDS if (text := rewrite(source, style, seed)) is not None]


@pytest.mark.parametrize("style", STYLES)
def test_most_seeds_give_a_rewrite_that_the_verifier_passes(style: str) -> None:
    source = _source(style)
    texts = _made(style)
    assert len(texts) >= 4
    assert STYLES[style].verifier in VERIFIED
    passed = [text for text in texts if verify(source, text, STYLES[style].verifier).verdict == "pass"]
    assert len(passed) >= 0.9 * len(texts)
    assert len(set(texts)) > len(texts) / 2  # seeds word it otherwise


def test_the_styles_have_their_form() -> None:
    assert all(re.search(r"^1\. ", text, re.MULTILINE) for text in _made("textbook"))
    assert all(text.count("?") >= 2 for text in _made("faq"))
    assert all(re.search(r"\*\*(?:Student|Pupil|Learner)\.\*\*", text) for text in _made("dialogue"))
    assert all(text.count("\n|") >= 3 for text in _made("table"))
    assert all(text.startswith("- ") for text in _made("notes"))
    assert all(len(text) < 0.9 * len(KNOWLEDGE) for text in _made("summary"))
    assert all("| $(a + b)^2 = a^2 + 2ab + b^2$ | multiplied out |" in text for text in _made("worked_example"))
    assert all("**" in text for text in _made("learning_note") + _made("proof_outline"))


@pytest.mark.parametrize("style", [name for name, style in STYLES.items() if style.kind == "maths"])
def test_formulas_stay_to_the_letter(style: str) -> None:
    for text in _made(style):
        assert all(formula in text for formula in re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$|`[^`]+`", _source(style)))


def test_a_rewrite_is_no_near_copy() -> None:
    for style in ("encyclopedic", "textbook", "notes"):
        assert all(copied(KNOWLEDGE, text) <= 0.55 for text in _made(style))


def test_the_same_on_every_machine() -> None:
    code = (
        "import sys; from k3data.synth.rewrite.styles import STYLES, rewrite\n"
        "source = sys.stdin.read()\n"
        "print([rewrite(source, style, seed) for style in STYLES for seed in range(3)])"
    )
    told = [
        subprocess.run([sys.executable, "-c", code], input=KNOWLEDGE, text=True, capture_output=True, check=True,
                       env={**os.environ, "PYTHONHASHSEED": hashing}).stdout
        for hashing in ("0", "77")
    ]  # fmt: skip
    assert told[0] == told[1] == f"{[rewrite(KNOWLEDGE, style, seed) for style in STYLES for seed in range(3)]}\n"


def test_no_such_style() -> None:
    with pytest.raises(UserError, match="no style 'haiku'"):
        rewrite(KNOWLEDGE, "haiku", 0)


def test_the_back_end_answers_and_refuses() -> None:
    backend = RuleBackend()
    reply = backend.reply(Request((), source=KNOWLEDGE, style="faq", seed=3))
    assert (reply.text, reply.finish) == (rewrite(KNOWLEDGE, "faq", 3), "stop")
    again = backend.reply(Request((), source=KNOWLEDGE, style="faq", seed=3, attempt=2))
    assert again.text == rewrite(KNOWLEDGE, "faq", 4)
    with pytest.raises(Refused) as refused:
        backend.reply(Request((), source="def f(x):\n    return x\n", style="faq"))
    assert refused.value.code == "unsuitable"
    assert not backend.stored
    backend.close()


def test_notes_nest_a_series_and_what_follows_a_condition() -> None:
    source = (
        "The reader accepts these formats: plain text, compressed archives, and folders of files. In order to read an "
        "archive, the reader unpacks it first.\n\nIf the archive is damaged, the reader raises an error with the name "
        "of the first damaged file. Additionally, the list of files that is returned is sorted by name."
    )
    texts = [text for seed in SEEDS if (text := rewrite(source, "notes", seed))]
    assert texts
    assert all("  - compressed archives\n  - folders of files" in text for text in texts)
    assert all(re.search(r"^- If the archive is damaged:\n  - ", text, re.MULTILINE) for text in texts)
