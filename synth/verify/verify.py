"""The verdict on a rewrite: levels V0 (transport), V1 (form), V2 (facts) and V3 (logic) without a model, and V4
(embeddings) where the rules ask for it."""

from __future__ import annotations

from .align import align, read_source
from .facts import fact_sheet
from .form import form
from .free import free
from .logic import logic
from .names import names
from .numbers import numbers
from .result import Check, Verdict, judge
from .rules import Rules, rules_for
from .support import claims
from .transport import transport

VERSION = 3
"""Raise it when the same text under the same rules may be judged otherwise; stored with every verdict."""


def verify(
    source_chunk: str,
    rewrite: str,
    style: str = "paraphrase",
    rules: Rules | None = None,
    *,
    finish: str = "stop",
    prompt: str = "",
    attempt: int = 1,
) -> Verdict:
    """Judge a rewrite of a chunk.

    Args:
        style: whose rules to take, unless `rules` are given.
        finish: the server's reason for stopping.
        prompt: the instruction, without the source, to notice its echo.
        attempt: which attempt it is, from one; after the last of `rules.attempts` a failure is final.

    Raises:
        UserError: there is no such style, or the rules ask for embeddings and a package is missing.
    """
    rules = rules or rules_for(style)
    checks: list[Check] = transport(source_chunk, rewrite, finish, prompt)
    if all(check.ok or check.code not in ("empty", "refusal") for check in checks):
        source = read_source(source_chunk)
        sheet = fact_sheet(rewrite, source.sheet)
        alignment = align(source, sheet)
        checks += form(source, sheet, rules)
        checks += numbers(source, sheet, rules)
        checks += names(source, sheet, alignment.groups, rules)
        if rules.wording == "free":
            checks += free(source, sheet, rules)
        else:
            checks += logic(source, sheet, alignment.groups, rules)
            checks += claims(source, sheet, alignment, rules)
        if rules.embedding_support is not None or rules.embedding_coverage is not None:
            from .embeddings import meanings  # numpy and a model, which most rules do not need

            checks += meanings(source.sheet, sheet, rules)
    return judge(checks, attempt, rules.attempts)
