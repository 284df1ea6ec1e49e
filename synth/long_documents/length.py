"""How long a document is, in tokens, and how often a long one is to be used.

Long documents are rare, so a mixture repeats them. How often is decided here, by length, and noted in the check
`upsample`; the mixture that packs the windows applies it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar, Self

from datatrove.data import Document
from pydantic import Field, PrivateAttr, model_validator

from ...pipelines.errors import UserError
from ...pipelines.record import add_check
from ...pipelines.stage import Context, Filtered, Stage


class Length(Stage):
    """Drop what is too short or too long, note tokens and the factor for upsampling.

    Attributes:
        min_tokens, max_tokens: bounds on the length.
        tokenizer: a folder or file, as `k3data tokenizer train` writes it, beside the output unless absolute; without
            one the number of tokens is estimated.
        chars_per_token: the estimate's ratio.
        upsample: pairs of (from so many tokens on, factor), ascending.
    """

    version: ClassVar[int] = 1

    min_tokens: int = Field(default=8192, ge=0)
    max_tokens: int | None = Field(default=None, ge=1)
    tokenizer: str | None = None
    chars_per_token: float = Field(default=3.6, gt=0)
    upsample: list[tuple[int, float]] = [(0, 1.0), (32_768, 2.0), (131_072, 3.0)]

    _tokenizer: Any = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        starts = [start for start, _ in self.upsample]
        if any(one >= other for one, other in pairwise(starts)):
            raise ValueError("upsample: the numbers of tokens must ascend")
        if any(factor < 0 for _, factor in self.upsample):
            raise ValueError("upsample: a factor is not negative")
        return self

    def semantic(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude={"tokenizer"})

    def reads(self, context: Context) -> dict[str, str]:
        if self.tokenizer is None:
            return {}
        return {"tokenizer of synth.length": self._load(context).digest[:16]}

    def open(self, context: Context) -> None:
        self._tokenizer = None if self.tokenizer is None else self._load(context)

    def process(self, record: Document) -> Document:
        if self._tokenizer is not None:
            tokens, how = len(self._tokenizer.encode(record.text)), ""
        else:
            tokens, how = round(len(record.text) / self.chars_per_token), "estimated"
        if tokens < self.min_tokens:
            raise Filtered("too_short", f"{tokens} tokens, at least {self.min_tokens} are wanted")
        if self.max_tokens is not None and tokens > self.max_tokens:
            raise Filtered("too_long", f"{tokens} tokens, at most {self.max_tokens} are wanted")
        add_check(record, "tokens", True, tokens, how)
        factor = next((factor for start, factor in reversed(self.upsample) if tokens >= start), 1.0)
        add_check(record, "upsample", True, factor)
        return record

    def _load(self, context: Context) -> Any:
        from ...tokenizer import Tokenizer

        assert self.tokenizer is not None
        try:
            return Tokenizer.load(context.beside(self.tokenizer))
        except ValueError as error:
            raise UserError(f"synth.length: {error}") from None
