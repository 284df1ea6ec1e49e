"""Listed problems that a text restates together with their answers, in words that differ too much for long runs.

A rewrite of a test's problem shares few runs of thirteen words with it, but most of its short ones, and it gives the
answer. So a problem counts as found when a share of its short runs is in the text, and its answer as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..dedup.shingles import ngram_hashes, word_hashes

_DRESS = re.compile(r"\\(?:boxed|text|mathrm|left|right|,|;|!)|[\s${}\\,]")
_BOXED = re.compile(r"\\boxed\s*\{(.*)\}", re.DOTALL)


class Restated(BaseModel):
    """How a problem is recognised.

    Attributes:
        question, answer: columns of the `.jsonl` lists.
        ngram: words a run.
        share: of the question's distinct runs that must be in the text.
        min_runs: a question with fewer distinct runs is not sought.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = "problem"
    answer: str = "answer"
    ngram: int = Field(default=4, ge=1)
    share: float = Field(default=0.5, gt=0, le=1)
    min_runs: int = Field(default=6, ge=1)


@dataclass(frozen=True)
class Problems:
    """Listed problems, for `found`.

    Attributes:
        hashes, owners: uint64 and uint32 `[runs]`, sorted by hash: each distinct run of each question, and whose it is.
        counts: distinct runs by question.
        answers: by question, undressed.
        names: by question, `<list>:<line>`.
    """

    hashes: np.ndarray
    owners: np.ndarray
    counts: np.ndarray
    answers: list[str]
    names: list[str]
    options: Restated

    def found(self, text: str) -> list[str]:
        """Names of the problems that the text restates with their answers."""
        runs = np.unique(ngram_hashes(word_hashes(text), self.options.ngram))
        low, high = (np.searchsorted(self.hashes, runs, side) for side in ("left", "right"))
        hit = high > low
        if not hit.any():
            return []
        owners = np.concatenate(
            [self.owners[start:stop] for start, stop in zip(low[hit], high[hit], strict=True)]
        )
        seen = np.bincount(owners, minlength=len(self.counts))
        near = np.flatnonzero(seen >= self.options.share * self.counts)
        if not len(near):
            return []
        bare = _undressed(text)
        return [self.names[at] for at in near if _stands_in(self.answers[at], bare)]


def problems(rows: Iterable[tuple[str, str, str]], options: Restated) -> Problems:
    """Index (name, question, answer)."""
    hashes: list[np.ndarray] = []
    answers: list[str] = []
    names: list[str] = []
    for name, question, answer in rows:
        runs = np.unique(ngram_hashes(word_hashes(question), options.ngram))
        boxed = _BOXED.search(answer)
        bare = _undressed(boxed[1] if boxed else answer)
        if len(runs) >= options.min_runs and bare:
            hashes.append(runs)
            answers.append(bare)
            names.append(name)
    counts = np.array([len(one) for one in hashes], dtype=np.int64)
    owners = np.repeat(np.arange(len(hashes), dtype=np.uint32), counts)
    together = np.concatenate(hashes) if hashes else np.zeros(0, dtype=np.uint64)
    order = np.argsort(together, kind="stable")
    return Problems(together[order], owners[order], counts, answers, names, options)


def _undressed(text: str) -> str:
    """Without blanks, thousands' commas and the marks that TeX adds for looks."""
    return _DRESS.sub("", text).lower()


def _stands_in(answer: str, text: str) -> bool:
    """Whether the answer is in the text, and no part of a longer number or word."""
    at = text.find(answer)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(answer) : at + len(answer) + 2]
        number = answer[-1].isdigit()
        longer = (number and (after[:1].isdigit() or (after[:1] == "." and after[1:].isdigit()))) or (
            answer[0].isdigit() and (before.isdigit() or before == ".")
        )
        if not longer:
            return True
        at = text.find(answer, at + 1)
    return False
