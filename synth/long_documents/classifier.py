"""A quality classifier small enough to train in seconds: logistic regression over hashed word n-grams.

It learns good documents of yours from the same documents spoiled in nine ways (`bad_text`). That makes it a working
demonstration of the step and not a judge of taste: it knows the faults it was shown, and a corpus for production wants
one trained on labels. Training is deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...pipelines.dedup.shingles import mix, ngram_hashes, word_hashes
from ...pipelines.stage import seeded_rng
from .bad_text import spoil

_BITS = 18
_PIECE = 2000  # characters, of which a document's score is the mean
_PIECES = 12


@dataclass(frozen=True)
class Classifier:
    """Weights of the features, and a bias.

    Attributes:
        weights: float32 `[2^18]`.
    """

    weights: np.ndarray
    bias: float

    def score(self, text: str) -> float:
        """Between 0 (bad) and 1 (good): the mean over pieces spread evenly over the text."""
        found = [self._piece(piece) for piece in pieces(text)]
        return sum(found) / len(found)

    def _piece(self, text: str) -> float:
        at, values = features(text)
        return float(1 / (1 + np.exp(-(self.weights[at] @ values + self.bias))))


def pieces(text: str) -> list[str]:
    """At most twelve pieces of 2,000 characters, evenly over the text."""
    count = min(_PIECES, max(1, len(text) // _PIECE))
    step = max(0, len(text) - _PIECE) / max(1, count - 1)
    return [text[int(at * step) : int(at * step) + _PIECE] for at in range(count)]


def features(text: str) -> tuple[np.ndarray, np.ndarray]:
    """(places, values) of hashed words, pairs of words, triples of classes of words, and shape; of unit length."""
    words = word_hashes(text)
    order = word_hashes(" ".join(map(_class, text.split())))
    grams = np.concatenate([mix(words), ngram_hashes(words, 2), ngram_hashes(order, 3), _shape(text)])
    at, counts = np.unique((grams & np.uint64((1 << _BITS) - 1)).astype(np.int64), return_counts=True)
    values = np.log1p(counts).astype(np.float32)
    return at, values / max(float(np.linalg.norm(values)), 1e-6)


def _class(word: str) -> str:
    """A short word itself, else what it looks like: what may follow what is the grammar of a language."""
    if len(word) <= 3 and word.isalpha():
        return word
    first = "A" if word[0].isupper() else "a" if word[0].islower() else "n" if word[0].isdigit() else "s"
    last = "stop" if word[-1] in ".!?" else "comma" if word[-1] in ",;:" else ""
    return f"_{first}_{last}"


def _shape(text: str) -> np.ndarray:
    """Hashed buckets of what words do not tell: shares of letters, capitals, digits, marks, blanks, known by size."""
    length = max(len(text), 1)
    counts = (
        sum(map(str.isalpha, text)), sum(map(str.isupper, text)), sum(map(str.isdigit, text)),
        text.count("\n"), text.count(" "), text.count(".") + text.count(","), len(set(text.split())) * 4,
        sum(ord(char) > 127 for char in text),
    )  # fmt: skip
    buckets = [(number + 1) * 64 + min(int(32 * count / length), 63) for number, count in enumerate(counts)]
    # Each bucket counts several times, since a text has many words and only one shape.
    return mix(np.repeat(np.array(buckets, dtype=np.uint64), 8) + np.uint64(1 << 40))


def train(good: Sequence[str], seed: int, epochs: int = 6, rate: float = 2.0) -> Classifier:
    """A classifier of these texts against their spoiled copies."""
    rng = seeded_rng(seed, "quality")
    examples = []
    for text in good:
        for piece in pieces(text)[:4]:
            examples.append((features(piece), 1.0))
            examples.append((features(spoil(piece, rng)), 0.0))
    weights, bias = np.zeros(1 << _BITS, dtype=np.float32), 0.0
    squares = np.full(1 << _BITS, 1e-3, dtype=np.float32)
    for _ in range(epochs):
        rng.shuffle(examples)
        for (at, values), label in examples:
            error = 1 / (1 + np.exp(-(weights[at] @ values + bias))) - label
            gradient = (error * values).astype(np.float32)
            squares[at] += gradient**2  # AdaGrad: rare features take larger steps
            weights[at] -= rate * 0.1 * gradient / np.sqrt(squares[at])
            bias -= 0.02 * error
    return Classifier(weights, float(bias))
