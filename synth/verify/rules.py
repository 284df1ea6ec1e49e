"""How much each style of rewriting may do, as data: thresholds of every check, strictly typed.

A style inherits from `paraphrase` what it does not set. A threshold of None switches its check off.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...pipelines.errors import UserError


class Rules(BaseModel):
    """Thresholds of one style.

    Attributes:
        language: ISO 639-1 code of the rewrite; None: not checked.
        markup: what the rewrite must hold: `prose` (no table, no fence that the source has not), `table`, `qa`, `any`.
        length: least and most characters of the rewrite, as a share of the source's.
        loop: most share of the text that repeats its own 8-grams.
        copied: most share of the rewrite's 8-grams that stand in the source.
        recall: whether what the source says must all be said. Off for styles that select: questions, tables, summaries.
        number_new, number_lost, number_context, unit, date, name_new, name_lost, name_context: faults allowed.
        negation, modal, quantifier, comparator, role, scope, reference: faults allowed.
        support: least share of a sentence's words, weighted by rarity, that its source sentences must have.
        coverage: the same of a source sentence in the rewrite.
        embedding_support, embedding_coverage: least cosine of a sentence with the nearest of the other side, by
            embeddings (extra `embed`); off unless set.
        close: from this similarity on, a sentence counts as close to its source and is compared word by word.
        wording: `kept`: sentences are compared with the sentences that they were made of; `free`: clauses with all that
            they may have been made of, for rewrites that have other words and another order throughout.
        attempts: how often a rewrite may be asked for before its failure is final.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    language: str | None = "en"
    markup: str = Field(default="prose", pattern="^(prose|table|qa|any)$")
    length: tuple[float, float] = (0.5, 2.0)
    loop: float | None = Field(default=0.2, ge=0, le=1)
    copied: float | None = Field(default=0.6, ge=0, le=1)
    recall: bool = True
    number_new: int | None = Field(default=0, ge=0)
    number_lost: int | None = Field(default=0, ge=0)
    number_context: int | None = Field(default=0, ge=0)
    unit: int | None = Field(default=0, ge=0)
    date: int | None = Field(default=0, ge=0)
    name_new: int | None = Field(default=0, ge=0)
    name_lost: int | None = Field(default=0, ge=0)
    name_context: int | None = Field(default=0, ge=0)
    negation: int | None = Field(default=0, ge=0)
    modal: int | None = Field(default=0, ge=0)
    quantifier: int | None = Field(default=0, ge=0)
    comparator: int | None = Field(default=0, ge=0)
    role: int | None = Field(default=0, ge=0)
    scope: int | None = Field(default=0, ge=0)
    reference: int | None = Field(default=0, ge=0)
    support: float | None = Field(default=0.35, ge=0, le=1)
    coverage: float | None = Field(default=0.35, ge=0, le=1)
    embedding_support: float | None = Field(default=None, ge=0, le=1)
    embedding_coverage: float | None = Field(default=None, ge=0, le=1)
    close: float = Field(default=0.45, gt=0, le=1)
    wording: str = Field(default="kept", pattern="^(kept|free)$")
    attempts: int = Field(default=2, ge=1)


_SELECTS: dict[str, Any] = {"recall": False, "length": (0.05, 3.0)}
STYLES: dict[str, Rules] = {
    "paraphrase": Rules(),
    # Wording of its own in every sentence: of logic, only what one class in the place of another tells is judged.
    "free": Rules(wording="free", markup="any", length=(0.4, 3.0), support=0.3, coverage=0.3, name_context=None),
    # Deterministic edits keep most of the wording; whether they are near-copies is measured, not judged.
    "edit": Rules(copied=None, markup="any"),
    "list": Rules(markup="any"),
    "notes": Rules(markup="any", length=(0.3, 2.5)),
    "tutorial": Rules(markup="any", length=(0.5, 3.5), support=0.2),
    # Formulas and labels are moved about among few words: each is a name that may not be lost, in any order.
    "formal": Rules(markup="any", length=(0.5, 2.5), support=0.2, name_context=None),
    "summary": Rules(**{**_SELECTS, "length": (0.05, 1.0)}),
    "qa": Rules(**{**_SELECTS, "markup": "qa", "support": 0.2}),
    "table": Rules(**{**_SELECTS, "markup": "table", "support": None}),
}


def rules_for(style: str, overrides: dict[str, Any] | None = None) -> Rules:
    """The rules of a style, with some thresholds set otherwise.

    Raises:
        UserError: no such style, an unknown threshold, or a value of the wrong type or out of range.
    """
    if style not in STYLES:
        raise UserError(f"no style {style!r}; there are: {', '.join(STYLES)}")
    if not overrides:
        return STYLES[style]
    try:
        return Rules.model_validate({**STYLES[style].model_dump(), **overrides})
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"rules of {style!r}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
