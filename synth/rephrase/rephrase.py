"""The stage `synth.rephrase`: documents in, checked rewrites out, and beside them the answers that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

import orjson
from datatrove.data import Document
from pydantic import Field, PrivateAttr, model_validator

from ...pipelines.errors import UserError
from ...pipelines.stage import Context, Filtered
from ..rewrite.backend import RuleBackend
from ..rewrite.styles import STYLES
from ..verify.rules import Rules
from ..verify.sentences import estimate
from ..verify.verify import VERSION as VERIFIER
from . import prompts
from .assign import LENGTHS, PERSPECTIVES, Assignment, assignments
from .backends import Asking, Opened
from .judging import Judge
from .layout import Layout, lay_out
from .prompts import Prompt
from .reader import Reader, ReaderOptions
from .rewriter import Asked, Rewriter
from .rows import Made, row, runs


class Rephrase(Asking):
    """Rewrite each document once or twice in drawn styles, chunk by chunk, and judge every chunk against its source.

    A record comes out for every run of chunks that passed, and for every answer that failed (its check `verified` says
    why); `synth.judge` in a later job takes the one and leaves the other.

    Attributes:
        backend: `rule` rewrites by rules, offline; `endpoint` asks an OpenAI-compatible server; `embedded` a model of
            135M parameters in this process, for trying things out; `replay` gives recorded answers.
        endpoint: the server, for `endpoint`.
        recorded: file of recorded answers, for `replay`, relative to the recipe.
        calls: folder or URL where answers are kept and looked up; a relative one is taken from the folder that holds
            the output, so that runs share it.
        budget_usd: no call is made that could spend more than this on one output.
        styles: prompt families with their weights.
        prompts: folder of prompt files of your own, relative to the recipe; they come before those shipped.
        perspectives, lengths: names to draw from; a perspective may also be a description of your own.
        rewrites: how many of each excerpt, at most, each in another style.
        chunk_tokens: what one call rewrites, in estimated tokens.
        excerpt_tokens: what is rewritten in a row, in one style. Default: 4,096, and for rules, which see one chunk
            only, as much as a chunk, so that each has a style that suits it.
        cut: between `sentences`, or only between `paragraphs`, as suits texts whose paragraphs are records.
        least_words: shorter chunks are left out.
        maths: check equations and results.
        fact_sheets: store with each chunk what its source states: numbers, dates, names, cues of logic, formulas, code.
        reader: shares of the rewrites that a model reads once more (see `ReaderOptions`); it is the one that writes, or
            `reader_endpoint`.
        rules: thresholds that differ, by style or under `all`.
        temperature, top_p: sampling of a model.
        at_once: documents in work at the same time in each worker. Default: 32 for a server, otherwise 1.
    """

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset(
        {"endpoint", "reader_endpoint", "recorded", "calls", "budget_usd", "prompts", "at_once"}
    )

    styles: dict[str, float] = Field(min_length=1)
    prompts: str | None = None
    perspectives: list[str] = Field(default=list(PERSPECTIVES), min_length=1)
    lengths: list[str] = Field(default=["same"], min_length=1)
    rewrites: int = Field(default=1, ge=1, le=2)
    chunk_tokens: int = Field(default=256, ge=16)
    excerpt_tokens: int | None = Field(default=None, ge=16)
    cut: Literal["sentences", "paragraphs"] = "sentences"
    least_words: int = Field(default=25, ge=1)
    maths: bool = False
    fact_sheets: bool = False
    reader: ReaderOptions | None = None
    rules: dict[str, dict[str, Any]] = {}
    temperature: float = Field(default=0.7, ge=0)
    top_p: float = Field(default=0.95, gt=0, le=1)
    at_once: int | None = Field(default=None, ge=1)

    _state: _State | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.backend == "endpoint" and self.endpoint is None:
            raise ValueError("backend endpoint needs endpoint: {url, model}")
        if self.backend == "replay" and self.recorded is None:
            raise ValueError("backend replay needs recorded: the file of answers")
        if self.reader is not None and self.backend == "rule" and self.reader_endpoint is None:
            raise ValueError("rules cannot read: reader needs reader_endpoint: {url, model}")
        if self.chunk_tokens > self._excerpt():
            raise ValueError(f"chunks of {self.chunk_tokens} tokens do not fit excerpts of {self._excerpt()}")
        if bad := [style for style, weight in self.styles.items() if weight <= 0]:
            raise ValueError(f"the weight of style {bad[0]!r} is not above 0")
        if bad := [name for name in self.lengths if name not in LENGTHS]:
            raise ValueError(f"no length {bad[0]!r}; there are: {', '.join(LENGTHS)}")
        if bad := [name for name in self.rules if name != "all" and name not in self.styles]:
            raise ValueError(f"rules for {bad[0]!r}, which is not among the styles")
        return self

    def _excerpt(self) -> int:
        return self.excerpt_tokens or (self.chunk_tokens if self.backend == "rule" else max(4096, self.chunk_tokens))

    @property
    def concurrency(self) -> int:
        return self.at_once or (32 if self.backend == "endpoint" else 1)

    def environment(self) -> dict[str, str]:
        if self.backend != "rule":
            return {"verifier": str(VERIFIER)}
        if unknown := [style for style in self.styles if style not in STYLES]:
            raise UserError(f"synth.rephrase: rules have no style {unknown[0]!r}; they have: {', '.join(STYLES)}")
        return {"verifier": str(VERIFIER), "rules": RuleBackend.model}

    def reads(self, context: Context) -> dict[str, str]:
        chosen = self._prompts(context)
        self._rules(chosen)  # a wrong threshold is told before the run
        if self.reader is not None:
            chosen = {**chosen, **prompts.load_prompts(prompts.READERS)}
        return {**{f"prompt {name}": one.sha256[:16] for name, one in chosen.items()}, **super().reads(context)}

    def open(self, context: Context) -> None:
        chosen = self._prompts(context)
        opened = self.open_backend(context)
        reads = Reader(opened.read, self.reader) if self.reader is not None else None
        judge = Judge(self.maths, reads)
        rewriter = Rewriter(opened.ask, judge, chosen, self._rules(chosen), self.temperature, self.top_p)
        self._state = _State(context.seed, opened, judge, chosen, rewriter)

    def process(self, record: Document) -> list[Document]:
        state = self._state
        assert state is not None
        layout = lay_out(record.text, self.chunk_tokens, self._excerpt(), self.least_words, self.cut == "paragraphs")
        left: Counter[str] = Counter()
        made: list[Document] = []
        for number in range(len(layout.excerpts)):
            for assignment, asked in self._rewrites(record, layout, number, left):
                about = Made(self.backend, state.opened.model, state.prompts[assignment.style], assignment, number)
                made += [row(record, run, about, self.fact_sheets) for run in runs(asked)]
        if not made:
            told = ", ".join(f"{count} {code}" for code, count in left.most_common(4)) or "no sentence"
            raise Filtered("nothing_rewritten", told)
        state.opened.accepted(sum(estimate(one.text) for one in made if one.metadata["checks"][-1]["passed"]))
        extra = orjson.loads(made[0].metadata["extra"])
        extra["document"] = {"chunks": sum(map(len, layout.excerpts)), "left_out": dict(sorted(left.items()))}
        made[0].metadata["extra"] = orjson.dumps(extra).decode()
        return made

    def _rewrites(
        self, record: Document, layout: Layout, number: int, left: Counter[str]
    ) -> Iterable[tuple[Assignment, list[Asked]]]:
        """The rewrites of one excerpt; `left` counts chunks without an answer."""
        state = self._state
        assert state is not None
        parts = layout.excerpts[number]
        left.update(one.skipped for one in parts if one.skipped)
        if all(one.skipped for one in parts):
            return
        key = (state.seed, record.metadata["source"]["sha256"], number)
        done, gaps = 0, Counter[str]()
        for assignment in assignments(key, self.styles, self.perspectives, self.lengths):
            asked = state.rewriter.excerpt(record.text, layout, parts, assignment)
            answered = any(one.verdict is not None for one in asked)
            found = Counter(one.code for one in asked if one.code and not one.part.skipped)
            if answered:
                yield assignment, asked
                done += 1
                left.update(found)
            gaps = gaps or found
            if done == self.rewrites:
                return
        if not done:
            left.update(gaps)

    def close(self) -> None:
        if self._state is not None:
            self._state.judge.close()
            self._state.opened.close()
            self._state = None

    def _prompts(self, context: Context) -> dict[str, Prompt]:
        folder = None if self.prompts is None else context.base / self.prompts
        if folder is not None and not folder.is_dir():
            raise UserError(f"synth.rephrase: the folder of prompts {folder} does not exist")
        return prompts.chosen(self.styles, folder)

    def _rules(self, chosen: dict[str, Prompt]) -> dict[str, Rules]:
        return {name: one.rules_under(self.rules, self.backend) for name, one in chosen.items()}


class _State:
    """What is open during a unit."""

    def __init__(
        self, seed: int, opened: Opened, judge: Judge, prompts: dict[str, Prompt], rewriter: Rewriter
    ) -> None:
        self.seed, self.opened, self.judge, self.prompts, self.rewriter = seed, opened, judge, prompts, rewriter


