"""The stage `synth.judge`: rewrites that pass go on, the others are filtered by what is wrong with them.

It judges what `synth.rephrase` stored, again and without a call, so that other rules or a better verifier can be tried
on answers that were paid for once: what was quarantined may come back, and what had passed may go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

from datatrove.data import Document
from pydantic import PrivateAttr

from ...pipelines.errors import UserError
from ...pipelines.stage import Context, Filtered, InvalidInput, Stage
from ..verify.result import Check
from ..verify.rules import Rules
from ..verify.verify import VERSION as VERIFIER
from . import prompts
from .judging import Judge
from .prompts import Prompt
from .reader import READ
from .reasons import REASONS
from .rows import codes_of, judged_again, rewrite_of, unpacked


class JudgeAgain(Stage):
    """Judge rewrites by these rules, and let pass what passes.

    Attributes:
        rules: thresholds that differ from the prompt's, by style or under `all`.
        maths: check equations and results.
        prompts: folder of prompt files of your own, relative to the recipe, as in `synth.rephrase`.
        trust: take the stored verdicts as they are.
    """

    version: ClassVar[int] = 1
    operational: ClassVar[frozenset[str]] = frozenset({"prompts"})

    rules: dict[str, dict[str, Any]] = {}
    maths: bool = False
    prompts: str | None = None
    trust: bool = False

    _judge: Judge | None = PrivateAttr(default=None)
    _prompts: dict[str, Prompt] = PrivateAttr(default_factory=dict)
    _rules: dict[tuple[str, str], Rules] = PrivateAttr(default_factory=dict)

    def environment(self) -> dict[str, str]:
        return {"verifier": str(VERIFIER)}

    def reads(self, context: Context) -> dict[str, str]:
        known = self._known(context)
        for name, overrides in self.rules.items():
            if name != "all" and name not in known:
                raise UserError(f"synth.judge: rules for {name!r}, which is no prompt; there are: {', '.join(known)}")
            some = known[name] if name != "all" else next(iter(known.values()))
            some.verifier_rules(overrides)
        return {"prompts": hashlib.sha256(prompts.lock_of(known)).hexdigest()[:16]}  # their rules are what it judges by

    def open(self, context: Context) -> None:
        self._judge, self._prompts = Judge(self.maths), self._known(context)

    def process(self, record: Document) -> Document:
        rewrite = rewrite_of(record)
        if not rewrite:
            raise InvalidInput("no_rewrite", "the record does not come from synth.rephrase")
        if not self.trust:
            judged_again(record, rewrite, self._verdicts(record.text, rewrite))
        if codes := codes_of(rewrite):
            raise Filtered(codes[0], "; ".join(REASONS.get(code, code).rstrip(".") for code in codes))
        return record

    def _verdicts(self, text: str, rewrite: dict[str, Any]) -> list[tuple[str, Sequence[Check]]]:
        style = rewrite["style"]
        if style not in self._prompts:
            raise InvalidInput("no_prompt", f"there is no prompt {style!r} to judge by")
        prompt, key = self._prompts[style], (style, rewrite["backend"])
        if key not in self._rules:
            self._rules[key] = prompt.rules_under(self.rules, rewrite["backend"])
        rules = self._rules[key]
        assert self._judge is not None
        found: list[tuple[str, Sequence[Check]]] = []
        for chunk in rewrite["chunks"]:
            source = rewrite["source"][slice(*chunk["source"])]
            before = text[: chunk["text"][0]].rstrip()
            said = text[slice(*chunk["text"])]
            verdict = self._judge(
                source, said, prompt, rules, before=before, finish=chunk["finish"], attempt=rules.attempts
            )
            # What a model has read is not asked for again.
            read = [unpacked(check) for check in chunk["checks"] if check[0] in READ]
            refused = any(not check.ok for check in read)
            found.append(("quarantine" if refused else verdict.verdict, (*verdict.checks, *read)))
        return found

    def close(self) -> None:
        if self._judge is not None:
            self._judge.close()
            self._judge = None

    def _known(self, context: Context) -> dict[str, Prompt]:
        shipped = prompts.load_prompts()
        return {**shipped, **(prompts.load_prompts(context.base / self.prompts) if self.prompts else {})}
